// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "core/least.h"
#include "link.h"
#include "finish.h"
#include "frames.h"
#include "job.h"

#define DEPTH 2u     /* one transfer is queued while another is copied */
#define GPU_DEPTH 4u /* the same in each direction */

/*
 * Copy a page, or @left bytes, through a buffer: memory of a CXL-SSD may fault, and a fault in the
 * kernel's copy may not be handled.
 */
static ssize_t copy_page(const struct job *job, uint8_t *memory, uint64_t left, off_t at, bool in)
{
	uint8_t page[ANNEX_MEM_PAGE];
	size_t bytes = least(left, sizeof(page));
	ssize_t n;

	if (in) {
		memcpy(page, memory, bytes);
		return pwrite(job->space->file, page, bytes, at);
	}
	n = pread(job->space->file, page, bytes, at);
	if (n > 0)
		memcpy(memory, page, (size_t)n);
	return n;
}

static int copy_file(const struct job *job, void *p, bool in)
{
	uint64_t at = pages_bytes(job->page), left = pages_bytes(job->n);
	uint8_t *memory = p;

	while (left) {
		ssize_t n = in ? pwrite(job->space->file, memory, left, (off_t)at)
			       : pread(job->space->file, memory, left, (off_t)at);

		if (n < 0 && errno == EFAULT)
			n = copy_page(job, memory, left, (off_t)at, in);
		if (n <= 0 && (!n || errno != EINTR))
			return n ? -errno : -EIO;
		if (n > 0) {
			memory += n;
			at += (uint64_t)n;
			left -= (uint64_t)n;
		}
	}
	return 0;
}

/* Copy from or to memory of a pool, of which no page fault is to be handled. */
static int copy_pool(struct job *job, void *p, bool in)
{
	uint8_t *memory = annex_job_memory(job, in ? job->to : job->from);
	int err = in ? annex_job_take(job, false) : 0;

	if (!err)
		memcpy(in ? memory : p, in ? p : memory, pages_bytes(job->n));
	return err;
}

int annex_copy_device(struct job *job, void *p, bool in)
{
	if (job->space->pool)
		return copy_pool(job, p, in);
	if (job->space->frames)
		return annex_frames_copy(job->space, job->page, job->n, p, in);
	return copy_file(job, p, in);
}

static void prepare(struct link *link, struct job *job)
{
	(void)link;
	annex_job_hide(job);
}

static void copy(struct link *link, struct job *job)
{
	(void)link;
	if (job->err || job->drop)
		return;
	if (job->from.tier == NO_TIER)
		annex_job_make(job);
	else if (job->to.tier == ANNEX_TIER_GPU)
		job->err = annex_copy_device(job, annex_job_memory(job, job->from), true);
	else if (job->from.tier == ANNEX_TIER_GPU)
		job->err = annex_copy_device(job, annex_job_memory(job, job->to), false);
	else
		memcpy(annex_job_memory(job, job->to), annex_job_memory(job, job->from),
		       pages_bytes(job->n));
}

static const struct link_ops ops = {
	.prepare = prepare,
	.wait = copy,
	.at_once = true,
};

/* For transfers in, one thread maps frames while the other one copies. */
static const struct link_ops gpu_ops = {
	.prepare = prepare,
	.wait = copy,
	.ways = true,
};

int annex_copy_start(struct link *link, double rate)
{
	link->depth = DEPTH;
	link->rate[0] = link->rate[1] = rate;
	return annex_link_start(link, &ops, 1, annex_jobs_work);
}

int annex_copy_start_gpu(struct link *link, double rate)
{
	link->depth = GPU_DEPTH;
	link->rate[0] = link->rate[1] = rate;
	return annex_link_start(link, &gpu_ops, LINK_WORKERS, annex_jobs_work);
}
