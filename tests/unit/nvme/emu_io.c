// SPDX-License-Identifier: MIT
/*
 * The emulated controller's I/O commands, on memory and on a file, with PRPs and SGLs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

#define BLOCKS 4096u /* of each namespace in these tests */

struct place {
	char path[UNIT_PATH];
	char uri[512];
};

static void on_mem(struct place *p, unsigned int block, const char *more)
{
	p->path[0] = '\0';
	snprintf(p->uri, sizeof(p->uri), "mem:%u?block=%u%s", BLOCKS * block, block, more);
}

static void on_file(struct place *p, unsigned int block, const char *more)
{
	unit_tmpfile(p->path);
	snprintf(p->uri, sizeof(p->uri), "file:%s?size=%u&block=%u%s", p->path, BLOCKS * block,
		 block, more);
}

/* A file system that has neither direct I/O nor a way to zero a range. */
static int on_memfd(struct place *p, unsigned int block)
{
	int fd = unit_memfd(0, NULL);

	snprintf(p->uri, sizeof(p->uri), "file:/proc/self/fd/%d?size=%u&block=%u", fd,
		 BLOCKS * block, block);
	return fd;
}

/* Run a test in each place. */
static void everywhere(void (*test)(const char *uri, unsigned int block))
{
	struct place p;
	int fd;

	for (unsigned int block = 512; block <= 4096; block *= 8) {
		on_mem(&p, block, "");
		test(p.uri, block);
		on_mem(&p, block, "&serve=thread");
		test(p.uri, block);
		on_mem(&p, block, "&serve=busy");
		test(p.uri, block);
		on_file(&p, block, "");
		test(p.uri, block);
		unlink(p.path);
		on_file(&p, block, "&direct=0");
		test(p.uri, block);
		unlink(p.path);
		on_file(&p, block, "&serve=thread");
		test(p.uri, block);
		unlink(p.path);
		on_file(&p, block, "&serve=alone");
		test(p.uri, block);
		unlink(p.path);
		fd = on_memfd(&p, block);
		test(p.uri, block);
		close(fd);
	}
}

static void fill(char *p, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (char)(seed + i * 7 + i / 512);
}

static uint16_t io(struct host *h, struct annex_sqe sqe)
{
	return host_do(h, 1, &sqe, NULL);
}

static void one_piece(const char *uri, unsigned int block)
{
	char *out, *in;
	struct host h;

	host_ready(&h, uri);
	out = host_alloc(&h, 8192);
	in = host_alloc(&h, 8192);
	fill(out, 8192, 1);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_WRITE, 5, 1, out, NULL)), 0);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 5, 1, in, NULL)), 0);
	CU_ASSERT_EQUAL(memcmp(in, out, block), 0);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_COMPARE, 5, 1, out, NULL)), 0);
	out[block - 1] ^= 1;
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_COMPARE, 5, 1, out, NULL)),
			ANNEX_SC_COMPARE_FAILURE);
	/* The neighbours are as they were. */
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 4, 1, in, NULL)), 0);
	CU_ASSERT(in[0] == 0 && !memcmp(in, in + 1, block - 1));
	/* An odd dword, and so two pages. */
	if (block == 512) {
		CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_WRITE, 9, 1, out + 3844, out + 4096)), 0);
		CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 9, 1, in + 4, NULL)), 0);
		CU_ASSERT_EQUAL(memcmp(in + 4, out + 3844, 512), 0);
	}
	host_close(&h);
}

static void single_pieces(void)
{
	everywhere(one_piece);
}

/* Lists of PRPs: pages in reverse order, with one chained list page. */
static void prp_list(const char *uri, unsigned int block)
{
	uint32_t pages = 256, nlb = pages * 4096 / block;
	uint64_t *list, *second;
	struct annex_sqe sqe;
	char *out, *in;
	struct host h;

	host_ready(&h, uri);
	list = host_alloc(&h, 4096);
	second = host_alloc(&h, 4096);
	out = host_alloc(&h, 1 << 20);
	in = host_alloc(&h, 1 << 20);
	fill(out, 1 << 20, 3);
	sqe = host_rw(ANNEX_NVM_WRITE, 0, nlb, out, NULL);
	/* The list begins near the end of a page, so that only 15 entries are before the link. */
	for (uint32_t i = 1; i < pages; i++)
		*(i <= 15 ? &list[495 + i] : &second[i - 16]) = host_addr(out + i * 4096);
	list[511] = host_addr(second);
	sqe.dptr[1] = host_addr(list + 496);
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	sqe = host_rw(ANNEX_NVM_READ, 0, nlb, in + 255 * 4096, NULL);
	for (uint32_t i = 1; i < pages; i++)
		list[i - 1] = host_addr(in + (255 - i) * 4096);
	sqe.dptr[1] = host_addr(list);
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	for (uint32_t i = 0; i < pages; i++)
		CU_ASSERT_EQUAL(memcmp(out + i * 4096, in + (255 - i) * 4096, 4096), 0);
	/* One block more than MDTS. */
	sqe.cdw12 = nlb;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_FIELD);
	host_close(&h);
}

static void prp_lists(void)
{
	everywhere(prp_list);
}

static void bad_prps(void)
{
	struct annex_sqe sqe;
	uint64_t *list;
	struct host h;
	char *p, *end;

	host_ready(&h, "mem:2M");
	p = host_alloc(&h, 64 << 10);
	list = host_alloc(&h, 4096);
	end = h.mem + HOST_MEM;
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 0, 1, p + 2, NULL)), ANNEX_SC_PRP_OFFSET);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 0, 1, end, NULL)), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 0, 1, NULL, NULL)), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 0, 16, p, p + 4100)), ANNEX_SC_PRP_OFFSET);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 0, 16, p, end)), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 0, 16, end - 4096, end)),
			ANNEX_SC_DATA_TRANSFER);
	sqe = host_rw(ANNEX_NVM_READ, 0, 24, p, list);
	list[0] = host_addr(p + 4096);
	list[1] = host_addr(p + 8192 + 8);
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_PRP_OFFSET);
	list[1] = ~0ull << 12;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_DATA_TRANSFER);
	sqe.dptr[1] = host_addr(list) + 4;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_PRP_OFFSET);
	sqe.dptr[1] = host_addr(end);
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_DATA_TRANSFER);
	/* A link to nowhere, and one that is not to the start of a page. */
	sqe.dptr[1] = host_addr(&list[511]);
	list[511] = host_addr(end);
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_DATA_TRANSFER);
	list[511] = host_addr(list) + 8;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_PRP_OFFSET);
	host_close(&h);
}

static struct annex_sgl sgl(uint8_t type, uint64_t addr, uint32_t len)
{
	return (struct annex_sgl){.addr = addr, .len = len, .type = type};
}

static struct annex_sqe sgl_rw(uint8_t opcode, uint64_t slba, uint32_t nlb, struct annex_sgl d)
{
	struct annex_sqe sqe = host_rw(opcode, slba, nlb, NULL, NULL);

	sqe.flags = ANNEX_SQE_PSDT_SGL;
	memcpy(sqe.dptr, &d, sizeof(d));
	return sqe;
}

/* A write from odd addresses in pieces of odd lengths over two segments, read back in one. */
static void sgls_on(const char *uri, unsigned int block)
{
	uint32_t total = 4 * block;
	struct annex_sgl *a, *b;
	char *out, *in;
	struct host h;

	host_ready(&h, uri);
	a = host_alloc(&h, 4096);
	b = host_alloc(&h, 4096);
	out = host_alloc(&h, 32768);
	in = host_alloc(&h, 32768);
	fill(out, 32768, 9);
	a[0] = sgl(ANNEX_SGL_DATA, host_addr(out + 1), 5);
	a[1] = sgl(ANNEX_SGL_DATA, 0, 0);
	a[2] = sgl(ANNEX_SGL_DATA, host_addr(out + 6), 250);
	a[3] = sgl(ANNEX_SGL_LAST_SEGMENT, host_addr(b), 32);
	b[0] = sgl(ANNEX_SGL_DATA, host_addr(out + 20001), 1);
	b[1] = sgl(ANNEX_SGL_DATA, host_addr(out + 300), total - 256);
	CU_ASSERT_EQUAL(
		io(&h, sgl_rw(ANNEX_NVM_WRITE, 8, 4, sgl(ANNEX_SGL_SEGMENT, host_addr(a), 64))), 0);
	CU_ASSERT_EQUAL(
		io(&h, sgl_rw(ANNEX_NVM_READ, 8, 4, sgl(ANNEX_SGL_DATA, host_addr(in + 3), total))),
		0);
	CU_ASSERT_EQUAL(memcmp(in + 3, out + 1, 255), 0);
	CU_ASSERT_EQUAL(in[258], out[20001]);
	CU_ASSERT_EQUAL(memcmp(in + 259, out + 300, total - 256), 0);
	CU_ASSERT(in[2] == 0 && in[3 + total] == 0);
	CU_ASSERT_EQUAL(
		io(&h, sgl_rw(ANNEX_NVM_COMPARE, 8, 4, sgl(ANNEX_SGL_SEGMENT, host_addr(a), 64))),
		0);
	host_close(&h);
}

static void sgls(void)
{
	everywhere(sgls_on);
}

static uint16_t try_sgl(struct host *h, struct annex_sgl d)
{
	return io(h, sgl_rw(ANNEX_NVM_READ, 0, 2, d));
}

static void bad_sgls(void)
{
	struct annex_sgl *a;
	struct annex_sqe sqe;
	struct host h;
	uint64_t p, at;

	host_ready(&h, "mem:2M");
	a = host_alloc(&h, 64 << 10);
	at = host_addr(a);
	p = host_addr(host_alloc(&h, 8192));
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_DATA, p, 1023)), ANNEX_SC_SGL_DATA_LENGTH);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_DATA, p, 1025)), ANNEX_SC_SGL_DATA_LENGTH);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(0x10, p, 1024)), ANNEX_SC_SGL_TYPE);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(0x01, p, 1024)), ANNEX_SC_SGL_TYPE);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_DATA, UINT64_MAX - 5, 1024)),
			ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at, 0)), ANNEX_SC_SGL_SEGMENT);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at, 24)), ANNEX_SC_SGL_SEGMENT);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at + 4, 16)), ANNEX_SC_SGL_SEGMENT);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, 64, 16)), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at, 0xfffffff0)),
			ANNEX_SC_SGL_COUNT);
	a[0] = sgl(ANNEX_SGL_DATA, p, 1024);
	a[1] = sgl(ANNEX_SGL_LAST_SEGMENT, at, 16);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_SEGMENT, at, 16)), ANNEX_SC_SGL_SEGMENT);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at, 32)), ANNEX_SC_SGL_SEGMENT);
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_SEGMENT, at, 48)), ANNEX_SC_SGL_SEGMENT);
	a[0].len = 512;
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at, 16)), ANNEX_SC_SGL_DATA_LENGTH);
	a[0].type = 0x40;
	CU_ASSERT_EQUAL(try_sgl(&h, sgl(ANNEX_SGL_LAST_SEGMENT, at, 16)), ANNEX_SC_SGL_TYPE);
	/* A circle of segments ends. */
	a[0] = sgl(ANNEX_SGL_SEGMENT, at, 16);
	CU_ASSERT_EQUAL(try_sgl(&h, a[0]), ANNEX_SC_SGL_COUNT);
	/* More pieces than the controller keeps: every other byte. */
	for (unsigned int i = 0; i < 2049; i++)
		a[i] = sgl(ANNEX_SGL_DATA, p + 2 * (i % 100), i < 2048 ? 1 : 4096 - 2048);
	sqe = sgl_rw(ANNEX_NVM_READ, 0, 8, sgl(ANNEX_SGL_LAST_SEGMENT, at, 2049 * 16));
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_SGL_COUNT);
	/* SGLs for metadata, and a reserved way of saying it. */
	sqe = sgl_rw(ANNEX_NVM_READ, 0, 2, sgl(ANNEX_SGL_DATA, p, 1024));
	sqe.flags = 0x80;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_FIELD);
	sqe.flags = 0xc0;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_FIELD);
	host_close(&h);
}

/* Many small pieces: more than one readv takes. */
static void many_pieces(const char *uri, unsigned int block)
{
	uint32_t n = 1500, nlb = n * 512 / block;
	struct annex_sgl *list;
	char *out, *in;
	struct host h;

	if (n * 512 % block)
		nlb = (n -= n % 8) * 512 / block;
	host_ready(&h, uri);
	list = host_alloc(&h, n * sizeof(*list));
	out = host_alloc(&h, 1 << 20);
	in = host_alloc(&h, 2 << 20);
	fill(out, 1 << 20, 17);
	CU_ASSERT_EQUAL(io(&h, sgl_rw(ANNEX_NVM_WRITE, 0, nlb,
				      sgl(ANNEX_SGL_DATA, host_addr(out), n * 512))),
			0);
	for (uint32_t i = 0; i < n; i++)
		list[i] = sgl(ANNEX_SGL_DATA, host_addr(in + i * 1024), 512);
	CU_ASSERT_EQUAL(io(&h, sgl_rw(ANNEX_NVM_READ, 0, nlb,
				      sgl(ANNEX_SGL_LAST_SEGMENT, host_addr(list), n * 16))),
			0);
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(in + i * 1024, out + i * 512, 512))
			CU_FAIL("a piece differs");
	host_close(&h);
}

static void scattered(void)
{
	everywhere(many_pieces);
}

static void ranges(const char *uri, unsigned int block)
{
	struct annex_sqe sqe;
	struct host h;
	char *p;

	host_ready(&h, uri);
	p = host_alloc(&h, 16384);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, BLOCKS - 1, 1, p, NULL)), 0);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, BLOCKS, 1, p, NULL)), ANNEX_SC_LBA_RANGE);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_WRITE, BLOCKS - 1, 2, p, p + 4096)),
			ANNEX_SC_LBA_RANGE);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, UINT64_MAX, 2, p, p + 4096)),
			ANNEX_SC_LBA_RANGE);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_WRITE_ZEROES, 1, BLOCKS, NULL, NULL)),
			ANNEX_SC_LBA_RANGE);
	sqe = host_rw(ANNEX_NVM_READ, 0, 1, p, NULL);
	sqe.nsid = 0;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_NS);
	sqe.nsid = 2;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_NS);
	sqe.nsid = ANNEX_NSID_ALL;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_NS);
	sqe.nsid = 1;
	sqe.opcode = 0x0d;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_OPCODE);
	sqe.opcode = ANNEX_NVM_READ;
	sqe.flags = 1; /* fused */
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_FIELD);
	(void)block;
	host_close(&h);
}

static void bad_ranges(void)
{
	everywhere(ranges);
}

static bool is_zero(const char *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

static void zeroes(const char *uri, unsigned int block)
{
	uint32_t per = 65536 / block;
	struct annex_dsm_range *r;
	struct annex_sqe sqe;
	char *out, *in;
	struct host h;

	host_ready(&h, uri);
	out = host_alloc(&h, 65536);
	in = host_alloc(&h, 65536);
	r = host_alloc(&h, 4096);
	fill(out, 65536, 21);
	sqe = sgl_rw(ANNEX_NVM_WRITE, 0, per, sgl(ANNEX_SGL_DATA, host_addr(out), 65536));
	for (unsigned int i = 0; i < 4; i++, sqe.cdw10 += per)
		CU_ASSERT_EQUAL(io(&h, sqe), 0);
	/* The second 64 KiB but for one block at each end. */
	sqe = host_rw(ANNEX_NVM_WRITE_ZEROES, per + 1, per - 2, NULL, NULL);
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	sqe = sgl_rw(ANNEX_NVM_READ, per, per, sgl(ANNEX_SGL_DATA, host_addr(in), 65536));
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	CU_ASSERT_EQUAL(memcmp(in, out, block), 0);
	CU_ASSERT(is_zero(in + block, 65536 - 2 * block));
	CU_ASSERT_EQUAL(memcmp(in + 65536 - block, out + 65536 - block, block), 0);
	/* Durable, deallocating: the third. */
	sqe = host_rw(ANNEX_NVM_WRITE_ZEROES, 2 * per, per, NULL, NULL);
	sqe.cdw12 |= ANNEX_RW_FUA | ANNEX_WZ_DEAC;
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	sqe = sgl_rw(ANNEX_NVM_READ, 2 * per, per, sgl(ANNEX_SGL_DATA, host_addr(in), 65536));
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	CU_ASSERT(is_zero(in, 65536));
	/* Deallocate two ranges of the fourth, the second of them empty. */
	r[0] = (struct annex_dsm_range){.slba = 3 * per, .nlb = per};
	r[1] = (struct annex_dsm_range){.slba = 0, .nlb = 0};
	sqe = (struct annex_sqe){
		.opcode = ANNEX_NVM_DSM, .nsid = 1, .cdw10 = 1, .cdw11 = ANNEX_DSM_DEALLOCATE};
	sqe.dptr[0] = host_addr(r);
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	r[1].slba = BLOCKS;
	r[1].nlb = 1;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_LBA_RANGE);
	sqe.dptr[0] = host_addr(h.mem + HOST_MEM);
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_DATA_TRANSFER);
	host_close(&h);
}

static void zeroing(void)
{
	everywhere(zeroes);
}

static void flush(const char *uri, unsigned int block)
{
	struct annex_sqe sqe = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	struct host h;
	char *p;

	host_ready(&h, uri);
	p = host_alloc(&h, 8192);
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	sqe.nsid = ANNEX_NSID_ALL;
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	sqe.nsid = 5;
	CU_ASSERT_EQUAL(io(&h, sqe), ANNEX_SC_INVALID_NS);
	sqe = host_rw(ANNEX_NVM_WRITE, 0, 1, p, NULL);
	sqe.cdw12 |= ANNEX_RW_FUA;
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	(void)block;
	host_close(&h);
}

static void flushing(void)
{
	everywhere(flush);
}

static void namespaces(void)
{
	struct annex_sqe sqe;
	struct host h;
	char *p;

	host_ready(&h, "mem:1M?namespaces=2");
	p = host_alloc(&h, 4096);
	memset(p, 0x5a, 512);
	sqe = host_rw(ANNEX_NVM_WRITE, 3, 1, p, NULL);
	sqe.nsid = 2;
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	CU_ASSERT_EQUAL(io(&h, host_rw(ANNEX_NVM_READ, 3, 1, p, NULL)), 0);
	CU_ASSERT(is_zero(p, 512));
	sqe.opcode = ANNEX_NVM_READ;
	CU_ASSERT_EQUAL(io(&h, sqe), 0);
	CU_ASSERT_EQUAL(p[511], 0x5a);
	host_close(&h);
}

UNIT_SUITE(emu_io, {"single pieces", single_pieces}, {"PRP lists", prp_lists},
	   {"bad PRPs", bad_prps}, {"SGLs", sgls}, {"bad SGLs", bad_sgls},
	   {"more pieces than a vector takes", scattered}, {"bad ranges and fields", bad_ranges},
	   {"write zeroes and deallocate", zeroing}, {"flush and FUA", flushing},
	   {"namespaces", namespaces})
