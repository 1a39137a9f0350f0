/* SPDX-License-Identifier: MIT */
/*
 * The library prints nothing. What it has to say beyond an errno goes to one callback.
 */
#ifndef ANNEX_LOG_H
#define ANNEX_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

enum annex_log_level {
	ANNEX_LOG_ERROR,   /* why a call failed, in one line */
	ANNEX_LOG_WARNING, /* it works, but not as asked: a fallback, a spurious completion */
	ANNEX_LOG_INFO,    /* what was chosen */
};

/**
 * typedef annex_log_fn - Receives one line, without a newline.
 *
 * It may be called from any thread, also from two at once.
 */
typedef void (*annex_log_fn)(void *ctx, enum annex_log_level level, const char *line);

/**
 * annex_set_log() - Set the process's log callback; NULL drops every line (the default).
 *
 * Call it before other threads use the library.
 */
void annex_set_log(annex_log_fn fn, void *ctx);

/**
 * annex_last_error() - The last ANNEX_LOG_ERROR line of the calling thread, or "".
 *
 * Explains the negative errno that a call has just returned. The text stays until the thread's
 * next failing call.
 */
const char *annex_last_error(void);

/**
 * annex_strerror() - Words for an error of this library, a negative errno; any thread may ask.
 *
 * They are those of strerror(), but for -EILSEQ: here it says that data is not what was written.
 */
const char *annex_strerror(int err);

#ifdef __cplusplus
}
#endif
#endif
