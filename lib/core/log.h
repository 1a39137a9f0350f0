/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_LOG_H
#define ANNEX_CORE_LOG_H

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

#endif
