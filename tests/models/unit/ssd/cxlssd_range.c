// SPDX-License-Identifier: MIT
/*
 * A CXL-SSD as a range: pages come by faults, stores go back when they are persisted or evicted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/cxlssd.h>
#include <annex/hdm.h>
#include <annex/log.h>
#include <annex/mapping.h>
#include "tests/unit/mem_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BYTES (16ull << 20)

/* struct place - A backing file that goes with the process. */
struct place {
	int fd;
	char uri[160];
};

static void make(struct place *p, const char *more)
{
	p->fd = unit_memfd(0, NULL);
	snprintf(p->uri, sizeof(p->uri), "cxlssd:/proc/self/fd/%d?size=16M&dram=1M%s", p->fd, more);
}

static struct annex_hdm *open_range(const struct place *p)
{
	struct annex_hdm *h = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(p->uri, NULL, &h), 0);
	return h;
}

static void expect_busy(const struct place *p, pid_t holder)
{
	struct annex_cxlssd *endpoint = NULL;
	struct annex_hdm *range = NULL;
	char words[64];

	snprintf(words, sizeof(words), "process %d has it", holder);
	if (annex_hdm_open(p->uri, NULL, &range) != -EBUSY || !strstr(annex_last_error(), words) ||
	    annex_cxlssd_open(p->uri, &endpoint) != -EBUSY)
		_exit(1);
}

static void one_handle(void)
{
	const pid_t holder = getpid();
	struct annex_hdm *h;
	struct place p;
	int status = -1;
	pid_t pid;

	make(&p, "");
	h = open_range(&p);
	pid = fork();
	if (!pid) {
		/* Descriptors of the parent would make the child a holder too. */
		close_range(3, (unsigned int)p.fd - 1, 0);
		close_range((unsigned int)p.fd + 1, UINT_MAX, 0);
		expect_busy(&p, holder);
		_exit(0);
	}
	CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	annex_hdm_close(h);
	h = open_range(&p);
	annex_hdm_close(h);
	close(p.fd);
}

static void facts(void)
{
	struct annex_hdm_info info;
	struct annex_hdm *again = NULL;
	struct annex_hdm *h;
	struct place p;

	make(&p, "");
	h = open_range(&p);
	annex_hdm_get_info(h, &info);
	CU_ASSERT_EQUAL(info.bytes, BYTES);
	CU_ASSERT_STRING_EQUAL(info.scheme, "cxlssd");
	CU_ASSERT(info.persistent);
	CU_ASSERT_EQUAL(annex_hdm_open(p.uri, NULL, &again), -EBUSY);
	annex_hdm_close(h);
	CU_ASSERT_EQUAL(annex_hdm_open("cxlssd:?size=64K", NULL, &h), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_open("cxlssd:?size=16M&window=4K", NULL, &h), -ERANGE);
	CU_ASSERT_EQUAL(annex_hdm_open("cxlssd:?size=16M&windows=4M", NULL, &h), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_open("cxlssd:?size=16M", NULL, &h), 0);
	annex_hdm_get_info(h, &info);
	CU_ASSERT(!info.persistent);
	annex_hdm_close(h);
	close(p.fd);
}

/* Random stores over four times the window, persisted or not: all are there in the end. */
static void random_stores(void)
{
	uint64_t rng = random_seed("range");
	const size_t bytes = 4 << 20;
	unsigned char *copy = calloc(1, bytes);
	struct annex_hdm_block block;
	struct annex_hdm *h;
	struct place p;
	void *piece = NULL;

	make(&p, "&window=1M&log=skybyte");
	h = open_range(&p);
	CU_ASSERT_FATAL(copy && !annex_hdm_alloc(h, bytes, 0, "data", &piece));
	memset(piece, 0, bytes);
	for (unsigned int i = 0; i < 20000; i++) {
		const size_t at = random_next(&rng) % bytes, left = bytes - at;
		const size_t n = 1 + random_next(&rng) % (left < 200 ? left : 200);

		if (random_next(&rng) & 1) {
			random_fill(&rng, copy + at, n);
			memcpy((char *)piece + at, copy + at, n);
		} else {
			CU_ASSERT_EQUAL(memcmp((char *)piece + at, copy + at, n), 0);
		}
		if (!(random_next(&rng) % 256))
			CU_ASSERT_EQUAL(annex_hdm_persist(h, (char *)piece + at, n), 0);
	}
	CU_ASSERT_EQUAL(memcmp(piece, copy, bytes), 0);
	annex_hdm_close(h);
	h = open_range(&p);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_find(h, "data", &block), 0);
	CU_ASSERT_EQUAL(memcmp(annex_hdm_at(h, block.offset), copy, bytes), 0);
	annex_hdm_close(h);
	close(p.fd);
	free(copy);
}

/* struct share - The part of a thread. */
struct share {
	char *at;
	size_t bytes;
	unsigned int wrong;
};

static void *store_and_look(void *arg)
{
	struct share *s = arg;

	for (uint32_t round = 1; round <= 4; round++) {
		for (size_t i = 0; i < s->bytes / 4; i += 16)
			((uint32_t *)s->at)[i] = round * 7919 + (uint32_t)i;
		for (size_t i = 0; i < s->bytes / 4; i += 16)
			s->wrong += ((uint32_t *)s->at)[i] != round * 7919 + (uint32_t)i;
	}
	return NULL;
}

/* Four threads evict each other's pages. */
static void threads(void)
{
	const size_t part = 1 << 20;
	struct share s[4];
	struct annex_hdm *h;
	struct place p;
	void *piece;

	make(&p, "&window=1M");
	h = open_range(&p);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 4 * part, 0, NULL, &piece), 0);
	for (unsigned int i = 0; i < 4; i++)
		s[i] = (struct share){(char *)piece + i * part, part, 0};
	unit_threads(4, store_and_look, s, sizeof(*s));
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(s[i].wrong, 0);
	annex_hdm_close(h);
	close(p.fd);
}

/* Memory for devices stays, as they store to it unseen; it leaves room for other pages. */
static void held(void)
{
	const size_t bytes = 64 << 10;
	const struct annex_provider *provider;
	unsigned int n = 0;
	char *pieces[64], *rest;
	struct annex_hdm *h;
	struct place p;
	void *piece;

	make(&p, "&window=1M");
	h = open_range(&p);
	provider = annex_hdm_provider(h);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 4 << 20, 0, NULL, &piece), 0);
	rest = piece;
	while (n < 64 && (pieces[n] = provider->alloc(provider->ctx, bytes, 4096))) {
		memset(pieces[n], (int)n + 1, bytes);
		n++;
	}
	CU_ASSERT_EQUAL(n, 12); /* (1 MiB - 64 pages) / 64 KiB */
	for (size_t at = 0; at < 4 << 20; at += 4096)
		rest[at] = 1;
	for (unsigned int i = 0; i < n; i++) {
		unsigned char there[16];

		CU_ASSERT_EQUAL(mincore(pieces[i], bytes, there), 0);
		for (unsigned int k = 0; k < 16; k++)
			CU_ASSERT(there[k] & 1);
		CU_ASSERT_EQUAL(pieces[i][bytes - 1], (int)i + 1);
		provider->free(provider->ctx, pieces[i], bytes);
	}
	pieces[0] = provider->alloc(provider->ctx, bytes, 4096);
	CU_ASSERT_PTR_NOT_NULL(pieces[0]);
	provider->free(provider->ctx, pieces[0], bytes);
	annex_hdm_close(h);
	close(p.fd);
}

/* A child of fork() closes its handle, and the file still belongs to the parent. */
static void child(void)
{
	const char text[] = "of the parent";
	struct annex_cxlssd *s = NULL;
	struct annex_hdm_block block;
	struct annex_hdm *h;
	char uri[64], buf[64] = "of the child";
	struct place p;
	void *piece;
	int status;
	pid_t pid;

	make(&p, "");
	h = open_range(&p);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 64, 0, "text", &piece), 0);
	strcpy(piece, text);
	pid = fork();
	if (!pid) {
		annex_hdm_close(h);
		_exit(0);
	}
	CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CU_ASSERT_EQUAL(annex_hdm_persist(h, piece, 64), 0);
	annex_hdm_close(h);
	h = open_range(&p);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_find(h, "text", &block), 0);
	CU_ASSERT_STRING_EQUAL(annex_hdm_at(h, block.offset), text);
	annex_hdm_close(h);
	snprintf(uri, sizeof(uri), "cxlssd:/proc/self/fd/%d", p.fd);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_write(s, 8 << 20, text, sizeof(text), NULL), 0);
	pid = fork();
	if (!pid) {
		annex_cxlssd_write(s, 8 << 20, buf, sizeof(buf), NULL);
		if (annex_cxlssd_fence(s, NULL) != -ECHILD || annex_cxlssd_close(s))
			_exit(1);
		_exit(0);
	}
	CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 8 << 20, buf, sizeof(buf), NULL), 0);
	CU_ASSERT_STRING_EQUAL(buf, text);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(p.fd);
}

/* A damaged flash page harms only a program that accesses it. */
static void damaged(void)
{
	struct annex_hdm *h;
	struct place p;
	char byte, *base;
	off_t end;

	make(&p, "");
	h = open_range(&p);
	base = annex_hdm_at(h, 0);
	memset(base + (8 << 20), 0x5a, 4096);
	annex_hdm_close(h);
	end = lseek(p.fd, 0, SEEK_END);
	for (off_t at = 0; at + 4096 <= end; at += 4096) {
		unsigned char page[4096];

		CU_ASSERT_EQUAL_FATAL(pread(p.fd, page, 4096, at), 4096);
		if (page[0] == 0x5a && !memcmp(page, page + 1, 4095))
			CU_ASSERT_EQUAL(pwrite(p.fd, "!", 1, at + 100), 1);
	}
	CU_ASSERT_EQUAL(annex_mapping_catch(), 0);
	h = open_range(&p);
	base = annex_hdm_at(h, 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	byte = *(volatile char *)(base + (8 << 20) + 4096);
	CU_ASSERT_EQUAL(byte, 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	byte = *(volatile char *)(base + (8 << 20));
	CU_ASSERT_EQUAL(byte, 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), -EIO);
	annex_hdm_close(h);
	close(p.fd);
}

/* Tensors that a space evicts to the endpoint come back as they were. */
static void tier(void)
{
	uint64_t state = random_seed("a tier of tensors");
	struct mem_pair pairs[4] = {0};
	struct mem_rig r;
	struct place p;
	struct annex_hdm *h;

	make(&p, "&window=2M");
	h = open_range(&p);
	mem_rig_open(&r, NULL,
		     (struct annex_space_opts){
			     .device = MIB, .cxl = h, .cxl_bytes = 8 * MIB, .size = 16 * MIB});
	for (unsigned int i = 0; i < 4; i++) {
		pairs[i].bytes = MIB;
		pairs[i].p = mem_alloc(&r, "tensor", MIB);
		pairs[i].plain = calloc(1, MIB);
	}
	for (unsigned int round = 0; round < 40; round++) {
		const struct mem_pair *x = &pairs[random_next(&state) % 4];

		mem_change(&state, x);
		mem_evict(&r, x->p, x->bytes, ANNEX_TIER_CXL);
		mem_fetch(&r, x->p, x->bytes);
		CU_ASSERT_EQUAL(memcmp(x->p, x->plain, x->bytes), 0);
	}
	CU_ASSERT(mem_stats(&r).out > 0);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(annex_free(r.space, pairs[i].p), 0);
		free(pairs[i].plain);
	}
	mem_wait_empty(&r);
	mem_rig_close(&r);
	annex_hdm_close(h);
	close(p.fd);
}

UNIT_SUITE(cxlssd_range, {"facts", facts}, {"one handle at a time", one_handle},
	   {"random stores", random_stores}, {"threads", threads}, {"memory for devices", held},
	   {"a child of fork", child}, {"a damaged page", damaged}, {"a tier of tensors", tier})
