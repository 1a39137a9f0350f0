// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "finish.h"
#include "job.h"
#include "move.h"
#include "page.h"
#include "request.h"

#define PAGE_MS 60000u /* time limit for bringing in the page of a small tensor */

static int request_begin(struct annex_space *s, const void *ptr, uint64_t bytes,
			 const struct want *want, struct annex_move **move, struct job_list *start)
{
	uint32_t first, n;
	struct tensor *t = annex_tensor_at(s, ptr, bytes, &first, &n);
	struct annex_move *m;

	if (!t)
		return annex_fail(-EINVAL, "move: %llu bytes at %p are not in one tensor",
				  (ull)bytes, ptr);
	m = annex_move_new(s, t, want);
	if (!m)
		return annex_fail(-ENOMEM, "move: no memory");
	m->at = first;
	m->end = first + n;
	m->detached = !move;
	if (want->to == ANNEX_TIER_GPU && want->most)
		annex_jobs_recall(s, first, n);
	if (s->ended.head)
		annex_jobs_settle(s, start);
	/* Pages that are needed soon should not be evicted next. */
	if (want->to == ANNEX_TIER_GPU)
		annex_tensor_use(s, t);
	if (move)
		*move = m;
	annex_move_add(s, t, m, start);
	annex_jobs_settle(s, start);
	return 0;
}

int annex_move_begin(struct annex_space *s, const void *ptr, uint64_t bytes,
		     const struct want *want, struct annex_move **move)
{
	struct job_list start = {0};
	struct annex_move *m = NULL;
	int err;

	if (s->fork.child)
		return fork_refuse("space");
	if (want->to >= ANNEX_TIERS || (want->to != ANNEX_TIER_GPU && !s->tiers[want->to].present))
		return annex_fail(-ENXIO, "move: the space has no tier %u", want->to);
	pthread_mutex_lock(&s->lock);
	err = request_begin(s, ptr, bytes, want, move ? &m : NULL, &start);
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	/* *@move may be in the space itself: the handler of its fault needs the lock. */
	if (move && !err)
		*move = m;
	return err;
}

int annex_prefetch(struct annex_space *s, const void *ptr, uint64_t bytes, uint64_t deadline,
		   struct annex_move **move)
{
	struct want want = {
		.to = ANNEX_TIER_GPU, .keep = true, .most = UINT32_MAX, .deadline = deadline};

	return annex_move_begin(s, ptr, bytes, &want, move);
}

int annex_pre_evict(struct annex_space *s, const void *ptr, uint64_t bytes, unsigned int tier,
		    struct annex_move **move)
{
	struct want want = {.to = (uint8_t)tier, .most = UINT32_MAX};

	if (tier == ANNEX_TIER_GPU || tier >= ANNEX_TIERS)
		return annex_fail(-ENXIO, "move: nothing is evicted to tier %u", tier);
	return annex_move_begin(s, ptr, bytes, &want, move);
}

/* Bring in a held page before the caller accesses it: a page fault could not return an error. */
static int bring_page(struct annex_space *s, void *p, uint64_t bytes)
{
	struct want want = {.to = ANNEX_TIER_GPU, .urgent = true, .keep = true, .most = UINT32_MAX};
	struct annex_move *move;
	int err = annex_move_begin(s, p, bytes, &want, &move);

	if (err)
		return err;
	err = annex_move_wait(move, PAGE_MS);
	if (err == -ETIMEDOUT)
		annex_move_forget(move);
	return err;
}

/* Zero the place of a freed small tensor. */
static int clear(struct annex_space *s, void *p, uint64_t bytes)
{
	int err = annex_hold(s, p);

	if (err)
		return err;
	if (!annex_tensor_is_there(s, p))
		err = bring_page(s, p, bytes);
	if (!err)
		memset(p, 0, bytes);
	annex_let_go(s, p);
	return err;
}

int annex_alloc(struct annex_space *s, const char *name, uint64_t bytes, void **ptr)
{
	bool dirty;
	void *p;
	int err = annex_tensor_new(s, name, bytes, false, &p, &dirty);

	if (!err && dirty) {
		err = clear(s, p, bytes);
		if (err) {
			annex_free(s, p);
			annex_tensor_shut(s, p);
		}
	}
	if (!err)
		*ptr = p;
	return err;
}

int annex_alloc_uninit(struct annex_space *s, const char *name, uint64_t bytes, void **ptr)
{
	bool dirty;

	return annex_tensor_new(s, name, bytes, true, ptr, &dirty);
}

int annex_free(struct annex_space *s, void *ptr)
{
	struct job_list start = {0};
	struct tensor *t;
	bool shares;

	if (!ptr)
		return 0;
	if (s->fork.child)
		return fork_refuse("space");
	pthread_mutex_lock(&s->lock);
	t = annex_tensor_end(s, ptr, &shares);
	if (t && !shares) {
		annex_moves_cancel(s, t);
		annex_room_drop(s, t);
		annex_tensor_rest(s, t);
		annex_jobs_settle(s, &start);
	}
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	return t ? 0 : annex_fail(-EINVAL, "free: no tensor begins at %p", ptr);
}

/* Count all of its pages as dirty: writes are not detected from now on. */
static void may_be_written(struct annex_space *s, const struct tensor *t)
{
	uint8_t both = PAGE_DEVICE | PAGE_BELOW;
	uint32_t end = t->first + t->n, part;

	for (uint32_t i = t->first; i < end; i += part) {
		part = annex_pages_alike(s, i, end - i, both | PAGE_BUSY);
		if ((s->pages[i].flags & (both | PAGE_BUSY)) == both)
			annex_pages_dirty(s, i, part);
	}
}

bool annex_tensor_is_there(struct annex_space *s, const void *ptr)
{
	uint8_t mask = PAGE_DEVICE | PAGE_BUSY | PAGE_SHOWN;
	uint32_t first, n;
	const struct tensor *t;
	bool there;

	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	there = t && (s->pages[t->first].flags & mask) == (PAGE_DEVICE | PAGE_SHOWN) &&
		annex_pages_alike(s, t->first, t->n, mask) == t->n;
	pthread_mutex_unlock(&s->lock);
	return there;
}

void annex_tensor_expect(struct annex_space *s, uint64_t bytes)
{
	struct job_list start = {0};
	struct tensor *t;

	pthread_mutex_lock(&s->lock);
	t = annex_tensor_ahead(s, (uint32_t)((bytes + ANNEX_MEM_PAGE - 1) / ANNEX_MEM_PAGE));
	if (t) {
		annex_move_make(s, t);
		annex_tensor_rest(s, t); /* there was no memory for a job */
		annex_jobs_settle(s, &start);
	}
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
}

int annex_tensor_write(struct annex_space *s, const void *ptr)
{
	uint32_t first, n;
	struct tensor *t;

	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	if (t)
		may_be_written(s, t);
	pthread_mutex_unlock(&s->lock);
	return t ? 0 : annex_fail(-EINVAL, "write: %p is in no tensor", ptr);
}

/* @flies: the holder is a kernel in a stream. */
static void take_hold(struct annex_space *s, struct tensor *t, bool writes, bool flies,
		      struct job_list *start)
{
	t->holds++;
	t->writers += writes;
	t->flights += flies;
	/* If accesses by the kernel are not detected, it may write held tensors. */
	if (writes && s->user_only)
		may_be_written(s, t);
	annex_moves_stay(s, t, start);
	annex_tensor_use(s, t);
	annex_jobs_settle(s, start);
}

int annex_tensor_hold(struct annex_space *s, const void *ptr, bool on, bool writes)
{
	struct job_list start = {0};
	uint32_t first, n;
	struct tensor *t;
	int err = 0;

	if (s->fork.child)
		return fork_refuse("space");
	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	if (!t || (!on && (t->holds <= t->flights || (writes && !t->writers)))) {
		err = annex_fail(-EINVAL, "hold: %p is in no tensor%s", ptr,
				 t ? " that is held" : "");
	} else if (on) {
		take_hold(s, t, writes, false, &start);
	} else {
		t->holds--;
		t->writers -= writes;
		annex_tensor_use(s, t);
		annex_jobs_settle(s, &start);
	}
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	return err;
}

void annex_tensor_land(struct annex_space *s, const void *ptr, bool writes, struct job_list *start)
{
	struct tensor *t =
		tensor_of(s, (uint32_t)(((uintptr_t)ptr - (uintptr_t)s->base) / ANNEX_MEM_PAGE));

	t->holds--;
	t->writers -= writes;
	t->flights--;
	if (t->live)
		annex_moves_go_on(s, t, start);
	else if (!t->flights)
		annex_tensor_gone(s, t);
}

int annex_tensor_fly(struct annex_space *s, const void *ptr, bool on, bool writes)
{
	struct job_list start = {0};
	uint32_t first, n;
	struct tensor *t = NULL;

	pthread_mutex_lock(&s->lock);
	if (on)
		t = annex_tensor_at(s, ptr, 1, &first, &n);
	if (t)
		take_hold(s, t, writes, true, &start);
	if (!on) {
		annex_tensor_land(s, ptr, writes, &start);
		annex_jobs_settle(s, &start);
	}
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	return t || !on ? 0 : annex_fail(-EINVAL, "hold: %p is in no tensor", ptr);
}

int annex_hold(struct annex_space *s, const void *ptr)
{
	return annex_tensor_hold(s, ptr, true, true);
}

int annex_let_go(struct annex_space *s, const void *ptr)
{
	return annex_tensor_hold(s, ptr, false, true);
}
