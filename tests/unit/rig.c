// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "unit.h"

static struct {
	unsigned int levels;
	const char *word;
	unsigned int lines;
} counted;

void unit_tmpfile(char *path)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, UNIT_PATH, "%s/annex-test-XXXXXX",
		 dir && strlen(dir) < 100 ? dir : P_tmpdir);
	fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
}

int unit_memfd(uint64_t bytes, char *path)
{
	int fd = memfd_create("annex-test", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	if (path)
		snprintf(path, UNIT_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

void unit_threads(unsigned int n, void *(*fn)(void *), void *args, size_t size)
{
	pthread_t *threads = calloc(n, sizeof(*threads));

	CU_ASSERT_PTR_NOT_NULL_FATAL(threads);
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_FATAL(!pthread_create(&threads[i], NULL, fn, (char *)args + i * size));
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
	free(threads);
}

static void count_line(void *ctx, enum annex_log_level level, const char *line)
{
	(void)ctx;
	/* Relaxed: threads only count. */
	if (1u << level & counted.levels && strstr(line, counted.word))
		annex_atomic_add(&counted.lines, 1u, ANNEX_RELAXED);
}

void unit_log_begin(unsigned int levels, const char *word)
{
	counted.levels = levels;
	counted.word = word;
	counted.lines = 0;
	annex_set_log(count_line, NULL);
}

unsigned int unit_log_lines(void)
{
	return annex_atomic_load(&counted.lines, ANNEX_RELAXED);
}

unsigned int unit_log_end(void)
{
	annex_set_log(NULL, NULL);
	return unit_log_lines();
}
