// SPDX-License-Identifier: MIT
/*
 * A CXL-SSD as a range of several processes: one owns it, others attach; each of them may die.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/cxlssd.h>
#include <annex/detail/clock.h>
#include <annex/hdm.h>
#include <annex/mapping.h>
#include "cxlssd_attach_rig.h"
#include "hdm/hdm.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE 4096u
#define PIECE (64u << 10)
#define ALL 12u /* pieces that a window of 1 MiB has room for, beside 64 pages */

static void both_ways(void)
{
	struct annex_hdm_opts opts = {.timeout_ms = 100};
	struct annex_cxlssd *s = NULL;
	struct annex_hdm_info info;
	struct annex_hdm *h, *bad = NULL;
	struct attached_place p;
	struct attached_other o;
	char uri[192], *data;
	void *mine;

	attached_make(&p, "");
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	annex_hdm_get_info(h, &info);
	CU_ASSERT_EQUAL(info.bytes, ATTACHED_BYTES);
	CU_ASSERT(info.persistent);
	CU_ASSERT_STRING_EQUAL(info.scheme, "cxlssd");
	data = attached_find(h, "data");
	CU_ASSERT_STRING_EQUAL(data, "of the owner");
	strcpy(data, "of the other");
	attached_tell(o.fd, 'c');
	CU_ASSERT_EQUAL(attached_hear(o.fd), 'y');
	CU_ASSERT_EQUAL(annex_hdm_persist(h, data, ATTACHED_DATA), 0);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, 100, 0, NULL, &mine), 0);
	CU_ASSERT_EQUAL(annex_hdm_free(h, mine), 0);
	/* Nobody makes its table anew, and it has its size. */
	snprintf(uri, sizeof(uri), "%s&format=1", p.uri);
	CU_ASSERT_EQUAL(annex_hdm_open(uri, NULL, &bad), -EBUSY);
	snprintf(uri, sizeof(uri), "cxlssd:/proc/self/fd/%d?size=32M", p.fd);
	CU_ASSERT_EQUAL(annex_hdm_open(uri, NULL, &bad), -EINVAL);
	CU_ASSERT_EQUAL(annex_cxlssd_open(p.uri, &s), -EBUSY);
	/* A closing owner takes the range along. */
	attached_tell(o.fd, 'e');
	attached_join(&o);
	attached_expect_gone(h);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, data, 1), -EIO);
	CU_ASSERT_EQUAL(annex_hdm_alloc(h, PIECE, 0, NULL, &mine), -EIO);
	annex_hdm_close(h);
	h = attached_range(&p);
	CU_ASSERT_STRING_EQUAL(attached_find(h, "data"), "of the other");
	annex_hdm_close(h);
	/* An endpoint by itself lets nobody attach. */
	snprintf(uri, sizeof(uri), "cxlssd:/proc/self/fd/%d", p.fd);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &s), 0);
	CU_ASSERT_EQUAL(annex_hdm_open(p.uri, &opts, &bad), -EBUSY);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(p.fd);
}

/* Bytes that the attached process has persisted are there when the owner was killed. */
static void persisted(void)
{
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o;
	char *data;

	attached_make(&p, "");
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	data = attached_find(h, "data");
	memset(data + PAGE, 'p', 3 * PAGE);
	CU_ASSERT_EQUAL(annex_hdm_persist(h, data + PAGE, 2 * PAGE), 0);
	attached_kill(&o);
	attached_expect_gone(h);
	annex_hdm_close(h);
	h = attached_range(&p);
	data = attached_find(h, "data");
	for (unsigned int i = 0; i < PAGE; i++) {
		CU_ASSERT_FATAL(data[PAGE + i] == 'p' && data[2 * PAGE + i] == 'p');
		/* Neither persisted nor evicted: the owner died with it. */
		CU_ASSERT_FATAL(data[3 * PAGE + i] == 0);
	}
	annex_hdm_close(h);
	close(p.fd);
}

static uint64_t value(unsigned int side, unsigned int round, uint32_t line)
{
	return ((uint64_t)round << 33 | (uint64_t)side << 32 | line) * 0x9e3779b97f4a7c15ull;
}

/* Each side has every other line; pages come in random order. */
static bool churn(char *data, unsigned int side, uint64_t *rng)
{
	const uint32_t pages = ATTACHED_DATA / PAGE, lines = PAGE / ANNEX_CXLSSD_LINE;

	for (unsigned int round = 1; round <= 4; round++) {
		const uint32_t turn = (uint32_t)random_next(rng) % pages;

		for (uint32_t i = 0; i < pages; i++) {
			/* An odd step meets all of them. */
			uint32_t first = (i * 389 + turn) % pages * lines;

			for (uint32_t k = side; k < lines; k += 2) {
				uint64_t *at = (uint64_t *)(void *)(data + (first +
									    k) * ANNEX_CXLSSD_LINE);

				if (round > 1 && *at != value(side, round - 1, first + k))
					return false;
				*at = value(side, round, first + k);
			}
		}
	}
	return true;
}

static bool is_churned(const char *data)
{
	for (uint32_t i = 0; i < ATTACHED_DATA / ANNEX_CXLSSD_LINE; i++)
		if (*(const uint64_t *)(const void *)(data + i * ANNEX_CXLSSD_LINE) !=
		    value(i % 2, 4, i))
			return false;
	return true;
}

static void own_and_churn(int fd, const struct attached_place *p)
{
	uint64_t rng = random_seed("owner");
	struct annex_hdm *h = attached_open(p);
	void *data;

	ATTACHED_NEED(!annex_hdm_alloc(h, ATTACHED_DATA, 0, "data", &data));
	attached_tell(fd, 'r');
	ATTACHED_NEED(attached_hear(fd) == 'g');
	ATTACHED_NEED(churn(data, 0, &rng));
	attached_tell(fd, 'd');
	ATTACHED_NEED(attached_hear(fd) == 'l');
	ATTACHED_NEED(is_churned(data));
	attached_tell(fd, 'd');
	ATTACHED_NEED(attached_hear(fd) == 'e');
	annex_hdm_close(h);
}

/* Pages of one process make those of the other go. */
static void evicted(void)
{
	uint64_t rng = random_seed("attached");
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o;
	char *data;

	attached_make(&p, "&window=1M");
	attached_spawn(&o, own_and_churn, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	data = attached_find(h, "data");
	attached_tell(o.fd, 'g');
	CU_ASSERT(churn(data, 1, &rng));
	CU_ASSERT_EQUAL(attached_hear(o.fd), 'd');
	CU_ASSERT(is_churned(data));
	attached_tell(o.fd, 'l');
	CU_ASSERT_EQUAL(attached_hear(o.fd), 'd');
	annex_hdm_close(h);
	attached_tell(o.fd, 'e');
	attached_join(&o);
	h = attached_range(&p);
	CU_ASSERT(is_churned(attached_find(h, "data")));
	annex_hdm_close(h);
	close(p.fd);
}

/* An owner that goes over its pages, so that all others go. */
static void own_and_sweep(int fd, const struct attached_place *p)
{
	struct annex_hdm *h = attached_open(p);
	struct pollfd stop = {.fd = fd, .events = POLLIN};
	volatile char *at;
	void *data;

	ATTACHED_NEED(!annex_hdm_alloc(h, ATTACHED_DATA, 0, "data", &data));
	at = data;
	attached_tell(fd, 'r');
	while (!poll(&stop, 1, 0))
		for (size_t i = PAGE; i < ATTACHED_DATA; i += PAGE)
			(void)at[i];
	annex_hdm_close(h);
}

/* No store to a page is lost that goes meanwhile. */
static void hammered(void)
{
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o;
	volatile uint64_t *at;
	unsigned int wrong = 0;
	uint64_t i = 0, end;

	attached_make(&p, "&window=1M");
	attached_spawn(&o, own_and_sweep, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	at = (uint64_t *)(void *)attached_find(h, "data");
	*at = 0;
	for (end = annex_deadline_ms(2000); annex_now() < end && !wrong;) {
		for (unsigned int k = 0; k < 1000; k++) {
			wrong += *at != i;
			*at = ++i;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	annex_hdm_close(h);
	attached_tell(o.fd, 'e');
	attached_join(&o);
	h = attached_range(&p);
	at = (uint64_t *)(void *)attached_find(h, "data");
	CU_ASSERT_EQUAL(*at, i);
	annex_hdm_close(h);
	close(p.fd);
}

static void *touch(void *arg)
{
	return (void *)(uintptr_t) * (volatile char *)arg;
}

/* A thread waits for a page of an owner that is killed. */
static void owner_dies(void)
{
	struct annex_hdm *h;
	pthread_t thread;
	struct attached_place p;
	struct attached_other o;
	void *found;
	char *data;

	CU_ASSERT_EQUAL(annex_mapping_catch(), 0);
	attached_make(&p, "");
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	data = attached_find(h, "data");
	data[PAGE] = 'x';
	attached_halt(&o);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, touch, data + 2 * PAGE));
	attached_kill(&o);
	CU_ASSERT_EQUAL(pthread_join(thread, &found), 0);
	attached_expect_gone(h);
	/* Pages that were there are gone too. */
	CU_ASSERT_EQUAL(*(volatile char *)(data + PAGE), 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), -EIO);
	annex_hdm_close(h);
	h = attached_range(&p);
	CU_ASSERT_PTR_NOT_NULL(attached_find(h, "data"));
	annex_hdm_close(h);
	close(p.fd);
}

/* An owner that does not answer: calls end, and so do touches. */
static void owner_stops(void)
{
	struct annex_hdm_opts opts = {.timeout_ms = 300};
	struct annex_hdm *h = NULL, *late = NULL;
	struct attached_place p;
	struct attached_other o;
	uint64_t since;
	char *data;

	CU_ASSERT_EQUAL(annex_mapping_catch(), 0);
	attached_make(&p, "&window=1M");
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(p.uri, &opts, &h), 0);
	data = attached_find(h, "data");
	data[0] = 'x';
	attached_halt(&o);
	since = annex_now();
	/* More than the window has room for. */
	CU_ASSERT_EQUAL(hdm_hold(h, data, ATTACHED_DATA), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_hdm_open(p.uri, &opts, &late), -EBUSY);
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	CU_ASSERT_EQUAL(kill(o.pid, SIGCONT), 0);
	/* The late answer is not taken for that of the next call. */
	CU_ASSERT_EQUAL(annex_hdm_persist(h, data, 1), 0);
	attached_halt(&o);
	CU_ASSERT_EQUAL(*(volatile char *)(data + 8 * PAGE), 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), -EIO);
	CU_ASSERT(annex_now() - since < 20 * ANNEX_NSEC_PER_SEC);
	annex_hdm_close(h);
	CU_ASSERT_EQUAL(kill(o.pid, SIGCONT), 0);
	h = attached_range(&p);
	CU_ASSERT_EQUAL(attached_find(h, "data")[0], 'x');
	annex_hdm_close(h);
	attached_tell(o.fd, 'e');
	attached_join(&o);
	close(p.fd);
}

/* An owner that has a child, which outlives it. */
static void own_with_child(int fd, const struct attached_place *p)
{
	struct annex_hdm *h = attached_open(p);
	void *data;

	ATTACHED_NEED(!annex_hdm_alloc(h, ATTACHED_DATA, 0, "data", &data));
	attached_tell(fd, 'r');
	ATTACHED_NEED(attached_hear(fd) == 'f');
	if (fork()) {
		attached_tell(fd, 'r');
		while (attached_hear(fd))
			continue;
		_exit(0);
	}
	/* The end of the test is the end of the socket. */
	while (attached_hear(fd))
		continue;
}

static void owner_leaves_a_child(void)
{
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o;

	CU_ASSERT_EQUAL(annex_mapping_catch(), 0);
	attached_make(&p, "");
	attached_spawn(&o, own_with_child, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	/* The child has the socket of this handle too. */
	attached_tell(o.fd, 'f');
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	kill(o.pid, SIGKILL);
	CU_ASSERT_EQUAL(waitpid(o.pid, NULL, 0), o.pid);
	attached_expect_gone(h);
	annex_hdm_close(h);
	close(o.fd);
	h = attached_range(&p);
	CU_ASSERT_PTR_NOT_NULL(attached_find(h, "data"));
	annex_hdm_close(h);
	close(p.fd);
}

/* Attach, take all memory for devices that there is, and wait for the end. */
static void attach_and_hold(int fd, const struct attached_place *p)
{
	const uint64_t deadline = annex_deadline_ms(ATTACHED_MS);
	const struct annex_provider *provider;
	struct annex_hdm *h;
	void *piece;

	ATTACHED_NEED(attached_hear(fd) == 'g');
	h = attached_open(p);
	provider = annex_hdm_provider(h);
	for (unsigned int i = 0; i < ALL; i++) {
		char *at;

		/* Another one that died may have some still. */
		while (!(at = provider->alloc(provider->ctx, PIECE, PAGE)))
			ATTACHED_NEED(annex_now() < deadline);
		memset(at, (int)i, PIECE);
	}
	ATTACHED_NEED(!provider->alloc(provider->ctx, PIECE, PAGE));
	ATTACHED_NEED(!annex_hdm_alloc(h, ATTACHED_DATA, 0, NULL, &piece));
	memset(piece, 1, ATTACHED_DATA);
	attached_tell(fd, 'r');
	attached_hear(fd);
}

static unsigned int count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CU_ASSERT_FATAL(!!dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A process that dies gives all back: memory, pages that it held, and files. */
static void other_dies(void)
{
	const struct annex_provider *provider;
	struct annex_hdm_usage before, after;
	uint64_t deadline;
	unsigned int files;
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o[3];
	char *pieces[ALL];

	attached_make(&p, "&window=1M");
	/* Before there are threads here. */
	for (unsigned int i = 0; i < 3; i++)
		attached_spawn(&o[i], attach_and_hold, &p);
	h = attached_range(&p);
	provider = annex_hdm_provider(h);
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &before), 0);
	files = count_files();
	for (unsigned int i = 0; i < 3; i++) {
		attached_tell(o[i].fd, 'g');
		CU_ASSERT_EQUAL_FATAL(attached_hear(o[i].fd), 'r');
		CU_ASSERT_PTR_NULL(provider->alloc(provider->ctx, PIECE, PAGE));
		attached_kill(&o[i]);
		files--; /* the socket */
	}
	deadline = annex_deadline_ms(ATTACHED_MS);
	for (unsigned int i = 0; i < ALL; i++) {
		while (!(pieces[i] = provider->alloc(provider->ctx, PIECE, PAGE)))
			CU_ASSERT_FATAL(annex_now() < deadline);
		memset(pieces[i], 1, PIECE);
	}
	CU_ASSERT_PTR_NULL(provider->alloc(provider->ctx, PIECE, PAGE));
	for (unsigned int i = 0; i < ALL; i++)
		provider->free(provider->ctx, pieces[i], PIECE);
	while (count_files() != files && annex_now() < deadline)
		sched_yield();
	CU_ASSERT_EQUAL(count_files(), files);
	annex_hdm_close(h);
	h = attached_range(&p);
	CU_ASSERT_EQUAL(annex_hdm_get_usage(h, &after), 0);
	CU_ASSERT_EQUAL(after.used, before.used);
	annex_hdm_close(h);
	close(p.fd);
}

/* A damaged page is lost to the one who touches it, and to him alone. */
static void damaged(void)
{
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o;
	char *base;
	off_t end;

	attached_make(&p, "");
	h = attached_range(&p);
	base = annex_hdm_at(h, 0);
	memset(base + (8 << 20), 0x5a, PAGE);
	annex_hdm_close(h);
	end = lseek(p.fd, 0, SEEK_END);
	for (off_t at = 0; at + PAGE <= end; at += PAGE) {
		unsigned char page[PAGE];

		CU_ASSERT_EQUAL_FATAL(pread(p.fd, page, PAGE, at), PAGE);
		if (page[0] == 0x5a && !memcmp(page, page + 1, PAGE - 1))
			CU_ASSERT_EQUAL(pwrite(p.fd, "!", 1, at + 100), 1);
	}
	CU_ASSERT_EQUAL(annex_mapping_catch(), 0);
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	base = annex_hdm_at(h, 0);
	CU_ASSERT_EQUAL(*(volatile char *)(base + (8 << 20) + PAGE), 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	CU_ASSERT_EQUAL(*(volatile char *)(base + (8 << 20)), 0);
	CU_ASSERT_EQUAL(annex_hdm_check(h), -EIO);
	annex_hdm_close(h);
	attached_tell(o.fd, 'c');
	CU_ASSERT_EQUAL(attached_hear(o.fd), 'n');
	attached_tell(o.fd, 'e');
	attached_join(&o);
	close(p.fd);
}

/* Several threads of one attached process, and a handle of the owner's own process. */
static void *churn_some(void *arg)
{
	volatile uint64_t *at = arg;

	for (uint64_t round = 1; round <= 3; round++) {
		for (size_t i = 0; i < ATTACHED_DATA / 4 / 8; i += PAGE / 8)
			at[i] = round + i;
		for (size_t i = 0; i < ATTACHED_DATA / 4 / 8; i += PAGE / 8)
			if (at[i] != round + i)
				return arg;
	}
	return NULL;
}

static void threads(void)
{
	struct annex_hdm *h, *second;
	pthread_t thread[4];
	struct attached_place p;
	void *data, *wrong;
	int status;
	pid_t pid;

	attached_make(&p, "&window=1M");
	h = attached_range(&p);
	second = attached_range(&p);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(second, ATTACHED_DATA, 0, "data", &data), 0);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_FATAL(!pthread_create(&thread[i], NULL, churn_some,
						(char *)(i % 2 ? data : attached_find(h, "data")) +
							i * (ATTACHED_DATA / 4)));
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(pthread_join(thread[i], &wrong), 0);
		CU_ASSERT_PTR_NULL(wrong);
	}
	/* A child of fork() closes both, which changes nothing. */
	pid = fork();
	if (!pid) {
		if (annex_hdm_persist(second, data, 1) != -ECHILD)
			_exit(1);
		annex_hdm_close(second);
		annex_hdm_close(h);
		_exit(0);
	}
	CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	CU_ASSERT_EQUAL(annex_hdm_persist(second, data, ATTACHED_DATA), 0);
	CU_ASSERT_EQUAL(annex_hdm_check(second), 0);
	annex_hdm_close(second);
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	annex_hdm_close(h);
	close(p.fd);
}

UNIT_SUITE(cxlssd_attach, {"both ways", both_ways}, {"persisted", persisted}, {"evicted", evicted},
	   {"stores to pages that go", hammered}, {"threads", threads},
	   {"the owner dies", owner_dies}, {"the owner stops", owner_stops},
	   {"the owner leaves a child", owner_leaves_a_child}, {"the other dies", other_dies},
	   {"a damaged page", damaged})
