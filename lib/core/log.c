// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "log.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "queue entries and files are read in place: little-endian machines only"
#endif

static annex_log_fn log_fn;
static void *log_ctx;
static _Thread_local char last_error[sizeof(((struct annex_kept *)NULL)->text)];

void annex_set_log(annex_log_fn fn, void *ctx)
{
	log_fn = fn;
	log_ctx = ctx;
}

static void write_line(int fd, const char *before, const char *line)
{
	char text[sizeof(last_error) + 16];
	int n = snprintf(text, sizeof(text), "%s%s\n", before, line);
	ssize_t done;

	if (n >= (int)sizeof(text)) {
		n = sizeof(text) - 1;
		text[n - 1] = '\n';
	}
	do
		done = write(fd, text, (size_t)n);
	while (done < 0 && errno == EINTR);
}

void annex_log_to_fd(void *ctx, enum annex_log_level level, const char *line)
{
	if (level == ANNEX_LOG_FATAL)
		write_line(STDERR_FILENO, "annex: ", line);
	if (level == ANNEX_LOG_FATAL || level == ANNEX_LOG_WARNING)
		write_line(*(const int *)ctx, "", line);
}

const char *annex_last_error(void)
{
	return last_error;
}

const char *annex_strerror(int err)
{
	return err == -EILSEQ ? "the data differs from the written data" : strerror(-err);
}

void annex_log(enum annex_log_level level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!log_fn)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_fn(log_ctx, level, line);
}

int annex_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	if (log_fn)
		log_fn(log_ctx, ANNEX_LOG_ERROR, last_error);
	return err;
}

struct annex_kept annex_keep(bool keep)
{
	struct annex_kept k;

	k.kept = keep;
	if (keep)
		memcpy(k.text, last_error, sizeof(k.text));
	return k;
}

void annex_keep_end(const struct annex_kept *k)
{
	if (k->kept)
		memcpy(last_error, k->text, sizeof(last_error));
}
