// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "link.h"
#include "core/log.h"
#include "core/thread.h"
#include "fault.h"
#include "finish.h"
#include "frames.h"
#include "hdm/hdm.h"
#include "move.h"
#include "page.h"
#include "pool.h"
#include "store.h"

#define DEVICE_MIN (1u << 20)
#define FAULT_BYTES 65536u
#define PAGES_MAX (1u << 31)

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + ANNEX_MEM_PAGE - 1) / ANNEX_MEM_PAGE * ANNEX_MEM_PAGE;
}

static int check_sizes(struct annex_space_opts *o)
{
	uint64_t most = pages_bytes(PAGES_MAX), all = 0;

	if (o->device > most || o->host > most || o->cxl_bytes > most || o->size > most)
		return annex_fail(-EINVAL, "space: a tier of more than %llu bytes", (ull)most);
	o->device = round_up(o->device);
	o->host = round_up(o->host);
	o->cxl_bytes = round_up(o->cxl_bytes);
	for (unsigned int i = 0; i < o->n_stores; i++) {
		if (o->stores[i]->fork.child)
			return fork_refuse(annex_dev_uri(o->stores[i]->dev));
		all += o->stores[i]->opts.bytes;
	}
	all += o->device + o->host + o->cxl_bytes;
	if (!o->size)
		o->size = all < most ? all : most;
	o->size = round_up(o->size < o->device ? o->device : o->size);
	return 0;
}

/* With a GPU all sizes are whole frames. */
static int check_frames(struct annex_space_opts *o)
{
	uint64_t frame = o->frames->bytes, least;

	if (frame < ANNEX_MEM_PAGE || frame & (frame - 1))
		return annex_fail(-EINVAL, "space: %s: frames of %llu bytes", o->frames->name,
				  (ull)frame);
	least = annex_frames_least(o->frames, JOB_PAGES);
	if (o->device < least)
		return annex_fail(-EINVAL,
				  "space: a device tier of %llu bytes, at least %llu on %s",
				  (ull)o->device, (ull)least, o->frames->name);
	o->device = (o->device + frame - 1) & ~(frame - 1);
	o->size = (o->size + frame - 1) & ~(frame - 1);
	return 0;
}

static int check(struct annex_space_opts *o)
{
	int err;

	if (!o->fault_bytes)
		o->fault_bytes = FAULT_BYTES;
	if (o->fault_bytes % ANNEX_MEM_PAGE || o->fault_bytes & (o->fault_bytes - 1) ||
	    o->fault_bytes > JOB_PAGES * ANNEX_MEM_PAGE)
		return annex_fail(-EINVAL,
				  "space: %u bytes for a fault: a power of two from %u to %u",
				  o->fault_bytes, ANNEX_MEM_PAGE, JOB_PAGES * ANNEX_MEM_PAGE);
	if (o->device < DEVICE_MIN)
		return annex_fail(-EINVAL, "space: a device tier of %llu bytes, at least %u",
				  (ull)o->device, DEVICE_MIN);
	if (o->n_stores > ANNEX_MAX_SSDS || (o->n_stores && !o->stores))
		return annex_fail(-EINVAL, "space: %u stores, at most %u", o->n_stores,
				  ANNEX_MAX_SSDS);
	if (o->cxl_bytes && !o->cxl)
		return annex_fail(-EINVAL, "space: %llu bytes of no CXL memory", (ull)o->cxl_bytes);
	if (!annex_rate_is_sound(o->host_rate) || !annex_rate_is_sound(o->cxl_rate))
		return annex_fail(-EINVAL, "space: a rate below %u", ANNEX_MEM_PAGE);
	err = check_sizes(o);
	return err || !o->frames ? err : check_frames(o);
}

static void *map_file(const struct annex_space *s)
{
	void *p = mmap(NULL, s->opts.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		       s->file, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int make_range(struct annex_space *s)
{
	if (s->opts.frames) {
		/* A prefetch makes zeroes, too, since accesses by the kernel would not. */
		s->user_only = true;
		return annex_frames_start(s);
	}
	if (!annex_pool_start(s))
		return 0;
	s->file = memfd_create("annex-space", MFD_CLOEXEC);
	if (s->file < 0 || ftruncate(s->file, (off_t)s->opts.size))
		return annex_fail(-errno, "space: no memory file of %llu bytes: %m",
				  (ull)s->opts.size);
	s->base = map_file(s);
	s->alias = map_file(s);
	if (!s->base || !s->alias)
		return annex_fail(-ENOMEM,
				  "space: no %llu bytes of addresses: raise ulimit -v, "
				  "or make the storage smaller",
				  (ull)s->opts.size);
	/* In a child, page faults on this mapping would not be handled. */
	madvise(s->base, s->opts.size, MADV_DONTFORK);
	madvise(s->alias, s->opts.size, MADV_DONTFORK);
	/* Transfers use a page once, which must not count as frequent use. */
	madvise(s->alias, s->opts.size, MADV_SEQUENTIAL);
	return annex_watch_start(s);
}

static int make_tables(struct annex_space *s)
{
	static const struct order none = {NO_TENSOR, NO_TENSOR};

	s->n_pages = (uint32_t)(s->opts.size / ANNEX_MEM_PAGE);
	s->job_pages = s->frames ? annex_frames_job(s->opts.device) : JOB_PAGES;
	s->budget = (uint32_t)(s->opts.device / ANNEX_MEM_PAGE);
	s->open = NO_TENSOR;
	s->used = none;
	for (unsigned int i = 0; i < SIZES; i++)
		s->kept[i] = none;
	s->pages = calloc(s->n_pages, sizeof(*s->pages));
	if (!s->pages || annex_runs_init(&s->addresses, s->n_pages, true))
		return annex_fail(-ENOMEM,
				  "space: no memory for a table of %u pages: make "
				  "the device tier and the storage smaller",
				  s->n_pages);
	return 0;
}

/* Pin memory, if possible, for faster copies by a GPU. */
static void pin(struct annex_space *s, unsigned int tier, void *arena, uint64_t bytes)
{
	const struct annex_frames *f = s->opts.frames;

	if (!f)
		return;
	s->pinned[tier] = !f->pin(f->ctx, arena, bytes);
	if (!s->pinned[tier])
		annex_log(ANNEX_LOG_WARNING,
			  "space: transfers with %s are slower, as its memory is not pinned: %s",
			  annex_tier_name(tier), annex_last_error());
}

/* Start the threads that copy between the device tier and @tier, or make pages of the device
 * tier. */
static int start_link(struct annex_space *s, unsigned int tier, double rate)
{
	struct link *link = &s->copies[tier];
	int err = s->frames && tier != ANNEX_TIER_GPU ? annex_copy_start_gpu(link, rate)
						      : annex_copy_start(link, rate);

	if (!err)
		annex_link_join(link, &s->tiers[tier].lane);
	return err;
}

/* Add a tier that is memory, with the threads that copy. */
static int add_memory(struct annex_space *s, unsigned int tier, void *arena, uint64_t bytes,
		      double rate)
{
	struct tier *t = &s->tiers[tier];

	t->arena = arena;
	pin(s, tier, arena, bytes);
	t->runs = &t->own;
	t->job_pages = s->job_pages;
	if (annex_runs_init(&t->own, (uint32_t)(bytes / ANNEX_MEM_PAGE), false))
		return annex_fail(-ENOMEM, "space: no memory for a table of pages");
	t->present = !start_link(s, tier, rate);
	return t->present ? 0 : annex_fail(-EAGAIN, "space: no more threads");
}

static int add_host(struct annex_space *s)
{
	unsigned long nodes[16] = {0};
	unsigned int bits = 8 * sizeof(nodes[0]);
	void *p = mmap(NULL, s->opts.host, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return annex_fail(-ENOMEM, "space: no %llu bytes of host memory",
				  (ull)s->opts.host);
	s->tiers[ANNEX_TIER_HOST].arena = p;
	if (s->opts.bind) {
		if (s->opts.node < 0 || s->opts.node >= (int)(16 * bits))
			return annex_fail(-EINVAL, "space: NUMA node %d", s->opts.node);
		nodes[(unsigned int)s->opts.node / bits] |= 1ul
							    << (unsigned int)s->opts.node % bits;
		if (mbind(p, s->opts.host, MPOL_BIND, nodes, 16ul * bits, 0))
			return annex_fail(-errno, "space: memory of NUMA node %d: %m",
					  s->opts.node);
	}
	return add_memory(s, ANNEX_TIER_HOST, p, s->opts.host, s->opts.host_rate);
}

static int add_cxl(struct annex_space *s)
{
	void *p;
	int err = annex_hdm_alloc(s->opts.cxl, s->opts.cxl_bytes, ANNEX_MEM_PAGE, NULL, &p);

	/* Devices of stores access it directly. */
	if (!err && s->opts.n_stores) {
		err = hdm_hold(s->opts.cxl, p, s->opts.cxl_bytes);
		if (err) {
			KEEP_LAST_ERROR(true);

			annex_hdm_free(s->opts.cxl, p);
		}
	}
	if (err)
		return err;
	s->tiers[ANNEX_TIER_CXL].arena = p;
	return add_memory(s, ANNEX_TIER_CXL, p, s->opts.cxl_bytes, s->opts.cxl_rate);
}

static int add_store(struct annex_space *s, unsigned int i)
{
	struct annex_store *store = s->opts.stores[i];
	struct tier *t = &s->tiers[ANNEX_TIER_SSD + i];
	uint8_t *arenas[] = {s->alias, s->tiers[ANNEX_TIER_HOST].arena,
			     s->tiers[ANNEX_TIER_CXL].arena, s->pool ? s->base : NULL};
	uint64_t bytes[] = {s->opts.size, s->opts.host, s->opts.cxl_bytes, s->opts.size};
	int err = annex_store_join(store, &t->lane, s->opts.cxl, arenas, bytes);

	if (err)
		return err;
	t->store = store;
	t->runs = &store->runs;
	t->job_pages = store->link.most;
	t->present = true;
	return 0;
}

static int build(struct annex_space *s)
{
	int err = check(&s->opts);

	if (!err)
		err = make_range(s);
	if (!err)
		err = make_tables(s);
	if (!err) {
		err = start_link(s, ANNEX_TIER_GPU, 0);
		s->makes = !err;
	}
	if (!err && s->opts.host)
		err = add_host(s);
	if (!err && s->opts.cxl_bytes)
		err = add_cxl(s);
	for (unsigned int i = 0; !err && i < s->opts.n_stores; i++)
		err = add_store(s, i);
	return err || s->frames ? err : annex_fault_start(s);
}

/* Release memory that devices have accessed. */
static void release_memory(struct annex_space *s)
{
	for (unsigned int i = ANNEX_TIER_HOST; i < ANNEX_TIER_SSD; i++)
		if (s->pinned[i])
			s->opts.frames->unpin(s->opts.frames->ctx, s->tiers[i].arena);
	if (s->frames)
		annex_frames_stop(s);
	if (s->tiers[ANNEX_TIER_HOST].arena)
		munmap(s->tiers[ANNEX_TIER_HOST].arena, s->opts.host);
	if (s->tiers[ANNEX_TIER_CXL].arena && s->opts.n_stores)
		hdm_let(s->opts.cxl, s->tiers[ANNEX_TIER_CXL].arena, s->opts.cxl_bytes);
	if (s->tiers[ANNEX_TIER_CXL].arena)
		annex_hdm_free(s->opts.cxl, s->tiers[ANNEX_TIER_CXL].arena);
	if (s->alias)
		munmap(s->alias, s->opts.size);
	/* A forked child may keep the file open. */
	if (s->file >= 0 && ftruncate(s->file, 0))
		annex_log(ANNEX_LOG_WARNING, "space: its memory is not given back: %m");
}

/* Free a space, also a partial one, without jobs. */
static void release(struct annex_space *s)
{
	KEEP_LAST_ERROR(true);
	uint64_t bytes[] = {s->opts.size, s->opts.host, s->opts.cxl_bytes, s->opts.size};
	bool left = true;

	annex_fault_stop(s);
	annex_watch_stop(s);
	for (unsigned int i = ANNEX_TIER_SSD; i < ANNEX_TIERS; i++)
		if (s->tiers[i].present)
			left &= annex_store_leave(s->tiers[i].store, &s->tiers[i].lane, bytes);
	for (unsigned int i = ANNEX_TIER_HOST; i < ANNEX_TIER_SSD; i++) {
		if (s->tiers[i].present)
			annex_link_stop(&s->copies[i]);
		annex_runs_fini(&s->tiers[i].own);
	}
	if (s->makes)
		annex_link_stop(&s->copies[ANNEX_TIER_GPU]);
	if (s->uffd >= 0)
		close(s->uffd);
	if (s->transfers >= 0)
		close(s->transfers);
	if (s->base && !s->frames)
		munmap(s->base, s->opts.size);
	if (left)
		release_memory(s);
	else
		annex_log(ANNEX_LOG_WARNING, "space: memory is still in use by a device, and lost");
	if (s->file >= 0)
		close(s->file);
	annex_pool_stop(s);
	annex_runs_fini(&s->addresses);
	for (uint32_t i = 0; i < s->n_tensors; i++)
		free(s->tensors[i].name);
	free(s->tensors);
	free(s->spare);
	free(s->pages);
	pthread_cond_destroy(&s->idle);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Descriptors would keep memory after the parent has ended. */
static void in_child(struct fork_watch *w)
{
	struct annex_space *s =
		(struct annex_space *)(void *)((char *)w - offsetof(struct annex_space, fork));
	int *fds[] = {&s->file, &s->uffd, &s->transfers, &s->bell};

	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int annex_space_create(const struct annex_space_opts *opts, struct annex_space **out)
{
	struct annex_space *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "space: no memory");
	annex_mutex_init(&s->lock);
	pthread_cond_init(&s->idle, NULL);
	s->file = s->uffd = s->transfers = s->bell = -1;
	s->opts = *opts;
	err = build(s);
	s->opts.stores = NULL; /* the array is the caller's */
	if (err) {
		release(s);
		return err;
	}
	s->fork.in_child = in_child;
	fork_watch(&s->fork);
	*out = s;
	return 0;
}

/*
 * Cancel waiting jobs and queued evictions, and wait for transfers in flight, which end within
 * their time limits.
 */
static void settle(struct annex_space *s)
{
	struct job_list start = {0};

	pthread_mutex_lock(&s->lock);
	s->closing = true;
	for (uint32_t i = 0; i < s->n_tensors; i++)
		if (s->tensors[i].n)
			annex_moves_cancel(s, &s->tensors[i]);
	annex_room_drop(s, NULL);
	annex_jobs_recall(s, 0, s->n_pages);
	annex_jobs_settle(s, &start);
	while (s->jobs || s->trims)
		THREAD_KEPT(pthread_cond_wait(&s->idle, &s->lock));
	for (uint32_t i = 0; i < s->n_tensors; i++)
		if (s->tensors[i].n && s->tensors[i].live)
			annex_pages_forget(s, s->tensors[i].first, s->tensors[i].n);
	pthread_mutex_unlock(&s->lock);
}

void annex_space_destroy(struct annex_space *s)
{
	if (!s || s->fork.child)
		return;
	settle(s);
	fork_forget(&s->fork);
	release(s);
}

int annex_space_resize(struct annex_space *s, uint64_t device)
{
	uint64_t least = s->frames ? annex_frames_least(s->opts.frames, s->job_pages) : 0;
	struct job_list start = {0};
	uint32_t excess;

	least = least > DEVICE_MIN ? least : DEVICE_MIN;
	if (s->fork.child)
		return fork_refuse("space");
	if (device < least || device > s->opts.size)
		return annex_fail(-EINVAL, "space: a device tier of %llu bytes: from %llu to %llu",
				  (ull)device, (ull)least, (ull)s->opts.size);
	pthread_mutex_lock(&s->lock);
	s->budget = (uint32_t)(device / ANNEX_MEM_PAGE);
	if (s->frames) { /* in whole frames */
		s->budget += -s->budget & (s->frame_pages - 1);
		annex_frames_limit(s, s->budget);
	}
	annex_jobs_settle(s, &start);
	excess = s->pool ? annex_pool_excess(s) : 0;
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	if (s->frames)
		annex_frames_trim(s, false);
	if (excess)
		annex_pool_trim(s, excess);
	return 0;
}

void annex_space_trim(struct annex_space *s)
{
	struct job_list start = {0};

	if (s->fork.child)
		return;
	pthread_mutex_lock(&s->lock);
	annex_tensor_drop_kept(s, UINT32_MAX);
	annex_jobs_settle(s, &start);
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	if (s->frames)
		annex_frames_trim(s, true);
	if (s->pool)
		annex_pool_trim(s, UINT32_MAX);
}

uint64_t annex_space_budget(struct annex_space *s)
{
	uint64_t bytes;

	pthread_mutex_lock(&s->lock);
	bytes = pages_bytes(s->budget);
	pthread_mutex_unlock(&s->lock);
	return bytes;
}

void annex_space_get_stats(struct annex_space *s, struct annex_space_stats *out)
{
	struct annex_space_stats now;

	if (s->fork.child) {
		*out = (struct annex_space_stats){0};
		return;
	}
	pthread_mutex_lock(&s->lock);
	now = s->stats;
	now.device = pages_bytes(s->device);
	now.host = pages_bytes(s->tiers[ANNEX_TIER_HOST].used);
	now.cxl = pages_bytes(s->tiers[ANNEX_TIER_CXL].used);
	now.kept = pages_bytes(s->kept_pages);
	now.stored = 0;
	for (unsigned int i = ANNEX_TIER_SSD; i < ANNEX_TIERS; i++)
		now.stored += pages_bytes(s->tiers[i].used);
	pthread_mutex_unlock(&s->lock);
	/* *@out may be in the space itself: the handler of its fault needs the lock. */
	*out = now;
}
