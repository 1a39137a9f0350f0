// SPDX-License-Identifier: MIT
/*
 * Storage: jobs become NVMe commands, directly from and to the memory of the tiers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "link.h"
#include "finish.h"
#include "job.h"
#include "store.h"

#define DEPTH 32u
#define DEPTH_MAX 512u
#define TIMEOUT_MS 30000u
#define SILENT 3u /* commands in a row that time out before others are given up */
#define REST ANNEX_NSEC_PER_SEC
#define FAULT_BUFFERS 8u /* buffers for page faults, beyond those of other transfers */

static struct annex_store *store_of(struct link *link)
{
	return (struct annex_store *)((char *)link - offsetof(struct annex_store, link));
}

/* Whether the device has answered none of its last commands: each attempt takes a timeout. */
static bool is_silent(const struct annex_store *store)
{
	/* Relaxed: only the numbers matter. */
	return annex_atomic_load(&store->silent, ANNEX_RELAXED) >= SILENT &&
	       annex_now() < annex_atomic_load(&store->rest, ANNEX_RELAXED);
}

/* An attempt has ended with @err, which is the device's answer unless it was late, or reset. */
static void heard(struct annex_store *store, int err)
{
	/* Relaxed: only the numbers matter. */
	if (err != -ETIMEDOUT && err != -ECANCELED)
		annex_atomic_store(&store->silent, 0, ANNEX_RELAXED);
	if (err != -ETIMEDOUT)
		return;
	annex_atomic_store(&store->rest, annex_now() + REST, ANNEX_RELAXED);
	if (annex_atomic_add(&store->silent, 1, ANNEX_RELAXED) == SILENT - 1)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: %u commands in a row have not completed in %u ms: transfers fail at "
			  "once for a second",
			  annex_dev_uri(store->dev), SILENT, store->opts.timeout_ms);
}

/* Jobs that programs wait for have a queue pair of their own. */
static struct annex_qp *qp_of(const struct annex_store *store, const struct job *job)
{
	struct annex_qp *qp = job->kind == JOB_FAULT ? annex_dev_qp_at(store->dev, 1) : NULL;

	return qp ? qp : annex_dev_qp_at(store->dev, 0);
}

static bool is_out(const struct job *job)
{
	return job->to.tier >= ANNEX_TIER_SSD;
}

static uint64_t bytes_of(const struct job *job)
{
	return (uint64_t)job->n * ANNEX_MEM_PAGE;
}

/* The side of a job that is storage. */
static struct place stored_of(const struct job *job)
{
	return is_out(job) ? job->to : job->from;
}

/* The side of a job that is memory. */
static struct place memory_of(const struct job *job)
{
	return is_out(job) ? job->from : job->to;
}

static bool bounces(const struct job *job)
{
	return memory_of(job).tier == ANNEX_TIER_GPU && !job->lane->at[ANNEX_TIER_GPU];
}

static bool take_buffer(struct link *link, struct job *job)
{
	job->bounced = bounces(job);
	return !job->bounced || annex_runs_take(&store_of(link)->free_buffers, 1, &job->buffer);
}

static uint8_t *buffer_of(const struct annex_store *store, const struct job *job)
{
	return store->buffers + (size_t)job->buffer * JOB_PAGES * ANNEX_MEM_PAGE;
}

/* Jobs for one command must be adjacent on storage, and in one memory. */
static bool joins(const struct job *last, const struct job *next)
{
	struct place a = stored_of(last), b = stored_of(next);

	return is_out(last) == is_out(next) && a.tier == b.tier && a.page + last->n == b.page &&
	       memory_of(last).tier == memory_of(next).tier;
}

static void fill_buffer(struct annex_store *store, struct job *first)
{
	uint8_t *p = buffer_of(store, first);

	for (struct job *job = first; job; p += bytes_of(job), job = job->with) {
		job->bounced = true;
		if (is_out(job) && !first->err)
			first->err = annex_copy_device(job, p, false);
	}
}

static void empty_buffer(struct link *link, struct job *first)
{
	uint8_t *p = buffer_of(store_of(link), first);

	for (struct job *job = first; job; p += bytes_of(job), job = job->with)
		if (!is_out(job) && !job->err)
			job->err = annex_copy_device(job, p, true);
}

static void give_buffer(struct link *link, struct job *job)
{
	annex_runs_give(&store_of(link)->free_buffers, job->buffer, 1);
}

static struct annex_seg seg_of(const struct job *job)
{
	struct place memory = memory_of(job);

	return (struct annex_seg){
		.addr = job->lane->at[job->shown ? ARENA_SHOWN : memory.tier] +
			(uint64_t)memory.page * ANNEX_MEM_PAGE,
		.len = bytes_of(job),
	};
}

/* A command for @pages from the first of @job, which are at @addr. */
static struct annex_io describe(const struct annex_store *store, const struct job *job,
				uint32_t pages, uint64_t addr)
{
	uint64_t at = store->opts.first + (uint64_t)stored_of(job).page * ANNEX_MEM_PAGE;
	uint32_t bytes = pages * ANNEX_MEM_PAGE;

	return (struct annex_io){
		.opcode = is_out(job) ? ANNEX_NVM_WRITE : ANNEX_NVM_READ,
		.nsid = store->opts.nsid,
		.slba = at / store->block,
		.nlb = bytes / store->block,
		.bytes = bytes,
		.addr = addr,
	};
}

static uint64_t buffer_at(const struct annex_store *store, const struct job *job)
{
	return store->buffers_at + (uint64_t)job->buffer * JOB_PAGES * ANNEX_MEM_PAGE;
}

/* A command for all jobs of a transfer. @segs: room for their memory. */
static struct annex_io describe_all(const struct annex_store *store, const struct job *first,
				    struct annex_seg *segs)
{
	struct annex_io io;

	if (first->bounced)
		return describe(store, first, first->total, buffer_at(store, first));
	io = describe(store, first, first->total, seg_of(first).addr);
	for (const struct job *job = first; job && first->with; job = job->with)
		segs[io.nsegs++] = seg_of(job);
	io.segs = segs;
	return io;
}

/* Submit, and try again after a recovery of the queue. Return: as annex_qp_submit(). */
static int submit(struct annex_store *store, struct annex_qp *qp, const struct annex_io *ios,
		  unsigned int n, uint64_t *tokens)
{
	uint64_t limit = annex_deadline_ms(store->opts.timeout_ms);
	int rc = annex_qp_submit(qp, ios, n, tokens, limit);

	if (rc != -EIO)
		return rc;
	rc = annex_dev_recover(store->dev, qp, UINT64_MAX);
	return rc ? rc : annex_qp_submit(qp, ios, n, tokens, limit);
}

/* Submit @n jobs, which use one queue pair. */
static void post(struct annex_store *store, struct job **jobs, unsigned int n)
{
	struct annex_qp *qp = qp_of(store, jobs[0]);
	struct annex_seg segs[LINK_BATCH][JOINED];
	struct annex_io ios[LINK_BATCH];
	uint64_t tokens[LINK_BATCH];
	unsigned int done = 0;

	for (unsigned int i = 0; i < n; i++)
		ios[i] = describe_all(store, jobs[i], segs[i]);
	while (done < n) {
		int rc = submit(store, qp, ios + done, n - done, tokens + done);

		if (rc < 0) {
			for (; done < n; done++) {
				jobs[done]->err = rc;
				jobs[done]->ended = true;
			}
			return;
		}
		for (int i = 0; i < rc; i++, done++)
			jobs[done]->token = tokens[done];
	}
}

static void prepare_pages(struct link *link, struct job *first)
{
	annex_job_hide(first);
	annex_job_map(first);
	if (first->bounced)
		fill_buffer(store_of(link), first);
}

/* Number of commands from @from on that can be submitted together: they use one queue pair, and
 * their buffers are filled. */
static unsigned int alike(const struct annex_store *store, struct job **jobs, unsigned int from,
			  unsigned int n)
{
	unsigned int to = from;

	while (to < n && !jobs[to]->ended && qp_of(store, jobs[to]) == qp_of(store, jobs[from]))
		to++;
	return to;
}

static void store_begin(struct link *link, struct job **jobs, unsigned int n)
{
	struct annex_store *store = store_of(link);

	for (unsigned int i = 0; i < n; i++) {
		/* Jobs that programs wait for have no second chance. */
		if (!jobs[i]->err && !jobs[i]->drop && jobs[i]->kind != JOB_FAULT &&
		    is_silent(store))
			jobs[i]->err = -ETIMEDOUT;
		jobs[i]->limit = annex_deadline_ms(store->opts.timeout_ms);
		jobs[i]->ended = jobs[i]->err || jobs[i]->drop;
	}
	/* Jobs that programs wait for are first, on their own queue pair. */
	for (unsigned int from = 0, to; from<n; from = to> from ? to : from + 1) {
		to = alike(store, jobs, from, n);
		if (to > from)
			post(store, jobs + from, to - from);
	}
}

static void wait_for(struct link *link, struct job *job)
{
	struct annex_store *store = store_of(link);
	struct annex_qp *qp = qp_of(store, job);
	struct annex_result res = {0};
	bool late = false;
	int rc = annex_qp_wait(qp, job->token, &res, job->limit);

	if (rc == -ETIMEDOUT || rc == -EIO) {
		late = rc == -ETIMEDOUT;
		rc = annex_dev_recover(store->dev, qp, job->token);
		if (!rc)
			rc = annex_qp_poll(qp, job->token, &res);
		else
			annex_qp_abandon(qp, job->token);
	}
	job->err = rc ? rc : annex_nvme_errno(res.status);
	if (job->err == -ECANCELED && late)
		job->err = -ETIMEDOUT;
	heard(store, job->err);
}

static bool has_ended(struct link *link, struct job *job)
{
	struct annex_store *store = store_of(link);
	struct annex_result res;
	int rc = annex_qp_poll(qp_of(store, job), job->token, &res);

	if (rc == -EINPROGRESS)
		return false;
	job->err = rc ? rc : annex_nvme_errno(res.status);
	heard(store, job->err);
	return true;
}

/*
 * The controller was reset because of another command, or one of several jobs has failed: carry out
 * each job again, alone, unless the device is silent: each attempt would take a timeout.
 */
static void again(struct link *link, struct job *first)
{
	struct annex_store *store = store_of(link);
	uint64_t done = 0;

	for (struct job *job = first; job; done += bytes_of(job), job = job->with) {
		uint64_t at = job->bounced ? buffer_at(store, first) + done : seg_of(job).addr;
		struct annex_io io = describe(store, job, job->n, at);

		job->err = job->recalled ? -ECANCELED : 0;
		/* The failure may be that of filling the buffer. */
		if (!job->err && job->bounced && is_out(job))
			job->err = annex_copy_device(job, buffer_of(store, first) + done, false);
		if (!job->err && is_silent(store)) {
			job->err = -ETIMEDOUT;
		} else if (!job->err) {
			job->err = annex_dev_io(store->dev, &io, 1, NULL);
			heard(store, job->err);
		}
	}
}

static const struct link_ops ops = {
	.prepare = prepare_pages,
	.begin = store_begin,
	.wait = wait_for,
	.poll = has_ended,
	.unload = empty_buffer,
	.give_back = give_buffer,
	.ready = take_buffer,
	.joins = joins,
	.again = again,
};

static int check(const char *uri, struct annex_store_opts *o, uint32_t block, uint64_t size)
{
	if (!annex_rate_is_sound(o->read_rate) || !annex_rate_is_sound(o->write_rate) ||
	    o->depth > DEPTH_MAX)
		return annex_fail(-EINVAL, "%s: a rate below %u, or a depth above %u", uri,
				  ANNEX_MEM_PAGE, DEPTH_MAX);
	if (block > ANNEX_MEM_PAGE)
		return annex_fail(-EINVAL, "%s: a block of %u bytes is larger than a page of %u",
				  uri, block, ANNEX_MEM_PAGE);
	if (o->first % ANNEX_MEM_PAGE || o->bytes % ANNEX_MEM_PAGE)
		return annex_fail(-EINVAL, "%s: a part that is not made of blocks of %u bytes", uri,
				  ANNEX_MEM_PAGE);
	if (o->first > size || (o->bytes && o->bytes > size - o->first))
		return annex_fail(-ENOSPC, "%s: it ends at %llu bytes", uri, (ull)size);
	if (!o->bytes)
		o->bytes = (size - o->first) / ANNEX_MEM_PAGE * ANNEX_MEM_PAGE;
	if (!o->bytes || o->bytes / ANNEX_MEM_PAGE > RUNS_MOST)
		return annex_fail(-ENOSPC, "%s: %llu bytes to be used", uri, (ull)o->bytes);
	return 0;
}

static int prepare(struct annex_store *store, const char *uri)
{
	struct annex_dev_opts dev_opts = {
		.queues = 2,
		.timeout_ms = store->opts.timeout_ms,
		.provider = store->opts.provider,
	};
	struct annex_ns ns;
	uint64_t size;
	uint32_t most;
	int err = annex_dev_open(uri, &dev_opts, &store->dev);

	if (!err)
		err = annex_dev_ns(store->dev, store->opts.nsid, &ns);
	if (!err)
		err = annex_dev_bytes(store->dev, store->opts.nsid, &size);
	if (!err)
		err = check(uri, &store->opts, ns.block, size);
	if (err)
		return err;
	store->block = ns.block;
	err = annex_dev_claim(store->dev, store->opts.nsid, store->opts.first / ns.block,
			      store->opts.bytes / ns.block);
	if (err)
		return err;
	if (annex_runs_init(&store->runs, (uint32_t)(store->opts.bytes / ANNEX_MEM_PAGE), false))
		return annex_fail(-ENOMEM, "%s: no memory for its table of pages", uri);
	/* Each half of a queue, which has depth - 1 identifiers, so that submissions never wait. */
	most = annex_dev_qp_at(store->dev, 0)->depth;
	most = most > 2 ? (most - 1) / 2 : 1;
	store->link.urgent = most;
	store->link.depth = store->opts.depth < most ? store->opts.depth : most;
	most = annex_dev_max_transfer(store->dev) / ANNEX_MEM_PAGE;
	store->link.most = most < JOB_PAGES ? most : JOB_PAGES;
	store->link.rate[0] = store->opts.read_rate;
	store->link.rate[1] = store->opts.write_rate;
	err = annex_link_start(&store->link, &ops, LINK_WORKERS, annex_jobs_work);
	if (err)
		return annex_fail(err, "%s: no more threads", uri);
	store->works = true;
	return 0;
}

static void release(struct annex_store *store)
{
	KEEP_LAST_ERROR(true);
	uint64_t bytes = store->free_buffers.n * (uint64_t)JOB_PAGES * ANNEX_MEM_PAGE;

	if (store->works)
		annex_link_stop(&store->link);
	if (store->buffers)
		annex_dev_free(store->dev, ANNEX_PLACE_PROVIDER, store->buffers, bytes,
			       store->buffers_at);
	annex_dev_close(store->dev);
	annex_runs_fini(&store->runs);
	annex_runs_fini(&store->free_buffers);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

int annex_store_open(const char *uri, const struct annex_store_opts *opts, struct annex_store **out)
{
	struct annex_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return annex_fail(-ENOMEM, "%s: no memory", uri);
	pthread_mutex_init(&store->lock, NULL);
	if (opts)
		store->opts = *opts;
	store->opts.nsid = store->opts.nsid ? store->opts.nsid : 1;
	store->opts.depth = store->opts.depth ? store->opts.depth : DEPTH;
	if (!store->opts.timeout_ms)
		store->opts.timeout_ms = TIMEOUT_MS;
	err = prepare(store, uri);
	if (err) {
		release(store);
		return err;
	}
	fork_watch(&store->fork);
	*out = store;
	return 0;
}

int annex_store_close(struct annex_store *store)
{
	uint32_t users;

	if (!store || store->fork.child)
		return 0;
	pthread_mutex_lock(&store->lock);
	users = store->users;
	pthread_mutex_unlock(&store->lock);
	if (users)
		return annex_fail(-EBUSY, "%s: %u spaces use it", annex_dev_uri(store->dev), users);
	fork_forget(&store->fork);
	release(store);
	return 0;
}

/* Allocate bounce buffers for memory that the device cannot reach. */
static int need_buffers(struct annex_store *store)
{
	uint32_t n = store->opts.depth + FAULT_BUFFERS;
	size_t bytes = n * (size_t)JOB_PAGES * ANNEX_MEM_PAGE;
	void *memory;
	int err;

	if (store->buffers)
		return 0;
	if (annex_runs_init(&store->free_buffers, n, false))
		return annex_fail(-ENOMEM, "%s: no memory", annex_dev_uri(store->dev));
	err = annex_dev_alloc(store->dev, ANNEX_PLACE_PROVIDER, bytes, &memory, &store->buffers_at);
	if (err)
		annex_runs_fini(&store->free_buffers);
	else
		store->buffers = memory;
	return err;
}

/* Map CXL memory by the dma-buf of its range, if it has one. */
static int map_range(struct annex_store *store, struct annex_hdm *cxl, void *arena, uint64_t bytes,
		     uint64_t *at)
{
	const struct annex_provider *range = annex_hdm_provider(cxl);
	uint64_t offset;
	int fd;

	if (!range->dmabuf)
		return annex_dev_map(store->dev, arena, bytes, at);
	fd = range->dmabuf(range->ctx, arena, &offset);
	return annex_dev_map_dmabuf(store->dev, fd, offset, arena, bytes, at);
}

static int map_arenas(struct annex_store *store, struct lane *lane, struct annex_hdm *cxl,
		      uint8_t *const *arenas, const uint64_t *bytes)
{
	int err;

	err = -EOPNOTSUPP; /* frames of a GPU are mapped and unmapped */
	if (arenas[ANNEX_TIER_GPU])
		err = annex_dev_map_sparse(store->dev, arenas[ANNEX_TIER_GPU],
					   bytes[ANNEX_TIER_GPU], &lane->at[ANNEX_TIER_GPU]);
	if (err == -EOPNOTSUPP) {
		lane->at[ANNEX_TIER_GPU] = 0;
		err = need_buffers(store);
	} else if (!err && arenas[ARENA_SHOWN])
		err = annex_dev_map_sparse(store->dev, arenas[ARENA_SHOWN], bytes[ARENA_SHOWN],
					   &lane->at[ARENA_SHOWN]);
	if (!err && arenas[ANNEX_TIER_HOST])
		err = annex_dev_map(store->dev, arenas[ANNEX_TIER_HOST], bytes[ANNEX_TIER_HOST],
				    &lane->at[ANNEX_TIER_HOST]);
	if (!err && arenas[ANNEX_TIER_CXL])
		err = map_range(store, cxl, arenas[ANNEX_TIER_CXL], bytes[ANNEX_TIER_CXL],
				&lane->at[ANNEX_TIER_CXL]);
	return err;
}

/* Return: whether the device can no longer access any of them. */
static bool unmap_arenas(struct annex_store *store, struct lane *lane, const uint64_t *bytes)
{
	bool all = true;

	for (unsigned int i = 0; i < ARENAS; i++)
		if (lane->at[i] && annex_dev_unmap(store->dev, lane->at[i], bytes[i]))
			all = false;
	return all;
}

int annex_store_join(struct annex_store *store, struct lane *lane, struct annex_hdm *cxl,
		     uint8_t *const *arenas, const uint64_t *bytes)
{
	int err;

	pthread_mutex_lock(&store->lock);
	err = map_arenas(store, lane, cxl, arenas, bytes);
	if (err) {
		KEEP_LAST_ERROR(true);

		unmap_arenas(store, lane, bytes);
	} else {
		store->users++;
	}
	pthread_mutex_unlock(&store->lock);
	if (!err)
		annex_link_join(&store->link, lane);
	return err;
}

bool annex_store_leave(struct annex_store *store, struct lane *lane, const uint64_t *bytes)
{
	bool all;

	annex_link_leave(&store->link, lane);
	pthread_mutex_lock(&store->lock);
	all = unmap_arenas(store, lane, bytes);
	store->users--;
	pthread_mutex_unlock(&store->lock);
	return all;
}
