// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/log.h>
#include "cxlssd_image.h"
#include "models/ssd/file.h"

void image_new(struct image *m)
{
	m->fd = unit_memfd(0, m->path);
}

void image_locate(struct image *m)
{
	struct ssd_shape none = {0};
	struct ssd_file *f;

	CU_ASSERT_EQUAL_FATAL(ssd_file_open(m->path, &none, SSD_FILE_MODEL, &f), 0);
	m->half = f->shape.half;
	m->records = f->records;
	m->pages = f->pages;
	ssd_file_close(f);
}

int image_try(const char *path, const char *more, struct annex_cxlssd **out)
{
	char uri[300];

	snprintf(uri, sizeof(uri), "cxlssd:%s%s%s", path, *more ? "?" : "", more);
	return annex_cxlssd_open(uri, out);
}

struct annex_cxlssd *image_open(const char *path, const char *more)
{
	struct annex_cxlssd *s = NULL;

	CU_ASSERT_EQUAL_FATAL(image_try(path, more, &s), 0);
	return s;
}

/* struct lines - Lines of the library since the last clear, and the last one. */
static struct lines {
	unsigned int n;
	char last[512];
} lines;

static void take_line(void *ctx, enum annex_log_level level, const char *line)
{
	struct lines *l = ctx;

	l->n += level == ANNEX_LOG_ERROR;
	snprintf(l->last, sizeof(l->last), "%s", line);
}

void image_listen(void)
{
	memset(&lines, 0, sizeof(lines));
	annex_set_log(take_line, &lines);
}

/* The call since image_listen() said why it failed, once, in a line that has a word. */
void image_told(const char *word)
{
	annex_set_log(NULL, NULL);
	CU_ASSERT_EQUAL(lines.n, 1);
	CU_ASSERT(strstr(lines.last, word) != NULL);
	CU_ASSERT_STRING_EQUAL(lines.last, annex_last_error());
	CU_ASSERT_PTR_NULL(strchr(lines.last, '\n'));
	if (lines.n != 1 || !strstr(lines.last, word))
		printf(" [%u lines, no \"%s\" in \"%s\"] ", lines.n, word, lines.last);
}

void image_refuse(const char *path, const char *more, int err, const char *word)
{
	struct annex_cxlssd *s = NULL;
	int got;

	image_listen();
	got = image_try(path, more, &s);
	CU_ASSERT_EQUAL(got, err);
	if (got != err)
		printf(" [%s?%s: %d] ", path, more, got);
	if (!got)
		annex_cxlssd_close(s);
	image_told(word);
}

/* Words that are nowhere else. */
void image_fill(unsigned char *buf, size_t n, unsigned int with)
{
	for (size_t i = 0; i < n; i += 8) {
		const uint64_t word = (with + 1) * 0x9e3779b97f4a7c15ull + i;

		memcpy(buf + i, &word, 8);
	}
}

void image_flip(const struct image *m, uint64_t at)
{
	unsigned char byte = 0;

	CU_ASSERT_EQUAL(pread(m->fd, &byte, 1, (off_t)at), 1);
	byte ^= 4;
	CU_ASSERT_EQUAL(pwrite(m->fd, &byte, 1, (off_t)at), 1);
}
