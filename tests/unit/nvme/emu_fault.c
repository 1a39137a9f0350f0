// SPDX-License-Identifier: MIT
/*
 * Injected faults, on memory and on a file: the effects of each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

#define ON_FILE 1
/* A test that runs on memory and on a file. */
#define ON_BOTH(name)                                                                              \
	static void name(void)                                                                     \
	{                                                                                          \
		name##_on(0);                                                                      \
		name##_on(ON_FILE);                                                                \
	}

/* With @fault as in a URI, or "". */
static void open_with(struct host *h, char *path, int on_file, const char *fault)
{
	char uri[512];

	*path = '\0';
	if (on_file)
		unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "%s%s?%s%s%s", on_file ? "file:" : "mem:1M", path,
		 on_file ? "size=1M" : "block=512", *fault ? "&fault=" : "", fault);
	host_ready(h, uri);
}

static void close_with(struct host *h, const char *path)
{
	host_close(h);
	if (*path)
		unlink(path);
}

static struct annex_sqe read_at(uint64_t lba, uint16_t cid, void *p)
{
	struct annex_sqe sqe = host_rw(ANNEX_NVM_READ, lba, 1, p, NULL);

	sqe.cid = cid;
	return sqe;
}

static uint16_t status_at(struct host *h, uint64_t lba, void *p)
{
	return host_io(h, ANNEX_NVM_READ, lba, 1, p);
}

static void errors_on(int on_file)
{
	char path[UNIT_PATH];
	struct host h;
	char *p;

	/* The third and fourth read of blocks 8 to 11 fail, nothing else. */
	open_with(&h, path, on_file, "error,op=read,lba=8,blocks=4,after=2,count=2,status=0x281");
	p = host_alloc(&h, 8192);
	CU_ASSERT_EQUAL(status_at(&h, 8, p), 0);
	CU_ASSERT_EQUAL(status_at(&h, 11, p), 0);
	CU_ASSERT_EQUAL(status_at(&h, 7, p), 0);
	CU_ASSERT_EQUAL(status_at(&h, 12, p), 0);
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_WRITE, 8, 1, p), 0);
	CU_ASSERT_EQUAL(status_at(&h, 10, p), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_READ, 7, 2, p), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(status_at(&h, 8, p), 0);
	close_with(&h, path);
}

ON_BOTH(errors)

/* A write that fails has not changed anything; a torn one has changed its first block only. */
static void torn_on(int on_file)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct host h;
	char *p;

	open_with(&h, path, on_file, "error,op=write");
	CU_ASSERT_EQUAL(
		h.ctrl->ops->inject(h.ctrl, &(struct annex_fault){.kind = ANNEX_FAULT_TORN,
								  .opcode = ANNEX_NVM_WRITE,
								  .count = 1,
								  .status = ANNEX_SC_WRITE_FAULT}),
		0);
	p = host_alloc(&h, 8192);
	memset(p, 0x77, 4096);
	sqe = host_rw(ANNEX_NVM_WRITE, 0, 8, p, NULL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), ANNEX_SC_INTERNAL);
	sqe.cdw10 = 16;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), ANNEX_SC_WRITE_FAULT);
	sqe = host_rw(ANNEX_NVM_READ, 0, 8, p, NULL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	CU_ASSERT(p[0] == 0 && !memcmp(p, p + 1, 4095));
	sqe.cdw10 = 16;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	CU_ASSERT(p[511] == 0x77 && p[512] == 0 && !memcmp(p + 512, p + 513, 4096 - 513));
	close_with(&h, path);
}

ON_BOTH(torn)

/* A read that is flipped succeeds, with one bit of it wrong; the medium is as it was. */
static void flip_on(int on_file)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct host h;
	char *p;

	open_with(&h, path, on_file, "flip,after=1,count=2");
	/* With unaligned data, which direct I/O of a file refuses. */
	p = host_alloc(&h, 8192);
	for (unsigned int i = 0; i < 4; i++) {
		char *data = p + (i & 1) * 4;

		memset(p, 0x77, 4100);
		sqe = host_rw(ANNEX_NVM_READ, 0, 8, data, p + 4096);
		CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
		CU_ASSERT(!data[0] && !memcmp(data, data + 1, 4094));
		CU_ASSERT_EQUAL(data[4095], i == 1 || i == 2 ? 0x40 : 0);
	}
	close_with(&h, path);
}

ON_BOTH(flip)

static void delay_on(int on_file)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	struct host h;
	uint64_t start;
	char *p;

	open_with(&h, path, on_file, "delay,us=20000,lba=1,blocks=1");
	p = host_alloc(&h, 8192);
	start = annex_now();
	for (uint16_t i = 0; i < 2; i++) {
		sqe = read_at(1 - i, 1 - i, p);
		host_put(&h, 1, &sqe);
	}
	host_ring(&h, 1);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 0);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 1);
	CU_ASSERT(annex_now() - start >= 20 * ANNEX_NSEC_PER_MSEC);
	close_with(&h, path);
}

ON_BOTH(delay)

/* A delayed command is still in flight: its memory is in use, and abort ends it. */
static void delay_abort(void)
{
	struct annex_sqe sqe;
	char path[UNIT_PATH];
	struct annex_cqe cqe;
	uint64_t addr = 0;
	bool aborted = false;
	struct host h;
	char *p;

	open_with(&h, path, 0, "delay,us=4000000000");
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(p != MAP_FAILED);
	CU_ASSERT_EQUAL(h.ctrl->ops->map(h.ctrl, p, 4096, &addr), 0);
	sqe = read_at(0, 9, p);
	host_submit(&h, 1, &sqe);
	CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 20));
	CU_ASSERT_EQUAL(h.ctrl->ops->unmap(h.ctrl, addr, 4096), -EBUSY);
	CU_ASSERT_EQUAL(h.ctrl->ops->abort(h.ctrl, 1, 9, &aborted), 0);
	CU_ASSERT(aborted);
	CU_ASSERT(host_poll(&h, 1, &cqe));
	CU_ASSERT(cqe.cid == 9 && cqe.status >> 1 == ANNEX_SC_ABORT_REQUESTED);
	CU_ASSERT_EQUAL(h.ctrl->ops->unmap(h.ctrl, addr, 4096), 0);
	munmap(p, 4096);
	close_with(&h, path);
}

static void lose_on(int on_file)
{
	struct annex_sqe sqe;
	char path[UNIT_PATH];
	struct annex_cqe cqe;
	bool aborted = true;
	struct host h;
	char *p;

	open_with(&h, path, on_file, "lose,op=write");
	p = host_alloc(&h, 8192);
	memset(p, 0x33, 512);
	sqe = host_rw(ANNEX_NVM_WRITE, 4, 1, p, NULL);
	sqe.cid = 5;
	host_submit(&h, 1, &sqe);
	CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 50));
	CU_ASSERT_EQUAL(h.ctrl->ops->abort(h.ctrl, 1, 5, &aborted), 0);
	CU_ASSERT_FALSE(aborted);
	/* It was carried out all the same. */
	memset(p, 0, 512);
	CU_ASSERT_EQUAL(status_at(&h, 4, p), 0);
	CU_ASSERT_EQUAL(p[0], 0x33);
	close_with(&h, path);
}

ON_BOTH(lose)

static void reorder_on(int on_file)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	struct host h;
	char *p;

	open_with(&h, path, on_file, "reorder,lba=0,blocks=1");
	p = host_alloc(&h, 8192);
	sqe = read_at(0, 1, p);
	host_submit(&h, 1, &sqe);
	CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 20));
	sqe = read_at(1, 2, p + 4096);
	host_submit(&h, 1, &sqe);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 2);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 1);
	close_with(&h, path);
}

ON_BOTH(reorder)

static void fatal_on(int on_file)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	struct host h;
	char *p;

	open_with(&h, path, on_file, "fatal,after=1");
	p = host_alloc(&h, 8192);
	for (uint16_t i = 0; i < 3; i++) {
		sqe = read_at(i, i, p);
		host_put(&h, 1, &sqe);
	}
	host_ring(&h, 1);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 0);
	CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 30));
	CU_ASSERT_EQUAL(h.ctrl->ops->status(h.ctrl), ANNEX_CSTS_RDY | ANNEX_CSTS_CFS);
	CU_ASSERT_EQUAL(h.ctrl->ops->reset(h.ctrl), 0);
	CU_ASSERT_EQUAL(h.ctrl->ops->status(h.ctrl), ANNEX_CSTS_RDY);
	CU_ASSERT_EQUAL(host_create(&h, 1, 16), 0);
	CU_ASSERT_EQUAL(status_at(&h, 0, p), 0);
	close_with(&h, path);
}

ON_BOTH(fatal)

static void removal_on(int on_file)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	bool aborted = true;
	struct host h;
	char *p;

	open_with(&h, path, on_file, "remove,op=write");
	p = host_alloc(&h, 8192);
	CU_ASSERT_EQUAL(status_at(&h, 0, p), 0);
	sqe = host_rw(ANNEX_NVM_WRITE, 0, 1, p, NULL);
	host_submit(&h, 1, &sqe);
	CU_ASSERT_FALSE(host_wait_ms(&h, 1, &cqe, 30));
	CU_ASSERT_EQUAL(h.ctrl->ops->status(h.ctrl), UINT32_MAX);
	CU_ASSERT_EQUAL(h.ctrl->ops->reset(h.ctrl), -ENODEV);
	CU_ASSERT_EQUAL(h.ctrl->ops->status(h.ctrl), UINT32_MAX);
	CU_ASSERT_EQUAL(host_create(&h, 2, 16), -ENODEV);
	CU_ASSERT_EQUAL(host_destroy(&h, 1), -ENODEV);
	CU_ASSERT_EQUAL(h.ctrl->ops->abort(h.ctrl, 1, 1, &aborted), -ENODEV);
	/* Memory can be taken back from a controller that is gone. */
	CU_ASSERT_EQUAL(h.ctrl->ops->unmap(h.ctrl, host_addr(h.mem), HOST_MEM), 0);
	close_with(&h, path);
}

ON_BOTH(removal)

/* Deleting a queue ends its held requests. */
static void delete_ends(void)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	struct host h;
	char *p;

	open_with(&h, path, 0, "delay,us=4000000000,op=read");
	CU_ASSERT_EQUAL(
		h.ctrl->ops->inject(h.ctrl, &(struct annex_fault){.kind = ANNEX_FAULT_REORDER,
								  .opcode = ANNEX_NVM_WRITE,
								  .count = 1}),
		0);
	p = host_alloc(&h, 8192);
	sqe = read_at(0, 11, p);
	host_submit(&h, 1, &sqe);
	sqe.opcode = ANNEX_NVM_WRITE;
	sqe.cid = 12;
	host_submit(&h, 1, &sqe);
	CU_ASSERT_EQUAL(host_destroy(&h, 1), 0);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT(host_poll(&h, 1, &cqe));
		CU_ASSERT(cqe.cid == 11 || cqe.cid == 12);
		CU_ASSERT_EQUAL(cqe.status >> 1, ANNEX_SC_ABORT_SQ_DELETED);
	}
	close_with(&h, path);
}

/* More commands held back than there are requests: the rest wait, and none is lost. */
static void more_than_fit(void)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct annex_cqe cqe;
	struct host h;
	char *p;

	open_with(&h, path, 0, "delay,us=2000,count=0");
	p = host_alloc(&h, 8192);
	CU_ASSERT_EQUAL(host_create(&h, 2, 2048), 0);
	for (uint16_t i = 0; i < 2000; i++) {
		sqe = read_at(0, i, p);
		host_put(&h, 2, &sqe);
	}
	host_ring(&h, 2);
	for (uint16_t i = 0; i < 2000; i++) {
		CU_ASSERT_FATAL(host_wait(&h, 2, &cqe));
		CU_ASSERT(cqe.cid == i && !(cqe.status >> 1));
	}
	close_with(&h, path);
}

static void parsing(void)
{
	static const char *const bad[] = {
		"",
		"errors",
		"error,",
		"error,count",
		"error,count=",
		"error,=3",
		"error,count=x",
		"error,status=0",
		"error,status=0x800",
		"error,op=erase",
		"error,us=5",
		"error,lba=4",
		"delay,us=99999999999",
		"error,colour=red",
		"error,after=-1",
		"error,status=0x",
		"error,status=0x-1",
		"error,lba=18446744073709551615,blocks=2",
		"flip,op=write",
	};
	struct annex_fault f;

	CU_ASSERT_EQUAL(annex_fault_parse("error", &f), 0);
	CU_ASSERT(f.kind == ANNEX_FAULT_ERROR && f.opcode == -1 && f.count == 1 && !f.after &&
		  !f.blocks && f.status == ANNEX_SC_INTERNAL);
	CU_ASSERT_EQUAL(annex_fault_parse("delay,op=dsm,after=3,count=0,lba=4K,blocks=2,us=7", &f),
			0);
	CU_ASSERT(f.kind == ANNEX_FAULT_DELAY && f.opcode == ANNEX_NVM_DSM && f.after == 3 &&
		  !f.count && f.lba == 4096 && f.blocks == 2 && f.delay_us == 7);
	CU_ASSERT_EQUAL(annex_fault_parse("torn,status=0x280", &f), 0);
	CU_ASSERT_EQUAL(f.status, ANNEX_SC_WRITE_FAULT);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(annex_fault_parse(bad[i], &f), -EINVAL);
		CU_ASSERT_NOT_EQUAL(strlen(annex_last_error()), 0);
	}
}

static void injecting(void)
{
	struct annex_fault f = {.kind = ANNEX_FAULT_ERROR, .opcode = -1, .after = 100};
	char path[UNIT_PATH];
	struct host h;

	open_with(&h, path, 0, "");
	for (unsigned int i = 0; i < 16; i++)
		CU_ASSERT_EQUAL(h.ctrl->ops->inject(h.ctrl, &f), 0);
	CU_ASSERT_EQUAL(h.ctrl->ops->inject(h.ctrl, &f), -ENOSPC);
	f.kind = (enum annex_fault_kind)99;
	CU_ASSERT_EQUAL(h.ctrl->ops->inject(h.ctrl, &f), -EINVAL);
	close_with(&h, path);
}

UNIT_SUITE(emu_fault, {"error", errors}, {"torn", torn}, {"flip", flip}, {"delay", delay},
	   {"abort of a delayed command", delay_abort}, {"lose", lose}, {"reorder", reorder},
	   {"fatal", fatal}, {"removal", removal}, {"deletion ends commands", delete_ends},
	   {"more delayed than fit", more_than_fit}, {"parsing", parsing}, {"injecting", injecting})
