// SPDX-License-Identifier: MIT
/*
 * The service thread: serves every queue from its doorbells alone, and sleeps when nothing is
 * queued. A busy one never sleeps, since a bare doorbell store, as of a GPU, wakes no thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "state.h"

#define SPIN_NS 50000u              /* how long to look before sleeping */
#define SLEEP_NS ANNEX_NSEC_PER_SEC /* longest sleep */

/* One pass over all queues. *@stuck: some commands cannot be fetched now. */
static bool look(struct annex_emu *emu, bool *stuck)
{
	uint32_t in_flight = annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE);
	bool progress = false;

	*stuck = annex_emu_blocked(emu);
	for (uint16_t i = 1; i < EMU_QUEUES; i++) {
		struct emu_sq *sq = &emu->sqs[i];
		uint32_t head = annex_atomic_load(&sq->head, ANNEX_RELAXED);

		if (!annex_emu_ahead(sq))
			continue;
		annex_emu_serve(emu, i, false);
		if (annex_atomic_load(&sq->head, ANNEX_RELAXED) != head)
			progress = true;
		else
			*stuck = true;
	}
	annex_emu_pass(emu);
	return progress || annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE) != in_flight;
}

static void doze(struct annex_emu *emu)
{
	uint64_t due, until = annex_now();
	bool stuck;

	/* Mark, then look once more: the other half of the handshake in annex_emu_rung(). */
	annex_atomic_or(&emu->asleep, 1u, ANNEX_SEQ_CST);
	if (!look(emu, &stuck)) {
		due = annex_atomic_load(&emu->next_due, ANNEX_ACQUIRE);
		until += stuck ? EMU_RETRY_NS : SLEEP_NS;
		annex_emu_poll(emu, due < until ? due : until);
	}
	annex_atomic_and(&emu->asleep, 0u, ANNEX_SEQ_CST);
}

static void *service(void *arg)
{
	struct annex_emu *emu = arg;
	uint64_t idle = 0;
	bool stuck;

	while (!annex_atomic_load(&emu->stop, ANNEX_ACQUIRE)) {
		uint64_t now;

		if (look(emu, &stuck)) {
			idle = 0;
			continue;
		}
		now = annex_now();
		if (!idle)
			idle = now;
		if (now - idle < SPIN_NS) {
			annex_pause();
		} else if (emu->busy) {
			sched_yield(); /* no sleep: comes back at once, unless the core is wanted */
		} else {
			doze(emu);
			idle = 0;
		}
	}
	return NULL;
}

int annex_emu_thread_start(struct annex_emu *emu, bool busy)
{
	int err;

	emu->threaded = true;
	emu->busy = busy;
	err = -pthread_create(&emu->thread, NULL, service, emu);
	if (!err)
		return 0;
	emu->threaded = false;
	return annex_fail(err, "emulated controller: cannot start its thread: %s", strerror(-err));
}

void annex_emu_thread_stop(struct annex_emu *emu)
{
	if (!emu->threaded)
		return;
	annex_atomic_store(&emu->stop, 1u, ANNEX_RELEASE);
	annex_emu_kick(emu);
	pthread_join(emu->thread, NULL);
	emu->threaded = false;
}
