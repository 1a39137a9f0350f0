/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_LOG_H
#define ANNEX_CORE_LOG_H

#include <stdbool.h>
#include <annex/log.h>

typedef unsigned long long ull; /* the type of "%llu" */

/**
 * annex_log() - Hand one line to the log callback.
 */
void annex_log(enum annex_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * annex_fail() - Log why, remember it for annex_last_error(), and return @err.
 *
 * So that failing is one statement: return annex_fail(-EINVAL, "...", ...).
 */
int annex_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* struct annex_kept - The text of annex_last_error(), if @kept. */
struct annex_kept {
	bool kept;
	char text[512];
};

/* annex_keep(), annex_keep_end() - For KEEP_LAST_ERROR(). */
struct annex_kept annex_keep(bool keep);
void annex_keep_end(const struct annex_kept *k);

/**
 * KEEP_LAST_ERROR() - Restore annex_last_error() at the end of the block.
 * @keep: false: leave it as the block does.
 *
 * For clean-up: a caller reads the text after an error, and wants its cause.
 */
#define KEEP_LAST_ERROR(keep)                                                                      \
	const struct annex_kept kept                                                               \
		__attribute__((unused, cleanup(annex_keep_end))) = annex_keep(keep)

#endif
