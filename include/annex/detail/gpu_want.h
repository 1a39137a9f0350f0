/* SPDX-License-Identifier: MIT */
/*
 * Acquisition of the lines that a warp's lanes request. Programs include annex/gpu.h.
 *
 * The lanes run in rounds. Lanes that request the same line have a leader, the first of them. In a
 * round each leader takes the steps for its line that need no waiting: it takes a completion, or a
 * slot and a command for the line, or begins the write-back that frees a slot. Then all lanes carry
 * out the resulting jobs, and lanes whose line is valid leave. So a warp never waits with a claim
 * whose command was not sent, and never holds one line while it waits for another, unless the
 * program pins it as a span.
 */
#ifndef ANNEX_GPU_WANT_H
#define ANNEX_GPU_WANT_H

#include <annex/detail/gpu_move.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_GPU_LOOKS 64u /* slots that the clock passes in one round */
#define ANNEX_GPU_ENDS 4u   /* other commands that are polled meanwhile */
#define ANNEX_GPU_PAUSES 8u /* most pauses between two rounds */

/*
 * struct annex_gpu_want - A line that a lane requests.
 * @line: the line.
 * @deadline: time at which the request fails.
 * @flags: ANNEX_PIN_*.
 * @lanes: lanes that request the same line.
 * @victim: a slot whose line is being written back for this, or ANNEX_SLOT_NONE.
 * @slot: the line's slot, in the end.
 * @round: rounds so far.
 * @leader: the caller acts for @lanes.
 * @held: the leader has a reference.
 * @sent: the caller has begun the read.
 * @err: 0, or the error.
 */
struct annex_gpu_want {
	uint64_t line;
	uint64_t deadline;
	uint32_t flags;
	uint32_t lanes;
	uint32_t victim;
	uint32_t slot;
	uint32_t round;
	bool leader;
	bool held;
	bool sent;
	int err;
};

/*
 * Begin the write-back of the dirty line in a slot, with the job's reservation of the device that
 * it is written to first. Return: whether it begins.
 */
static inline ANNEX_HD bool annex_gpu_begin_write(struct annex_gpu_cache *c, uint32_t slot,
						  uint64_t line, uint64_t forbidden,
						  struct annex_gpu_job *job)
{
	if (!annex_line_clean(c->dir, line, forbidden, &slot))
		return false;
	job->kind = ANNEX_JOB_OUT;
	job->line = line;
	job->slot = slot;
	return true;
}

/* Whether annex_slot_look() got the slot. */
static inline ANNEX_HD bool annex_gpu_found(struct annex_gpu_cache *c, enum annex_look found)
{
	if (found == ANNEX_LOOK_VICTIM)
		annex_gpu_count(&c->stats.evictions, 1);
	return found == ANNEX_LOOK_VICTIM || found == ANNEX_LOOK_FREE;
}

/*
 * Take the slot whose write-back this request waited for, if it is still unused: the clock's hand
 * has passed it, and would find the next dirty line. Return: whether @w has the slot.
 */
static inline ANNEX_HD bool annex_gpu_take_victim(struct annex_gpu_cache *c,
						  struct annex_gpu_want *w,
						  struct annex_gpu_job *job)
{
	enum annex_look found;
	uint64_t line;

	if (w->victim == ANNEX_SLOT_NONE)
		return false;
	annex_gpu_advance(c, w->victim, NULL, job);
	found = annex_slot_look(c->dir, c->owner, w->victim, &line);
	if (found == ANNEX_LOOK_MOVING)
		return false;
	w->slot = w->victim;
	w->victim = ANNEX_SLOT_NONE;
	return annex_gpu_found(c, found);
}

/*
 * Begin the write-back of a dirty victim, with the job's reservation if that is of the victim's
 * device. Return: whether @job is now a job in place of a reservation.
 */
static inline ANNEX_HD bool annex_gpu_clean_victim(struct annex_gpu_cache *c,
						   struct annex_gpu_want *w, uint32_t slot,
						   struct annex_gpu_job *job)
{
	uint64_t line = annex_local_load(&c->owner[slot], ANNEX_RELAXED);
	uint32_t dev = annex_stripe_dev(c->stripes, line);
	struct annex_gpu_job other = annex_gpu_no_job();
	int err;

	if (line == ANNEX_SLOT_FREE || line == ANNEX_SLOT_TAKEN)
		return false;
	err = annex_gpu_reserve_or(c, dev, job, &other);
	if (err == -EAGAIN)
		annex_gpu_reap(c, &other);
	else if (err)
		annex_gpu_fail_on(c, err, line, dev);
	else if (annex_gpu_begin_write(c, slot, line, ANNEX_LINE_REFS, &other))
		w->victim = slot;
	else if (c->queues[job->queue].dev != dev)
		annex_gpu_unreserve(c, &other);
	return annex_gpu_adopt(c, job, &other);
}

/*
 * Take a slot from the clock, or begin another job in place of the job's reservation. Return:
 * whether @w has a slot.
 */
static inline ANNEX_HD bool annex_gpu_take_slot(struct annex_gpu_cache *c, struct annex_gpu_want *w,
						struct annex_gpu_job *job)
{
	uint32_t ends = 0;
	uint64_t line;

	for (uint32_t i = 0; i < ANNEX_GPU_LOOKS; i++) {
		/* Relaxed: only spreads threads over the slots. */
		uint32_t slot = annex_local_add(&c->hand, 1, ANNEX_RELAXED) % c->nslots;
		enum annex_look found = annex_slot_look(c->dir, c->owner, slot, &line);

		w->slot = slot;
		if (annex_gpu_found(c, found))
			return true;
		if (found == ANNEX_LOOK_DIRTY && annex_gpu_clean_victim(c, w, slot, job))
			return false;
		if (found == ANNEX_LOOK_MOVING && ends < ANNEX_GPU_ENDS) {
			struct annex_gpu_job other = annex_gpu_no_job();

			ends++;
			annex_gpu_advance(c, slot, job, &other);
			if (annex_gpu_adopt(c, job, &other))
				return false;
		}
	}
	return false;
}

/*
 * Begin to read an absent line, as far as possible without waiting. Return: 0, also if the read was
 * not begun, or an error.
 */
static inline ANNEX_HD int annex_gpu_begin_read(struct annex_gpu_cache *c, struct annex_gpu_want *w,
						struct annex_gpu_job *job)
{
	bool waiting = w->victim != ANNEX_SLOT_NONE;
	bool got = annex_gpu_take_victim(c, w, job);
	int err;

	if (job->kind || (waiting && !got && w->victim != ANNEX_SLOT_NONE))
		return 0;
	/* The identifier first: without one, a line would be evicted in vain. */
	err = annex_gpu_reserve_read(c, w->line, job);
	if (err) {
		if (got)
			annex_slot_free(c->owner, w->slot);
		if (err == -EAGAIN)
			annex_gpu_reap(c, job);
		return err == -EAGAIN ? 0 : annex_gpu_fail(c, err, w->line);
	}
	if (!got && !annex_gpu_take_slot(c, w, job)) {
		if (!job->kind)
			annex_gpu_unreserve(c, job);
		return 0;
	}
	job->line = w->line;
	job->slot = w->slot;
	/* Plain: the slot is the caller's, and annex_gpu_send() publishes its record. */
	c->moves[w->slot].left = c->ndevs / c->stripes - 1;
	if (!annex_line_claim(c->dir, c->owner, w->line, w->slot)) {
		annex_slot_free(c->owner, w->slot);
		annex_gpu_unreserve(c, job);
	} else if (w->flags & ANNEX_PIN_NEW) {
		annex_gpu_unreserve(c, job);
		job->kind = ANNEX_JOB_ZERO;
	} else if (!annex_gpu_send(c, job, ANNEX_NVM_READ)) {
		w->sent = true;
	} else {
		annex_line_absent(c->dir, w->line);
		annex_slot_free(c->owner, w->slot);
	}
	return 0;
}

/* A leader's part in a round. Return: whether its line is valid, or the request failed (err). */
static inline ANNEX_HD bool annex_gpu_step(struct annex_gpu_cache *c, struct annex_gpu_want *w,
					   struct annex_gpu_job *job)
{
	uint64_t *state = &c->dir[w->line], word, now;

	/* Acquire: pairs with annex_line_filled(). */
	word = annex_local_load(state, ANNEX_ACQUIRE);
	/* A GPU has more threads than the count has room for: try only without CROWDED. */
	if (!w->held)
		word = word & ANNEX_LINE_CROWDED ? ANNEX_LINE_CROWDED : annex_ref_get(state);
	w->held = w->held || word != ANNEX_LINE_CROWDED;
	if (word & ANNEX_LINE_VALID) {
		w->slot = annex_word_slot(word);
		return true;
	}
	if (!w->round)
		annex_gpu_count(&c->stats.misses, 1);
	w->err = annex_gpu_failed(c);
	if (w->err)
		return true;
	if (word & ANNEX_LINE_BUSY)
		annex_gpu_advance(c, annex_word_slot(word), NULL, job);
	else if (w->held)
		w->err = annex_gpu_begin_read(c, w, job);
	now = annex_now();
	if (!w->round)
		w->deadline = now + c->patience_ns;
	else if (now >= w->deadline && !job->kind && !w->err)
		w->err = annex_gpu_fail(c, word & ANNEX_LINE_BUSY ? -ETIMEDOUT : -EBUSY, w->line);
	return w->err != 0;
}

#define ANNEX_GPU_TRIES 4u

/*
 * annex_gpu_want_ahead() - Try to begin the reads that the lanes of @mask request, without waiting.
 */
static inline ANNEX_HD void annex_gpu_want_ahead(struct annex_gpu_cache *c, uint32_t mask,
						 struct annex_gpu_want *w)
{
	/* Each try may begin the write-back of a dirty line and skip its slot. */
	for (uint32_t i = 0; i < ANNEX_GPU_TRIES; i++) {
		struct annex_gpu_job job = annex_gpu_no_job();
		uint64_t word = annex_local_load(&c->dir[w->line], ANNEX_RELAXED);
		bool again = w->leader && !(word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY)) &&
			     !annex_gpu_failed(c) && !w->err;

		w->victim = ANNEX_SLOT_NONE;
		if (again)
			w->err = annex_gpu_begin_read(c, w, &job);
		annex_gpu_run_jobs(c, mask, &job);
		if (!annex_warp_ballot(mask, again && !w->sent))
			break;
	}
	if (w->sent)
		annex_gpu_count(&c->stats.prefetches, 1);
}

/*
 * annex_gpu_want_begin() - Begin the requests of the lanes of @mask.
 * @flags: ANNEX_PIN_*.
 */
static inline ANNEX_HD void annex_gpu_want_begin(uint32_t mask, uint64_t line, uint32_t flags,
						 struct annex_gpu_want *w)
{
	w->line = line;
	w->deadline = 0;
	w->flags = flags;
	/* Threads that write a line and threads that read it take separate references. */
	w->lanes = annex_warp_match(mask, line << 2 | flags);
	w->victim = ANNEX_SLOT_NONE;
	w->slot = 0;
	w->round = 0;
	w->leader = annex_warp_first(w->lanes) == annex_lane();
	w->held = false;
	w->sent = false;
	w->err = 0;
}

/*
 * annex_gpu_want_round() - One round of all lanes of @mask.
 *
 * Return: whether the caller's line is valid or the request failed; the same for all of w->lanes.
 */
static inline ANNEX_HD bool annex_gpu_want_round(struct annex_gpu_cache *c, uint32_t mask,
						 struct annex_gpu_want *w)
{
	struct annex_gpu_job job = annex_gpu_no_job();
	uint64_t news;
	bool done;

	done = w->leader && annex_gpu_step(c, w, &job);
	annex_gpu_run_jobs(c, mask, &job);
	if (done && w->err && w->held)
		annex_ref_put(&c->dir[w->line]);
	/* The leader's result: whether it is done, the error, the slot. */
	news = (uint64_t)done << 63 | (uint64_t)(uint32_t)-w->err << 32 | w->slot;
	news = annex_warp_shfl(mask, news, annex_warp_first(w->lanes));
	w->slot = (uint32_t)news;
	w->err = -(int)(news >> 32 & 0x7fffffff);
	done = news >> 63;
	if (done) {
		/* Only the leader has acquired the bytes; a shuffle does not order memory. */
		annex_warp_sync(w->lanes);
		return true;
	}
	/* Back off: more time for the device and for other warps with each round. */
	for (uint32_t i = 0; i <= w->round && i < ANNEX_GPU_PAUSES; i++)
		annex_warp_pause();
	w->round++;
	return false;
}

/*
 * annex_gpu_want_end() - Release the line. All of w->lanes call it, after a round without an error.
 */
static inline ANNEX_HD void annex_gpu_want_end(struct annex_gpu_cache *c,
					       const struct annex_gpu_want *w)
{
	/* All lanes have finished with the bytes; the leader publishes their stores. */
	annex_warp_sync(w->lanes);
	if (!w->leader)
		return;
	if (w->flags & (ANNEX_PIN_WRITE | ANNEX_PIN_NEW))
		annex_ref_put_dirty(&c->dir[w->line]);
	else
		annex_ref_put(&c->dir[w->line]);
}

#ifdef __cplusplus
}
#endif
#endif
