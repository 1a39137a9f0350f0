// SPDX-License-Identifier: MIT
/*
 * A region and the thread that watches it.
 *
 * The thread spins while calls come, and lends itself to the device meanwhile. When nothing has
 * come for SPIN_NS it dozes: it says so in the region, looks once more, and sleeps until the client
 * rings. A client that only stores, as a host would with a real device, is seen after DOZE_MS at
 * the latest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/models/ndp.h>
#include "core/futex.h"
#include "core/log.h"
#include "front.h"

#define SPIN_NS 50000u
#define DOZE_MS 250
#define TICK_NS ANNEX_NSEC_PER_MSEC /* between looks at other things than calls */
#define AWAKE_ROUNDS 128u           /* before others are let run between rounds */
#define CLOCK_EVERY 16u             /* rounds */

static struct annex_m2_head *head_of(struct ndp_front *f)
{
	return (struct annex_m2_head *)(void *)f->region;
}

static int take_region(struct ndp_front *f)
{
	if (f->bytes > f->opts.room)
		return annex_fail(-EINVAL, "M2func: a region of %llu bytes in %llu", (ull)f->bytes,
				  (ull)f->opts.room);
	f->region = f->opts.region;
	f->doors = (struct annex_m2_doors *)(void *)(f->region + m2_doors_at(&f->layout));
	return 0;
}

static int make_region(struct ndp_front *f)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	f->bytes = m2_bytes(&f->layout);
	if (f->opts.region)
		return take_region(f);
	f->fd = memfd_create("annex-m2func", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Sealed, so that the client cannot truncate it under the device. */
	if (f->fd < 0 || ftruncate(f->fd, (off_t)f->bytes) || fcntl(f->fd, F_ADD_SEALS, seals))
		return annex_fail(-errno, "M2func: no memory for a region: %m");
	f->region = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	if (f->region == MAP_FAILED) {
		f->region = NULL;
		return annex_fail(-errno, "M2func: a region cannot be mapped: %m");
	}
	f->doors = (struct annex_m2_doors *)(void *)(f->region + m2_doors_at(&f->layout));
	return 0;
}

static void fill_head(struct ndp_front *f)
{
	const struct annex_ndp_opts *o = ndp_options(f->ndp);

	*head_of(f) = (struct annex_m2_head){
		.version = ANNEX_M2_VERSION,
		.bytes = (uint32_t)f->bytes,
		.stride = f->layout.stride,
		.slots = f->layout.slots,
		.kernels = f->layout.kernels,
		.asid = ndp_client_asid(f->client),
		.units = o->units,
		.subcores = o->subcores,
		.threads = o->slots,
		.vlen = o->vlen,
		.piece = o->piece,
		.scratchpad = o->scratchpad,
		.running = o->running,
		.waiting = o->waiting,
		.coherent = 1, /* it is the host's memory, seen through the host's caches */
	};
	/* Release: pairs with the acquire of waiting clients, which then see the rest. */
	annex_atomic_store(&head_of(f)->magic, ANNEX_M2_MAGIC, ANNEX_RELEASE);
}

static int make_cells(struct ndp_front *f)
{
	f->cell = calloc(m2_cells(&f->layout), sizeof(*f->cell));
	if (!f->cell)
		return annex_fail(-ENOMEM, "M2func: out of memory");
	for (uint32_t i = 0; i < m2_cells(&f->layout); i++) {
		f->cell[i].f = f;
		f->cell[i].number = i;
	}
	return 0;
}

int ndp_front_open(struct annex_ndp *ndp, struct ndp_client *c, const struct ndp_front_opts *opts,
		   const struct bell *bell, struct ndp_front **out)
{
	struct ndp_front *f = calloc(1, sizeof(*f));
	int err;

	if (!f) {
		struct bell ours = *bell;

		annex_bell_close(&ours);
		return annex_fail(-ENOMEM, "M2func: out of memory");
	}
	f->ndp = ndp;
	f->client = c;
	f->layout = (struct m2_layout){opts->stride, opts->slots, ANNEX_M2_KERNELS};
	f->opts = *opts;
	f->fd = f->also = -1;
	f->bell = *bell;
	err = annex_m2_layout_right(&f->layout)
		      ? make_region(f)
		      : annex_fail(-EINVAL, "M2func: no region of %u slots, %u bytes apart",
				   opts->slots, opts->stride);
	if (!err)
		err = make_cells(f);
	if (err) {
		ndp_front_close(f);
		return err;
	}
	fill_head(f);
	*out = f;
	return 0;
}

/* Attend to anything but calls, for up to @wait milliseconds. Return: whether to go on. */
static bool attend(struct ndp_front *f, int wait)
{
	struct pollfd fds[2] = {{.fd = f->bell.in, .events = POLLIN},
				{.fd = f->also, .events = POLLIN}};

	/* Relaxed: it only has to change. */
	annex_atomic_add(&head_of(f)->beat, 1u, ANNEX_RELAXED);
	if (poll(fds, 2, wait) > 0) {
		if (fds[0].revents & ~POLLIN) /* it would be readable for ever */
			return false;
		if (fds[0].revents && !annex_bell_drain(&f->bell))
			return false;
		if (fds[1].revents && !f->ready(f->ctx))
			return false;
	}
	/* Acquire: with ndp_front_stop(). */
	return !annex_atomic_load(&f->stop, ANNEX_ACQUIRE);
}

static bool doze(struct ndp_front *f)
{
	bool more;

	ndp_cells_tell(f);
	ndp_cells_cool(f);
	/* Sequentially consistent, as the looks that follow: see annex_m2_fence(). */
	annex_atomic_store(&f->doors->asleep, 1u, ANNEX_SEQ_CST);
	more = ndp_cells_look_at_all(f);
	ndp_cells_ring(f);
	more = attend(f, more ? 0 : f->opts.doze_ms ? f->opts.doze_ms : DOZE_MS);
	/* Relaxed: a client that sees this late rings needlessly. */
	annex_atomic_store(&f->doors->asleep, 0u, ANNEX_RELAXED);
	return more;
}

/* Carry out a call before looking for the next one. Return: whether there was something. */
static bool work(struct ndp_front *f)
{
	bool some = ndp_cells_look(f);

	return ndp_assist(f->ndp) || some;
}

/* Until nothing comes any more. Return: whether to go on. */
static bool serve(struct ndp_front *f)
{
	uint64_t now = annex_now(), last = now, tick = now;
	unsigned int quiet = 0;

	for (unsigned int round = 1; now - last < SPIN_NS; round++) {
		if (work(f)) {
			quiet = 0;
		} else {
			ndp_cells_ring(f);
			if (++quiet < AWAKE_ROUNDS)
				annex_pause();
			else
				sched_yield();
		}
		if (round % CLOCK_EVERY)
			continue;
		ndp_cells_ring(f);
		now = annex_now();
		if (quiet < CLOCK_EVERY)
			last = now;
		if (now - tick < TICK_NS)
			continue;
		tick = now;
		if (!attend(f, 0))
			return false;
	}
	return true;
}

void ndp_front_watch(struct ndp_front *f)
{
	bool more = true;

	ndp_cells_watch(f);
	while (more) {
		ndp_lend(f->ndp);
		more = serve(f);
		ndp_cells_ring(f);
		ndp_unlend(f->ndp);
		if (more)
			more = doze(f);
	}
	ndp_cells_watch(NULL);
}

void ndp_front_stop(struct ndp_front *f)
{
	/* Release: the stopping thread sees everything done before. */
	annex_atomic_store(&f->stop, 1u, ANNEX_RELEASE);
}

/* The close answers calls in flight; after it no thread answers. */
void ndp_front_end(struct ndp_front *f)
{
	if (f->client)
		ndp_client_close(f->client);
	f->client = NULL;
	/* Release: pairs with clients that acquire it, which then see these answers. */
	annex_atomic_store(&head_of(f)->gone, 1u, ANNEX_RELEASE);
	annex_bell_ring(&f->bell);
}

void ndp_front_close(struct ndp_front *f)
{
	if (f->region && !f->opts.region)
		munmap(f->region, f->bytes);
	if (f->fd >= 0)
		close(f->fd);
	annex_bell_close(&f->bell);
	free(f->cell);
	free(f);
}

void ndp_front_get_stats(const struct ndp_front *f, struct ndp_front_stats *out)
{
	/* Relaxed: each number by itself. */
	out->calls = annex_atomic_load(&f->stats.calls, ANNEX_RELAXED);
	out->torn = annex_atomic_load(&f->stats.torn, ANNEX_RELAXED);
	out->lost = annex_atomic_load(&f->stats.lost, ANNEX_RELAXED);
	out->repeated = annex_atomic_load(&f->stats.repeated, ANNEX_RELAXED);
}
