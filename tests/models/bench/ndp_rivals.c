// SPDX-License-Identifier: MIT
/*
 * The rivals of M2func: a command ring (M2NDP figure 4b) and single-shot registers (figure 4c). The
 * host's latencies are added where the figure has them.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "models/ndp/device/engine.h"
#include "ndp.h"

#define LINE 64
#define ENTRIES 16u
#define LOOKS 128u /* before others may run, too */
#define NUMBER 7u  /* of the one call, in the ring */

/*
 * struct ndp_rival - The host's line, then the device's.
 * @payload: of the call, in memory or in registers.
 * @command: the ring; its doorbell is @tail. @go: the register that starts the call of that number.
 * @completion: counted from 1 on, with the call's number. @done: the register with the last call
 * that has ended.
 * @sleeps: the host waits for @event. @stop: the front end shall end.
 * @head, @posted, @went: the device's own.
 */
struct ndp_rival {
	struct annex_m2_launch payload __attribute__((aligned(LINE)));
	uint32_t command[ENTRIES];
	uint32_t tail, go, sleeps, stop;
	struct annex_m2_answer answer __attribute__((aligned(LINE)));
	uint64_t completion[ENTRIES];
	uint32_t done, head, posted, went;
	struct ndp_rival_opts opts __attribute__((aligned(LINE)));
	struct annex_ndp *ndp;
	struct ndp_client *client;
	pthread_t thread;
	int event;
};

static void delay(uint64_t ns)
{
	const uint64_t until = annex_now() + ns;

	while (ns && annex_now() < until)
		annex_pause();
}

static uint64_t completion_of(uint32_t n)
{
	return (uint64_t)n << 32 | NUMBER;
}

/* As ndp_done. */
static void answered(void *ctx, const struct annex_m2_answer *a)
{
	struct ndp_rival *r = ctx;

	r->answer = *a;
	if (r->opts.registers) {
		/* Releases the answer to ndp_rival_run(). */
		annex_atomic_store(&r->done, r->went, ANNEX_RELEASE);
		return;
	}
	r->posted++;
	/* Likewise; sequentially consistent with the look at the sleeper, see await_event(). */
	annex_atomic_store(&r->completion[r->posted % ENTRIES], completion_of(r->posted),
			   ANNEX_SEQ_CST);
	if (annex_atomic_load(&r->sleeps, ANNEX_SEQ_CST))
		eventfd_write(r->event, 1);
}

/* Whether there was a call. Acquires its payload from ndp_rival_run(). */
static bool look(struct ndp_rival *r)
{
	const uint32_t now = annex_atomic_load(r->opts.registers ? &r->go : &r->tail,
					       ANNEX_ACQUIRE);
	struct annex_m2_launch payload;

	if (now == (r->opts.registers ? r->went : r->head))
		return false;
	if (r->opts.registers)
		r->went = now;
	else if (r->command[r->head++ % ENTRIES] != NUMBER)
		bench_fail("the ring has a call that was not made");
	payload = r->payload;
	ndp_call(r->client, ANNEX_M2_LAUNCH, &payload, sizeof(payload), answered, r);
	return true;
}

static void *watch(void *arg)
{
	struct ndp_rival *r = arg;

	ndp_lend(r->ndp);
	/* Relaxed: it only has to be seen. */
	for (unsigned int quiet = 0; !annex_atomic_load(&r->stop, ANNEX_RELAXED);) {
		const bool some = look(r);

		if (ndp_assist(r->ndp) || some)
			quiet = 0;
		else if (quiet++ < LOOKS)
			annex_pause();
		else
			sched_yield();
	}
	ndp_unlend(r->ndp);
	return NULL;
}

static void keep(void *ctx, const struct annex_m2_answer *a)
{
	*(struct annex_m2_answer *)ctx = *a;
}

struct ndp_rival *ndp_rival_open(const struct ndp_bench *b, const struct ndp_rival_opts *opts)
{
	const struct annex_m2_register ask = {.code = (uintptr_t)b->image, .nx = 3};
	struct ndp_rival *r = aligned_alloc(LINE, sizeof(*r));
	struct annex_m2_answer id = {0};
	struct annex_hdm_info range;

	if (!r)
		bench_fail("out of memory");
	*r = (struct ndp_rival){.opts = *opts, .ndp = b->ndp};
	annex_hdm_get_info(b->hdm, &range);
	if (ndp_client_open(r->ndp, false, &r->client) ||
	    ndp_client_map(r->client, (uintptr_t)range.base, range.base, range.bytes,
			   ANNEX_M2_READ | ANNEX_M2_WRITE))
		bench_fail("%s", annex_last_error());
	ndp_call(r->client, ANNEX_M2_REGISTER, &ask, sizeof(ask), keep, &id);
	if (id.value <= 0)
		bench_fail("a rival's kernel is not registered: %lld", (long long)id.value);
	r->payload = (struct annex_m2_launch){.id = (uint32_t)id.value,
					      .sync = 1,
					      .base = (uintptr_t)b->piece,
					      .bound = (uintptr_t)b->piece + 32};
	r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->event < 0 || pthread_create(&r->thread, NULL, watch, r))
		bench_fail("no thread for a rival");
	return r;
}

void ndp_rival_close(struct ndp_rival *r)
{
	annex_atomic_store(&r->stop, 1u, ANNEX_RELAXED);
	pthread_join(r->thread, NULL);
	ndp_client_close(r->client);
	close(r->event);
	free(r);
}

/* Half a round trip before the register is read, and half after it. */
static bool is_done(struct ndp_rival *r)
{
	uint32_t done;

	delay(r->opts.io_ns / 2);
	/* Acquires the answer. */
	done = annex_atomic_load(&r->done, ANNEX_ACQUIRE);
	delay(r->opts.io_ns / 2);
	return done == r->go;
}

/* Acquires the answer. */
static bool has_completed(struct ndp_rival *r)
{
	return annex_atomic_load(&r->completion[r->tail % ENTRIES], ANNEX_SEQ_CST) ==
	       completion_of(r->tail);
}

static void await_event(struct ndp_rival *r)
{
	struct pollfd fd = {.fd = r->event, .events = POLLIN};
	eventfd_t n;

	/* Counted before the last look: the device posts before it looks at this. */
	annex_atomic_store(&r->sleeps, 1u, ANNEX_SEQ_CST);
	if (!has_completed(r))
		poll(&fd, 1, -1);
	annex_atomic_store(&r->sleeps, 0u, ANNEX_RELAXED);
	eventfd_read(r->event, &n);
}

void ndp_rival_run(struct ndp_rival *r)
{
	delay(r->opts.registers ? r->opts.io_ns / 2 : r->opts.ring_ns);
	/* The doorbell, and the register, release the payload. */
	if (r->opts.registers) {
		annex_atomic_store(&r->go, r->go + 1, ANNEX_RELEASE);
	} else {
		r->command[r->tail % ENTRIES] = NUMBER;
		annex_atomic_store(&r->tail, r->tail + 1, ANNEX_RELEASE);
	}
	for (unsigned int i = 0; !(r->opts.registers ? is_done(r) : has_completed(r)); i++) {
		if (r->opts.sleeps)
			await_event(r);
		else if (i < LOOKS)
			annex_pause();
		else
			sched_yield();
	}
	delay(r->opts.registers ? 0 : r->opts.io_ns + r->opts.io_ns / 2);
	if (r->answer.value <= 0)
		bench_fail("a rival's call ended with %lld", (long long)r->answer.value);
}
