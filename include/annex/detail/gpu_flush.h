/* SPDX-License-Identifier: MIT */
/*
 * The GPU's part of a flush: writing dirty lines to the device. Programs include annex/gpu.h.
 */
#ifndef ANNEX_GPU_FLUSH_H
#define ANNEX_GPU_FLUSH_H

#include <annex/detail/gpu_want.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Progress of the flush of a slot. */
struct annex_gpu_flush {
	uint64_t first;
	uint64_t n;
	uint64_t deadline;
	uint32_t slot;
	bool sent; /* the write-back of the data that was dirty at the beginning has begun */
	int err;
};

/* The line in the slot, if it is within the range; otherwise UINT64_MAX. */
static inline ANNEX_HD uint64_t annex_gpu_flush_line(struct annex_gpu_cache *c,
						     const struct annex_gpu_flush *f)
{
	uint64_t line = annex_local_load(&c->owner[f->slot], ANNEX_RELAXED);

	return line >= f->first && line - f->first < f->n && line < c->nlines ? line : UINT64_MAX;
}

/* Take the steps for a slot that need no waiting. Return: whether the flush has ended or failed. */
static inline ANNEX_HD bool annex_gpu_flush_step(struct annex_gpu_cache *c,
						 struct annex_gpu_flush *f,
						 struct annex_gpu_job *job)
{
	uint64_t line, word;
	uint32_t phase;

	f->err = annex_gpu_failed(c);
	if (f->err)
		return true;
	annex_gpu_advance(c, f->slot, NULL, job);
	/* Acquire: pairs with the release of the thread that ended it, and sees its changes. */
	phase = ANNEX_MOVE_PHASE(annex_local_load(&c->moves[f->slot].state, ANNEX_ACQUIRE));
	/* The slot of a lost read has no line. A lost write is an error, which ends the flush. */
	if (phase == ANNEX_MOVE_NONE || phase == ANNEX_MOVE_LOST) {
		line = annex_gpu_flush_line(c, f);
		if (line == UINT64_MAX || f->sent)
			return true;
		word = annex_local_load(&c->dir[line], ANNEX_RELAXED);
		if (annex_word_slot(word) != f->slot ||
		    !(word & (ANNEX_LINE_DIRTY | ANNEX_LINE_WRITEBACK | ANNEX_LINE_BUSY)))
			return true;
		f->err = annex_gpu_reserve(c, annex_stripe_dev(c->stripes, line), job);
		if (!f->err && !annex_gpu_begin_write(c, f->slot, line, 0, job))
			annex_gpu_unreserve(c, job);
		f->sent = job->kind == ANNEX_JOB_OUT;
		if (f->err == -EAGAIN)
			annex_gpu_reap(c, job);
		f->err = f->err && f->err != -EAGAIN ? annex_gpu_fail(c, f->err, line) : 0;
	}
	if (!f->err && !job->kind && annex_now() >= f->deadline)
		f->err = annex_gpu_fail(c, -ETIMEDOUT, annex_gpu_flush_line(c, f));
	return f->err != 0;
}

/**
 * annex_gpu_flush_slot() - Write the line in a slot back if it is dirty, and wait for the write.
 * @c: the context.
 * @slot: the slot, a different one for each lane, below the context's nslots.
 * @first: first line to write back.
 * @n: number of lines; a line outside of this range is skipped.
 *
 * The host runs it over all slots. When it returns, no earlier command for the slot's line is in
 * flight.
 *
 * Return: 0, or the context's first error: the line stays dirty.
 */
static inline ANNEX_HD int annex_gpu_flush_slot(struct annex_gpu_cache *c, uint32_t slot,
						uint64_t first, uint64_t n)
{
	uint32_t mask = annex_warp_active();
	struct annex_gpu_flush f;

	f.first = first;
	f.n = n;
	f.deadline = annex_now() + c->patience_ns;
	f.slot = slot;
	f.sent = false;
	f.err = 0;
	for (;;) {
		struct annex_gpu_job job = annex_gpu_no_job();
		bool done = annex_gpu_flush_step(c, &f, &job);

		annex_gpu_run_jobs(c, mask, &job);
		mask = annex_warp_ballot(mask, !done);
		if (done)
			return f.err;
		annex_warp_pause();
	}
}

#ifdef __cplusplus
}
#endif
#endif
