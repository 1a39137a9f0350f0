// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <annex/warp.h>
#include "tests/unit/random.h"
#include "twin.h"

#define LANES ANNEX_WARP_LANES
#define STACK (256u << 10)
#define EARLY 16u /* one choice in so many lets lanes go on before others have caught up */

/* The sanitizers are told of fibers; without them these are nothing. */
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#define WITH_ASAN __has_feature(address_sanitizer)
#else
#define WITH_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#define WITH_TSAN __has_feature(thread_sanitizer)
#else
#define WITH_TSAN 0
#endif

#if WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if WITH_TSAN
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(p) ((void)(p))
#define __tsan_release(p) ((void)(p))
#endif

enum call {
	NOTHING, /* may go on */
	ENDED,
	ACTIVE,
	MATCH,
	SHFL,
	BALLOT,
	SYNC,
};

/* A place that a fiber can be left at and entered again. */
struct fiber {
	ucontext_t context;
	void *stack;
	size_t stack_bytes;
	void *fake_stack; /* ASan's */
	void *tsan;
};

struct lane {
	struct fiber fiber;
	enum call call; /* the call that it waits in */
	const void *site;
	uint32_t mask;
	uint32_t from;
	uint64_t value;
	uint64_t result;
	unsigned int thread;
};

struct warp {
	struct lane lanes[LANES];
	struct fiber main;
	struct fiber *left; /* the one that was left last */
	unsigned int n;
	unsigned int current;
	unsigned int pauses;
	uint32_t block;
	uint64_t random;
	void (*kernel)(void *arg, unsigned int thread);
	void *arg;
	void *start; /* what the launch published */
};

static _Thread_local struct warp *self;

/* Entered a fiber, maybe for the first time. */
ANNEX_RACY static void arrived(struct fiber *f)
{
#if WITH_ASAN
	const void *bottom;
	size_t bytes;

	__sanitizer_finish_switch_fiber(f->fake_stack, &bottom, &bytes);
	if (!self->left->stack) { /* the thread's own stack, as it is now known */
		self->left->stack = (void *)bottom;
		self->left->stack_bytes = bytes;
	}
#else
	(void)f;
#endif
}

/* From one fiber to another. Nothing is ordered by it: a warp's lanes are not, either. */
ANNEX_RACY static void go(struct fiber *from, struct fiber *to, bool ends)
{
	self->left = from;
#if WITH_ASAN
	__sanitizer_start_switch_fiber(ends ? NULL : &from->fake_stack, to->stack, to->stack_bytes);
#endif
#if WITH_TSAN
	__tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
	if (ends)
		setcontext(&to->context);
	swapcontext(&from->context, &to->context);
	arrived(from);
}

ANNEX_RACY static void enter_lane(void)
{
	struct lane *l = &self->lanes[self->current];

	arrived(&l->fiber);
	__tsan_acquire(&self->start);
	self->kernel(self->arg, l->thread);
	__tsan_release(&self->main);
	l->call = ENDED;
	go(&l->fiber, &self->main, true);
}

/* Leave the lane until its call has a result. */
ANNEX_RACY static uint64_t park(enum call call, uint32_t mask, uint64_t value, uint32_t from,
				const void *site)
{
	struct warp *w = self;
	struct lane *l = &w->lanes[w->current];

	l->call = call;
	l->mask = mask;
	l->value = value;
	l->from = from;
	l->site = site;
	go(&l->fiber, &w->main, false);
	return l->result;
}

ANNEX_RACY static uint32_t twin_active(void)
{
	return (uint32_t)park(ACTIVE, 0, 0, 0, __builtin_return_address(0));
}

ANNEX_RACY static uint32_t twin_lane(void)
{
	return self->current;
}

ANNEX_RACY static uint32_t twin_block(void)
{
	return self->block;
}

ANNEX_RACY static uint32_t twin_match(uint32_t mask, uint64_t value)
{
	return (uint32_t)park(MATCH, mask, value, 0, NULL);
}

ANNEX_RACY static uint64_t twin_shfl(uint32_t mask, uint64_t value, uint32_t from)
{
	return park(SHFL, mask, value, from, NULL);
}

ANNEX_RACY static uint32_t twin_ballot(uint32_t mask, bool value)
{
	return (uint32_t)park(BALLOT, mask, value, 0, NULL);
}

ANNEX_RACY static void twin_sync(uint32_t mask)
{
	struct warp *w = self;

	/* All release before any acquires, since all park in between. */
	__tsan_release(&w->lanes[__builtin_ctz(mask)].mask);
	park(SYNC, mask, 0, 0, NULL);
	__tsan_acquire(&w->lanes[__builtin_ctz(mask)].mask);
}

ANNEX_RACY static void twin_pause(void)
{
	/* If all lanes pause, let other warps and the thread that serves the queues run. */
	if (++self->pauses > LANES) {
		self->pauses = 0;
		sched_yield();
	}
	park(NOTHING, 0, 0, 0, NULL);
}

static const struct annex_host_warp twin_warp = {
	.active = twin_active,
	.lane = twin_lane,
	.block = twin_block,
	.match = twin_match,
	.shfl = twin_shfl,
	.ballot = twin_ballot,
	.sync = twin_sync,
	.pause = twin_pause,
};

ANNEX_RACY static uint32_t waiting_for(const struct warp *w, enum call call)
{
	uint32_t mask = 0;

	for (unsigned int i = 0; i < w->n; i++)
		mask |= (uint32_t)(w->lanes[i].call == call) << i;
	return mask;
}

ANNEX_RACY static void stuck(const struct warp *w)
{
	fprintf(stderr, "twin: lanes of a warp wait for each other for ever:\n");
	for (unsigned int i = 0; i < w->n; i++)
		fprintf(stderr, "  lane %u: call %d, mask %08x\n", i, (int)w->lanes[i].call,
			w->lanes[i].mask);
	abort();
}

/* A random lane of a mask that is not empty. */
ANNEX_RACY static unsigned int any_of(struct warp *w, uint32_t mask)
{
	unsigned int skip =
		(unsigned int)(random_next(&w->random) % (unsigned int)__builtin_popcount(mask));

	while (skip--)
		mask &= mask - 1;
	return (unsigned int)__builtin_ctz(mask);
}

/* What a lane gets of a call that all of its mask have made. */
ANNEX_RACY static uint64_t outcome(const struct warp *w, const struct lane *l)
{
	uint64_t result = 0;

	if (l->call == SHFL)
		return w->lanes[l->from].value;
	for (uint32_t m = l->mask; m; m &= m - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(m);
		uint64_t v = w->lanes[i].value;

		result |= (uint64_t)(l->call == MATCH ? v == l->value : v != 0) << i;
	}
	return result;
}

/* Let the lanes of a call go on, if all have come. */
ANNEX_RACY static bool complete(struct warp *w, unsigned int first)
{
	struct lane *l = &w->lanes[first];
	uint32_t mask = l->mask;
	enum call call = l->call;

	if (!(mask >> first & 1))
		stuck(w);
	for (uint32_t m = mask; m; m &= m - 1) {
		const struct lane *other = &w->lanes[__builtin_ctz(m)];

		if (other->call != call || other->mask != mask)
			return false;
		if (call == SHFL && !(mask >> other->from & 1))
			stuck(w);
	}
	for (uint32_t m = mask; m; m &= m - 1)
		w->lanes[__builtin_ctz(m)].result = outcome(w, &w->lanes[__builtin_ctz(m)]);
	for (uint32_t m = mask; m; m &= m - 1)
		w->lanes[__builtin_ctz(m)].call = NOTHING;
	return true;
}

ANNEX_RACY static bool complete_any(struct warp *w)
{
	for (unsigned int i = 0; i < w->n; i++)
		if (w->lanes[i].call > ACTIVE && complete(w, i))
			return true;
	return false;
}

/* Release lanes that call annex_warp_active() at one place: usually all of them together. */
ANNEX_RACY static void let_go(struct warp *w, uint32_t waiting)
{
	const void *site = w->lanes[any_of(w, waiting)].site;
	uint32_t some = random_next(&w->random) % 4 ? UINT32_MAX : (uint32_t)w->random, here = 0;

	for (uint32_t m = waiting; m; m &= m - 1)
		if (w->lanes[__builtin_ctz(m)].site == site)
			here |= m & -m;
	if (here & some)
		here &= some;
	for (uint32_t m = here; m; m &= m - 1) {
		w->lanes[__builtin_ctz(m)].call = NOTHING;
		w->lanes[__builtin_ctz(m)].result = here;
	}
}

ANNEX_RACY static void run_warp(struct warp *w)
{
	for (;;) {
		uint32_t ready = waiting_for(w, NOTHING), active = waiting_for(w, ACTIVE);

		if (active && (!ready || random_next(&w->random) % EARLY == 0)) {
			let_go(w, active);
		} else if (ready) {
			w->current = any_of(w, ready);
			go(&w->main, &w->lanes[w->current].fiber, false);
			complete_any(w);
		} else if (!complete_any(w)) {
			break;
		}
	}
	if (waiting_for(w, ENDED) != (w->n == LANES ? UINT32_MAX : (1u << w->n) - 1))
		stuck(w);
}

static void *warp_thread(void *arg)
{
	struct warp *w = arg;

	self = w;
	annex_host_warp_set(&twin_warp);
#if WITH_TSAN
	w->main.tsan = __tsan_get_current_fiber();
#endif
	__tsan_release(&w->start);
	for (unsigned int i = 0; i < w->n; i++) {
		struct fiber *f = &w->lanes[i].fiber;

		f->stack_bytes = STACK;
		f->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (f->stack == MAP_FAILED || getcontext(&f->context))
			abort();
		f->context.uc_stack.ss_sp = f->stack;
		f->context.uc_stack.ss_size = STACK;
		makecontext(&f->context, enter_lane, 0);
		/* ASan would clear all of its shadow at each switch, which it is told of anyway. */
		f->context.uc_stack.ss_size = 0;
#if WITH_TSAN
		f->tsan = __tsan_create_fiber(0);
#endif
	}
	run_warp(w);
	__tsan_acquire(&w->main);
	for (unsigned int i = 0; i < w->n; i++) {
#if WITH_TSAN
		__tsan_destroy_fiber(w->lanes[i].fiber.tsan);
#endif
		munmap(w->lanes[i].fiber.stack, STACK);
	}
	annex_host_warp_set(NULL);
	return NULL;
}

void twin_run(const struct twin_grid *grid, void (*kernel)(void *arg, unsigned int thread),
	      void *arg)
{
	struct warp *warps = calloc(grid->warps, sizeof(*warps));
	pthread_t *threads = calloc(grid->warps, sizeof(*threads));
	uint64_t random = grid->seed;

	if (!warps || !threads)
		abort();
	for (unsigned int i = 0; i < grid->warps; i++) {
		struct warp *w = &warps[i];

		w->n = i + 1 == grid->warps && grid->tail ? grid->tail : LANES;
		w->block = i / grid->per_block;
		w->random = random_next(&random);
		w->kernel = kernel;
		w->arg = arg;
		for (unsigned int k = 0; k < w->n; k++)
			w->lanes[k].thread = i * LANES + k;
	}
	for (unsigned int i = 0; i < grid->warps; i++)
		if (pthread_create(&threads[i], NULL, warp_thread, &warps[i]))
			abort();
	for (unsigned int i = 0; i < grid->warps; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(warps);
}
