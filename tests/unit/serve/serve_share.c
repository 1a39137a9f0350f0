// SPDX-License-Identifier: MIT
/*
 * How much of a served device a part gets: its rate, numbers that change, and waiting for a turn,
 * which is no fault.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "serve/piece.h"
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define PIECE (64u << 10)
#define MOVED (4 * MIB)
#define PIECES (MOVED / PIECE)
#define RATE (8 * MIB)
#define BURST_MS 50u        /* as docs/serve.md has it */
#define LARGE (512u << 10)  /* what the device takes at once */
#define BESIDE (128u << 10) /* likewise: of a piece beside a priority client */

static struct annex_serve_part usual(const char *name, uint64_t bytes)
{
	struct annex_serve_part part = {
		.bytes = bytes, .uid = getuid(), .gid = getgid(), .mode = 0600, .weight = 100};

	strcpy(part.name, name);
	return part;
}

/* struct user - A client, and its buffer of MOVED bytes, @addr for the device. */
struct user {
	struct annex_dev *dev;
	char *buf;
	uint64_t addr;
};

static void open_user(const struct serve_rig *r, const char *part, uint32_t timeout_ms,
		      struct user *u)
{
	const struct annex_dev_opts opts = {.timeout_ms = timeout_ms};
	void *buf = NULL;
	char uri[128];

	CU_ASSERT_EQUAL_FATAL(annex_dev_open(serve_rig_uri(r, part, uri), &opts, &u->dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_alloc(u->dev, ANNEX_PLACE_PROVIDER, MOVED, &buf, &u->addr),
			      0);
	u->buf = buf;
}

static void close_user(struct user *u)
{
	annex_dev_free(u->dev, ANNEX_PLACE_PROVIDER, u->buf, MOVED, u->addr);
	annex_dev_close(u->dev);
}

/* All of the buffer, in pieces that are under way together. */
static int move(const struct user *u, uint8_t opcode)
{
	struct annex_io io[PIECES];

	for (unsigned int i = 0; i < PIECES; i++)
		io[i] = (struct annex_io){.opcode = opcode,
					  .nsid = 1,
					  .slba = i * (PIECE / 512),
					  .nlb = PIECE / 512,
					  .bytes = PIECE,
					  .addr = u->addr + i * (uint64_t)PIECE};
	return annex_dev_io(u->dev, io, PIECES, NULL);
}

/* Milliseconds by the rate, without the initial burst and the last command. */
static uint64_t least_ms(uint64_t bytes)
{
	return (bytes - PIECE) * 1000 / RATE - BURST_MS;
}

static void *write_all(void *arg)
{
	return (void *)(intptr_t)move(arg, ANNEX_NVM_WRITE);
}

static void limited(void)
{
	struct annex_serve_part a = usual("a", MOVED), b = usual("b", MOVED), told;
	struct user slow, fast;
	struct serve_rig r;
	uint64_t seed = random_seed("serve_share");
	char *kept = malloc(MOVED);
	pthread_t thread;
	uint64_t start;
	void *err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
	a.rate = RATE;
	serve_rig_open(&r, "mem:16M", "", 0);
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &a, NULL), 0);
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &b, NULL), 0);
	open_user(&r, "a", 0, &slow);
	open_user(&r, "b", 0, &fast);
	random_fill(&seed, slow.buf, MOVED);
	memcpy(kept, slow.buf, MOVED);
	start = annex_now();
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_all, &slow), 0);
	/* A client without a rate moves more than that meanwhile. */
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(move(&fast, ANNEX_NVM_WRITE), 0);
	CU_ASSERT(serve_rig_part(&r, "a", &told) && told.moved < MOVED);
	pthread_join(thread, &err);
	CU_ASSERT_PTR_NULL(err);
	memset(slow.buf, 0, MOVED);
	CU_ASSERT_EQUAL(move(&slow, ANNEX_NVM_READ), 0);
	CU_ASSERT((annex_now() - start) / ANNEX_NSEC_PER_MSEC >= least_ms(2 * MOVED));
	CU_ASSERT_EQUAL(memcmp(slow.buf, kept, MOVED), 0);
	close_user(&slow);
	close_user(&fast);
	free(kept);
	serve_rig_close(&r);
}

/* Commands that wait for longer than a command may take. */
static void waits(void)
{
	struct annex_serve_part a = usual("a", MOVED), told;
	struct serve_rig r;
	struct user u;

	a.rate = RATE / 4;
	serve_rig_make(&r, "mem:16M");
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, true), 0);
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &a, NULL), 0);
	open_user(&r, "a", 700, &u);
	CU_ASSERT_EQUAL(move(&u, ANNEX_NVM_WRITE), 0);
	CU_ASSERT(serve_rig_part(&r, "a", &told) && told.moved == MOVED && !told.failed);
	/* Of a daemon that does nothing at all, they end. */
	kill(r.child, SIGSTOP);
	CU_ASSERT(move(&u, ANNEX_NVM_WRITE) < 0);
	kill(r.child, SIGCONT);
	close_user(&u);
	serve_rig_kill(&r);
	serve_rig_remove(&r);
}

static void *change(void *arg)
{
	const struct serve_rig *r = arg;
	struct annex_serve_part a = usual("a", 0);

	return (void *)(intptr_t)annex_serve_set(r->path, &a);
}

static void changed(void)
{
	struct annex_serve_part a = usual("a", MOVED), bad, told;
	struct serve_rig r;
	struct user u;
	pthread_t thread;
	void *err;

	a.rate = MIB;
	serve_rig_open(&r, "file", "", 0);
	CU_ASSERT_EQUAL(annex_serve_set(r.path, &a), -ENOENT);
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &a, NULL), 0);
	bad = a;
	bad.rate = MIB - 1;
	CU_ASSERT_EQUAL(annex_serve_set(r.path, &bad), -EINVAL);
	bad = a;
	bad.weight = 0;
	CU_ASSERT_EQUAL(annex_serve_set(r.path, &bad), -EINVAL);
	bad = a;
	bad.mode = 01600;
	CU_ASSERT_EQUAL(annex_serve_set(r.path, &bad), -EINVAL);
	/* Commands that wait are told of a new rate. */
	open_user(&r, "a", 0, &u);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, change, &r), 0);
	CU_ASSERT_EQUAL(move(&u, ANNEX_NVM_WRITE), 0);
	pthread_join(thread, &err);
	CU_ASSERT_PTR_NULL(err);
	a = usual("a", 0);
	a.uid = 61234;
	a.gid = 61235;
	a.mode = 0640;
	a.weight = 7;
	a.first = 1;
	a.rate = 3 * MIB;
	CU_ASSERT_EQUAL(annex_serve_set(r.path, &a), 0);
	CU_ASSERT_EQUAL(move(&u, ANNEX_NVM_READ), 0); /* an open part stays usable */
	close_user(&u);
	serve_rig_stop(&r);
	/* The table has all of it. */
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT_FATAL(serve_rig_part(&r, "a", &told));
	CU_ASSERT(told.bytes == MOVED && told.uid == 61234 && told.gid == 61235 &&
		  told.mode == 0640 && told.weight == 7 && told.first && told.rate == 3 * MIB);
	serve_rig_close(&r);
}

static int move_whole(const struct user *u, uint8_t opcode, uint64_t bytes)
{
	const struct annex_io io = {.opcode = opcode,
				    .nsid = 1,
				    .nlb = (uint32_t)(bytes / 512),
				    .bytes = opcode == ANNEX_NVM_WRITE_ZEROES ? 0 : (uint32_t)bytes,
				    .addr = u->addr};

	return annex_dev_io(u->dev, &io, 1, NULL);
}

/* struct beside - A reader that goes first, beside a writer, of 1 MiB each, in this order. */
struct beside {
	struct serve_rig r;
	struct user reader, writer;
};

static void open_beside(struct beside *b)
{
	struct annex_serve_part first = usual("a", MIB), other = usual("b", MIB);

	first.first = 1;
	serve_rig_open(&b->r, "mem:16M", "", 0);
	CU_ASSERT_EQUAL(annex_serve_add(b->r.path, &first, NULL), 0);
	CU_ASSERT_EQUAL(annex_serve_add(b->r.path, &other, NULL), 0);
	open_user(&b->r, "a", 0, &b->reader);
	open_user(&b->r, "b", 0, &b->writer);
}

static void close_beside(struct beside *b)
{
	close_user(&b->reader);
	close_user(&b->writer);
	serve_rig_close(&b->r);
}

/* A command of the writer, right after one of the reader. */
static int move_beside(const struct beside *b, uint8_t opcode)
{
	CU_ASSERT_EQUAL(move_whole(&b->reader, ANNEX_NVM_READ, 512), 0);
	return move_whole(&b->writer, opcode, LARGE);
}

/* A device that has a wrong bit in the last byte of each read tells where pieces end. */
static void count_pieces(const struct beside *b, const char *kept)
{
	const uint64_t until = annex_deadline_ms(10000);
	const char *buf = b->writer.buf;
	unsigned int wrong, ends;

	do { /* again, if the reader has been away for so long that it does not go first */
		CU_ASSERT_EQUAL_FATAL(move_beside(b, ANNEX_NVM_READ), 0);
		wrong = 0;
		ends = 0;
		for (unsigned int i = 0; i < LARGE; i++)
			wrong += buf[i] != kept[i];
		for (unsigned int i = BESIDE; i <= LARGE; i += BESIDE)
			ends += buf[i - 1] != kept[i - 1];
	} while (wrong < LARGE / BESIDE && annex_now() < until);
	CU_ASSERT_EQUAL(ends, LARGE / BESIDE);
	CU_ASSERT_EQUAL(wrong, LARGE / BESIDE);
}

static void pieces(void)
{
	const struct annex_fault flips = {.kind = ANNEX_FAULT_FLIP, .opcode = ANNEX_NVM_READ};
	struct annex_serve_part told;
	struct beside b;
	uint64_t seed = random_seed("serve_share");
	char *kept = malloc(LARGE);

	CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
	open_beside(&b);
	for (unsigned int i = 0; i < 21; i++) {
		random_fill(&seed, b.writer.buf, LARGE);
		memcpy(kept, b.writer.buf, LARGE);
		CU_ASSERT_EQUAL(move_beside(&b, ANNEX_NVM_WRITE), 0);
		if (i % 2) {
			CU_ASSERT_EQUAL(move_beside(&b, ANNEX_NVM_WRITE_ZEROES), 0);
			memset(kept, 0, LARGE);
		}
		random_fill(&seed, b.writer.buf, LARGE);
		CU_ASSERT_EQUAL(move_beside(&b, ANNEX_NVM_READ), 0);
		CU_ASSERT_EQUAL(memcmp(b.writer.buf, kept, LARGE), 0);
	}
	CU_ASSERT_EQUAL(annex_dev_inject(b.r.dev, &flips), 0);
	count_pieces(&b, kept);
	CU_ASSERT(serve_rig_part(&b.r, "b", &told) && !told.failed);
	free(kept);
	close_beside(&b);
}

/* One of a command's pieces fails: so does the command, once. */
static void piece_fails(void)
{
	struct annex_fault fails = {.kind = ANNEX_FAULT_ERROR,
				    .opcode = ANNEX_NVM_WRITE,
				    .status = 0x281,
				    .lba = (MIB + BESIDE) / 512,
				    .blocks = 1};
	struct annex_serve_part told;
	struct beside b;

	open_beside(&b);
	CU_ASSERT_EQUAL(annex_dev_inject(b.r.dev, &fails), 0);
	for (unsigned int i = 1; i <= 4; i++) {
		CU_ASSERT(move_beside(&b, ANNEX_NVM_WRITE) < 0);
		CU_ASSERT(serve_rig_part(&b.r, "b", &told) && told.failed == i);
	}
	CU_ASSERT_EQUAL(move_whole(&b.writer, ANNEX_NVM_WRITE, BESIDE), 0);
	close_beside(&b);
}

/* struct bulk - A writer that goes on until it is told to end. */
struct bulk {
	const struct beside *b;
	uint32_t end;
	int err;
};

static void *write_on(void *arg)
{
	struct bulk *w = arg;

	/* Relaxed: nothing is passed along. */
	while (!w->err && !annex_atomic_load(&w->end, ANNEX_RELAXED))
		w->err = move_whole(&w->b->writer, ANNEX_NVM_WRITE, LARGE);
	return NULL;
}

static uint64_t piece_of(const struct serve_rig *r)
{
	struct annex_serve_part parts[ANNEX_SERVE_PARTS];
	struct annex_serve_facts facts = {.n = 0};

	CU_ASSERT_EQUAL_FATAL(annex_serve_list(r->path, &facts, parts), 0);
	return facts.piece;
}

/* Reads take 5 ms once a writer is active: the daemon makes pieces smaller. */
static void adapts(void)
{
	const struct annex_fault slow = {.kind = ANNEX_FAULT_DELAY,
					 .opcode = ANNEX_NVM_READ,
					 .blocks = MIB / 512,
					 .delay_us = 5000};
	const uint64_t until = annex_deadline_ms(20000);
	struct beside b;
	struct bulk w = {.b = &b};
	uint64_t seed = random_seed("serve_share adapts");
	char *kept = malloc(LARGE);
	pthread_t thread;

	CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
	open_beside(&b);
	random_fill(&seed, b.writer.buf, LARGE);
	memcpy(kept, b.writer.buf, LARGE);
	for (unsigned int i = 0; i < PIECE_ROUND; i++)
		CU_ASSERT_EQUAL_FATAL(move_whole(&b.reader, ANNEX_NVM_READ, 512), 0);
	CU_ASSERT_EQUAL(piece_of(&b.r), BESIDE);
	CU_ASSERT_EQUAL(annex_dev_inject(b.r.dev, &slow), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_on, &w), 0);
	while (piece_of(&b.r) >= BESIDE && annex_now() < until)
		CU_ASSERT_EQUAL_FATAL(move_whole(&b.reader, ANNEX_NVM_READ, 512), 0);
	CU_ASSERT(piece_of(&b.r) < BESIDE);
	annex_atomic_store(&w.end, 1u, ANNEX_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(w.err, 0);
	memset(b.writer.buf, 0, LARGE);
	CU_ASSERT_EQUAL(move_whole(&b.writer, ANNEX_NVM_READ, LARGE), 0);
	CU_ASSERT_EQUAL(memcmp(b.writer.buf, kept, LARGE), 0);
	free(kept);
	close_beside(&b);
}

UNIT_SUITE(serve_share, {"a rate", limited}, {"waiting for a turn is no fault", waits},
	   {"numbers that change", changed}, {"large commands beside a priority client", pieces},
	   {"a piece that fails", piece_fails}, {"pieces follow the device", adapts})
