// SPDX-License-Identifier: MIT
/*
 * The block interface of a CXL-SSD as an NVMe device, beside its byte interface and a plain array.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include "tests/models/unit/cxlssd_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGES 64u
#define MOST 8u /* pages of a command */
#define BUF (128u << 10)
#define STEPS 1500u
#define THREADS 4u
#define DEAD_WRITES 0u
#define ALIVE 0xffffffffu

/* struct rig - @ref: the bytes that both interfaces should show. @buf: mapped for the device. */
struct rig {
	int fd;
	char uri[256];
	struct annex_cxlssd *s;
	struct annex_dev *dev;
	uint32_t page, bytes;
	char *ref, *buf;
	uint64_t addr, rng;
};

static void attach(struct rig *r, const char *params)
{
	const struct annex_dev_opts opts = {.queues = THREADS, .depth = 64};

	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open_dev(r->s, params, &opts, &r->dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(r->dev, r->buf, BUF, &r->addr), 0);
}

/* @more: "&KEY=VALUE" of the endpoint, or "". */
static void make(struct rig *r, uint32_t page, const char *more, const char *params)
{
	memset(r, 0, sizeof(*r));
	r->page = page;
	r->bytes = PAGES * page;
	r->rng = random_seed("cxlssd_dev");
	r->fd = unit_memfd(0, NULL);
	r->ref = calloc(1, r->bytes);
	r->buf = aligned_alloc(4096, BUF);
	CU_ASSERT_FATAL(r->ref && r->buf);
	memset(r->buf, 0, BUF);
	snprintf(r->uri, sizeof(r->uri),
		 "cxlssd:/proc/self/fd/%d?size=%u&page=%u&channels=4&pages=16&dram=%u%s", r->fd,
		 r->bytes, page, r->bytes / 4, more);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(r->uri, &r->s), 0);
	attach(r, params);
}

static void free_rig(struct rig *r)
{
	annex_dev_close(r->dev);
	CU_ASSERT_EQUAL(annex_cxlssd_close(r->s), 0);
	close(r->fd);
	free(r->ref);
	free(r->buf);
}

/* The power is cut, and the endpoint opened again; there is no device. */
static void cut(struct rig *r)
{
	CU_ASSERT_EQUAL(annex_cxlssd_cut(r->s, NULL, 0), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(r->uri, &r->s), 0);
}

static struct annex_io rw(const struct rig *r, uint8_t opcode, uint32_t page, uint32_t n,
			  uint32_t offset)
{
	return (struct annex_io){.opcode = opcode,
				 .nsid = 1,
				 .slba = page,
				 .nlb = n,
				 .bytes = n * r->page,
				 .addr = r->addr + offset};
}

static uint16_t one(struct rig *r, struct annex_io io)
{
	struct annex_result res = {.status = 0xffff};

	annex_dev_io(r->dev, &io, 1, &res);
	return res.status & ANNEX_SC_MASK;
}

static uint16_t bare(struct rig *r, uint8_t opcode, uint32_t page, uint32_t n)
{
	return one(r, (struct annex_io){.opcode = opcode, .nsid = 1, .slba = page, .nlb = n});
}

static uint16_t flush(struct rig *r)
{
	return bare(r, ANNEX_NVM_FLUSH, 0, 0);
}

/* Deallocate two ranges; the second may be empty. */
static uint16_t deallocate(struct rig *r, uint32_t page, uint32_t n, uint32_t page2, uint32_t n2)
{
	const struct annex_dsm_range ranges[2] = {{.nlb = n, .slba = page},
						  {.nlb = n2, .slba = page2}};

	memcpy(r->buf, ranges, sizeof(ranges));
	return one(r, (struct annex_io){.opcode = ANNEX_NVM_DSM,
					.nsid = 1,
					.nlb = 2,
					.bytes = sizeof(ranges),
					.addr = r->addr});
}

static void store(struct rig *r, uint32_t at, const void *data, uint32_t n)
{
	CU_ASSERT_EQUAL(annex_cxlssd_write(r->s, at, data, n, NULL), 0);
	memcpy(r->ref + at, data, n);
}

static void write_pages(struct rig *r, uint32_t page, uint32_t n, uint8_t flags)
{
	struct annex_io io = rw(r, ANNEX_NVM_WRITE, page, n, 0);

	io.flags = flags;
	random_fill(&r->rng, r->buf, io.bytes);
	memcpy(r->ref + (size_t)page * r->page, r->buf, io.bytes);
	CU_ASSERT_EQUAL(one(r, io), 0);
}

/* Both interfaces show the array. */
static void compare_all(struct rig *r)
{
	char *bytes = malloc(r->bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	CU_ASSERT_EQUAL(annex_cxlssd_read(r->s, 0, bytes, r->bytes, NULL), 0);
	CU_ASSERT(!memcmp(bytes, r->ref, r->bytes));
	for (uint32_t page = 0; r->dev && page < PAGES; page += MOST) {
		CU_ASSERT_EQUAL(one(r, rw(r, ANNEX_NVM_READ, page, MOST, 0)), 0);
		CU_ASSERT(!memcmp(r->buf, r->ref + (size_t)page * r->page, MOST * r->page));
	}
	free(bytes);
}

/* Data in three pieces that no PRPs describe, the first of them last in memory. */
static void scatter(struct rig *r, struct annex_io *io, struct annex_seg segs[3])
{
	const uint32_t first = 4 + (uint32_t)(random_next(&r->rng) % 300);

	segs[0] = (struct annex_seg){r->addr + (120u << 10) + 1, first};
	segs[1] = (struct annex_seg){r->addr + (110u << 10), 100};
	segs[2] = (struct annex_seg){r->addr + (64u << 10) + 3, io->bytes - first - 100};
	io->segs = segs;
	io->nsegs = 3;
	io->flags = ANNEX_IO_SGL;
}

/* A command whose data is that at @data, which lies elsewhere if the command has pieces. */
static uint16_t one_of(struct rig *r, const struct annex_io *io, char *data)
{
	uint16_t status;

	for (uint32_t i = 0, at = 0; i < io->nsegs; at += (uint32_t)io->segs[i++].len)
		memcpy(r->buf + (io->segs[i].addr - r->addr), data + at, io->segs[i].len);
	status = one(r, *io);
	for (uint32_t i = 0, at = 0; i < io->nsegs; at += (uint32_t)io->segs[i++].len)
		memcpy(data + at, r->buf + (io->segs[i].addr - r->addr), io->segs[i].len);
	return status;
}

static void step_blocks(struct rig *r, uint32_t page, uint32_t n)
{
	const uint32_t shape = (uint32_t)(random_next(&r->rng) % 3), from = shape ? 1 : 0;
	struct annex_io io = rw(r, ANNEX_NVM_WRITE, page, n, from);
	char *ref = r->ref + (size_t)page * r->page, *data = r->buf + from;
	struct annex_seg segs[3];

	io.flags = shape ? ANNEX_IO_SGL : 0;
	if (shape == 2)
		scatter(r, &io, segs);
	switch (random_next(&r->rng) % 4) {
	case 0:
		random_fill(&r->rng, data, io.bytes);
		memcpy(ref, data, io.bytes);
		CU_ASSERT_EQUAL(one_of(r, &io, data), 0);
		break;
	case 1:
		io.opcode = ANNEX_NVM_COMPARE;
		memcpy(data, ref, io.bytes);
		CU_ASSERT_EQUAL(one_of(r, &io, data), 0);
		data[random_next(&r->rng) % io.bytes] ^= 1;
		CU_ASSERT_EQUAL(one_of(r, &io, data), ANNEX_SC_COMPARE_FAILURE);
		break;
	default:
		io.opcode = ANNEX_NVM_READ;
		memset(data, 0xaa, io.bytes + 1);
		CU_ASSERT_EQUAL(one_of(r, &io, data), 0);
		CU_ASSERT(!memcmp(data, ref, io.bytes));
		CU_ASSERT_EQUAL(data[io.bytes], (char)0xaa);
	}
}

static void step_bytes(struct rig *r)
{
	const uint32_t at = (uint32_t)(random_next(&r->rng) % r->bytes);
	uint32_t n = 1 + (uint32_t)(random_next(&r->rng) % 300);
	char data[300];

	n = n < r->bytes - at ? n : r->bytes - at;
	if (random_next(&r->rng) % 3) {
		random_fill(&r->rng, data, n);
		store(r, at, data, n);
	} else {
		CU_ASSERT_EQUAL(annex_cxlssd_read(r->s, at, data, n, NULL), 0);
		CU_ASSERT(!memcmp(data, r->ref + at, n));
	}
}

static void step(struct rig *r)
{
	const uint32_t page = (uint32_t)(random_next(&r->rng) % PAGES);
	const uint32_t left = PAGES - page < MOST ? PAGES - page : MOST;
	const uint32_t n = 1 + (uint32_t)(random_next(&r->rng) % left);
	const uint32_t page2 = (uint32_t)(random_next(&r->rng) % PAGES), n2 = page2 & 1;

	switch (random_next(&r->rng) % 16) {
	case 0:
		CU_ASSERT_EQUAL(flush(r), 0);
		break;
	case 1:
		CU_ASSERT_EQUAL(bare(r, ANNEX_NVM_WRITE_ZEROES, page, n), 0);
		memset(r->ref + (size_t)page * r->page, 0, (size_t)n * r->page);
		break;
	case 2:
		CU_ASSERT_EQUAL(deallocate(r, page, n, page2, n2), 0);
		memset(r->ref + (size_t)page * r->page, 0, (size_t)n * r->page);
		memset(r->ref + (size_t)page2 * r->page, 0, (size_t)n2 * r->page);
		break;
	case 3 ... 8:
		step_blocks(r, page, n);
		break;
	default:
		step_bytes(r);
	}
}

static void same_bytes(void)
{
	static const char *const logs[] = {"", "&log=skybyte", "&log=bytefs"};
	static const char *const params[] = {NULL, "serve=thread", "serve=busy"};
	struct rig r;

	for (unsigned int i = 0; i < 3; i++) {
		for (uint32_t page = 512; page <= 4096; page *= 8) {
			make(&r, page, logs[i], params[(i + page / 4096) % 3]);
			for (unsigned int k = 0; k < STEPS; k++)
				step(&r);
			compare_all(&r);
			free_rig(&r);
		}
	}
}

/* Stores, pages and trims before a flush are there after a cut; a store behind it is not. */
static void flush_lasts(void)
{
	struct rig r;

	make(&r, 4096, "", NULL);
	write_pages(&r, 3, 2, 0);
	write_pages(&r, 20, 1, 0);
	store(&r, 17 * 4096 + 100, "stored", 6);
	CU_ASSERT_EQUAL(deallocate(&r, 20, 1, 0, 0), 0);
	memset(r.ref + (size_t)20 * 4096, 0, 4096);
	CU_ASSERT_EQUAL(flush(&r), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_unfenced(r.s, NULL, 0), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_write(r.s, 30 * 4096, "lost", 4, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_unfenced(r.s, NULL, 0), 1);
	/* The device flushes when it is closed, and would save it: it loses its power as well. */
	CU_ASSERT_EQUAL(annex_dev_inject(r.dev, &(struct annex_fault){.kind = ANNEX_FAULT_REMOVE,
								      .opcode = -1}),
			0);
	CU_ASSERT_EQUAL(annex_dev_io(r.dev,
				     &(struct annex_io){.opcode = ANNEX_NVM_FLUSH, .nsid = 1}, 1,
				     NULL),
			-ENODEV);
	annex_dev_close(r.dev);
	cut(&r);
	attach(&r, NULL);
	compare_all(&r);
	free_rig(&r);
}

/* So does a write with FUA; and closing the device. */
static void fua_and_close_last(void)
{
	struct rig r;

	make(&r, 4096, "&log=skybyte", NULL);
	store(&r, 12345, "before", 6);
	write_pages(&r, 5, 1, ANNEX_IO_FUA);
	CU_ASSERT_EQUAL(annex_cxlssd_unfenced(r.s, NULL, 0), 0);
	store(&r, 54321, "closed", 6);
	write_pages(&r, 6, 3, 0);
	annex_dev_close(r.dev);
	cut(&r);
	attach(&r, NULL);
	compare_all(&r);
	free_rig(&r);
}

/* A bit of a page in flash flips, where it has these bytes. */
static void damage(struct rig *r, const char *bytes)
{
	const off_t size = lseek(r->fd, 0, SEEK_END);
	char *file = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0), *at;

	CU_ASSERT_FATAL(file != MAP_FAILED);
	at = memmem(file, (size_t)size, bytes, r->page);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	at[r->page / 2] ^= 4;
	munmap(file, (size_t)size);
}

static void media_error(void)
{
	struct rig r;

	make(&r, 4096, "", NULL);
	write_pages(&r, 8, 3, 0);
	damage(&r, r.ref + (size_t)9 * 4096);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 9, 1, 0)), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 8, 3, 0)), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_COMPARE, 9, 1, 0)), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 8, 1, 0)), 0);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 10, 1, 0)), 0);
	/* It is read again when it has been written. */
	write_pages(&r, 9, 1, 0);
	compare_all(&r);
	free_rig(&r);
}

/* The file takes no more writes, so write commands fail; reads still work. */
static void write_fault(void)
{
	struct cxlssd_rig c;
	struct rig r = {.page = RIG_PAGE};

	cxlssd_rig_make(&c, 16, "");
	r.s = c.s;
	r.buf = aligned_alloc(4096, BUF);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r.buf);
	memset(r.buf, 0, BUF);
	attach(&r, NULL);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_WRITE, 1, 2, 0)), 0);
	cxlssd_rig_doom(DEAD_WRITES);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_WRITE, 4, 1, 0)), ANNEX_SC_WRITE_FAULT);
	CU_ASSERT_EQUAL(bare(&r, ANNEX_NVM_WRITE_ZEROES, 4, 1), ANNEX_SC_WRITE_FAULT);
	CU_ASSERT_EQUAL(deallocate(&r, 4, 1, 0, 0), ANNEX_SC_WRITE_FAULT);
	CU_ASSERT_EQUAL(flush(&r), ANNEX_SC_WRITE_FAULT);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 1, 2, 0)), 0);
	annex_dev_close(r.dev);
	annex_cxlssd_cut(c.s, NULL, 0);
	cxlssd_rig_doom(ALIVE);
	cxlssd_rig_open(&c, "");
	cxlssd_rig_free(&c);
	free(r.buf);
}

/* struct worker - A thread with pages of its own, and a queue pair. */
struct worker {
	struct rig *r;
	unsigned int me;
	uint64_t rng;
	uint32_t wrong;
};

/* Two commands at once: the page is written, and another is read. */
static void pair(struct worker *w, struct annex_qp *qp, uint32_t page, uint32_t page2)
{
	struct rig *r = w->r;
	const uint32_t at = w->me * 2 * r->page;
	const struct annex_io ios[2] = {rw(r, ANNEX_NVM_WRITE, page, 1, at),
					rw(r, ANNEX_NVM_READ, page2, 1, at + r->page)};
	const uint64_t end = annex_deadline_ms(20000);
	struct annex_result res[2];
	uint64_t tokens[2];

	random_fill(&w->rng, r->buf + at, r->page);
	w->wrong += annex_qp_submit(qp, ios, 2, tokens, end) != 2;
	for (unsigned int i = 0; i < 2; i++)
		w->wrong += annex_qp_wait(qp, tokens[i], &res[i], end) || res[i].status;
	w->wrong += !!memcmp(r->buf + at + r->page, r->ref + (size_t)page2 * r->page, r->page);
	memcpy(r->ref + (size_t)page * r->page, r->buf + at, r->page);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rig *r = w->r;
	struct annex_qp *qp = annex_dev_qp_at(r->dev, w->me);
	const uint32_t own = PAGES / THREADS;

	for (unsigned int i = 0; i < STEPS / 4; i++) {
		const uint32_t k = (uint32_t)(random_next(&w->rng) % own);
		const uint32_t page = k * THREADS + w->me, page2 = (k + 1) % own * THREADS + w->me;
		const uint32_t at = page * r->page + (uint32_t)(random_next(&w->rng) % 400);
		char data[100];

		random_fill(&w->rng, data, sizeof(data));
		w->wrong += annex_cxlssd_write(r->s, at, data, sizeof(data), NULL) != 0;
		memcpy(r->ref + at, data, sizeof(data));
		pair(w, qp, page2, page);
		w->wrong += annex_cxlssd_read(r->s, (uint64_t)page2 * r->page, data, sizeof(data),
					      NULL) != 0;
		w->wrong += !!memcmp(data, r->ref + (size_t)page2 * r->page, sizeof(data));
	}
	return NULL;
}

static void many_threads(void)
{
	static const char *const params[] = {NULL, "serve=thread", "serve=busy"};

	for (unsigned int i = 0; i < 3; i++) {
		struct worker w[THREADS];
		struct rig r;

		make(&r, 512, "", params[i]);
		for (unsigned int k = 0; k < THREADS; k++)
			w[k] = (struct worker){&r, k, random_next(&r.rng), 0};
		unit_threads(THREADS, work, w, sizeof(*w));
		for (unsigned int k = 0; k < THREADS; k++)
			CU_ASSERT_EQUAL(w[k].wrong, 0);
		compare_all(&r);
		free_rig(&r);
	}
}

/* Nanoseconds that reads of all pages take, @n at once. */
static uint64_t time_reads(struct rig *r, uint32_t n)
{
	const uint64_t start = annex_now();
	struct annex_io ios[PAGES];

	for (uint32_t page = 0; page < PAGES; page += n) {
		for (uint32_t i = 0; i < n; i++)
			ios[i] = rw(r, ANNEX_NVM_READ, page + i, 1, i * r->page);
		CU_ASSERT_EQUAL(annex_dev_io(r->dev, ios, n, NULL), 0);
	}
	return annex_now() - start;
}

/* With delay=1 a command takes the time of the medium; commands to several dies overlap. */
static void takes_time(void)
{
	static const char *const params[] = {NULL, "serve=thread"};
	const uint64_t all = PAGES * 45000ull; /* tR of media=nand */

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t alone, best = UINT64_MAX;
		struct rig r;

		make(&r, 512, "&delay=1&media=nand", params[i]);
		for (uint32_t page = 0; page < PAGES; page++)
			write_pages(&r, page, 1, 0);
		alone = time_reads(&r, 1);
		CU_ASSERT(alone >= all);
		/* Others may want the processor: the best of several. */
		for (unsigned int k = 0; k < 20 && best >= alone; k++) {
			const uint64_t ns = time_reads(&r, 32);

			best = ns < best ? ns : best;
		}
		CU_ASSERT(best >= all / 4);
		CU_ASSERT(best < alone);
		free_rig(&r);
	}
}

/* struct far - Memory that seems to be at @at and is @hidden. */
struct far {
	char *at, *hidden;
};

static int copy(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	const struct far *f = ctx;

	for (unsigned int i = 0; i < n; i++) {
		char *far = f->hidden + (moves[i].far - (uintptr_t)f->at);

		memcpy(moves[i].to_far ? far : moves[i].near, moves[i].to_far ? moves[i].near : far,
		       moves[i].len);
	}
	return 0;
}

static void far_data(void)
{
	struct far f = {aligned_alloc(4096, BUF), aligned_alloc(4096, BUF)};
	const struct annex_copier copier = {.name = "test", .copy = copy, .ctx = &f};
	uint64_t near, addr;
	struct rig r;

	CU_ASSERT_FATAL(f.at && f.hidden);
	make(&r, 4096, "", NULL);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map_far(r.dev, (uintptr_t)f.at, BUF, &copier, &addr), 0);
	near = r.addr;
	r.addr = addr;
	random_fill(&r.rng, f.hidden, 3 * 4096);
	memcpy(r.ref + (size_t)7 * 4096, f.hidden, 3 * 4096);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_WRITE, 7, 3, 0)), 0);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_COMPARE, 7, 3, 0)), 0);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 8, 2, 64 << 10)), 0);
	CU_ASSERT(!memcmp(f.hidden + (64 << 10), r.ref + (size_t)8 * 4096, 2 * 4096));
	f.hidden[5000] ^= 1;
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_COMPARE, 7, 3, 0)), ANNEX_SC_COMPARE_FAILURE);
	damage(&r, r.ref + (size_t)9 * 4096);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_READ, 9, 1, 0)), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_COMPARE, 9, 1, 0)), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(annex_dev_unmap(r.dev, addr, BUF), 0);
	r.addr = near;
	write_pages(&r, 9, 1, 0);
	compare_all(&r);
	free_rig(&r);
	free(f.at);
	free(f.hidden);
}

/* Faults, resets and recovery, as with any emulated controller. */
static void faults(void)
{
	struct rig r;

	make(&r, 512, "", "fault=torn,op=write,after=1,status=0x280&fault=lose,op=read");
	write_pages(&r, 0, 8, 0);
	memset(r.buf, 1, 8 * 512);
	CU_ASSERT_EQUAL(one(&r, rw(&r, ANNEX_NVM_WRITE, 0, 8, 0)), ANNEX_SC_WRITE_FAULT);
	memset(r.ref, 1, 512);
	annex_dev_close(r.dev);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open_dev(r.s, "fault=lose,op=read",
						    &(struct annex_dev_opts){.timeout_ms = 20},
						    &r.dev),
			      0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(r.dev, r.buf, BUF, &r.addr), 0);
	CU_ASSERT_EQUAL(annex_dev_io(r.dev,
				     &(struct annex_io){.opcode = ANNEX_NVM_READ,
							.nsid = 1,
							.nlb = 1,
							.bytes = 512,
							.addr = r.addr},
				     1, NULL),
			-ETIMEDOUT);
	compare_all(&r);
	free_rig(&r);
}

/* Pages of all sizes are blocks. */
static void refused(void)
{
	char params[ANNEX_URI_MAX + 8];
	struct annex_dev *dev = NULL;
	struct annex_cxlssd *s;

	for (uint32_t page = 1024; page <= 16384; page *= 2) {
		char uri[64];

		snprintf(uri, sizeof(uri), "cxlssd:?size=1M&page=%u", page);
		CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_open_dev(s, "block=512", NULL, &dev), -EINVAL);
		CU_ASSERT_EQUAL(annex_cxlssd_open_dev(s, "serve=me", NULL, &dev), -EINVAL);
		memset(params, 'a', sizeof(params) - 1);
		params[sizeof(params) - 1] = '\0';
		CU_ASSERT_EQUAL(annex_cxlssd_open_dev(s, params, NULL, &dev), -E2BIG);
		CU_ASSERT_PTR_NULL(dev);
		CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open_dev(s, NULL, NULL, &dev), 0);
		CU_ASSERT_EQUAL(annex_dev_close(dev), 0);
		dev = NULL;
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

UNIT_SUITE(cxlssd_dev, {"both interfaces show the same bytes", same_bytes},
	   {"a flush makes blocks and earlier stores last", flush_lasts},
	   {"so do FUA and closing", fua_and_close_last},
	   {"a flipped bit is a media error", media_error},
	   {"a file that fails is a write fault", write_fault},
	   {"threads on queue pairs of their own", many_threads},
	   {"commands take the model's time, and overlap", takes_time}, {"far data", far_data},
	   {"faults and recovery", faults}, {"refusals", refused})
