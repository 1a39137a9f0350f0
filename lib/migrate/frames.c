// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/log.h"
#include "core/thread.h"
#include "frames.h"

#define BATCH 64u /* most frames of one call of the driver */
#define SHARE 16u /* a transfer has at most 1/SHARE of the device tier */

/* NONE: no memory. IDLE: memory without pages. CHANGES: a thread maps or unmaps memory. */
enum frame_state { NONE, IDLE, USED, CHANGES };

/* struct frame - @pages: its pages in the tier, or being brought in; under the space's lock. */
struct frame {
	uint32_t pages;
	enum frame_state state;
};

/**
 * struct frame_table - Frames of a space.
 * @lock: protects states and their counts; taken after the space's.
 * @changed: signalled when a frame's state is no longer CHANGES.
 * @n: number of frames, with memory or without.
 * @charged: number of frames with pages.
 * @backed: number of frames with memory, or about to get memory.
 * @idle: number of frames in state IDLE.
 * @limit: largest number of frames.
 * @hand: frame at which the search for idle frames continues.
 * @of: the frames.
 */
struct frame_table {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n, charged, backed, idle, limit, hand;
	struct frame of[];
};

/* struct run - Neighbouring frames that a thread changes: @n from @first, with memory @from. */
struct run {
	uint32_t first, n;
	void *from[BATCH];
};

static void *address(const struct annex_space *s, uint32_t page)
{
	return s->base + pages_bytes(page);
}

static void *frame_address(const struct annex_space *s, uint32_t i)
{
	return address(s, i * s->frame_pages);
}

static uint32_t index_of(const struct annex_space *s, const void *at)
{
	return (uint32_t)((uint64_t)((const uint8_t *)at - s->base) / s->opts.frames->bytes);
}

uint32_t annex_frames_job(uint64_t device)
{
	uint32_t n = JOB_PAGES;

	while (n < JOB_MOST && 2 * SHARE * pages_bytes(n) <= device)
		n *= 2;
	return n;
}

uint64_t annex_frames_least(const struct annex_frames *f, uint32_t job_pages)
{
	uint64_t pages = f->bytes / ANNEX_MEM_PAGE;

	/* For a job that begins with the last page of a frame. */
	return ((job_pages - 2) / pages + 2) * f->bytes;
}

int annex_frames_start(struct annex_space *s)
{
	const struct annex_frames *f = s->opts.frames;
	uint32_t n = (uint32_t)(s->opts.size / f->bytes);
	void *base;
	int err;

	s->frame_pages = (uint32_t)(f->bytes / ANNEX_MEM_PAGE);
	s->frames = calloc(1, sizeof(*s->frames) + n * sizeof(s->frames->of[0]));
	if (!s->frames)
		return annex_fail(-ENOMEM, "space: no memory for a table of frames");
	annex_mutex_init(&s->frames->lock);
	pthread_cond_init(&s->frames->changed, NULL);
	s->frames->n = n;
	s->frames->limit = (uint32_t)(s->opts.device / f->bytes);
	err = f->reserve(f->ctx, s->opts.size, &base);
	if (err)
		return err;
	s->base = base;
	return 0;
}

static int bare(struct annex_space *s, uint32_t i)
{
	const struct annex_frames *f = s->opts.frames;
	int err = f->bare(f->ctx, frame_address(s, i));

	if (err)
		annex_log(ANNEX_LOG_WARNING, "space: %s: memory is not given back: %s", f->name,
			  annex_last_error());
	return err;
}

void annex_frames_stop(struct annex_space *s)
{
	const struct annex_frames *f = s->opts.frames;
	struct frame_table *t = s->frames;

	for (uint32_t i = 0; s->base && i < t->n; i++)
		if (t->of[i].state != NONE)
			bare(s, i);
	if (s->base)
		f->release(f->ctx, s->base, s->opts.size);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Number of pages of frame @i among these pages. */
static uint32_t part(const struct annex_space *s, uint32_t i, uint32_t first, uint32_t n)
{
	uint32_t from = i * s->frame_pages, to = from + s->frame_pages;

	from = from < first ? first : from;
	to = to > first + n ? first + n : to;
	return to - from;
}

uint32_t annex_frames_cost(const struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t last = (first + n - 1) / s->frame_pages, more = 0;

	for (uint32_t i = first / s->frame_pages; i <= last; i++)
		more += s->frames->of[i].pages ? 0 : s->frame_pages;
	return more;
}

void annex_frames_charge(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t last = (first + n - 1) / s->frame_pages, more = annex_frames_cost(s, first, n);

	for (uint32_t i = first / s->frame_pages; i <= last; i++)
		s->frames->of[i].pages += part(s, i, first, n);
	s->device += more;
	pthread_mutex_lock(&s->frames->lock);
	s->frames->charged += more / s->frame_pages;
	pthread_mutex_unlock(&s->frames->lock);
}

/* The frame has no pages any more. After a failed job it may have no memory. */
static void rest(struct annex_space *s, uint32_t i)
{
	const struct annex_frames *f = s->opts.frames;
	struct frame_table *t = s->frames;

	t->charged--;
	if (t->of[i].state != USED)
		return;
	if (f->idle)
		f->idle(f->ctx, frame_address(s, i), 1);
	t->of[i].state = IDLE;
	t->idle++;
}

void annex_frames_discharge(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t last = (first + n - 1) / s->frame_pages;

	pthread_mutex_lock(&s->frames->lock);
	for (uint32_t i = first / s->frame_pages; i <= last; i++) {
		s->frames->of[i].pages -= part(s, i, first, n);
		if (s->frames->of[i].pages)
			continue;
		rest(s, i);
		s->device -= s->frame_pages;
	}
	pthread_mutex_unlock(&s->frames->lock);
}

void annex_frames_limit(struct annex_space *s, uint32_t pages)
{
	pthread_mutex_lock(&s->frames->lock);
	s->frames->limit = pages / s->frame_pages;
	pthread_mutex_unlock(&s->frames->lock);
}

/* Most frames with memory: held tensors may exceed the limit. */
static uint32_t most(const struct frame_table *t)
{
	return t->limit > t->charged ? t->limit : t->charged;
}

/* Take an idle frame, in state CHANGES from now on. There must be one. */
static uint32_t take_idle(struct frame_table *t)
{
	while (t->of[t->hand].state != IDLE)
		t->hand = t->hand + 1 < t->n ? t->hand + 1 : 0;
	t->of[t->hand].state = CHANGES;
	t->idle--;
	return t->hand;
}

/* Address of the memory to move to frame @i, which has none in use; NULL: new memory. */
static void *source(struct annex_space *s, uint32_t i, bool scarce)
{
	struct frame_table *t = s->frames;
	bool own = t->of[i].state == IDLE;

	t->of[i].state = CHANGES;
	t->idle -= own;
	if (own)
		return frame_address(s, i);
	if (t->idle && (scarce || t->backed >= most(t)))
		return frame_address(s, take_idle(t));
	t->backed++;
	return NULL;
}

/*
 * Claim unused neighbours from @first to @last for @run. Return: whether all frames are used, or
 * other threads change them; @run is then empty.
 */
static bool claim(struct annex_space *s, uint32_t first, uint32_t last, bool scarce,
		  struct run *run)
{
	struct frame_table *t = s->frames;
	bool changes = false;

	run->n = 0;
	for (uint32_t i = first; i <= last && run->n < BATCH; i++) {
		enum frame_state state = t->of[i].state;

		changes |= state == CHANGES;
		if (state == USED || state == CHANGES) {
			if (run->n)
				break;
			continue;
		}
		run->first = run->n ? run->first : i;
		run->from[run->n++] = source(s, i, scarce);
	}
	return run->n || changes;
}

/* Record that the run has memory, and its previous frames have none; after an error neither. */
static void settle(struct annex_space *s, const struct run *run, int err)
{
	struct frame_table *t = s->frames;

	for (uint32_t i = 0; i < run->n; i++) {
		if (run->from[i])
			t->of[index_of(s, run->from[i])].state = NONE;
	}
	for (uint32_t i = run->first; i < run->first + run->n; i++)
		t->of[i].state = err ? NONE : USED;
	t->backed -= err ? run->n : 0;
	pthread_cond_broadcast(&t->changed);
}

static int back(struct annex_space *s, uint32_t first, uint32_t last)
{
	const struct annex_frames *f = s->opts.frames;
	struct frame_table *t = s->frames;
	bool scarce = false;
	struct run run;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	while (!err && claim(s, first, last, scarce, &run)) {
		if (!run.n) {
			/* No other thread waits for this one meanwhile. */
			THREAD_KEPT(pthread_cond_wait(&t->changed, &t->lock));
			continue;
		}
		pthread_mutex_unlock(&t->lock);
		err = f->back(f->ctx, frame_address(s, run.first), run.n, run.from);
		pthread_mutex_lock(&t->lock);
		settle(s, &run, err);
		/* Other users may have the GPU's memory: use idle frames. */
		if (err == -ENOMEM && !scarce && t->idle) {
			scarce = true;
			err = 0;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

int annex_frames_make(struct annex_space *s, uint32_t first, uint32_t n, bool zeroes)
{
	const struct annex_frames *f = s->opts.frames;
	int err = back(s, first / s->frame_pages, (first + n - 1) / s->frame_pages);

	return err || !zeroes ? err : f->zero(f->ctx, address(s, first), pages_bytes(n));
}

int annex_frames_copy(struct annex_space *s, uint32_t first, uint32_t n, void *memory, bool in)
{
	const struct annex_frames *f = s->opts.frames;
	int err = in ? annex_frames_make(s, first, n, false) : 0;

	if (err)
		return err;
	return in ? f->put(f->ctx, address(s, first), memory, pages_bytes(n))
		  : f->get(f->ctx, memory, address(s, first), pages_bytes(n));
}

bool annex_frames_exceed(struct annex_space *s)
{
	struct frame_table *t = s->frames;
	bool exceed;

	pthread_mutex_lock(&t->lock);
	exceed = t->idle && t->backed > most(t);
	pthread_mutex_unlock(&t->lock);
	return exceed;
}

void annex_frames_trim(struct annex_space *s, bool all)
{
	struct frame_table *t = s->frames;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	while (!err && t->idle && (all || t->backed > most(t))) {
		uint32_t i = take_idle(t);

		pthread_mutex_unlock(&t->lock);
		err = bare(s, i);
		pthread_mutex_lock(&t->lock);
		/* After an error the frame stays mapped, and can be used. */
		t->of[i].state = err ? IDLE : NONE;
		t->idle += err ? 1 : 0;
		t->backed -= err ? 0 : 1;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
}
