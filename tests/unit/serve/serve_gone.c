// SPDX-License-Identifier: MIT
/*
 * A served device whose daemon is killed, or asked by one thread while another moves data.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/unit/emu_host.h"
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define PART (40 * MIB)
#define BLOCKS 2048u /* of 512 bytes, which are written */
#define KILLED_DAEMONS 5u
#define LEAVE_MS 10000u
#define FAR_COMMANDS 32u /* of 1 MiB: together as much as far data moves through at once */
#define THREADS 4u
#define CLAIMS 4u /* of each thread: together as many as a client may have */
#define ASKS (UNIT_SANITIZED ? 100u : 300u)

/* In a child, with a part "a". */
static void begin(struct serve_rig *r, const char *device)
{
	serve_rig_make(r, device);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(r, true), 0);
	CU_ASSERT_EQUAL_FATAL(serve_rig_add(r, "a", PART, getuid(), getgid(), 0600), 0);
}

static void end(struct serve_rig *r)
{
	serve_rig_kill(r);
	serve_rig_remove(r);
}

static int write_one(struct annex_dev *dev, uint64_t addr, char *buf, uint64_t n, bool flush)
{
	struct annex_io io[2] = {{.opcode = ANNEX_NVM_WRITE,
				  .nsid = 1,
				  .slba = n % BLOCKS,
				  .nlb = 1,
				  .bytes = 512,
				  .addr = addr},
				 {.opcode = ANNEX_NVM_FLUSH, .nsid = 1}};

	memset(buf, (int)(n % 251), 512);
	return annex_dev_io(dev, io, flush ? 2 : 1, NULL);
}

static bool is_there(struct annex_dev *dev, uint64_t addr, const char *buf, uint64_t n)
{
	struct annex_io io = {.opcode = ANNEX_NVM_READ,
			      .nsid = 1,
			      .slba = n % BLOCKS,
			      .nlb = 1,
			      .bytes = 512,
			      .addr = addr};

	return !annex_dev_io(dev, &io, 1, NULL) && buf[0] == (char)(n % 251) &&
	       buf[511] == (char)(n % 251);
}

/*
 * A daemon that is killed: every wait ends with an error, and when another is there, the same
 * client goes on, with everything that was flushed.
 */
static void killed_daemons(void)
{
	const struct annex_provider *memory = annex_provider_shared();
	char uri[128], *buf = memory->alloc(memory->ctx, 4096, 4096);
	struct annex_dev *dev;
	struct serve_rig r;
	uint64_t addr, until, n = 0;
	int err;

	begin(&r, "file");
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(serve_rig_uri(&r, "a", uri), NULL, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(dev, buf, 4096, &addr), 0);
	for (unsigned int i = 0; i < serve_rig_rounds(KILLED_DAEMONS); i++) {
		uint64_t first = n;

		while (n < first + 50)
			CU_ASSERT_EQUAL(write_one(dev, addr, buf, n++, true), 0);
		serve_rig_kill(&r);
		CU_ASSERT_EQUAL(write_one(dev, addr, buf, n, false), -EAGAIN);
		CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, true), 0);
		/* The client looks for a daemon now and then. */
		until = annex_deadline_ms(LEAVE_MS);
		do
			err = write_one(dev, addr, buf, n, true);
		while (err && annex_now() < until);
		CU_ASSERT_EQUAL(err, 0);
		n++;
		/* Older ones were written over. */
		for (uint64_t k = n > BLOCKS ? n - BLOCKS : 0; k < n; k++)
			CU_ASSERT(is_there(dev, addr, buf, k));
	}
	CU_ASSERT_EQUAL(annex_dev_unmap(dev, addr, 4096), 0);
	annex_dev_close(dev);
	memory->free(memory->ctx, buf, 4096);
	end(&r);
}

static int no_copy(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	(void)ctx;
	(void)moves;
	(void)n;
	return 0;
}

/* struct far - Memory that no load reaches. @lists: of the pages of each command. */
struct far {
	struct host h;
	struct annex_copier copier;
	char *at;
	uint64_t *lists;
};

static void far_open(struct far *f, const char *uri)
{
	uint64_t addr;

	memset(f, 0, sizeof(*f));
	host_ready(&f->h, uri);
	f->copier = (struct annex_copier){.name = "test", .copy = no_copy};
	f->lists = host_alloc(&f->h, (size_t)FAR_COMMANDS * 4096);
	f->at = mmap(NULL, PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CU_ASSERT_FATAL(f->at != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(
		f->h.ctrl->ops->map_far(f->h.ctrl, host_addr(f->at), PART, &f->copier, &addr), 0);
}

static void far_put(struct far *f, uint16_t i, uint32_t bytes)
{
	char *data = f->at + (size_t)i * MIB;
	uint64_t *list = f->lists + (size_t)i * 512;
	struct annex_sqe sqe = host_rw(ANNEX_NVM_READ, (uint64_t)i * (MIB / 512), bytes / 512, data,
				       list);

	for (unsigned int k = 1; k < bytes / 4096; k++)
		list[k - 1] = host_addr(data + k * 4096);
	sqe.cid = i;
	host_put(&f->h, 1, &sqe);
}

/*
 * Without a daemon all commands end at once, also one that waited for the room of the others: the
 * small one before leaves a unit in use at the beginning, or the search for room behind it.
 */
static void far_without_daemon(void)
{
	struct annex_cqe cqe;
	struct serve_rig r;
	struct far f;
	char uri[128];

	begin(&r, "mem:64M");
	far_open(&f, serve_rig_uri(&r, "a", uri));
	far_put(&f, 0, 4096);
	host_ring(&f.h, 1);
	CU_ASSERT_FATAL(host_wait(&f.h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.status >> 1, 0);
	serve_rig_kill(&r);
	for (uint16_t i = 0; i < FAR_COMMANDS; i++)
		far_put(&f, i, MIB);
	host_ring(&f.h, 1);
	for (unsigned int i = 0; i < FAR_COMMANDS; i++) {
		CU_ASSERT_FATAL(host_wait(&f.h, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status >> 1, ANNEX_SC_NS_NOT_READY);
	}
	host_close(&f.h);
	munmap(f.at, PART);
	serve_rig_remove(&r);
}

/* struct claimer - A thread that claims every THREADS-th block, from its number on. */
struct claimer {
	struct annex_dev *dev;
	unsigned int number;
	int err;
};

static void *claim_some(void *arg)
{
	struct claimer *c = arg;

	for (unsigned int i = 0; i < CLAIMS && !c->err; i++)
		c->err = annex_dev_claim(c->dev, 1, i * THREADS + c->number, 1);
	return NULL;
}

/* Whether a read is served again, after another daemon has begun. */
static bool is_back(struct annex_dev *dev, uint64_t addr)
{
	struct annex_io io = {
		.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 1, .bytes = 512, .addr = addr};
	uint64_t until = annex_deadline_ms(LEAVE_MS);
	int err;

	do
		err = annex_dev_io(dev, &io, 1, NULL);
	while (err && annex_now() < until);
	return !err;
}

/* Claims of several threads at once: the next daemon hears of each. */
static void claims_at_once(void)
{
	struct claimer claimers[THREADS] = {{.number = 0}};
	struct annex_dev *dev, *other;
	char uri[128], *buf = aligned_alloc(4096, 4096);
	struct serve_rig r;
	uint64_t addr;

	begin(&r, "file");
	serve_rig_uri(&r, "a", uri);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(dev, buf, 4096, &addr), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		claimers[i] = (struct claimer){.dev = dev, .number = i};
	unit_threads(THREADS, claim_some, claimers, sizeof(claimers[0]));
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(claimers[i].err, 0);
	serve_rig_kill(&r);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, true), 0);
	CU_ASSERT(is_back(dev, addr));
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &other), 0);
	/* The first of each thread; each refusal takes half a second. */
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(annex_dev_claim(other, 1, i, 1), -EBUSY);
	annex_dev_close(other);
	CU_ASSERT_EQUAL(annex_dev_unmap(dev, addr, 4096), 0);
	annex_dev_close(dev);
	free(buf);
	end(&r);
}

/* struct asker - @ended: the thread that asks has ended. */
struct asker {
	struct annex_dev *dev;
	const struct annex_provider *memory;
	uint32_t ended;
	int err;
};

/* Each mapping is told to the daemon, and its end. */
static void *ask_often(void *arg)
{
	struct asker *a = arg;
	char *buf = a->memory->alloc(a->memory->ctx, 4096, 4096);
	uint64_t addr;

	for (unsigned int i = 0; i < ASKS && !a->err; i++) {
		a->err = annex_dev_map(a->dev, buf, 4096, &addr);
		if (!a->err)
			a->err = annex_dev_unmap(a->dev, addr, 4096);
	}
	a->memory->free(a->memory->ctx, buf, 4096);
	annex_atomic_store(&a->ended, 1u, ANNEX_RELEASE);
	return NULL;
}

/* An answer for another thread is not taken for the end of the daemon. */
static void asked_meanwhile(void)
{
	struct asker a = {.memory = annex_provider_shared()};
	char uri[160], *buf = a.memory->alloc(a.memory->ctx, 4096, 4096);
	struct annex_io io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 1, .bytes = 512};
	struct serve_rig r;
	pthread_t thread;
	int err = 0;

	begin(&r, "mem:64M?fault=delay,op=read,us=300,count=0");
	serve_rig_uri(&r, "a", uri);
	strcat(uri, "&serve=busy");
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &a.dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(a.dev, buf, 4096, &io.addr), 0);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, ask_often, &a));
	/* Acquire: pairs with the release of ask_often(). */
	while (!err && !annex_atomic_load(&a.ended, ANNEX_ACQUIRE))
		err = annex_dev_io(a.dev, &io, 1, NULL);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_EQUAL(a.err, 0);
	CU_ASSERT_EQUAL(annex_dev_unmap(a.dev, io.addr, 4096), 0);
	annex_dev_close(a.dev);
	a.memory->free(a.memory->ctx, buf, 4096);
	end(&r);
}

UNIT_SUITE(serve_gone, {"daemons that are killed", killed_daemons},
	   {"far data without a daemon", far_without_daemon}, {"claims at once", claims_at_once},
	   {"a daemon that is asked meanwhile", asked_meanwhile})
