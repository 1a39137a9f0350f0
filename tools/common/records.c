// SPDX-License-Identifier: GPL-2.0-or-later
#include <csv.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "error.h"
#include "input.h"
#include "progress.h"
#include "records.h"

#define CHUNK (256u << 10)

/*
 * struct reader - A file that is read.
 * @next: the first line not read yet.
 * @cr: it ended with a CR.
 */
struct reader {
	struct records *r;
	unsigned int fields;
	uint64_t next;
	bool cr;
	int err;
};

int records_bad(const struct records *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(-EINVAL, "%s, line %llu: %s", r->path, (ull)r->line, text);
}

static uint64_t newlines(const char *s, size_t n)
{
	const char *end = s + n;
	uint64_t lines = 0;

	while (s < end && (s = memchr(s, '\n', (size_t)(end - s)))) {
		lines++;
		s++;
	}
	return lines;
}

/* libcsv cannot be stopped from a callback: fields after an error are ignored. */
static void on_field(void *data, size_t n, void *ctx)
{
	struct reader *x = ctx;
	struct records *r = x->r;

	if (x->err)
		return;
	if (!x->fields)
		r->line = x->next;
	x->next += newlines(data, n);
	x->cr = false;
	if (x->fields == RECORDS_FIELDS)
		x->err = records_bad(r, "more than %u fields", RECORDS_FIELDS);
	else
		x->err = r->field(r->ctx, x->fields++, data, n);
}

/* @c: what ended the line, -1: the file's end. */
static void on_end(int c, void *ctx)
{
	struct reader *x = ctx;

	if (x->err)
		return;
	if (!(c == '\n' && x->cr && !x->fields))
		x->next++;
	x->cr = c == '\r';
	if (!x->fields)
		return;
	x->err = x->r->end(x->r->ctx, x->fields);
	x->fields = 0;
	x->r->record++;
}

static void *bounded(void *p, size_t n)
{
	return n <= RECORDS_FIELD ? realloc(p, n) : NULL;
}

/* Blanks belong to the field: " 7" is no number. */
static int no_space(unsigned char c)
{
	(void)c;
	return 0;
}

static int broken(struct reader *x, struct csv_parser *p, uint64_t line)
{
	x->r->line = line;
	if (csv_error(p) == CSV_EPARSE)
		return records_bad(x->r, "unexpected quote");
	if (csv_get_buffer_size(p) >= RECORDS_FIELD)
		return records_bad(x->r, "a field of more than %u KiB", RECORDS_FIELD >> 10);
	return err_set(-ENOMEM, "no memory for a line of %s", x->r->path);
}

/* A byte order mark, with which Excel begins a file, is no part of the first name. */
static int parse_all(struct reader *x, struct csv_parser *p, FILE *f, char *buf)
{
	uint64_t before = 1, done = 0;
	struct stat st;
	size_t n;

	if (fstat(fileno(f), &st))
		return err_sys("cannot read %s", x->r->path);
	while (!x->err && (n = fread(buf, 1, CHUNK, f))) {
		const size_t mark = !done && n >= 3 && !memcmp(buf, "\xef\xbb\xbf", 3) ? 3 : 0;
		size_t ate = mark + csv_parse(p, buf + mark, n - mark, on_field, on_end, x);

		if (ate < n && !x->err)
			return broken(x, p, before + newlines(buf, ate));
		before += newlines(buf, n);
		done += n;
		progress_update(done >> 20, (uint64_t)st.st_size >> 20, "MiB");
	}
	if (x->err)
		return x->err;
	if (ferror(f))
		return err_sys("cannot read %s", x->r->path);
	if (!x->fields)
		x->r->line = x->next;
	if (csv_fini(p, on_field, on_end, x) && !x->err)
		return records_bad(x->r, "a quoted field does not end");
	return x->err;
}

int records_read(struct records *r)
{
	struct reader x = {.r = r, .next = 1};
	unsigned char options = CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL | CSV_APPEND_NULL;
	FILE *f = input_file(r->path);
	struct csv_parser p;
	char *buf;
	int err;

	if (!f)
		return -EINVAL;
	r->record = 0;
	r->line = 1;
	buf = malloc(CHUNK);
	if (!buf || csv_init(&p, options)) {
		err = err_set(-ENOMEM, "out of memory");
	} else {
		csv_set_realloc_func(&p, bounded);
		csv_set_space_func(&p, no_space);
		csv_set_blk_size(&p, 4096);
		err = parse_all(&x, &p, f, buf);
		csv_free(&p);
	}
	fclose(f);
	free(buf);
	return err;
}
