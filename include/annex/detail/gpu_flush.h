/* SPDX-License-Identifier: MIT */
/*
 * The GPU's part of a flush: dirty lines go to the device. Programs include annex/gpu.h.
 */
#ifndef ANNEX_GPU_FLUSH_H
#define ANNEX_GPU_FLUSH_H

#include <annex/detail/gpu_want.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far the flush of a slot has come. */
struct annex_gpu_flush {
	uint64_t first;
	uint64_t n;
	uint64_t deadline;
	uint32_t slot;
	bool sent; /* what was dirty at the beginning is on its way */
	int err;
};

/* The line in the slot, if there is one to be looked at. */
static inline ANNEX_HD uint64_t annex_gpu_flush_line(struct annex_gpu_cache *c,
						     const struct annex_gpu_flush *f)
{
	uint64_t line = annex_local_load(&c->owner[f->slot], ANNEX_RELAXED);

	return line >= f->first && line - f->first < f->n && line < c->nlines ? line : UINT64_MAX;
}

/* Do what needs no waiting for a slot. Return: whether it is flushed, or cannot be. */
static inline ANNEX_HD bool annex_gpu_flush_step(struct annex_gpu_cache *c,
						 struct annex_gpu_flush *f,
						 struct annex_gpu_job *job)
{
	uint64_t line, word;

	f->err = annex_gpu_failed(c);
	if (f->err)
		return true;
	annex_gpu_advance(c, f->slot, job);
	/* Acquire: pairs with the release of whoever ends it; what that changed is seen. */
	if (annex_local_load(&c->moves[f->slot].state, ANNEX_ACQUIRE) == ANNEX_MOVE_NONE) {
		line = annex_gpu_flush_line(c, f);
		if (line == UINT64_MAX || f->sent)
			return true;
		word = annex_local_load(&c->dir[line], ANNEX_RELAXED);
		if (annex_word_slot(word) != f->slot ||
		    !(word & (ANNEX_LINE_DIRTY | ANNEX_LINE_WRITEBACK | ANNEX_LINE_BUSY)))
			return true;
		f->err = annex_gpu_reserve(c, job);
		if (!f->err && !annex_gpu_begin_write(c, f->slot, 0, job))
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
 * annex_gpu_flush_slot() - Write the line in a slot back, if it is dirty; wait for it.
 * @c: the context.
 * @slot: each lane another, below the context's nslots.
 * @first: first line to write back.
 * @n: number of lines; lines in other slots are left alone.
 *
 * The host runs it over all slots. When it returns, no command that was sent before moves the
 * slot's line.
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
	f.deadline = annex_now() + 2 * c->timeout_ns;
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
