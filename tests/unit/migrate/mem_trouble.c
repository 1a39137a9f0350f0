// SPDX-License-Identifier: MIT
/*
 * Unified memory in trouble: storage that fails once or for ever, tiers in which all tensors are
 * held, accesses to pages that are being evicted, arguments that are themselves in the space.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "tests/unit/hdm_rig.h"
#include "tests/unit/mem_rig.h"
#include "migrate/request.h"
#include "migrate/store.h"
#include "nvme/dev.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define HALF (MIB / 2) /* one transfer */
#define SINGLE 40u     /* tensors of a page */

static void open_one(struct mem_rig *r, const char *uri, struct annex_store_opts store,
		     struct annex_space_opts opts)
{
	memset(r, 0, sizeof(*r));
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, &store, &r->stores[0]), 0);
	opts.stores = r->stores;
	opts.n_stores = 1;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r->space), 0);
}

static char *made_of(struct mem_rig *r, const char *name, uint64_t bytes, char what)
{
	char *p = mem_alloc(r, name, bytes);

	memset(p, what, bytes);
	return p;
}

/* A tensor of ones that takes seconds to be written. */
static char *slow_to_leave(struct mem_rig *r, uint64_t bytes)
{
	open_one(r, "mem:16M", (struct annex_store_opts){.write_rate = 4e6, .depth = 1},
		 (struct annex_space_opts){.device = 2 * bytes});
	return made_of(r, "p", bytes, 1);
}

static void all_are(const char *p, uint64_t bytes, char what)
{
	for (uint64_t i = 0; i < bytes; i += 512)
		if (p[i] != what)
			CU_FAIL("it holds something else");
}

/* Work of another thread, so that a test can detect that it never ends. */
struct task {
	void (*run)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done;
};

static void *carry_out(void *arg)
{
	struct task *t = arg;

	t->run(t->arg);
	pthread_mutex_lock(&t->lock);
	t->done = true;
	pthread_cond_signal(&t->ended);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static bool ends(void (*run)(void *arg), void *arg)
{
	struct task *t = calloc(1, sizeof(*t));
	struct timespec until;
	pthread_t thread;
	int err = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	*t = (struct task){.run = run, .arg = arg};
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->ended, NULL);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_MS / 1000;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, carry_out, t), 0);
	pthread_mutex_lock(&t->lock);
	while (!t->done && !err)
		err = pthread_cond_timedwait(&t->ended, &t->lock, &until);
	pthread_mutex_unlock(&t->lock);
	if (err)
		return false; /* the thread goes on with it */
	pthread_join(thread, NULL);
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return true;
}

/* One write fails, once: later tensors get room nevertheless. */
static void one_failed_write(void)
{
	char *kept, *failed, *later;
	struct mem_rig r;

	open_one(&r, "mem:16M?fault=error,op=write,lba=1024,blocks=16384,count=1",
		 (struct annex_store_opts){0}, (struct annex_space_opts){.device = MIB});
	kept = made_of(&r, "kept", HALF, 1);
	mem_evict(&r, kept, HALF, ANNEX_TIER_SSD);
	failed = made_of(&r, "failed", HALF, 2);
	CU_ASSERT_EQUAL(mem_try_evict(&r, failed, HALF, ANNEX_TIER_SSD), -EIO);
	later = made_of(&r, "later", HALF, 3);
	mem_fetch(&r, kept, HALF);
	all_are(kept, HALF, 1);
	all_are(failed, HALF, 2);
	all_are(later, HALF, 3);
	mem_rig_close(&r);
}

/* Nothing can be written any more; what need not be still leaves, though it is not the oldest. */
static void clean_ones_leave(void)
{
	char *dirty, *clean, *wanted;
	struct mem_rig r;

	open_one(&r, "mem:16M?fault=error,op=write,lba=1536,blocks=31232,count=0",
		 (struct annex_store_opts){0}, (struct annex_space_opts){.device = MIB});
	clean = made_of(&r, "clean", HALF, 1);
	mem_evict(&r, clean, HALF, ANNEX_TIER_SSD);
	wanted = made_of(&r, "wanted", HALF / 2, 2);
	mem_evict(&r, wanted, HALF / 2, ANNEX_TIER_SSD);
	/* Before Linux 6.4 accessed pages count as dirty. */
	if (r.space->track) {
		dirty = made_of(&r, "dirty", HALF, 3);
		mem_fetch(&r, clean, HALF);
		mem_fetch(&r, wanted, HALF / 2);
		CU_ASSERT(mem_stats(&r).clean >= HALF / 2);
		all_are(wanted, HALF / 2, 2);
		all_are(clean, HALF, 1);
		all_are(dirty, HALF, 3);
	}
	mem_rig_close(&r);
}

/* The error of a tensor that gets no room is the failed eviction's, with that tensor and tier. */
static void the_culprit_is_named(void)
{
	char *wanted, *stuck;
	struct mem_rig r;

	open_one(&r, "mem:16M?fault=error,op=write,lba=1024,blocks=31744,count=0",
		 (struct annex_store_opts){0}, (struct annex_space_opts){.device = MIB});
	wanted = made_of(&r, "wanted", HALF, 1);
	mem_evict(&r, wanted, HALF, ANNEX_TIER_SSD);
	stuck = made_of(&r, "stuck", MIB, 2);
	CU_ASSERT_EQUAL(mem_try_fetch(&r, wanted, HALF), -EIO);
	CU_ASSERT_STRING_EQUAL(annex_last_error(),
			       "wanted: it cannot be moved to gpu: stuck cannot leave it for ssd0, "
			       "of 16777216 bytes: Input/output error");
	all_are(stuck, MIB, 2);
	CU_ASSERT_EQUAL(annex_free(r.space, stuck), 0);
	all_are(wanted, HALF, 1);
	mem_rig_close(&r);
}

/* @bytes that waited while all was held are fetched, or @touched, after its release. */
static void wait_for_room(uint64_t bytes, bool touched)
{
	struct annex_move *m;
	char *waits, *held;
	struct mem_rig r;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	waits = made_of(&r, "waits", bytes, 1);
	mem_evict(&r, waits, bytes, ANNEX_TIER_SSD);
	held = mem_alloc(&r, "held", MIB);
	CU_ASSERT_EQUAL(annex_hold(r.space, held), 0);
	memset(held, 2, MIB);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, waits, bytes, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, 20), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_let_go(r.space, held), 0);
	if (touched)
		all_are(waits, bytes, 1);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	all_are(waits, bytes, 1);
	all_are(held, MIB, 2);
	mem_rig_close(&r);
}

static void held_for_a_while(void)
{
	wait_for_room(ANNEX_MEM_PAGE, false);
	wait_for_room(ANNEX_MEM_PAGE, true);
	wait_for_room(HALF, false);
	wait_for_room(HALF, true);
}

/*
 * All of the device tier is held. A program touches other tensors all the same, two with one
 * instruction: their pages stay until it has ended, and not many more of them.
 */
static void touched_beside_held(void)
{
	char *held, *from, *to;
	struct mem_rig r;

	mem_rig_open(&r, "mem:8M",
		     (struct annex_space_opts){.device = MIB, .fault_bytes = 4 * ANNEX_MEM_PAGE});
	held = mem_alloc(&r, "held", MIB);
	from = mem_alloc(&r, "from", 2 * MIB);
	to = mem_alloc(&r, "to", 2 * MIB);
	memset(from, 5, 2 * MIB);
	memset(held, 1, MIB);
	CU_ASSERT_EQUAL(annex_hold(r.space, held), 0);
	memset(held, 2, MIB);
	memcpy(to, from, 2 * MIB);
	all_are(to, 2 * MIB, 5);
	/* One part is under way, and one has just come. */
	CU_ASSERT(mem_stats(&r).over <= (4 + 2) * 4 * ANNEX_MEM_PAGE);
	CU_ASSERT_EQUAL(annex_let_go(r.space, held), 0);
	all_are(held, MIB, 2);
	mem_rig_close(&r);
}

/* In whatever thread there is something to be said. */
/* More is held than the device tier is to have: it is said, and counted, and ends. */
static void more_is_held(void)
{
	uint64_t until = annex_deadline_ms(WAIT_MS);
	struct mem_rig r;
	char *p;

	unit_log_begin(UNIT_LOG(WARNING), "beyond");
	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	p = mem_alloc(&r, "large", 2 * MIB);
	memset(p, 1, MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).over, 0);
	CU_ASSERT_EQUAL(annex_hold(r.space, p), 0);
	memset(p, 1, 2 * MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).over, mem_stats(&r).device - MIB);
	CU_ASSERT(mem_stats(&r).over > 0);
	CU_ASSERT_EQUAL(annex_let_go(r.space, p), 0);
	while (mem_stats(&r).device > MIB && annex_now() < until)
		sched_yield();
	CU_ASSERT(mem_stats(&r).device <= MIB);
	all_are(p, 2 * MIB, 1);
	mem_rig_close(&r);
	CU_ASSERT_EQUAL(unit_log_end(), 1);
}

static void destroy(void *space)
{
	annex_space_destroy(space);
}

/* Jobs of several pages in flight then fail, and are not retried. */
static void destroyed_while_reads_fail(void)
{
	struct mem_rig r;
	char *p;

	open_one(&r, "mem:8M?fault=error,op=read,count=0",
		 (struct annex_store_opts){.read_rate = 2e6},
		 (struct annex_space_opts){.device = 4 * MIB});
	p = made_of(&r, "p", MIB, 1);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, p, MIB, 0, NULL), 0);
	CU_ASSERT_FATAL(ends(destroy, r.space));
	CU_ASSERT_EQUAL(annex_store_close(r.stores[0]), 0);
}

/* Queued evictions are cancelled, which would take eight seconds. */
static void destroyed_before_it_leaves(void)
{
	uint64_t until;
	struct mem_rig r;
	char *p;

	open_one(&r, "mem:16M", (struct annex_store_opts){.write_rate = 1e6, .depth = 1},
		 (struct annex_space_opts){.device = 16 * MIB});
	p = made_of(&r, "p", 8 * MIB, 1);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, 8 * MIB, ANNEX_TIER_SSD, NULL), 0);
	until = annex_deadline_ms(4000);
	annex_space_destroy(r.space);
	CU_ASSERT(annex_now() < until);
	CU_ASSERT_EQUAL(annex_store_close(r.stores[0]), 0);
}

/* An access to a page whose write has failed does not wait for all other evictions. */
static void touched_before_it_leaves(void)
{
	const uint64_t bytes = 2 * MIB;
	struct annex_mem_page page;
	struct annex_move *m;
	struct mem_rig r;
	char *p;

	open_one(&r, "mem:16M?fault=error,op=write,count=4",
		 (struct annex_store_opts){.write_rate = 4e6, .depth = 1},
		 (struct annex_space_opts){.device = 2 * bytes});
	p = made_of(&r, "p", bytes, 1);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, bytes, ANNEX_TIER_SSD), -EIO);
	CU_ASSERT_EQUAL(mem_stats(&r).device, bytes);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, bytes, ANNEX_TIER_SSD, &m), 0);
	p[bytes - 1] = 2;
	CU_ASSERT(mem_stats(&r).out < bytes / 2);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p + bytes - 1, &page), 0);
	CU_ASSERT(page.device && !page.below && !page.busy);
	/* The rest leaves; that this stays is no error. */
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).out, bytes - HALF);
	CU_ASSERT_EQUAL(mem_stats(&r).device, HALF);
	CU_ASSERT_EQUAL(p[bytes - 1], 2);
	all_are(p, bytes - 512, 1);
	mem_rig_close(&r);
}

/* Until their eviction begins, pages stay accessible, and later writes are saved. */
static void written_before_it_leaves(void)
{
	const uint64_t bytes = 8 * MIB;
	struct annex_mem_page page;
	struct annex_move *m;
	struct mem_rig r;
	uint64_t faults;
	char *p;

	p = slow_to_leave(&r, bytes);
	faults = mem_stats(&r).faults;
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, bytes, ANNEX_TIER_SSD, &m), 0);
	p[bytes - 1] = 2;
	CU_ASSERT(mem_stats(&r).out < bytes / 2);
	CU_ASSERT_EQUAL(mem_stats(&r).faults, faults);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p + bytes - 1, &page), 0);
	CU_ASSERT(page.device && !page.below && page.busy);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).out, bytes);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	CU_ASSERT_EQUAL(p[bytes - 1], 2);
	all_are(p, bytes - 512, 1);
	mem_rig_close(&r);
}

/*
 * Pages that are held before their eviction begins stay, with their writes; their neighbours are
 * evicted, also those of the same command. A write to a page that is being evicted is not lost.
 */
static void held_before_it_leaves(unsigned int tier)
{
	struct annex_store_opts slow = {.write_rate = 4e6, .depth = 1};
	struct annex_move *m[SINGLE + 1];
	struct annex_mem_page page;
	char *p[SINGLE], *before;
	struct mem_rig r;

	open_one(&r, "mem:16M", slow,
		 (struct annex_space_opts){.device = 4 * MIB, .host = 4 * MIB, .host_rate = 4e6});
	before = made_of(&r, "before", MIB, 1);
	for (unsigned int i = 0; i < SINGLE; i++)
		p[i] = made_of(&r, "single", 4096, (char)i);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, before, MIB, tier, &m[SINGLE]), 0);
	for (unsigned int i = 0; i < SINGLE; i++)
		CU_ASSERT_EQUAL(annex_pre_evict(r.space, p[i], 4096, tier, &m[i]), 0);
	CU_ASSERT_EQUAL(annex_hold(r.space, p[SINGLE / 2]), 0);
	before[0] = 3;
	p[SINGLE / 2][100] = 77;
	for (unsigned int i = 0; i <= SINGLE; i++)
		CU_ASSERT_EQUAL(annex_move_wait(m[i], WAIT_MS), 0);
	for (unsigned int i = 0; i < SINGLE; i++) {
		CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p[i], &page), 0);
		CU_ASSERT_EQUAL(page.device, i == SINGLE / 2);
		CU_ASSERT_EQUAL(page.below, i != SINGLE / 2);
		CU_ASSERT(!page.busy && (page.device || page.tier == tier));
	}
	CU_ASSERT_EQUAL(before[0], 3);
	all_are(before + 512, MIB - 512, 1);
	for (unsigned int i = 0; i < SINGLE; i++)
		CU_ASSERT_EQUAL(p[i][100], i == SINGLE / 2 ? 77 : (char)i);
	CU_ASSERT_EQUAL(annex_let_go(r.space, p[SINGLE / 2]), 0);
	mem_evict(&r, p[SINGLE / 2], 4096, tier);
	CU_ASSERT_EQUAL(p[SINGLE / 2][100], 77);
	mem_rig_close(&r);
}

static void held_before_storage(void)
{
	held_before_it_leaves(ANNEX_TIER_SSD);
}

static void held_before_host(void)
{
	held_before_it_leaves(ANNEX_TIER_HOST);
}

/* Pages that are prefetched before their eviction begins stay, and the prefetch ends at once. */
static void fetched_before_it_leaves(void)
{
	const uint64_t bytes = 8 * MIB;
	struct annex_move *out, *in;
	struct mem_rig r;
	uint64_t faults;
	char *p;

	p = slow_to_leave(&r, bytes);
	faults = mem_stats(&r).faults;
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, bytes, ANNEX_TIER_SSD, &out), 0);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, p, bytes, 0, &in), 0);
	CU_ASSERT_EQUAL(annex_move_wait(in, WAIT_MS), 0);
	CU_ASSERT_EQUAL(annex_move_wait(out, WAIT_MS), 0);
	/* Except evictions that had begun. */
	CU_ASSERT(mem_stats(&r).out <= 2 * HALF);
	CU_ASSERT_EQUAL(mem_stats(&r).device, bytes);
	all_are(p, bytes, 1);
	CU_ASSERT_EQUAL(mem_stats(&r).faults, faults);
	mem_rig_close(&r);
}

/* As plans do: waiting for an eviction does not bring the pages back. */
static void waited_for_while_it_leaves(void)
{
	const uint64_t bytes = 4 * MIB;
	struct want out = {.to = ANNEX_TIER_SSD, .most = UINT32_MAX}, none = {.most = 0};
	struct annex_move *m;
	struct mem_rig r;
	char *p;

	open_one(&r, "mem:16M", (struct annex_store_opts){.write_rate = 20e6, .depth = 1},
		 (struct annex_space_opts){.device = 2 * bytes});
	p = made_of(&r, "p", bytes, 1);
	CU_ASSERT_EQUAL(annex_move_begin(r.space, p, bytes, &out, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(annex_move_begin(r.space, p, bytes, &none, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	CU_ASSERT_EQUAL(mem_stats(&r).out, bytes);
	all_are(p, bytes, 1);
	mem_rig_close(&r);
}

/*
 * Bounced pages of a file are copied from and to it: an access to a mapping would wait for the
 * thread that handles page faults, which may be the copying thread.
 */
static void buffers_need_no_mapping(void)
{
	uint64_t state = random_seed("buffers need no mapping");
	uint8_t *p, *plain = malloc(MIB);
	struct annex_ctrl_ops ops;
	struct annex_space_opts opts = {.device = MIB, .size = 4 * MIB, .n_stores = 1};
	struct mem_rig r = {0};

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:4M", NULL, &r.stores[0]), 0);
	ops = *r.stores[0]->dev->ctrl->ops;
	ops.map_sparse = NULL;
	r.stores[0]->dev->ctrl->ops = &ops;
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	if (!r.space->pool)
		CU_ASSERT_EQUAL(mprotect(r.space->alias, r.space->opts.size, PROT_NONE), 0);
	p = mem_alloc(&r, "p", MIB);
	random_fill(&state, plain, MIB);
	memcpy(p, plain, MIB);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(memcmp(p, plain, HALF), 0);
	mem_fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(memcmp(p, plain, MIB), 0);
	CU_ASSERT(mem_stats(&r).bounced >= 2 * MIB);
	free(plain);
	mem_rig_close(&r);
}

/* The page in the second mapping, as a transfer sees it. */
static void read_as_transfers_do(void *page)
{
	CU_ASSERT_EQUAL(*(const volatile char *)page, 1);
}

static bool is_shown(struct annex_space *s, const char *p)
{
	bool shown;

	pthread_mutex_lock(&s->lock);
	shown = s->pages[(uint64_t)(p - (char *)s->base) / ANNEX_MEM_PAGE].flags & PAGE_SHOWN;
	pthread_mutex_unlock(&s->lock);
	return shown;
}

static void *touch(void *page)
{
	*(volatile char *)page = 2;
	return NULL;
}

/* A transfer finds a page gone that it had mapped, while touches wait for the link that has it. */
static void transfers_wait_for_no_lock(void)
{
	const uint64_t bytes = 8 * MIB;
	uint64_t until = annex_deadline_ms(WAIT_MS);
	pthread_t toucher;
	struct mem_rig r;
	char *p;

	p = slow_to_leave(&r, bytes);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, bytes, ANNEX_TIER_SSD, NULL), 0);
	while (annex_now() < until && is_shown(r.space, p))
		sched_yield();
	pthread_mutex_lock(&r.stores[0]->link.lock);
	/* Of the transfer that is under way: the others are still seen. */
	CU_ASSERT_EQUAL_FATAL(pthread_create(&toucher, NULL, touch, p), 0);
	/* It is heard of, and stays in the hearing. */
	while (annex_now() < until && !pthread_mutex_trylock(&r.space->lock)) {
		pthread_mutex_unlock(&r.space->lock);
		sched_yield();
	}
	CU_ASSERT(annex_now() < until);
	/* In private memory a page that is still shown is not there. */
	CU_ASSERT_FATAL(ends(read_as_transfers_do, r.space->alias + (p - (char *)r.space->base) +
							   (r.space->pool ? 0 : bytes - HALF)));
	pthread_mutex_unlock(&r.stores[0]->link.lock);
	pthread_join(toucher, NULL);
	CU_ASSERT_EQUAL(p[0], 2);
	all_are(p + 512, bytes - 512, 1);
	mem_rig_close(&r);
}

/* All that calls are given and tell, where it has to be brought first. */
struct arguments {
	struct mem_rig *r;
	struct {
		char name[8192];
		void *p;
		struct annex_move *move;
		const void *cursor;
		struct annex_mem_page page;
		struct annex_mem_tensor tensor;
		struct annex_space_stats stats;
	} * t;
};

static void away(const struct arguments *a)
{
	mem_evict(a->r, a->t, sizeof(*a->t), ANNEX_TIER_SSD);
}

static void call_with(void *arg)
{
	struct arguments *a = arg;
	struct annex_space *s = a->r->space;

	strcpy(a->t->name, "far away");
	away(a);
	CU_ASSERT_EQUAL(annex_alloc(s, a->t->name, 8192, &a->t->p), 0);
	away(a);
	CU_ASSERT_EQUAL(annex_mem_lookup(s, a->t, &a->t->page), 0);
	away(a);
	CU_ASSERT_EQUAL(annex_prefetch(s, a->t->p, 8192, 0, &a->t->move), 0);
	CU_ASSERT_EQUAL(annex_move_wait(a->t->move, WAIT_MS), 0);
	away(a);
	CU_ASSERT_EQUAL(annex_mem_next(s, &a->t->cursor, &a->t->tensor), 1);
	CU_ASSERT_STRING_EQUAL(a->t->tensor.name, "arguments");
	CU_ASSERT_EQUAL(annex_mem_next(s, &a->t->cursor, &a->t->tensor), 1);
	CU_ASSERT_STRING_EQUAL(a->t->tensor.name, "far away");
	CU_ASSERT_PTR_EQUAL(a->t->tensor.ptr, a->t->p);
	CU_ASSERT_EQUAL(annex_mem_next(s, &a->t->cursor, &a->t->tensor), 0);
	away(a);
	annex_space_get_stats(s, &a->t->stats);
	CU_ASSERT(a->t->stats.out > 0);
	away(a);
	CU_ASSERT_EQUAL(annex_alloc(s, NULL, 100, &a->t->p), 0);
	CU_ASSERT_EQUAL(annex_free(s, a->t->p), 0);
}

static void arguments_in_the_space(void)
{
	struct arguments a;
	struct mem_rig r;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	a.r = &r;
	a.t = mem_alloc(&r, "arguments", sizeof(*a.t));
	CU_ASSERT_FATAL(ends(call_with, &a));
	mem_rig_close(&r);
}

/* The end of a space whose memory is lost leaves the error before it. */
static void cause_is_kept(void)
{
	struct annex_space_opts opts = {.device = MIB, .size = 2 * MIB, .cxl_bytes = MIB};
	struct annex_space *s;
	struct hdm_rig range;

	hdm_rig_open(&range, 8 * MIB, "");
	opts.cxl = range.h;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &s), 0);
	CU_ASSERT_FATAL(!ftruncate(range.fd, 0));
	CU_ASSERT_EQUAL(annex_space_resize(s, 4 * MIB), -EINVAL);
	annex_space_destroy(s);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "a device tier of"));
	hdm_rig_close(&range);
}

/*
 * A kernel waits for a page that is prefetched, behind a prefetch for which the kernel's other
 * pages leave no room.
 */
static void behind_a_prefetch(void)
{
	struct want want = {.to = ANNEX_TIER_GPU, .urgent = true, .keep = true, .most = UINT32_MAX};
	const uint64_t bytes = MIB * 3 / 4;
	struct annex_move *m;
	char *other, *p;
	struct mem_rig r;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	other = made_of(&r, "other", HALF, 1);
	mem_evict(&r, other, HALF, ANNEX_TIER_SSD);
	p = made_of(&r, "held", bytes, 2);
	mem_evict(&r, p, 4096, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_hold(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, other, HALF, 0, NULL), 0);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, p, bytes, 0, NULL), 0);
	CU_ASSERT_EQUAL(annex_move_begin(r.space, p, bytes, &want, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	all_are(p, bytes, 2);
	CU_ASSERT_EQUAL(annex_let_go(r.space, p), 0);
	all_are(other, HALF, 1);
	mem_rig_close(&r);
}

/* A device that does not answer in time ends a move: it must not look like one that goes on. */
static void late_device(void)
{
	char *p;
	struct mem_rig r;

	open_one(&r, "mem:4M?fault=lose,op=read", (struct annex_store_opts){.timeout_ms = 20},
		 (struct annex_space_opts){.device = MIB});
	p = made_of(&r, "late", 4096, 1);
	mem_evict(&r, p, 4096, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(mem_try_fetch(&r, p, 4096), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "timed out"));
	mem_fetch(&r, p, 4096);
	all_are(p, 4096, 1);
	mem_rig_close(&r);
}

/* A kernel waits for a tensor in more transfers than a queue of the device has entries. */
static void more_parts_than_entries(void)
{
	struct want want = {.to = ANNEX_TIER_GPU, .urgent = true, .most = UINT32_MAX};
	struct annex_store_opts slow = {.timeout_ms = 2 * WAIT_MS};
	struct annex_space_opts opts = {.device = 16 * MIB, .n_stores = 1};
	const uint64_t bytes = 12 * MIB;
	struct mem_rig r = {0};
	struct annex_move *m;
	char *p;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:16M", &slow, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	p = mem_filled(&r, "in parts", bytes, 1);
	/* Neighbouring pages are not neighbours on storage. */
	for (unsigned int odd = 0; odd < 2; odd++)
		for (uint64_t at = odd * 4096; at < bytes; at += 8192)
			annex_pre_evict(r.space, p + at, 4096, ANNEX_TIER_SSD, NULL);
	mem_evict(&r, p, bytes, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL_FATAL(annex_move_begin(r.space, p, bytes, &want, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	for (uint64_t at = 0; at < bytes; at += 4096)
		if (p[at] != 1)
			CU_FAIL("a page has other contents");
	mem_rig_close(&r);
}

UNIT_SUITE(mem_trouble, {"one failed write", one_failed_write}, {"a cause is kept", cause_is_kept},
	   {"clean ones leave", clean_ones_leave}, {"the culprit is named", the_culprit_is_named},
	   {"held for a while", held_for_a_while}, {"more is held", more_is_held},
	   {"accesses beside held tensors", touched_beside_held},
	   {"destroyed while reads fail", destroyed_while_reads_fail},
	   {"destroyed before it leaves", destroyed_before_it_leaves},
	   {"touched before it leaves", touched_before_it_leaves},
	   {"fetched before it leaves", fetched_before_it_leaves},
	   {"waited for while it leaves", waited_for_while_it_leaves},
	   {"written before it leaves", written_before_it_leaves},
	   {"held before it leaves for storage", held_before_storage},
	   {"held before it leaves for the host", held_before_host},
	   {"buffers need no mapping", buffers_need_no_mapping},
	   {"behind a prefetch", behind_a_prefetch}, {"a device that is late", late_device},
	   {"more parts than a queue has entries", more_parts_than_entries},
	   {"transfers wait for no lock", transfers_wait_for_no_lock},
	   {"arguments in the space", arguments_in_the_space})
