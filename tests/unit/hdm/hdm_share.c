// SPDX-License-Identifier: MIT
/*
 * Ranges among threads and processes, against a model, and with processes that die.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "hdm/lock.h"
#include "tests/unit/hdm_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define RANGE (8ull << 20)
#define PIECES 64
#define THREADS 6
#define SECONDS 30

struct piece {
	unsigned char *p;
	size_t bytes;
	unsigned char mark;
};

/* Small ones mostly, of every class, and some of many granules. */
static size_t random_bytes(uint64_t *seed)
{
	size_t bytes = 1 + random_next(seed) % 1200;

	return random_next(seed) % 8 ? bytes : bytes * 40;
}

/* Check the contents of a piece, and free it. */
static bool give(struct annex_hdm *h, struct piece *x)
{
	bool right = true;

	if (!x->p)
		return true;
	for (size_t i = 0; i < x->bytes; i++)
		right = right && x->p[i] == x->mark;
	right = right && !annex_hdm_free(h, x->p);
	x->p = NULL;
	return right;
}

static bool take(struct annex_hdm *h, struct piece *x, uint64_t *seed, const char *name)
{
	size_t align = random_next(seed) % 4 ? 0 : 1u << random_next(seed) % 15;
	int err;

	x->bytes = random_bytes(seed);
	x->mark = (unsigned char)random_next(seed);
	err = annex_hdm_alloc(h, x->bytes, align, name, (void **)&x->p);
	if (err) {
		x->p = NULL;
		return err == -ENOSPC;
	}
	memset(x->p, x->mark, x->bytes);
	return (uintptr_t)x->p % (align > 64 ? align : 64) == 0;
}

static bool churn(struct annex_hdm *h, uint64_t *seed, unsigned int calls)
{
	struct piece all[PIECES] = {{NULL, 0, 0}};
	bool right = true;

	while (calls-- && right) {
		struct piece *x = &all[random_next(seed) % PIECES];

		right = x->p ? give(h, x) : take(h, x, seed, NULL);
	}
	for (unsigned int i = 0; i < PIECES; i++)
		right = give(h, &all[i]) && right;
	return right;
}

/* Whether pieces lie apart from each other and from the table. */
static bool apart(struct annex_hdm *h, const struct piece *all, uint64_t table)
{
	for (unsigned int i = 0; i < PIECES; i++) {
		if (!all[i].p)
			continue;
		if ((char *)all[i].p < h->m->base + table ||
		    (char *)all[i].p + all[i].bytes > h->m->base + h->m->bytes)
			return false;
		for (unsigned int k = 0; k < i; k++)
			if (all[k].p && all[k].p < all[i].p + all[i].bytes &&
			    all[i].p < all[k].p + all[k].bytes)
				return false;
	}
	return true;
}

static void as_the_model_has_it(void)
{
	uint64_t seed = random_seed("model");
	struct piece all[PIECES] = {{NULL, 0, 0}};
	struct annex_hdm_usage u;
	struct annex_hdm_block b;
	struct hdm_rig r;
	unsigned int full = 0;

	/* So small that it is full at times. */
	hdm_rig_open(&r, 384 << 10, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
	for (int i = 0; i < 4000; i++) {
		unsigned int k = (unsigned int)(random_next(&seed) % PIECES);
		char name[16];

		snprintf(name, sizeof(name), "p%u", k);
		if (all[k].p) {
			CU_ASSERT_FATAL(give(r.h, &all[k]));
			CU_ASSERT_EQUAL(annex_hdm_find(r.h, name, &b), -ENOENT);
			continue;
		}
		CU_ASSERT_FATAL(take(r.h, &all[k], &seed, k % 4 ? NULL : name));
		full += !all[k].p;
		CU_ASSERT_FATAL(apart(r.h, all, u.table));
		if (all[k].p && !(k % 4)) {
			CU_ASSERT_EQUAL_FATAL(annex_hdm_find(r.h, name, &b), 0);
			CU_ASSERT_EQUAL(annex_hdm_at(r.h, b.offset), (void *)all[k].p);
			CU_ASSERT_EQUAL(b.bytes, all[k].bytes);
		}
	}
	CU_ASSERT(full > 0);
	for (unsigned int k = 0; k < PIECES; k++)
		CU_ASSERT(give(r.h, &all[k]));
	/* All of it can be had again, in one piece. */
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, u.free, 0, NULL, (void **)&all[0].p), 0);
	hdm_rig_close(&r);
}

struct crowd {
	struct annex_hdm *h;
	uint64_t seed;
	uint32_t bad;
};

static void *one_of_many(void *arg)
{
	struct crowd *c = arg;
	/* relaxed: the numbers only have to differ */
	uint64_t seed = annex_atomic_add(&c->seed, 1, ANNEX_RELAXED) * 77777;

	if (!churn(c->h, &seed, 20000))
		annex_atomic_add(&c->bad, 1, ANNEX_RELAXED);
	return NULL;
}

static void many_threads(void)
{
	struct crowd c = {.seed = random_seed("threads")};
	struct annex_hdm_usage u;
	struct hdm_rig r;
	void *all;

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
	c.h = r.h;
	unit_threads(THREADS, one_of_many, &c, 0);
	CU_ASSERT_EQUAL(c.bad, 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, u.free, 0, NULL, &all), 0);
	hdm_rig_close(&r);
}

/* Pieces that another thread took are given back here. */
static void *give_all(void *arg)
{
	struct crowd *c = arg;
	void **pieces = (void **)(uintptr_t)c->seed;

	for (unsigned int i = 0; i < 1000; i++)
		c->bad += !!annex_hdm_free(c->h, pieces[i]);
	return NULL;
}

static void given_back_by_others(void)
{
	void *pieces[1000], *all;
	struct crowd c = {.seed = (uintptr_t)pieces};
	struct annex_hdm_usage u;
	struct hdm_rig r;
	pthread_t thread;

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
	c.h = r.h;
	for (unsigned int i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 64 + i, 0, NULL, &pieces[i]), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, give_all, &c), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(c.bad, 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, u.free, 0, NULL, &all), 0);
	hdm_rig_close(&r);
}

/* struct seen - What a child tells its parent, in memory that both have. */
struct seen {
	uint64_t calls;
};

static struct seen *share_seen(void)
{
	struct seen *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);

	CU_ASSERT_FATAL(s != MAP_FAILED);
	return s;
}

static int end_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

static void processes_side_by_side(void)
{
	uint64_t seed = random_seed("processes");
	struct hdm_rig r;
	struct annex_hdm_usage before, after;
	pid_t children[3];

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &before), 0);
	for (unsigned int i = 0; i < 3; i++) {
		children[i] = fork();
		if (!children[i]) {
			struct annex_hdm *h;
			bool right = !annex_hdm_open(r.uri, NULL, &h);

			seed += i * 1000;
			right = right && churn(h, &seed, 8000);
			annex_hdm_close(h);
			_exit(!right);
		}
	}
	CU_ASSERT(churn(r.h, &seed, 8000));
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(end_of(children[i]), 0);
	annex_hdm_close(r.h);
	r.h = hdm_rig_again(&r);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &after), 0);
	CU_ASSERT_EQUAL(after.used, 0);
	CU_ASSERT_EQUAL(after.free, before.free);
	hdm_rig_close(&r);
}

/* Allocate and free pieces, with names and without, until killed. */
static void live_until_killed(const char *uri, uint64_t seed, struct seen *s)
{
	struct annex_hdm *h;
	void *p;

	if (annex_hdm_open(uri, NULL, &h))
		_exit(1);
	for (;;) {
		struct annex_hdm_block b;
		char name[16];

		snprintf(name, sizeof(name), "k%u", (unsigned int)(random_next(&seed) % 20));
		if (!annex_hdm_find(h, name, &b)) {
			/* Another may have been quicker. */
			annex_hdm_free(h, annex_hdm_at(h, b.offset));
		} else if (!annex_hdm_alloc(h, 1 + random_next(&seed) % 9000, 0, name, &p)) {
			strcpy(p, name);
		}
		if (!annex_hdm_alloc(h, random_bytes(&seed), 0, NULL, &p) && random_next(&seed) % 4)
			annex_hdm_free(h, p);
		annex_atomic_add(&s->calls, 1, ANNEX_RELAXED);
	}
}

/* Wait until the children have made @calls, not longer than half a minute. */
static bool reached(struct seen *s, uint64_t calls)
{
	uint64_t deadline = annex_deadline_ms(SECONDS * 1000);

	while (annex_atomic_load(&s->calls, ANNEX_RELAXED) < calls) {
		if (annex_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

static void killed_in_the_middle(void)
{
	uint64_t seed = random_seed("killed");
	struct seen *s = share_seen();
	struct annex_hdm_usage u;
	struct hdm_rig r;
	unsigned int names;

	hdm_rig_open(&r, RANGE, "");
	for (int round = 0; round < 60; round++) {
		uint64_t from = annex_atomic_load(&s->calls, ANNEX_RELAXED);
		pid_t a = fork(), b;

		if (!a)
			live_until_killed(r.uri, seed + (uint64_t)round, s);
		b = fork();
		if (!b)
			live_until_killed(r.uri, seed - (uint64_t)round, s);
		CU_ASSERT(reached(s, from + 20 + random_next(&seed) % 200));
		kill(a, SIGKILL);
		CU_ASSERT_EQUAL(end_of(a), SIGKILL);
		/* The other one goes on. */
		from = annex_atomic_load(&s->calls, ANNEX_RELAXED);
		CU_ASSERT(reached(s, from + 20));
		kill(b, SIGKILL);
		CU_ASSERT_EQUAL(end_of(b), SIGKILL);
		/* Opening walks the whole table, and frees pieces of dead processes. */
		annex_hdm_close(r.h);
		r.h = hdm_rig_again(&r);
		names = hdm_rig_count(r.h);
		CU_ASSERT(names <= 20);
		CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
		CU_ASSERT(u.used <= names * 3 * 4096);
	}
	hdm_rig_close(&r);
	munmap(s, sizeof(*s));
}

/* In a child: most of the range, as an owner of its own. */
static void take_most(const struct hdm_rig *r)
{
	struct annex_hdm *h;
	void *p;

	if (annex_hdm_open(r->uri, NULL, &h) || annex_hdm_alloc(h, RANGE / 4 * 3, 0, NULL, &p))
		_exit(1);
}

/* What a dead process had is taken back when there is no room without it. */
static void room_of_the_dead(void)
{
	struct seen *s = share_seen();
	struct annex_hdm_block b;
	uint64_t cursor = 0;
	struct hdm_rig r;
	void *p;
	pid_t child;

	hdm_rig_open(&r, RANGE, "");
	child = fork();
	if (!child) {
		take_most(&r);
		annex_atomic_store(&s->calls, 1, ANNEX_RELEASE);
		for (;;)
			pause();
	}
	CU_ASSERT(reached(s, 1));
	CU_ASSERT_EQUAL(annex_hdm_next(r.h, &cursor, &b), 1);
	CU_ASSERT(!b.owned && !b.dead);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, RANGE / 2, 0, NULL, &p), -ENOSPC);
	kill(child, SIGKILL);
	end_of(child);
	cursor = 0;
	CU_ASSERT_EQUAL(annex_hdm_next(r.h, &cursor, &b), 1);
	CU_ASSERT(b.dead);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, RANGE / 2, 0, NULL, &p), 0);
	hdm_rig_close(&r);
	munmap(s, sizeof(*s));
}

/* A child of a dead process, with its memory mapped, does not keep its pieces allocated. */
static void heirs(void)
{
	struct seen *s = share_seen();
	struct hdm_rig r;
	pid_t child;
	void *p;

	hdm_rig_open(&r, RANGE, "");
	child = fork();
	if (!child) {
		take_most(&r);
		if (!fork())
			annex_atomic_store(&s->calls, (uint64_t)getpid(), ANNEX_RELEASE);
		for (;;)
			pause();
	}
	CU_ASSERT(reached(s, 1));
	kill(child, SIGKILL);
	end_of(child);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, RANGE / 2, 0, NULL, &p), 0);
	kill((pid_t)s->calls, SIGKILL);
	hdm_rig_close(&r);
	munmap(s, sizeof(*s));
}

static void waits_end(void)
{
	struct annex_hdm_opts opts = {.timeout_ms = 20};
	struct seen *s = share_seen();
	struct annex_hdm *h, *none = NULL;
	struct hdm_rig r;
	char name[64];
	void *p;
	pid_t child;

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(r.uri, &opts, &h), 0);
	child = fork();
	if (!child) {
		struct annex_hdm *mine;

		if (annex_hdm_open(r.uri, NULL, &mine) || hdm_lock(mine))
			_exit(1);
		annex_atomic_store(&s->calls, 1, ANNEX_RELEASE);
		for (;;)
			pause();
	}
	CU_ASSERT(reached(s, 1));
	snprintf(name, sizeof(name), ": process %d has held its table for 20 ms", (int)child);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 100000, 0, NULL, &p), -ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), name));
	CU_ASSERT_EQUAL(annex_hdm_open(r.uri, &opts, &none), -ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), name));
	/* The dead hold no lock. */
	kill(child, SIGKILL);
	end_of(child);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 100000, 0, NULL, &p), 0);
	/* Nor do threads wait longer for each other. */
	CU_ASSERT_EQUAL(hdm_lock(h), 0);
	CU_ASSERT_EQUAL(hdm_lock(h), -ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "another thread"));
	CU_ASSERT_EQUAL(hdm_unlock(h, 0), 0);
	annex_hdm_close(h);
	hdm_rig_close(&r);
	munmap(s, sizeof(*s));
}

static void not_after_fork(void)
{
	struct annex_hdm_block b;
	struct hdm_rig r;
	char *p, *q;
	pid_t child;

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 100, 0, NULL, (void **)&p), 0);
	*p = 1;
	child = fork();
	if (!child) {
		bool right = annex_hdm_alloc(r.h, 100, 0, NULL, (void **)&q) == -ECHILD &&
			     annex_hdm_alloc(r.h, 100, 0, "x", (void **)&q) == -ECHILD &&
			     annex_hdm_free(r.h, p) == -ECHILD &&
			     annex_hdm_find(r.h, "x", &b) == -ECHILD && *p == 1;

		*p = 2;
		annex_hdm_close(r.h);
		_exit(!right);
	}
	CU_ASSERT_EQUAL(end_of(child), 0);
	/* The memory is shared and belongs to the parent, whose number is still in use. */
	CU_ASSERT_EQUAL(*p, 2);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 9000, 0, "x", (void **)&q), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, p), 0);
	CU_ASSERT(hdm_owner_lives(r.h, r.h->owner) && !hdm_owner_lives(r.h, r.h->owner + 1));
	hdm_rig_close(&r);
}

/* If several processes make a range at once, it is made once. */
static void made_by_all_at_once(void)
{
	for (int round = 0; round < 20; round++) {
		int fd = unit_memfd(0, NULL);
		char uri[RIG_URI];
		pid_t children[4];
		struct annex_hdm *h;

		snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d?size=1M", fd);
		for (unsigned int i = 0; i < 4; i++) {
			children[i] = fork();
			if (!children[i]) {
				char name[2] = {(char)('a' + i), '\0'};
				void *p;
				int err = annex_hdm_open(uri, NULL, &h);

				_exit(err || annex_hdm_alloc(h, 1, 0, name, &p));
			}
		}
		for (unsigned int i = 0; i < 4; i++)
			CU_ASSERT_EQUAL(end_of(children[i]), 0);
		CU_ASSERT_EQUAL_FATAL(annex_hdm_open(uri, NULL, &h), 0);
		CU_ASSERT_EQUAL(hdm_rig_count(h), 4);
		annex_hdm_close(h);
		close(fd);
	}
}

static void *open_range(void *uri)
{
	struct annex_hdm *h = NULL;

	return annex_hdm_open(uri, NULL, &h) ? NULL : h;
}

/* The number of descriptors of a file in this process, of all threads: by their paths. */
static unsigned int descriptors_of(const struct stat *file)
{
	unsigned int n = 0;
	char path[32];
	struct stat st;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n += !stat(path, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
	}
	return n;
}

/* A range whose maker failed, and has removed it while another one waited for it. */
static void made_anew(void)
{
	char path[] = "/tmp/annex-hdm-XXXXXX", uri[RIG_URI];
	int fd = mkstemp(path);
	struct stat made, st;
	pthread_t thread;
	void *h;

	CU_ASSERT_FATAL(fd >= 0 && !fstat(fd, &made));
	snprintf(uri, sizeof(uri), "shm:%s?size=1M", path);
	CU_ASSERT_EQUAL_FATAL(lock_try(fd, LOCK_TABLE), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, open_range, uri), 0);
	while (descriptors_of(&made) < 2)
		sched_yield();
	CU_ASSERT_EQUAL(unlink(path), 0);
	lock_drop(fd, LOCK_TABLE);
	pthread_join(thread, &h);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 1 << 20);
	annex_hdm_close(h);
	unlink(path);
	close(fd);
}

UNIT_SUITE(hdm_share, {"made anew", made_anew}, {"as the model has it", as_the_model_has_it},
	   {"many threads", many_threads}, {"given back by others", given_back_by_others},
	   {"processes side by side", processes_side_by_side},
	   {"killed in the middle", killed_in_the_middle}, {"room of the dead", room_of_the_dead},
	   {"heirs", heirs}, {"waits end", waits_end}, {"not after fork()", not_after_fork},
	   {"made by all at once", made_by_all_at_once})
