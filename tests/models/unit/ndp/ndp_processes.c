// SPDX-License-Identifier: MIT
/*
 * Several processes at one device, over its socket: each gets its share and nothing of others, and
 * nothing is left of a killed one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/m2serve.h>
#include <annex/models/ndp.h>
#include "models/ndp/device/state.h"
#include "m2_rig.h"

#define CHILDREN 3u
#define LAUNCHES 6u
#define PIECES 64u                         /* of a launch: one unit has them all */
#define LAUNCH_WORDS 256u                  /* of the pool */
#define SAYS (LAUNCH_WORDS * 8 * CHILDREN) /* words for the progress of children */

/* struct house - A range, a served device with one thread, and its clients. @pool: where in
 * the range. */
struct house {
	struct m2_rig r;
	uint64_t pool;
	struct annex_m2_server *s;
	char dir[32], path[48], uri[56];
	pid_t child[CHILDREN];
};

static void make_name(struct house *h)
{
	strcpy(h->dir, "/tmp/annex-test.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(h->dir));
	snprintf(h->path, sizeof(h->path), "%s/ndp", h->dir);
	snprintf(h->uri, sizeof(h->uri), "ndp:%s", h->path);
}

static void open_house(struct house *h)
{
	const struct annex_ndp_opts device = {.threads = 1, .units = 2};

	*h = (struct house){0};
	m2_rig_range(&h->r);
	h->pool = (uint64_t)((char *)h->r.pool - (char *)annex_hdm_at(h->r.hdm, 0));
	make_name(h);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(&device, &h->r.ndp), 0);
	CU_ASSERT_EQUAL_FATAL(annex_m2_serve(h->r.ndp, &h->r.hdm, 1, h->path, &h->s), 0);
}

static void close_house(struct house *h)
{
	annex_m2_server_close(h->s);
	annex_ndp_destroy(h->r.ndp);
	annex_hdm_close(h->r.hdm);
	close(h->r.fd);
	CU_ASSERT_EQUAL(rmdir(h->dir), 0);
}

static void must(bool truth)
{
	if (!truth)
		_exit(1);
}

/* struct guest - What a child has. It opens everything anew. */
struct guest {
	struct annex_hdm *hdm;
	struct annex_m2 *m2;
	uint64_t *pool;
};

static void enter(const struct house *h, struct guest *g)
{
	must(!annex_hdm_open(h->r.uri, NULL, &g->hdm));
	must(!annex_m2_open(h->uri, NULL, &g->m2));
	must(!annex_m2_map(g->m2, g->hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE));
	g->pool = annex_hdm_at(g->hdm, h->pool);
}

static uint32_t put(const struct guest *g, const uint32_t *words, unsigned int n)
{
	const struct annex_m2_needs needs = {.nx = 32};
	struct annex_m2_image *image;
	uint32_t id, bytes = (uint32_t)sizeof(*image) + 4 * n;

	must(!annex_hdm_alloc(g->hdm, bytes, 0, NULL, (void **)&image));
	*image = (struct annex_m2_image){.magic = ANNEX_M2_IMAGE_MAGIC,
					 .version = ANNEX_M2_VERSION,
					 .bytes = bytes,
					 .bodies = 1,
					 .body = {sizeof(*image)}};
	memcpy(image + 1, words, 4 * (size_t)n);
	must(!annex_m2_register(g->m2, image, &needs, &id));
	return id;
}

static void say(const struct guest *g, unsigned int what, uint64_t number)
{
	/* Release: pairs with the acquire of the waiting process. */
	annex_atomic_store(&g->pool[SAYS + what], number, ANNEX_RELEASE);
}

static _Noreturn void stay(void)
{
	for (;;)
		pause();
}

/* A child with @launches endless kernels, each of which counts a word of its own. */
static _Noreturn void count_on(const struct house *h, unsigned int me, unsigned int launches)
{
	const uint32_t words[] = {addi(3, 0, 1), amoadd_d(0, 3, 1), jump(-4)};
	struct guest g;
	uint32_t id;

	enter(h, &g);
	id = put(&g, words, 3);
	for (unsigned int i = 0; i < launches; i++) {
		uint64_t *at = g.pool + (8 * me + i) * LAUNCH_WORDS, instance;

		must(!annex_m2_launch(g.m2, id, at, 32ull * PIECES, NULL, 0, &instance));
	}
	say(&g, me, 1);
	stay();
}

static void start(struct house *h, unsigned int me, unsigned int launches)
{
	h->child[me] = fork();
	if (!h->child[me])
		count_on(h, me, launches);
	CU_ASSERT_FATAL(h->child[me] > 0);
}

static void finish(struct house *h, unsigned int me)
{
	kill(h->child[me], SIGKILL);
	waitpid(h->child[me], NULL, 0);
}

/* Relaxed: each number by itself. */
static uint64_t counted(const struct house *h, unsigned int me)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < LAUNCHES; i++)
		all += annex_atomic_load(h->r.pool + (8 * me + i) * LAUNCH_WORDS, ANNEX_RELAXED);
	return all;
}

static bool grows(const struct house *h, unsigned int me, uint64_t much)
{
	uint64_t from = counted(h, me), deadline = annex_deadline_ms(3 * M2_RIG_LONG_MS);

	while (counted(h, me) - from < much) {
		if (annex_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

/* Whether so many processes with so many running kernels are left, in time. */
static bool is_left(const struct house *h, unsigned int clients, unsigned int running)
{
	uint64_t deadline = annex_deadline_ms(M2_RIG_LONG_MS);
	struct annex_ndp *ndp = h->r.ndp;
	bool so = false;

	while (!so && annex_now() < deadline) {
		pthread_mutex_lock(&ndp->lock);
		so = ndp->clients == clients && ndp->nrunning == running && !ndp->nwaiting;
		pthread_mutex_unlock(&ndp->lock);
		sched_yield();
	}
	return so;
}

/*
 * One has six kernels, the others one each, and all get the same: the least that one has counted
 * between two readings of all numbers, and the most that another has in the time around it.
 */
static void shares(void)
{
	uint64_t least[CHILDREN], most[CHILDREN], low = UINT64_MAX, high = 0;
	struct house h;

	open_house(&h);
	for (unsigned int i = 0; i < CHILDREN; i++)
		start(&h, i, i ? 1 : LAUNCHES);
	for (unsigned int i = 0; i < CHILDREN; i++)
		CU_ASSERT_FATAL(m2_rig_becomes(&h.r.pool[SAYS + i]));
	for (unsigned int i = 0; i < CHILDREN; i++)
		most[i] = counted(&h, i);
	for (unsigned int i = 0; i < CHILDREN; i++)
		least[i] = counted(&h, i);
	for (unsigned int i = 0; i < CHILDREN; i++)
		CU_ASSERT(grows(&h, i, 100000));
	for (unsigned int i = 0; i < CHILDREN; i++)
		least[i] = counted(&h, i) - least[i];
	for (unsigned int i = 0; i < CHILDREN; i++)
		most[i] = counted(&h, i) - most[i];
	for (unsigned int i = 0; i < CHILDREN; i++) {
		low = most[i] < low ? most[i] : low;
		high = least[i] > high ? least[i] : high;
	}
	/* By kernels it would be six to one. */
	CU_ASSERT(high / 4 < low);
	for (unsigned int i = 0; i < CHILDREN; i++)
		finish(&h, i);
	CU_ASSERT(is_left(&h, 0, 0));
	close_house(&h);
}

/* A process is killed amid its launches: they end, and others get its places undisturbed. */
static void killed(void)
{
	struct annex_m2_listed all[ANNEX_M2_CLIENTS];
	uint64_t before;
	struct house h;

	open_house(&h);
	start(&h, 0, LAUNCHES);
	start(&h, 1, 1);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_FATAL(m2_rig_becomes(&h.r.pool[SAYS + i]));
	CU_ASSERT(is_left(&h, 2, LAUNCHES + 1));
	finish(&h, 0);
	CU_ASSERT(is_left(&h, 1, 1));
	before = counted(&h, 0);
	CU_ASSERT(grows(&h, 1, 1000));
	CU_ASSERT_EQUAL(counted(&h, 0), before);
	CU_ASSERT_EQUAL(annex_m2_list(h.uri, all), 1);
	CU_ASSERT_EQUAL(all[0].pid, (uint32_t)h.child[1]);
	finish(&h, 1);
	CU_ASSERT(is_left(&h, 0, 0));
	close_house(&h);
}

static _Noreturn void have_kernels(const struct house *h)
{
	const uint32_t words[] = {ld(3, 1, 0), beq(3, 0, -4), ECALL};
	uint64_t instance;
	struct guest g;
	uint32_t id;

	enter(h, &g);
	id = put(&g, words, 3);
	must(!annex_m2_launch(g.m2, id, g.pool, 32, NULL, 0, &instance));
	say(&g, 1, id);
	say(&g, 2, instance);
	say(&g, 0, 1);
	stay();
}

/* Numbers that another process was given are none here. */
static _Noreturn void forge(const struct house *h)
{
	struct guest g;
	uint32_t id;

	enter(h, &g);
	id = (uint32_t)g.pool[SAYS + 1];
	must(annex_m2_run(g.m2, id, g.pool + 8, 32, NULL, 0, NULL) == -ENOENT);
	must(annex_m2_unregister(g.m2, id) == -ENOENT);
	must(annex_m2_poll(g.m2, g.pool[SAYS + 2], NULL) == -ENOENT);
	for (uint32_t i = 1; i < 1000; i++)
		must(annex_m2_unregister(g.m2, i) == -ENOENT);
	_exit(0);
}

static void forged(void)
{
	int status = -1;
	struct house h;

	open_house(&h);
	h.child[0] = fork();
	if (!h.child[0])
		have_kernels(&h);
	CU_ASSERT_FATAL(m2_rig_becomes(&h.r.pool[SAYS]));
	h.child[1] = fork();
	if (!h.child[1])
		forge(&h);
	waitpid(h.child[1], &status, 0);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT(is_left(&h, 1, 1)); /* whose they are still has them */
	finish(&h, 0);
	close_house(&h);
}

static int64_t shoot_down_oneself(const char *uri)
{
	struct annex_m2_info info;
	struct annex_m2 *m2;
	int err = annex_m2_open(uri, NULL, &m2);

	if (err)
		return 1;
	annex_m2_get_info(m2, &info);
	err = annex_m2_shootdown(m2, info.asid, m2);
	annex_m2_close(m2);
	return err;
}

/* Over the socket only root may, also where another user serves. */
static void not_for_everybody(void)
{
	int status = -1;
	struct house h;
	pid_t child;

	child = fork();
	if (!child) {
		must(getuid() || !setuid(65534));
		h = (struct house){0};
		make_name(&h);
		must(!annex_ndp_create(NULL, &h.r.ndp));
		must(!annex_m2_serve(h.r.ndp, NULL, 0, h.path, &h.s));
		must(shoot_down_oneself(h.uri) == -EPERM);
		annex_m2_server_close(h.s);
		annex_ndp_destroy(h.r.ndp);
		_exit(rmdir(h.dir));
	}
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
	open_house(&h);
	CU_ASSERT_EQUAL(shoot_down_oneself(h.uri), getuid() ? -EPERM : 0);
	close_house(&h);
}

UNIT_SUITE(ndp_processes, {"shares", shares}, {"killed", killed}, {"forged", forged},
	   {"not for everybody", not_for_everybody})
