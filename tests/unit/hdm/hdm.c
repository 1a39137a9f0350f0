// SPDX-License-Identifier: MIT
/*
 * Ranges: opened, asked, given out in pieces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/cache.h>
#include <annex/device.h>
#include "tests/unit/hdm_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define RANGE (8ull << 20)

static void refused(const char *uri, int err)
{
	struct annex_hdm *h = NULL;

	CU_ASSERT_EQUAL(annex_hdm_open(uri, NULL, &h), err);
	CU_ASSERT_PTR_NULL(h);
	CU_ASSERT(strlen(annex_last_error()) > 0);
}

static void what_is_no_range(void)
{
	refused("nonsense", -EINVAL);
	refused("file:/dev/null", -EPROTONOSUPPORT);
	refused("pci:0000:ff:1f.7", -ENOENT);
	refused("pci:0d", -EINVAL);
	refused("pci:0000:ff:1f.7,0d", -ENOENT);
	refused("pci:,0000:ff:1f.7", -EINVAL);
	refused("pci:0000:ff:1f.7?ways=2", -EINVAL);
	refused("shm:", -EINVAL);
	refused("shm:/nowhere/at/all", -ENOENT);
	refused("shm:/nowhere/at/all?size=1M", -ENOENT);
	refused("shm:/dev/null", -EINVAL);
	refused("shm:/proc/self", -EISDIR);
	refused("shm:/nowhere?size=1M&colour=red", -EINVAL);
	refused("shm:/nowhere?size=100K", -ERANGE);
	refused("shm:/nowhere?size=1000001", -EINVAL);
	refused("shm:/nowhere?size=big", -EINVAL);
	refused("shm:/nowhere?size=1M&format=2", -ERANGE);
	refused("dax:/dev/null", -ENODEV);
	refused("dax:/dev/dax99.99", -ENOENT);
	refused("dax:/dev/zero?size=1M", -EINVAL);
}

static void files_that_do_not_fit(void)
{
	struct hdm_rig r;
	char uri[RIG_URI];
	struct annex_hdm *h = NULL;

	hdm_rig_open(&r, RANGE, "");
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d?size=4M", r.fd);
	refused(uri, -EINVAL);
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d?poison=9M", r.fd);
	refused(uri, -ERANGE);
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d?poison=4K", r.fd);
	refused(uri, -EIO);
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d", r.fd);
	CU_ASSERT_EQUAL(annex_hdm_open(uri, NULL, &h), 0);
	annex_hdm_close(h);
	/* Not while another handle is open. */
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d?format=1", r.fd);
	refused(uri, -EBUSY);
	annex_hdm_close(r.h);
	/* A file that has become longer is not the one that was made. */
	CU_ASSERT_EQUAL(ftruncate(r.fd, (off_t)RANGE * 2), 0);
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d", r.fd);
	refused(uri, -EILSEQ);
	CU_ASSERT_EQUAL(ftruncate(r.fd, 4096), 0);
	refused(uri, -EINVAL);
	close(r.fd);
}

static void data_of_others(void)
{
	static const char precious[] = "precious";
	char uri[RIG_URI], back[sizeof(precious)];
	int fd = unit_memfd(RANGE, NULL);
	struct annex_hdm *h;

	CU_ASSERT_EQUAL(pwrite(fd, precious, sizeof(precious), 9000), sizeof(precious));
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d", fd);
	refused(uri, -EILSEQ);
	CU_ASSERT_EQUAL(pread(fd, back, sizeof(back), 9000), sizeof(back));
	CU_ASSERT_STRING_EQUAL(back, precious);
	snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d?format=1", fd);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(uri, NULL, &h), 0);
	CU_ASSERT_EQUAL(hdm_rig_count(h), 0);
	annex_hdm_close(h);
	close(fd);
}

static void what_it_says_of_itself(void)
{
	struct annex_hdm_info info;
	struct annex_hdm_usage u;
	struct hdm_rig r;

	hdm_rig_open(&r, RANGE, "");
	annex_hdm_get_info(r.h, &info);
	CU_ASSERT_EQUAL(info.bytes, RANGE);
	CU_ASSERT_EQUAL(info.granule, 4096);
	CU_ASSERT_EQUAL((uintptr_t)info.base % ANNEX_HDM_ALIGN, 0);
	CU_ASSERT_EQUAL(info.node, -1);
	CU_ASSERT_FALSE(info.persistent);
	CU_ASSERT_STRING_EQUAL(info.flush, "none");
	CU_ASSERT_STRING_EQUAL(info.scheme, "shm");
	CU_ASSERT_PTR_EQUAL(annex_hdm_at(r.h, 4097), (char *)info.base + 4097);
	CU_ASSERT_PTR_NULL(annex_hdm_at(r.h, RANGE));
	CU_ASSERT_EQUAL_FATAL(annex_hdm_get_usage(r.h, &u), 0);
	CU_ASSERT_EQUAL(u.table + u.free, RANGE);
	CU_ASSERT_EQUAL(u.largest, u.free);
	CU_ASSERT_EQUAL(u.used + u.poisoned, 0);
	hdm_rig_close(&r);
}

static void persisted(void)
{
	char path[] = "/tmp/annex-hdm-XXXXXX", uri[RIG_URI];
	int fd = mkstemp(path);
	struct annex_hdm_info info;
	struct annex_hdm *h;
	struct hdm_rig r;
	char *p;

	CU_ASSERT_FATAL(fd >= 0);
	snprintf(uri, sizeof(uri), "shm:%s?size=1M&persistent=1", path);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(uri, NULL, &h), 0);
	annex_hdm_get_info(h, &info);
	CU_ASSERT(info.persistent);
	CU_ASSERT_STRING_NOT_EQUAL(info.flush, "none");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(h, 5000, 0, "kept", (void **)&p), 0);
	memset(p, 7, 5000);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, p + 1, 4998), 0);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, p, 0), 0);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, (char *)info.base - 1, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, (char *)info.base + info.bytes - 1, 2), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, p, SIZE_MAX), -EINVAL);
	annex_hdm_close(h);
	unlink(path);
	close(fd);
	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL(annex_hdm_persist(r.h, annex_hdm_at(r.h, 0), RANGE), 0);
	CU_ASSERT_EQUAL(annex_hdm_persist(r.h, &r, 1), -EINVAL);
	hdm_rig_close(&r);
}

/* The instructions themselves, on memory that takes them as well as any. */
static void lines_written_back(void)
{
	static const struct annex_medium_ops ops = {.flush = NULL};
	struct annex_medium m = {.ops = &ops, .bytes = 1 << 16, .fd = -1, .persistent = true};
	char *p = mmap(NULL, m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_FATAL(p != MAP_FAILED);
	m.base = p;
	for (size_t at = 0; at < 300; at += 37)
		for (size_t len = 0; len < 200; len += 61) {
			memset(p + at, (int)len, len);
			CU_ASSERT_EQUAL(hdm_persist(&m, p + at, len), 0);
		}
	CU_ASSERT_EQUAL((unsigned char)p[37], 183);
#if defined(__x86_64__) || defined(__aarch64__)
	CU_ASSERT(!strncmp(hdm_persist_name(&m), "cl", 2) ||
		  !strncmp(hdm_persist_name(&m), "dc ", 3));
#else
	CU_ASSERT_STRING_EQUAL(hdm_persist_name(&m), "msync");
#endif
	munmap(p, m.bytes);
}

/* When no run is free, small pieces are cut from what larger ones, and other threads', left. */
static void last_pieces(void)
{
	char name[] = "a";
	struct hdm_rig r;
	unsigned int n;
	void *p, *large;

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 8192, 0, NULL, &large), 0);
	while (!annex_hdm_alloc(r.h, 64 << 10, 0, NULL, &p))
		CU_ASSERT(p != large);
	while (!annex_hdm_alloc(r.h, 1, 0, name, &p)) /* a granule each */
		CU_ASSERT(++*name <= 'z');
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 65, 4096, NULL, &p), 0);
	CU_ASSERT_EQUAL((uintptr_t)p % 4096, 0);
	for (n = 0; !annex_hdm_alloc(r.h, 64, 0, NULL, &p); n++)
		CU_ASSERT(p != large);
	CU_ASSERT_EQUAL(n, 6);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, p), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, p), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 8192, 0, NULL, &p), 0);
	hdm_rig_close(&r);
}

static void bad_pieces(void)
{
	static const struct {
		size_t bytes, align;
		const char *name;
		int err;
	} bad[] = {
		{0, 0, NULL, -EINVAL},
		{64, 3, NULL, -EINVAL},
		{64, 4 << 20, NULL, -EINVAL},
		{RANGE, 0, NULL, -ENOSPC},
		{SIZE_MAX, 0, NULL, -ENOSPC},
		{SIZE_MAX, 0, "large", -ENOSPC},
		{64, 0, "", -EINVAL},
		{64, 0, "two words", -EINVAL},
		{64, 0, "line\n", -EINVAL},
		{64, 0, "gr\xc3\xbc", -EINVAL},
		{64, 0, "taken", -EEXIST},
		{64, 0,
		 "0123456789012345678901234567890123456789012345678901234567890123456789"
		 "0123456789012345678901234567890123",
		 -ENAMETOOLONG},
	};
	struct annex_hdm_block b;
	struct hdm_rig r;
	void *p = NULL, *taken;

	hdm_rig_open(&r, RANGE, "");
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 1, 0, "taken", &taken), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, bad[i].bytes, bad[i].align, bad[i].name, &p),
				bad[i].err);
		CU_ASSERT_PTR_NULL(p);
	}
	CU_ASSERT_EQUAL(annex_hdm_find(r.h, "absent", &b), -ENOENT);
	CU_ASSERT_EQUAL(annex_hdm_find(r.h, "", &b), -ENOENT);
	CU_ASSERT_EQUAL(annex_hdm_find(r.h, "taken", &b), 0);
	CU_ASSERT_EQUAL(b.bytes, 1);
	CU_ASSERT_EQUAL(hdm_rig_count(r.h), 1);
	hdm_rig_close(&r);
}

static void freed_wrongly(void)
{
	struct annex_hdm *other;
	struct hdm_rig r;
	char *small, *large, local;

	hdm_rig_open(&r, RANGE, "");
	other = hdm_rig_again(&r);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 100, 0, NULL, (void **)&small), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 100000, 0, NULL, (void **)&large), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, NULL), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, &local), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, small + 64), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, small + 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, large + 4096), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, large + 64), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, annex_hdm_at(r.h, 0)), -EINVAL);
	/* Another handle cannot free a piece of this one. */
	CU_ASSERT_EQUAL(
		annex_hdm_free(other, annex_hdm_at(other, (uint64_t)(large - r.h->m->base))),
		-EPERM);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, small), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, small), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, large), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, large), -EINVAL);
	annex_hdm_close(other);
	hdm_rig_close(&r);
}

/* Small pieces lie side by side, and the place of one that was given back is taken again. */
static void small_pieces(void)
{
	enum { ALL = SLAB_BYTES / 64 };
	char *pieces[ALL], *again;
	struct annex_hdm_usage u;
	struct hdm_rig r;

	hdm_rig_open(&r, RANGE, "");
	for (unsigned int i = 0; i < ALL; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 1, 0, NULL, (void **)&pieces[i]), 0);
		CU_ASSERT_PTR_EQUAL(pieces[i], pieces[0] + i * 64);
	}
	CU_ASSERT_EQUAL(annex_hdm_get_usage(r.h, &u), 0);
	CU_ASSERT_EQUAL(u.used, SLAB_BYTES);
	for (unsigned int i = 0; i < ALL; i += 100) {
		CU_ASSERT_EQUAL(annex_hdm_free(r.h, pieces[i]), 0);
		CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 64, 0, NULL, (void **)&again), 0);
		CU_ASSERT_PTR_EQUAL(again, pieces[i]);
	}
	hdm_rig_close(&r);
}

static void names_stay(void)
{
	struct annex_hdm_block b;
	struct annex_hdm *other;
	struct hdm_rig r;
	char *p, *q;

	hdm_rig_open(&r, RANGE, "");
	other = hdm_rig_again(&r);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 12345, 1 << 20, "model/weights", (void **)&p),
			      0);
	CU_ASSERT_EQUAL((uintptr_t)p % (1 << 20), 0);
	strcpy(p, "what one wrote");
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 9000, 0, NULL, (void **)&q), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_find(other, "model/weights", &b), 0);
	CU_ASSERT_EQUAL(b.bytes, 12345);
	CU_ASSERT_STRING_EQUAL(b.name, "model/weights");
	CU_ASSERT(!b.owned && !b.dead);
	CU_ASSERT_STRING_EQUAL((char *)annex_hdm_at(other, b.offset), "what one wrote");
	CU_ASSERT_EQUAL((uintptr_t)annex_hdm_at(other, b.offset) % (1 << 20), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(other, 1, 0, "model/weights", (void **)&q), -EEXIST);
	CU_ASSERT_EQUAL(hdm_rig_count(other), 2);
	annex_hdm_close(r.h);
	/* Pieces without a name were freed with their handle. */
	CU_ASSERT_EQUAL(hdm_rig_count(other), 1);
	annex_hdm_close(other);
	r.h = hdm_rig_again(&r);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_find(r.h, "model/weights", &b), 0);
	CU_ASSERT_STRING_EQUAL((char *)annex_hdm_at(r.h, b.offset), "what one wrote");
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, annex_hdm_at(r.h, b.offset)), 0);
	CU_ASSERT_EQUAL(annex_hdm_find(r.h, "model/weights", &b), -ENOENT);
	hdm_rig_close(&r);
}

static void no_publishing(struct annex_hdm *h, int err, void *ptr, size_t bytes, const char *name)
{
	struct annex_hdm_piece piece[2] = {{ptr, bytes, name}, {ptr, bytes, "other"}};
	struct annex_hdm_block b;

	CU_ASSERT_EQUAL(annex_hdm_publish(h, piece, 1, false), err);
	CU_ASSERT_EQUAL(annex_hdm_publish(h, piece, 2, false), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_find(h, "other", &b), -ENOENT);
}

/* Names for pieces that have none: all of them or none, and of two writers one. */
static void published(void)
{
	struct annex_hdm_piece piece[2] = {{NULL, 20000, "a"}, {NULL, 30000, "b"}};
	struct annex_hdm_block a, b;
	struct annex_hdm *other;
	struct hdm_rig r;
	void *small, *theirs;

	hdm_rig_open(&r, RANGE, "");
	other = hdm_rig_again(&r);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 20000, 0, NULL, &piece[0].ptr), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 30000, 0, NULL, &piece[1].ptr), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 64, 0, NULL, &small), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(other, 20000, 0, NULL, &theirs), 0);
	theirs = (char *)piece[0].ptr + ((char *)theirs - (char *)annex_hdm_at(other, 0)) -
		 ((char *)piece[0].ptr - (char *)annex_hdm_at(r.h, 0));
	no_publishing(r.h, -EINVAL, small, 64, "a");
	no_publishing(r.h, -EINVAL, theirs, 20000, "a");
	no_publishing(r.h, -EINVAL, piece, 20000, "a");
	no_publishing(r.h, -EINVAL, piece[0].ptr, 1 << 20, "a");
	no_publishing(r.h, -EINVAL, piece[0].ptr, 0, "a");
	no_publishing(r.h, -EINVAL, piece[0].ptr, 20000, "a b");
	CU_ASSERT_EQUAL(annex_hdm_publish(r.h, piece, 0, false), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_publish(r.h, piece, ANNEX_HDM_PUBLISHED + 1, false), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_publish(r.h, piece, 2, false), 0);
	CU_ASSERT_EQUAL(annex_hdm_publish(r.h, piece, 2, true), -EINVAL);
	CU_ASSERT_EQUAL(annex_hdm_find(other, "b", &b), 0);
	CU_ASSERT_EQUAL(b.bytes, 30000);

	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 20000, 0, NULL, &piece[0].ptr), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.h, 10000, 0, NULL, &piece[1].ptr), 0);
	piece[1].bytes = 10000;
	piece[0].name = "c";
	CU_ASSERT_EQUAL(annex_hdm_publish(r.h, piece, 2, false), -EEXIST);
	CU_ASSERT_EQUAL(annex_hdm_find(other, "c", &a), -ENOENT);
	CU_ASSERT_EQUAL(annex_hdm_publish(r.h, piece, 2, true), 0);
	CU_ASSERT_EQUAL(annex_hdm_find(other, "b", &b), 0);
	CU_ASSERT_EQUAL(b.bytes, 10000);
	annex_hdm_close(r.h);
	r.h = other;
	CU_ASSERT_EQUAL(annex_hdm_find(other, "a", &a), 0);
	CU_ASSERT_EQUAL(annex_hdm_find(other, "b", &b), 0);
	CU_ASSERT_EQUAL(annex_hdm_find(other, "c", &b), 0);
	CU_ASSERT_EQUAL(hdm_rig_count(other), 4);
	hdm_rig_close(&r);
}

static void no_more_names(void)
{
	struct annex_hdm_block b;
	struct hdm_rig r;
	char name[16];
	unsigned int n = 0;
	int err = 0;
	void *p;

	hdm_rig_open(&r, 1 << 20, "");
	for (; !err; n++) {
		snprintf(name, sizeof(name), "n%u", n);
		err = annex_hdm_alloc(r.h, 1, 0, name, &p);
	}
	CU_ASSERT_EQUAL(err, -EMFILE);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "32 names"));
	CU_ASSERT_EQUAL(n, 33);
	CU_ASSERT_EQUAL(annex_hdm_find(r.h, "n7", &b), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(r.h, annex_hdm_at(r.h, b.offset)), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 1, 0, "again", &p), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 1, 0, "toomany", &p), -EMFILE);
	CU_ASSERT_EQUAL(hdm_rig_count(r.h), 32);
	hdm_rig_close(&r);
}

static void home_of_queues_and_lines(void)
{
	struct annex_dev_opts opts = {.queues = 2, .depth = 16};
	struct annex_cache_opts cache = {.bytes = 1 << 20, .ndevs = 1};
	struct annex_hdm_usage u;
	struct annex_dev *dev;
	struct annex_cache *c;
	struct hdm_rig r;
	void *line;

	hdm_rig_open(&r, RANGE, "");
	opts.provider = cache.provider = annex_hdm_provider(r.h);
	CU_ASSERT_STRING_EQUAL(opts.provider->name, "shm");
	CU_ASSERT_PTR_NULL(opts.provider->dmabuf);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open("mem:4M", &opts, &dev), 0);
	cache.devs = &dev;
	CU_ASSERT_EQUAL_FATAL(annex_cache_create(&cache, &c), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(c, 3, ANNEX_PIN_NEW, &line), 0);
	CU_ASSERT((char *)line > r.h->m->base && (char *)line < r.h->m->base + RANGE);
	memset(line, 5, 4096);
	annex_cache_unpin(c, 3, ANNEX_PIN_NEW);
	CU_ASSERT_EQUAL(annex_cache_flush(c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(annex_cache_destroy(c), 0);
	annex_dev_close(dev);
	/* All is free, except a run kept for the next small piece. */
	CU_ASSERT_EQUAL(annex_hdm_get_usage(r.h, &u), 0);
	CU_ASSERT(u.used <= 8 * SLAB_BYTES);
	CU_ASSERT_PTR_NULL(opts.provider->alloc(opts.provider->ctx, RANGE, 64));
	hdm_rig_close(&r);
}

static void memory_of_a_node(void)
{
	struct annex_hdm_info info;
	struct annex_hdm *h = NULL;
	char *p;
	int err = annex_hdm_open("numa:0?size=4M", NULL, &h);

	refused("numa:", -EINVAL);
	refused("numa:x?size=1M", -EINVAL);
	if (err == -EOPNOTSUPP) {
		printf(" [no NUMA policies here] ");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(err, 0);
	annex_hdm_get_info(h, &info);
	CU_ASSERT_EQUAL(info.node, 0);
	CU_ASSERT_EQUAL(info.bytes, 4 << 20);
	CU_ASSERT_FALSE(info.persistent);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 1 << 20, 1 << 20, NULL, (void **)&p), 0);
	memset(p, 1, 1 << 20);
	annex_hdm_close(h);
	refused("numa:0", -EINVAL);
	refused("numa:0?size=1000T", -ENOMEM);
	refused("numa:0?size=262145", -EINVAL);
	refused("numa:0?size=1M&format=1", -EINVAL);
	refused("numa:0?size=1028K&huge=1", -EINVAL);
	refused("numa:1023?size=1M", -ENODEV);
	refused("numa:9999999?size=1M", -EINVAL);
	/* Huge pages are there, or they are refused: never ordinary ones instead. */
	err = annex_hdm_open("numa:0?size=4M&huge=1", NULL, &h);
	CU_ASSERT(!err || err == -ENOMEM);
	if (!err)
		annex_hdm_close(h);
}

static int seven(struct annex_medium *m, uint64_t offset, uint64_t *at)
{
	(void)m;
	*at = offset + 1;
	return 7;
}

/* A medium behind a dma-buf says so to devices. */
static void behind_a_dmabuf(void)
{
	struct hdm_fake *f = hdm_fake_make(ANNEX_HDM_MIN, NULL);
	struct annex_medium_ops ops = *f->m.ops;
	const struct annex_provider *prov;
	struct annex_hdm *h;
	uint64_t at = 0;
	char *p;

	ops.dmabuf = seven;
	f->m.ops = &ops;
	CU_ASSERT_EQUAL_FATAL(hdm_open_medium(&f->m, "fake", NULL, false, &h), 0);
	prov = annex_hdm_provider(h);
	p = prov->alloc(prov->ctx, 5000, 4096);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	for (unsigned int i = 0; i < 5000; i++)
		CU_ASSERT_EQUAL(p[i], 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(prov->dmabuf);
	CU_ASSERT_EQUAL(prov->dmabuf(prov->ctx, p, &at), 7);
	CU_ASSERT_EQUAL(at, (uint64_t)(p - f->m.base) + 1);
	prov->free(prov->ctx, p, 5000);
	annex_hdm_close(h);
}

/* Where pages would be too many, granules are larger; most of the file is a hole. */
static void large_ranges(void)
{
	static const struct {
		uint64_t bytes, granule;
	} large[] = {{20ull << 30, 8192}, {300ull << 30, 128 << 10}};

	for (unsigned int i = 0; i < 2; i++) {
		int fd = unit_memfd(large[i].bytes, NULL);
		struct annex_hdm_info info;
		struct annex_hdm *h = NULL;
		char uri[RIG_URI], *p, *q;

		snprintf(uri, sizeof(uri), "shm:/proc/self/fd/%d", fd);
		CU_ASSERT_EQUAL_FATAL(annex_hdm_open(uri, NULL, &h), 0);
		annex_hdm_get_info(h, &info);
		CU_ASSERT_EQUAL(info.granule, large[i].granule);
		CU_ASSERT_EQUAL(annex_hdm_alloc(h, 100, 0, NULL, (void **)&p), 0);
		CU_ASSERT_EQUAL(annex_hdm_alloc(h, 9ull << 30, 2 << 20, "huge", (void **)&q), 0);
		CU_ASSERT_EQUAL((uintptr_t)q % (2 << 20), 0);
		*p = q[(9ll << 30) - 1] = 1;
		CU_ASSERT_EQUAL(annex_hdm_free(h, p), 0);
		CU_ASSERT_EQUAL(annex_hdm_free(h, q), 0);
		annex_hdm_close(h);
		close(fd);
	}
}

#define OTHERS 3u

static void *maps_memory(void *arg)
{
	const uint32_t *stop = arg;

	/* Relaxed: nothing else is passed on. */
	while (!annex_atomic_load(stop, ANNEX_RELAXED)) {
		char *p = mmap(NULL, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		for (uint64_t at = 0; p != MAP_FAILED && at < RANGE; at += RANGE / 64)
			p[at] = 1;
		munmap(p, RANGE);
	}
	return NULL;
}

/*
 * A file system with MAP_SYNC may refuse it late, when the previous mapping is unmapped already.
 * Other mappings must not be lost by that.
 */
static void beside_others_mappings(void)
{
	char path[UNIT_PATH], uri[UNIT_PATH + 64];
	pthread_t threads[OTHERS];
	uint32_t stop = 0;

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "shm:%s?size=%llu", path, RANGE);
	for (unsigned int i = 0; i < OTHERS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, maps_memory, &stop), 0);
	for (unsigned int i = 0; i < 300; i++) {
		struct annex_hdm *h = NULL;

		CU_ASSERT_EQUAL(annex_hdm_open(uri, NULL, &h), 0);
		annex_hdm_close(h);
	}
	annex_atomic_store(&stop, 1u, ANNEX_RELAXED);
	for (unsigned int i = 0; i < OTHERS; i++)
		pthread_join(threads[i], NULL);
	unlink(path);
}

UNIT_SUITE(hdm, {"published", published}, {"behind a dma-buf", behind_a_dmabuf},
	   {"large ranges", large_ranges}, {"other files are refused", what_is_no_range},
	   {"files that do not fit", files_that_do_not_fit},
	   {"data of others stays", data_of_others},
	   {"what a range says of itself", what_it_says_of_itself},
	   {"persisted, and nothing to persist", persisted},
	   {"cache lines written back", lines_written_back}, {"last pieces", last_pieces},
	   {"bad pieces", bad_pieces}, {"freed wrongly", freed_wrongly},
	   {"small pieces", small_pieces}, {"names stay, the rest goes", names_stay},
	   {"no more names", no_more_names},
	   {"the home of queues and cache lines", home_of_queues_and_lines},
	   {"beside others' mappings", beside_others_mappings},
	   {"memory of a node", memory_of_a_node})
