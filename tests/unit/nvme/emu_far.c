// SPDX-License-Identifier: MIT
/*
 * Data in memory that the process cannot load from or store to: addresses with nothing at them, and
 * a copier that can translate them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "tests/unit/emu_host.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define FAR_BYTES (80u << 20)
#define MEDIUM_BYTES (80u << 20)
#define COMMAND (1u << 20) /* the largest */
#define MANY 63u           /* of them, together more than what data goes through */
#define PIECES 6u

/* struct far - Such memory. @at: where it seems to be; @hidden: where it is. */
struct far {
	struct host h;
	char *at, *hidden;
	struct annex_copier copier;
	uint32_t calls, moves;
	int fails;          /* with this errno, while not 0 */
	uint32_t fail_call; /* the call of this number does, from 1 */
	char path[UNIT_PATH];
};

static int copy(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	struct far *f = ctx;

	if (annex_atomic_add(&f->calls, 1u, ANNEX_RELAXED) + 1 == f->fail_call)
		return -EIO;
	annex_atomic_add(&f->moves, n, ANNEX_RELAXED);
	for (unsigned int i = 0; !f->fails && i < n; i++) {
		char *far = f->hidden + (moves[i].far - host_addr(f->at));

		if (moves[i].to_far)
			memcpy(far, moves[i].near, moves[i].len);
		else
			memcpy(moves[i].near, far, moves[i].len);
	}
	return f->fails;
}

static char *reserve(size_t bytes, int prot)
{
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CU_ASSERT_FATAL(p != MAP_FAILED);
	return p;
}

static int map_far(struct far *f, const struct annex_copier *copier)
{
	uint64_t addr = 0;
	int err = f->h.ctrl->ops->map_far(f->h.ctrl, host_addr(f->at), FAR_BYTES, copier, &addr);

	CU_ASSERT(err || addr == host_addr(f->at));
	return err;
}

static int unmap_far(struct far *f)
{
	return f->h.ctrl->ops->unmap(f->h.ctrl, host_addr(f->at), FAR_BYTES);
}

/* @kind: mem: or file:; @more: parameters, each after a '&'. */
static void far_open(struct far *f, const char *kind, const char *more)
{
	char uri[512];

	memset(f, 0, sizeof(*f));
	if (strcmp(kind, "mem:")) {
		unit_tmpfile(f->path);
		snprintf(uri, sizeof(uri), "file:%s?size=%u&block=512%s", f->path, MEDIUM_BYTES,
			 more);
	} else {
		snprintf(uri, sizeof(uri), "mem:%u?block=512%s", MEDIUM_BYTES, more);
	}
	host_ready(&f->h, uri);
	f->at = reserve(FAR_BYTES, PROT_NONE);
	f->hidden = reserve(FAR_BYTES, PROT_READ | PROT_WRITE);
	f->copier = (struct annex_copier){.name = "test", .copy = copy, .ctx = f};
	CU_ASSERT_EQUAL_FATAL(map_far(f, &f->copier), 0);
}

static void far_close(struct far *f)
{
	host_close(&f->h);
	munmap(f->at, FAR_BYTES);
	munmap(f->hidden, FAR_BYTES);
	if (f->path[0])
		unlink(f->path);
}

static const struct place {
	const char *kind, *more;
} places[] = {
	{"mem:", ""},           {"mem:", "&serve=thread"},  {"mem:", "&serve=busy"},
	{"file:", ""},          {"file:", "&serve=thread"}, {"file:", "&serve=busy"},
	{"file:", "&direct=0"},
};

static void everywhere(void (*test)(struct far *f))
{
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct far f;

		far_open(&f, places[i].kind, places[i].more);
		test(&f);
		far_close(&f);
	}
}

/*
 * Commands of random pieces, against a model of both memories: moved data arrives, byte for
 * byte, and nothing beside it changes.
 */
struct model {
	struct far *f;
	struct annex_sgl *list;
	unsigned char *medium, *far;
	uint64_t seed;
};

#define MODEL_BYTES (1u << 20) /* of each memory, from its beginning */

static struct annex_sqe random_command(struct model *m, uint8_t opcode, struct iovec *pieces,
				       unsigned int *n, uint32_t *lba)
{
	uint32_t nlb = 1 + (uint32_t)(random_next(&m->seed) % 64), left = nlb * 512;
	uint32_t slice = MODEL_BYTES / PIECES;
	struct annex_sqe sqe;

	*lba = (uint32_t)(random_next(&m->seed) % (MODEL_BYTES / 512 - nlb));
	*n = 1 + (unsigned int)(random_next(&m->seed) % PIECES);
	for (unsigned int i = 0; i < *n; i++) {
		uint32_t len = i + 1 == *n ? left
					   : (uint32_t)(random_next(&m->seed) % left / 2) + 1;
		/* Pieces do not overlap: each in a part of the memory of its own. */
		uint64_t off = i * slice + random_next(&m->seed) % (slice - len);

		pieces[i] = (struct iovec){m->f->at + off, len};
		m->list[i] = (struct annex_sgl){
			.addr = host_addr(m->f->at + off), .len = len, .type = ANNEX_SGL_DATA};
		left -= len;
	}
	sqe = host_rw(opcode, *lba, nlb, NULL, NULL);
	sqe.flags = ANNEX_SQE_PSDT_SGL;
	sqe.dptr[0] = host_addr(m->list);
	sqe.dptr[1] = *n * sizeof(*m->list) | (uint64_t)ANNEX_SGL_LAST_SEGMENT << 56;
	return sqe;
}

/* Carry it out on the model as well. Return: what its status should be. */
static uint16_t expect(struct model *m, uint8_t opcode, const struct iovec *pieces, unsigned int n,
		       uint32_t lba)
{
	unsigned char *medium = m->medium + lba * 512;
	bool same = true;

	for (unsigned int i = 0; i < n; medium += pieces[i++].iov_len) {
		unsigned char *far = m->far + ((char *)pieces[i].iov_base - m->f->at);

		if (opcode == ANNEX_NVM_READ)
			memcpy(far, medium, pieces[i].iov_len);
		else if (opcode == ANNEX_NVM_WRITE)
			memcpy(medium, far, pieces[i].iov_len);
		else
			same = same && !memcmp(medium, far, pieces[i].iov_len);
	}
	return same ? 0 : ANNEX_SC_COMPARE_FAILURE;
}

static void reference_on(struct far *f)
{
	struct model m = {.f = f, .seed = random_seed("far")};
	static const uint8_t ops[] = {ANNEX_NVM_READ, ANNEX_NVM_WRITE, ANNEX_NVM_COMPARE};

	m.list = host_alloc(&f->h, 4096);
	m.medium = calloc(1, MODEL_BYTES);
	m.far = malloc(MODEL_BYTES);
	CU_ASSERT_FATAL(m.medium && m.far);
	random_fill(&m.seed, m.far, MODEL_BYTES);
	memcpy(f->hidden, m.far, MODEL_BYTES);
	for (unsigned int i = 0; i < 300; i++) {
		struct iovec pieces[PIECES];
		uint8_t op = ops[random_next(&m.seed) % 3];
		unsigned int n;
		uint32_t lba;
		struct annex_sqe sqe = random_command(&m, op, pieces, &n, &lba);

		CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), expect(&m, op, pieces, n, lba));
		if (op == ANNEX_NVM_COMPARE)
			continue;
		/* Now the two are the same, also to the controller. */
		sqe.opcode = ANNEX_NVM_COMPARE;
		CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), 0);
	}
	CU_ASSERT(!memcmp(f->hidden, m.far, MODEL_BYTES));
	free(m.medium);
	free(m.far);
}

static void reference(void)
{
	everywhere(reference_on);
}

/* A list of the pages of the @i-th command's data. */
static struct annex_sqe whole(struct far *f, uint64_t *lists, uint8_t opcode, unsigned int i)
{
	uint64_t *list = lists + i * 512;
	char *data = f->at + (size_t)i * COMMAND;
	struct annex_sqe sqe = host_rw(opcode, (uint64_t)i * (COMMAND / 512), COMMAND / 512, data,
				       list);

	for (unsigned int k = 1; k < COMMAND / 4096; k++)
		list[k - 1] = host_addr(data + k * 4096);
	sqe.cid = (uint16_t)i;
	return sqe;
}

static void submit_many(struct far *f, uint64_t *lists, uint8_t opcode)
{
	for (unsigned int i = 0; i < MANY; i++) {
		struct annex_sqe sqe = whole(f, lists, opcode, i);

		host_put(&f->h, 1, &sqe);
	}
	host_ring(&f->h, 1);
}

static void collect_many(struct far *f)
{
	struct annex_cqe cqe;

	for (unsigned int i = 0; i < MANY; i++) {
		CU_ASSERT_FATAL(host_wait(&f->h, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status >> 1, 0);
	}
}

/* More data at once than there is room for: it comes in turn. */
static void more_than_room_on(struct far *f)
{
	uint64_t *lists = host_alloc(&f->h, (size_t)MANY * 4096), seed = random_seed("room");
	char *before = malloc((size_t)MANY * COMMAND);

	CU_ASSERT_FATAL(before != NULL);
	for (size_t i = 0; i < (size_t)MANY * COMMAND; i += 8) {
		uint64_t word = random_next(&seed);

		memcpy(before + i, &word, 8);
	}
	memcpy(f->hidden, before, (size_t)MANY * COMMAND);
	submit_many(f, lists, ANNEX_NVM_WRITE);
	collect_many(f);
	memset(f->hidden, 0, (size_t)MANY * COMMAND);
	submit_many(f, lists, ANNEX_NVM_READ);
	collect_many(f);
	CU_ASSERT(!memcmp(f->hidden, before, (size_t)MANY * COMMAND));
	submit_many(f, lists, ANNEX_NVM_COMPARE);
	collect_many(f);
	free(before);
}

static void more_than_room(void)
{
	everywhere(more_than_room_on);
}

/* Many commands, one call: what a GPU's copies cost is the waiting for them. */
static void one_call(void)
{
	struct annex_cqe cqe;
	struct far f;

	far_open(&f, "mem:", "");
	for (uint16_t i = 0; i < 32; i++) {
		struct annex_sqe sqe = host_rw(ANNEX_NVM_READ, i * 8, 8, f.at + i * 8192, NULL);

		sqe.cid = i;
		host_put(&f.h, 1, &sqe);
	}
	host_ring(&f.h, 1);
	for (unsigned int i = 0; i < 32; i++)
		CU_ASSERT_FATAL(host_wait(&f.h, 1, &cqe));
	CU_ASSERT_EQUAL(f.calls, 1);
	CU_ASSERT_EQUAL(f.moves, 32);
	far_close(&f);
}

/*
 * Data in more pieces than one call takes, of which the second fails: with it fail those commands
 * that it had a part of.
 */
static void two_calls(void)
{
	bool failed[32] = {false};
	uint64_t *lists;
	struct annex_cqe cqe;
	struct far f;

	far_open(&f, "mem:", "");
	lists = host_alloc(&f.h, 32 * 4096);
	f.fail_call = 2;
	for (uint16_t i = 0; i < 32; i++) {
		char *data = f.at + i * 40 * 4096; /* every other page, 20 of them */
		struct annex_sqe sqe = host_rw(ANNEX_NVM_READ, 0, 160, data, lists + i * 512);

		for (unsigned int k = 1; k < 20; k++)
			lists[i * 512 + k - 1] = host_addr(data + 2 * k * 4096);
		sqe.cid = i;
		host_put(&f.h, 1, &sqe);
	}
	host_ring(&f.h, 1);
	for (unsigned int i = 0; i < 32; i++) {
		CU_ASSERT_FATAL(host_wait(&f.h, 1, &cqe) && cqe.cid < 32);
		failed[cqe.cid] = cqe.status >> 1 == ANNEX_SC_DATA_TRANSFER;
		CU_ASSERT(failed[cqe.cid] || !(cqe.status >> 1));
	}
	CU_ASSERT_EQUAL(f.calls, 2);
	CU_ASSERT(!failed[0] && failed[31]);
	for (unsigned int i = 1; i < 32; i++)
		CU_ASSERT(failed[i] >= failed[i - 1]);
	/* 512 moves are 25 commands and a part of the next. */
	CU_ASSERT(!failed[24] && failed[25]);
	far_close(&f);
}

/* A read that is flipped arrives with one bit of it wrong. */
static void flipped_on(struct far *f)
{
	struct annex_fault flip = {.kind = ANNEX_FAULT_FLIP, .opcode = -1, .count = 1};
	struct annex_sqe sqe = host_rw(ANNEX_NVM_READ, 0, 2, f->at, NULL);

	memset(f->hidden, 0x77, 1024);
	CU_ASSERT_EQUAL(f->h.ctrl->ops->inject(f->h.ctrl, &flip), 0);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), 0);
	CU_ASSERT(!f->hidden[0] && !memcmp(f->hidden, f->hidden + 1, 1022));
	CU_ASSERT_EQUAL(f->hidden[1023], 0x40);
}

static void flipped(void)
{
	everywhere(flipped_on);
}

/* A copier that fails: the commands say so, the medium is as it was, and nothing is used up. */
static void failing_on(struct far *f)
{
	struct annex_sqe write = host_rw(ANNEX_NVM_WRITE, 0, 8, f->at, NULL), sqe;
	struct annex_sqe read = host_rw(ANNEX_NVM_READ, 0, 8, f->at + 4096, NULL);
	uint64_t *lists = host_alloc(&f->h, (size_t)MANY * 4096);

	memset(f->hidden, 'a', 4096);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &write, NULL), 0);
	memset(f->hidden, 'b', 4096);
	f->fails = -EIO;
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &write, NULL), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &read, NULL), ANNEX_SC_DATA_TRANSFER);
	sqe = read;
	sqe.opcode = ANNEX_NVM_COMPARE;
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), ANNEX_SC_DATA_TRANSFER);
	for (unsigned int i = 0; i < MANY; i++) { /* more than the room, one after the other */
		sqe = whole(f, lists, i % 2 ? ANNEX_NVM_READ : ANNEX_NVM_WRITE, i);
		CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), ANNEX_SC_DATA_TRANSFER);
	}
	f->fails = 0;
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &read, NULL), 0);
	CU_ASSERT(f->hidden[4096] == 'a' && !memcmp(f->hidden + 4096, f->hidden + 4097, 4095));
	submit_many(f, lists, ANNEX_NVM_READ);
	collect_many(f);
}

static void failing(void)
{
	everywhere(failing_on);
}

/* Queues, lists and a part of a command's data cannot be far. */
static void refused_on(struct far *f)
{
	struct annex_sqe dsm = {.opcode = ANNEX_NVM_DSM, .nsid = 1, .cdw11 = ANNEX_DSM_DEALLOCATE};
	struct annex_copier other = f->copier;
	char *near = host_alloc(&f->h, 4096);
	struct annex_sqe sqe;

	sqe = host_rw(ANNEX_NVM_READ, 0, 16, f->at, near);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), ANNEX_SC_DATA_TRANSFER);
	sqe = host_rw(ANNEX_NVM_READ, 0, 16, near, f->at);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), ANNEX_SC_DATA_TRANSFER);
	sqe = host_rw(ANNEX_NVM_READ, 0, 24, near, f->at);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), ANNEX_SC_DATA_TRANSFER);
	sqe = host_rw(ANNEX_NVM_READ, 0, 8, f->at + FAR_BYTES - 2048, NULL);
	CU_ASSERT_NOT_EQUAL(host_do(&f->h, 1, &sqe, NULL), 0); /* ends behind it */
	dsm.dptr[0] = host_addr(f->at);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &dsm, NULL), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(
		f->h.ctrl->ops->create(f->h.ctrl, 2, 16, host_addr(f->at), host_addr(f->at + 4096)),
		-EFAULT);
	CU_ASSERT_EQUAL(f->calls, 0);
	CU_ASSERT_EQUAL(map_far(f, &f->copier), -EEXIST);
	f->at += FAR_BYTES;
	CU_ASSERT_EQUAL(map_far(f, &other), -EBUSY);
	f->at -= FAR_BYTES;
	CU_ASSERT_EQUAL(unmap_far(f), 0);
	CU_ASSERT_EQUAL(unmap_far(f), -ENOENT);
	CU_ASSERT_EQUAL(map_far(f, &other), 0); /* the first has none any more */
	CU_ASSERT_EQUAL(unmap_far(f), 0);
	sqe = host_rw(ANNEX_NVM_READ, 0, 8, f->at, NULL);
	CU_ASSERT_EQUAL(host_do(&f->h, 1, &sqe, NULL), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(f->calls, 0);
}

static void refused(void)
{
	everywhere(refused_on);
}

/* A reset while most commands wait for room: when it is over, nothing is moved any more. */
static void reset_on(struct far *f)
{
	const struct annex_ctrl_ops *ops = f->h.ctrl->ops;
	uint64_t *lists = host_alloc(&f->h, (size_t)MANY * 4096);
	uint32_t calls;

	submit_many(f, lists, ANNEX_NVM_READ);
	CU_ASSERT_EQUAL(ops->reset(f->h.ctrl), 0);
	calls = annex_atomic_load(&f->calls, ANNEX_RELAXED);
	CU_ASSERT_EQUAL(unmap_far(f), 0); /* nothing is in flight */
	ops->assist(f->h.ctrl, 1);
	CU_ASSERT_EQUAL(annex_atomic_load(&f->calls, ANNEX_RELAXED), calls);
	CU_ASSERT_EQUAL(map_far(f, &f->copier), 0);
	f->h.used = 0;
	CU_ASSERT_EQUAL_FATAL(host_create(&f->h, 1, 64), 0);
	lists = host_alloc(&f->h, (size_t)MANY * 4096);
	submit_many(f, lists, ANNEX_NVM_WRITE);
	collect_many(f);
}

static void reset(void)
{
	everywhere(reset_on);
}

static void inject(struct far *f, enum annex_fault_kind kind)
{
	struct annex_fault fault = {.kind = kind, .opcode = -1, .count = 1};

	if (kind == ANNEX_FAULT_TORN)
		fault.status = ANNEX_SC_UNRECOVERED_READ;
	if (kind == ANNEX_FAULT_DELAY)
		fault.delay_us = 600000000;
	CU_ASSERT_EQUAL(f->h.ctrl->ops->inject(f->h.ctrl, &fault), 0);
}

/* Completions that are wrong, lost or late, as with any memory. */
static void faults(void)
{
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	struct far f;

	far_open(&f, "mem:", "");
	memset(f.hidden, 'x', 4096);
	sqe = host_rw(ANNEX_NVM_READ, 0, 8, f.at, NULL);
	inject(&f, ANNEX_FAULT_TORN);
	CU_ASSERT_EQUAL(host_do(&f.h, 1, &sqe, NULL), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT(!f.hidden[511] && f.hidden[512] == 'x'); /* the first block only */
	inject(&f, ANNEX_FAULT_LOSE);
	host_submit(&f.h, 1, &sqe);
	CU_ASSERT_FALSE(host_poll(&f.h, 1, &cqe));
	CU_ASSERT(!f.hidden[512]); /* done, without a completion */
	inject(&f, ANNEX_FAULT_DELAY);
	host_submit(&f.h, 1, &sqe);
	CU_ASSERT_FALSE(host_poll(&f.h, 1, &cqe));
	CU_ASSERT_EQUAL(unmap_far(&f), -EBUSY); /* its completion is still to come */
	far_close(&f);
}

UNIT_SUITE(emu_far, {"against a reference", reference}, {"more than there is room", more_than_room},
	   {"one call for many", one_call}, {"two calls", two_calls}, {"flipped", flipped},
	   {"a copier that fails", failing}, {"refused", refused}, {"a reset meanwhile", reset},
	   {"faults", faults})
