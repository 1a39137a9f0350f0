// SPDX-License-Identifier: MIT
/*
 * CXL-SSDs in use: full disks, several processes, killed ones, threads, and counters that add up.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/cxlssd.h>
#include <annex/log.h>
#include "models/ssd/file.h"
#include "models/ssd/log.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE 512u
#define PAGES 64u
#define LINE ANNEX_CXLSSD_LINE
#define LINES (PAGES * PAGE / LINE)
#define SMALL "size=32K&page=512&channels=2&pages=4&dram=16K"

static int try_open(const char *path, const char *more, struct annex_cxlssd **out)
{
	char uri[300];

	snprintf(uri, sizeof(uri), "cxlssd:%s?%s", path, more);
	return annex_cxlssd_open(uri, out);
}

static struct annex_cxlssd *must_open(const char *path, const char *more)
{
	struct annex_cxlssd *s = NULL;

	CU_ASSERT_EQUAL_FATAL(try_open(path, more, &s), 0);
	return s;
}

static void fill_line(char *buf, uint32_t line, uint32_t version)
{
	const uint32_t words[] = {line, version, ~line, ~version};

	for (uint32_t i = 0; i < LINE; i += sizeof(words))
		memcpy(buf + i, words, sizeof(words));
}

static int put(struct annex_cxlssd *s, uint32_t line, uint32_t version)
{
	char buf[LINE];

	fill_line(buf, line, version);
	return annex_cxlssd_write(s, (uint64_t)line * LINE, buf, LINE, NULL);
}

static bool has(struct annex_cxlssd *s, uint32_t line, uint32_t version)
{
	char buf[LINE], want[LINE];

	fill_line(want, line, version);
	return !annex_cxlssd_read(s, (uint64_t)line * LINE, buf, LINE, NULL) &&
	       !memcmp(buf, want, LINE);
}

/* Files cannot grow beyond @bytes: as on a full disk, but with -EFBIG. */
static void limit(uint64_t bytes)
{
	struct rlimit r;

	CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = bytes < r.rlim_max ? bytes : r.rlim_max;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &r), 0);
	signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
}

static void no_room_to_make(void)
{
	static const char *const durables[] = {SMALL, SMALL "&durable=model"};
	struct annex_cxlssd *s = NULL;
	char path[UNIT_PATH];
	struct stat st;

	for (unsigned int i = 0; i < 2; i++) {
		unit_tmpfile(path);
		for (unsigned int k = 0; k < 2; k++) {
			int err;

			limit(i ? 2000 : 50000);
			err = try_open(path, durables[i], &s);
			limit(RLIM_INFINITY);
			CU_ASSERT_EQUAL(err, -EFBIG);
			CU_ASSERT(strstr(annex_last_error(), path) != NULL);
			/* An empty file stays one; a new one is gone. */
			CU_ASSERT_EQUAL(stat(path, &st), k ? -1 : 0);
			CU_ASSERT(k || !st.st_size);
			unlink(path);
		}
		s = must_open(path, durables[i]);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		unlink(path);
	}
}

static void full_disk(void)
{
	static const char *const drams[] = {SMALL, SMALL "&log=skybyte", SMALL "&log=bytefs",
					    SMALL "&durable=model"};

	for (unsigned int d = 0; d < 4; d++) {
		struct ssd_shape none = {0};
		struct annex_cxlssd *s;
		struct ssd_file *f;
		uint32_t stored = 0;
		char path[UNIT_PATH];
		int fd = unit_memfd(0, path), err = 0;

		s = must_open(path, drams[d]);
		for (uint32_t i = 0; i < LINES; i++)
			CU_ASSERT_EQUAL(put(s, i, 1), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		CU_ASSERT_EQUAL_FATAL(ssd_file_open(path, &none, SSD_FILE_MODEL, &f), 0);
		err = (int)f->pages;
		ssd_file_close(f);
		s = must_open(path, drams[d]);
		for (uint32_t i = 0; i < 20; i++)
			CU_ASSERT_EQUAL(put(s, 7 * i, 2), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
		/* From here on no page can be programmed. */
		limit((uint64_t)err);
		for (err = 0; !err && stored < LINES; stored += !err)
			err = put(s, stored, 3);
		CU_ASSERT_EQUAL(err, -EFBIG);
		CU_ASSERT(strstr(annex_last_error(), "nothing more is written") != NULL);
		for (uint32_t i = 0; i < LINES; i++)
			CU_ASSERT(has(s, i, i < stored ? 3 : i % 7 || i >= 140 ? 1 : 2));
		CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), -EFBIG);
		CU_ASSERT_EQUAL(annex_cxlssd_flush(s, NULL), -EFBIG);
		CU_ASSERT_EQUAL(annex_cxlssd_trim(s, 0, PAGE, NULL), -EFBIG);
		CU_ASSERT_EQUAL(put(s, 0, 4), -EFBIG);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), -EFBIG);
		limit(RLIM_INFINITY);
		s = must_open(path, drams[d]);
		for (uint32_t i = 0; i < LINES; i++)
			CU_ASSERT(has(s, i, 3) || has(s, i, i % 7 || i >= 140 ? 1 : 2));
		for (uint32_t i = stored; i < LINES; i++)
			CU_ASSERT(!has(s, i, 3));
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(fd);
	}
}

static int exit_code(pid_t child)
{
	int status;

	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void opened_twice(void)
{
	struct annex_cxlssd *s, *again = NULL;
	char path[UNIT_PATH];
	int fd = unit_memfd(0, path);
	pid_t child;

	s = must_open(path, SMALL);
	CU_ASSERT_EQUAL(put(s, 3, 1), 0);
	CU_ASSERT_EQUAL(try_open(path, SMALL, &again), -EBUSY);
	CU_ASSERT(strstr(annex_last_error(), path) != NULL);
	child = fork();
	if (!child)
		_exit(try_open(path, SMALL, &again) == -EBUSY ? 0 : 1);
	CU_ASSERT_EQUAL(exit_code(child), 0);
	CU_ASSERT(has(s, 3, 1));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	s = must_open(path, SMALL);
	CU_ASSERT(has(s, 3, 1));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(fd);
}

/* In a child: rounds of stores to all lines, each fenced and told of, until it is killed. */
static void must_refuse(struct annex_cxlssd *s)
{
	static const char page[PAGE];
	struct annex_cxlssd_tx *tx;

	CU_ASSERT(annex_cxlssd_readonly(s));
	CU_ASSERT_EQUAL(put(s, 1, 3), -EROFS);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "opened for reading only"));
	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 0, page, PAGE, NULL), -EROFS);
	CU_ASSERT_EQUAL(annex_cxlssd_trim(s, 0, PAGE, NULL), -EROFS);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_begin(s, &tx), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_tx_write(tx, 0, page, LINE), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_commit(tx, NULL), -EROFS);
	CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_flush(s, NULL), 0);
}

/* Two at a time read a file whose journal has lines that flash lacks; none changes a byte. */
static void only_read(void)
{
	const char *more = "dram=16K&log=bytefs&readonly=1";
	static char was[1 << 20], is[1 << 20];
	char path[UNIT_PATH];
	struct annex_cxlssd *s, *a, *b;
	int fd = unit_memfd(0, path);
	ssize_t n;

	CU_ASSERT_EQUAL(try_open(path, more, &s), -ENOENT);
	CU_ASSERT_EQUAL(try_open("", "size=32K&readonly=1", &s), -EINVAL);
	s = must_open(path, SMALL "&log=bytefs");
	for (uint32_t i = 0; i < LINES / 8; i++)
		CU_ASSERT_EQUAL(put(s, i * 8, 1), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_flush(s, NULL), 0);
	CU_ASSERT_EQUAL(put(s, 8, 2), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
	CU_ASSERT_EQUAL(try_open(path, more, &a), -EBUSY);
	CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
	n = pread(fd, was, sizeof(was), 0);
	CU_ASSERT_FATAL(n > 0 && n < (ssize_t)sizeof(was));
	a = must_open(path, more);
	b = must_open(path, more);
	CU_ASSERT(has(a, 0, 1) && has(a, 8, 2) && has(b, 16, 1));
	must_refuse(a);
	CU_ASSERT(has(a, 0, 1) && has(a, 8, 2) && has(b, 8, 2));
	CU_ASSERT_EQUAL(try_open(path, "dram=16K&log=bytefs", &s), -EBUSY);
	CU_ASSERT_EQUAL(annex_cxlssd_close(a), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(b), 0);
	CU_ASSERT_EQUAL(pread(fd, is, sizeof(is), 0), n);
	CU_ASSERT_EQUAL(memcmp(was, is, (size_t)n), 0);
	s = must_open(path, "dram=16K&log=bytefs");
	CU_ASSERT(!annex_cxlssd_readonly(s) && has(s, 8, 2) && !put(s, 8, 3));
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(fd);
}

/* Another process cuts the file, or copies another one over it: the next fence says so, all later
 * calls fail, and so does the close. */
static void foreign(void)
{
	static char other[1 << 20];
	char path[UNIT_PATH], second[UNIT_PATH];
	int fd = unit_memfd(0, path), fd2 = unit_memfd(0, second);
	ssize_t n;

	CU_ASSERT_EQUAL(annex_cxlssd_close(must_open(second, SMALL)), 0);
	n = pread(fd2, other, sizeof(other), 0);
	CU_ASSERT_FATAL(n > 0 && n < (ssize_t)sizeof(other));
	for (int cut = 0; cut < 2; cut++) {
		struct annex_cxlssd *s = must_open(path, SMALL);

		CU_ASSERT_EQUAL(put(s, 1, 1), 0);
		CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
		CU_ASSERT_EQUAL(put(s, 2, 1), 0);
		CU_ASSERT_EQUAL(cut ? ftruncate(fd, 0) : pwrite(fd, other, (size_t)n, 0),
				cut ? 0 : n);
		CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), -EIO);
		CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "another process has"));
		CU_ASSERT_EQUAL(put(s, 3, 1), -EIO);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), -EIO);
	}
	close(fd);
	close(fd2);
}

static void store_until_killed(const char *path, const char *more, int out)
{
	struct annex_cxlssd *s = NULL;
	char round = 0;

	if (try_open(path, more, &s))
		_exit(1);
	for (uint32_t version = 1;; version++) {
		for (uint32_t i = 0; i < LINES; i++)
			if (put(s, i, version))
				_exit(2);
		if (annex_cxlssd_fence(s, NULL) || (version <= 3 && write(out, &round, 1) != 1))
			_exit(3);
	}
}

static void killed(void)
{
	static const char *const drams[] = {SMALL, SMALL "&log=skybyte", SMALL "&log=bytefs",
					    SMALL "&durable=model&unit=64"};

	for (unsigned int d = 0; d < 4; d++) {
		struct annex_cxlssd *s;
		char path[UNIT_PATH], round;
		int fd = unit_memfd(0, path), pipes[2], status;
		pid_t child;

		CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
		child = fork();
		if (!child)
			store_until_killed(path, drams[d], pipes[1]);
		close(pipes[1]);
		for (unsigned int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(read(pipes[0], &round, 1), 1);
		kill(child, SIGKILL);
		CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
		CU_ASSERT(WIFSIGNALED(status));
		s = must_open(path, drams[d]);
		for (uint32_t i = 0; i < LINES; i++) {
			uint32_t words[LINE / 4];

			CU_ASSERT_EQUAL(annex_cxlssd_read(s, (uint64_t)i * LINE, words, LINE, NULL),
					0);
			CU_ASSERT(words[1] >= 3 && has(s, i, words[1]));
		}
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
		close(pipes[0]);
		close(fd);
	}
}

#define THREADS 4u
#define ROUNDS (UNIT_SANITIZED ? 1500u : 6000u)

/* struct worker - A thread, and the versions of the lines that are its own, each fourth one. */
struct worker {
	struct annex_cxlssd *s;
	uint32_t first;
	uint64_t rng, wrong;
	uint32_t versions[LINES];
};

static void commit_line(struct worker *w, uint32_t line)
{
	struct annex_cxlssd_tx *tx = NULL;
	char buf[LINE];

	fill_line(buf, line, ++w->versions[line]);
	w->wrong += annex_cxlssd_begin(w->s, &tx) != 0;
	w->wrong += annex_cxlssd_tx_write(tx, (uint64_t)line * LINE, buf, LINE) != 0;
	w->wrong += annex_cxlssd_commit(tx, NULL) != 0;
}

static void *work(void *ctx)
{
	struct worker *w = ctx;
	struct annex_cxlssd_stats stats;
	char page[PAGE];

	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint32_t line =
			(uint32_t)(random_next(&w->rng) % (LINES / THREADS)) * THREADS + w->first;

		switch (random_next(&w->rng) % 32) {
		case 0:
			w->wrong += annex_cxlssd_fence(w->s, NULL) != 0;
			break;
		case 1:
			w->wrong += annex_cxlssd_prefetch(w->s, (uint64_t)line * LINE, 300, NULL) &&
				    (uint64_t)line * LINE + 300 <= PAGES * PAGE;
			break;
		case 2:
			w->wrong += annex_cxlssd_read_blocks(w->s, line / 8 * PAGE, page, PAGE,
							     NULL) != 0;
			break;
		case 3:
			annex_cxlssd_get_stats(w->s, &stats);
			annex_cxlssd_unfenced(w->s, NULL, 0);
			break;
		case 4:
			if (!(i % 16))
				w->wrong += annex_cxlssd_flush(w->s, NULL) != 0;
			break;
		case 5 ... 6:
			commit_line(w, line);
			break;
		case 7 ... 18:
			w->wrong += put(w->s, line, ++w->versions[line]) != 0;
			break;
		default:
			w->wrong += w->versions[line] && !has(w->s, line, w->versions[line]);
		}
	}
	return NULL;
}

static void threads(void)
{
	static struct worker workers[THREADS];
	const uint64_t seed = random_seed("threads");
	struct annex_cxlssd *s;
	char path[UNIT_PATH];
	int fd = unit_memfd(0, path);

	s = must_open(path, SMALL "&log=bytefs&unit=256");
	for (uint32_t i = 0; i < THREADS; i++)
		workers[i] = (struct worker){.s = s, .first = i, .rng = seed + i};
	unit_threads(THREADS, work, workers, sizeof(*workers));
	for (uint32_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(workers[i].wrong, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_cut(s, NULL, 0), 0);
	s = must_open(path, SMALL);
	for (uint32_t i = 0; i < LINES; i++) {
		const uint32_t version = workers[i % THREADS].versions[i];

		CU_ASSERT(!version || has(s, i, version));
	}
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	close(fd);
}

static struct annex_cxlssd_stats stats_of(struct annex_cxlssd *s)
{
	struct annex_cxlssd_stats stats;

	annex_cxlssd_get_stats(s, &stats);
	return stats;
}

static void counted_pages(void)
{
	struct annex_cxlssd *s = must_open("", SMALL);
	struct annex_cxlssd_stats c;
	char buf[PAGES * PAGE] = {1};

	CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, 0, buf, sizeof(buf), NULL), 0);
	c = stats_of(s);
	CU_ASSERT(c.flash_writes == PAGES && c.valid == PAGES && !c.dirty && !c.copied);
	CU_ASSERT(!c.reads && !c.writes && !c.hits && !c.flash_reads && !c.erased);
	for (uint32_t i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(annex_cxlssd_read(s, i % 10 * PAGE, buf, LINE, NULL), 0);
	c = stats_of(s);
	CU_ASSERT(c.reads == 20 && c.hits == 10 && !c.late && c.flash_reads == 10);
	/* Two units, a line of each. */
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 31 * PAGE - 1, buf, 2, NULL), 0);
	/* A unit that is there, and one that is not. */
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 10 * PAGE - LINE, buf, 3 * LINE, NULL), 0);
	c = stats_of(s);
	CU_ASSERT(c.reads == 25 && c.hits == 11 && c.flash_reads == 13);
	CU_ASSERT_EQUAL(annex_cxlssd_prefetch(s, 8 * PAGE, 5 * PAGE, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_read(s, 12 * PAGE, buf, PAGE, NULL), 0);
	c = stats_of(s);
	CU_ASSERT(c.prefetches == 2 && c.flash_reads == 15 && c.reads == 33 && c.hits == 19);
	/* A line stored twice, and another one; flash has them by one program. */
	CU_ASSERT(!put(s, 3, 1) && !put(s, 3, 2) && !put(s, 4, 1));
	c = stats_of(s);
	CU_ASSERT(c.writes == 3 && c.hits == 22 && c.dirty == 2 && c.flash_writes == PAGES);
	CU_ASSERT_EQUAL(annex_cxlssd_flush(s, NULL), 0);
	c = stats_of(s);
	CU_ASSERT(!c.dirty && c.flash_writes == PAGES + 1 && c.flash_reads == 15);
	CU_ASSERT_EQUAL(annex_cxlssd_trim(s, 0, 4 * PAGE, NULL), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_fence(s, NULL), 0);
	c = stats_of(s);
	CU_ASSERT(c.valid == PAGES - 4);
	annex_cxlssd_close(s);
}

static void counted_collections(void)
{
	struct annex_cxlssd *s = must_open("", SMALL);
	const uint32_t flash = 2 * 12 * 4; /* pages */
	uint64_t rng = random_seed("collections");
	struct annex_cxlssd_stats c;
	char buf[PAGE] = {1};

	for (uint32_t i = 0; i < 5000; i++)
		CU_ASSERT_EQUAL(annex_cxlssd_write_blocks(s, random_next(&rng) % PAGES * PAGE, buf,
							  PAGE, NULL),
				0);
	c = stats_of(s);
	CU_ASSERT(c.flash_writes == 5000 && c.copied && c.valid == PAGES);
	/* A page is programmed after its block was erased, or it is its first time. */
	CU_ASSERT(c.flash_writes + c.copied <= c.erased * 4 + flash);
	CU_ASSERT(c.flash_writes + c.copied >= c.erased * 4);
	CU_ASSERT(c.least_worn * 24ull <= c.erased && c.most_worn * 24ull >= c.erased);
	annex_cxlssd_close(s);
}

/* A log of 32 lines, which is cleaned by a store that finds 17 in it. */
static void counted_log(void)
{
	struct annex_cxlssd *s = must_open("", SMALL "&log=skybyte&log_size=2048");
	struct annex_cxlssd_stats c;

	for (uint32_t i = 0; i < 17; i++)
		CU_ASSERT_EQUAL(put(s, i % 16, i), 0);
	c = stats_of(s);
	CU_ASSERT(c.writes == 17 && c.hits == 17 && c.dirty == 16);
	CU_ASSERT(c.coalesced == 1 && !c.cleaned && !c.flash_writes && !c.flash_reads);
	CU_ASSERT(has(s, 0, 16) && has(s, 1, 1));
	CU_ASSERT_EQUAL(put(s, 1, 20), 0);
	c = stats_of(s);
	CU_ASSERT(c.cleaned == 1 && c.flash_writes == 2 && c.dirty == 1 && c.coalesced == 1);
	CU_ASSERT(has(s, 0, 16) && has(s, 1, 20) && has(s, 2, 2));
	/* Blocks count as the newest of their lines. */
	CU_ASSERT_EQUAL(annex_cxlssd_trim(s, 0, PAGE, NULL), 0);
	CU_ASSERT(!stats_of(s).dirty);
	annex_cxlssd_close(s);
}

/* Sizes that an index has; nothing of it is used. */
static void large_logs(void)
{
	for (unsigned int gib = 32; !UNIT_SANITIZED && gib <= 128; gib += 24) {
		struct ssd_log l = {0};

		if (ssd_log_init(&l, (uint64_t)gib << 30, 0, 0))
			CU_ASSERT(l.mask >= 2ull * l.room - 1);
		ssd_log_free(&l);
	}
}

UNIT_SUITE(cxlssd_use, {"no room to make it", no_room_to_make}, {"full disk", full_disk},
	   {"opened twice", opened_twice}, {"only read", only_read}, {"foreign", foreign},
	   {"killed", killed}, {"threads", threads}, {"counted pages", counted_pages},
	   {"counted collections", counted_collections}, {"counted log", counted_log},
	   {"large logs", large_logs})
