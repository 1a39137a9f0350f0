// SPDX-License-Identifier: MIT
/*
 * The device as a whole: all memory that instances need is there from the beginning.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "core/log.h"
#include "state.h"
#include "unit.h"

#define THREADS_MAX 256u
#define UNITS_MAX 1024u
#define SUBCORES_MAX 64u
#define SLOTS_MAX 64u
#define SCRATCHPAD_MIN 4096u
#define SCRATCHPAD_MAX (16u << 20)
#define RUNNING_MAX 1024u
#define WAITING_MAX 65536u
#define PAST_MIN 1024u /* launches of a client that can be asked for after they have ended */

static void fill_in(struct annex_ndp_opts *o)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	o->units = o->units ? o->units : 32;
	o->subcores = o->subcores ? o->subcores : 4;
	o->slots = o->slots ? o->slots : 16;
	o->vlen = o->vlen ? o->vlen : 256;
	o->piece = o->piece ? o->piece : 32;
	o->scratchpad = o->scratchpad ? o->scratchpad : 128u << 10;
	o->running = o->running ? o->running : 48;
	o->waiting = o->waiting ? o->waiting : 64;
	o->budget = o->budget ? o->budget : 100000000000ull;
	o->deadline_ms = o->deadline_ms ? o->deadline_ms : 30000;
	if (o->threads)
		return;
	o->threads = processors > 0 ? (uint32_t)processors : 1;
	if (o->threads > o->units)
		o->threads = o->units;
}

static int check(const struct annex_ndp_opts *o)
{
	const struct {
		const char *name;
		uint32_t value, least, most;
	} range[] = {
		{"threads", o->threads, 1, THREADS_MAX},
		{"units", o->units, 1, UNITS_MAX},
		{"subcores", o->subcores, 1, SUBCORES_MAX},
		{"slots", o->slots, 1, SLOTS_MAX},
		{"vlen", o->vlen, 128, 1024},
		{"piece", o->piece, 32, 64},
		{"scratchpad", o->scratchpad, SCRATCHPAD_MIN, SCRATCHPAD_MAX},
		{"running", o->running, 1, RUNNING_MAX},
		{"waiting", o->waiting, 1, WAITING_MAX},
	};

	for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
		if (range[i].value < range[i].least || range[i].value > range[i].most)
			return annex_fail(-EINVAL, "NDP: %s=%u is not from %u to %u", range[i].name,
					  range[i].value, range[i].least, range[i].most);
	if (o->vlen & (o->vlen - 1) || o->piece & (o->piece - 1))
		return annex_fail(-EINVAL, "NDP: vlen=%u and piece=%u: powers of two", o->vlen,
				  o->piece);
	return 0;
}

static int alloc_places(struct annex_ndp *ndp)
{
	const struct annex_ndp_opts *o = &ndp->opts;
	size_t units = (size_t)o->running * o->units, page = (size_t)sysconf(_SC_PAGESIZE);

	ndp->place = calloc(o->running, sizeof(*ndp->place));
	ndp->unit = calloc(units, sizeof(*ndp->unit));
	ndp->ready = calloc(units, sizeof(*ndp->ready));
	ndp->scratchpad_stride = (o->scratchpad + page - 1) / page * page;
	ndp->scratchpad_bytes = units * ndp->scratchpad_stride;
	ndp->scratchpad = mmap(NULL, ndp->scratchpad_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ndp->scratchpad == MAP_FAILED)
		ndp->scratchpad = NULL;
	if (!ndp->place || !ndp->unit || !ndp->ready || !ndp->scratchpad)
		return -ENOMEM;
	SLIST_INIT(&ndp->places);
	for (size_t i = 0; i < o->running; i++) {
		struct ndp_place *p = &ndp->place[i];

		p->unit = &ndp->unit[i * o->units];
		p->ready = &ndp->ready[i * o->units];
		p->scratchpad = ndp->scratchpad + i * o->units * ndp->scratchpad_stride;
		SLIST_INSERT_HEAD(&ndp->places, p, link);
	}
	return 0;
}

static int alloc_instances(struct annex_ndp *ndp)
{
	size_t n = (size_t)ndp->opts.running + ndp->opts.waiting;

	ndp->instance = calloc(n, sizeof(*ndp->instance));
	ndp->thread = calloc(ndp->opts.threads, sizeof(*ndp->thread));
	ndp->tlb = ndp_tlb_create();
	if (!ndp->instance || !ndp->thread || !ndp->tlb)
		return -ENOMEM;
	TAILQ_INIT(&ndp->free);
	for (size_t i = 0; i < n; i++)
		TAILQ_INSERT_TAIL(&ndp->free, &ndp->instance[i], link);
	/* Each client has one more of its own. */
	for (ndp->past = PAST_MIN; ndp->past < 2 * (n + 1); ndp->past *= 2)
		;
	return 0;
}

/* Held for a few hundred nanoseconds at a time, so waiting threads spin first. */
static void init_lock(struct annex_ndp *ndp)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&ndp->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&ndp->work, NULL);
	pthread_cond_init(&ndp->settled, NULL);
}

int annex_ndp_create(const struct annex_ndp_opts *opts, struct annex_ndp **out)
{
	struct annex_ndp *ndp = calloc(1, sizeof(*ndp));
	int err;

	if (!ndp)
		return annex_fail(-ENOMEM, "NDP: no memory for the device");
	if (opts)
		ndp->opts = *opts;
	fill_in(&ndp->opts);
	err = check(&ndp->opts);
	if (err) {
		free(ndp);
		return err;
	}
	init_lock(ndp);
	TAILQ_INIT(&ndp->active);
	TAILQ_INIT(&ndp->queueing);
	SLIST_INIT(&ndp->batches);
	SLIST_INIT(&ndp->all_batches);
	err = alloc_places(ndp);
	if (!err)
		err = alloc_instances(ndp);
	if (err)
		err = annex_fail(err, "NDP: no memory for %u units and %u instances",
				 ndp->opts.units, ndp->opts.running);
	else
		err = ndp_workers_start(ndp);
	if (err)
		annex_ndp_destroy(ndp);
	else
		*out = ndp;
	return err;
}

void ndp_watch(struct annex_ndp *ndp, struct ndp_watch *w)
{
	pthread_mutex_lock(&ndp->lock);
	w->next = ndp->watch;
	ndp->watch = w;
	pthread_mutex_unlock(&ndp->lock);
}

void ndp_unwatch(struct annex_ndp *ndp, struct ndp_watch *w)
{
	pthread_mutex_lock(&ndp->lock);
	for (struct ndp_watch **at = &ndp->watch; *at; at = &(*at)->next) {
		if (*at != w)
			continue;
		*at = w->next;
		break;
	}
	pthread_mutex_unlock(&ndp->lock);
}

static struct ndp_watch *pop_watch(struct annex_ndp *ndp)
{
	struct ndp_watch *w;

	pthread_mutex_lock(&ndp->lock);
	w = ndp->watch;
	if (w)
		ndp->watch = w->next;
	pthread_mutex_unlock(&ndp->lock);
	return w;
}

void annex_ndp_destroy(struct annex_ndp *ndp)
{
	struct ndp_watch *w;
	struct ndp_batch *b;

	if (!ndp)
		return;
	while ((w = pop_watch(ndp)))
		w->gone(w);
	for (unsigned int i = 0; i < NDP_CLIENTS; i++)
		ndp_client_close(ndp->client[i]);
	ndp_workers_stop(ndp);
	while ((b = SLIST_FIRST(&ndp->all_batches))) {
		SLIST_REMOVE_HEAD(&ndp->all_batches, all);
		ndp_batch_destroy(b);
	}
	if (ndp->scratchpad)
		munmap(ndp->scratchpad, ndp->scratchpad_bytes);
	ndp_tlb_destroy(ndp->tlb);
	free(ndp->instance);
	free(ndp->thread);
	free(ndp->place);
	free(ndp->unit);
	free(ndp->ready);
	pthread_cond_destroy(&ndp->work);
	pthread_cond_destroy(&ndp->settled);
	pthread_mutex_destroy(&ndp->lock);
	free(ndp);
}

const struct annex_ndp_opts *ndp_options(const struct annex_ndp *ndp)
{
	return &ndp->opts;
}

void ndp_count(struct annex_ndp *ndp, struct ndp_counters *out)
{
	ndp_tlb_count(ndp->tlb, &out->tlb_hits, &out->tlb_misses);
	pthread_mutex_lock(&ndp->lock);
	out->launches = ndp->launches;
	out->instructions = ndp->instructions;
	pthread_mutex_unlock(&ndp->lock);
}
