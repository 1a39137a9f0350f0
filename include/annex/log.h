/* SPDX-License-Identifier: MIT */
/*
 * Messages of the library, which go to a callback of the program. The library never prints.
 */
#ifndef ANNEX_LOG_H
#define ANNEX_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum annex_log_level - Severity of a line.
 * @ANNEX_LOG_ERROR: reason of a failed call, logged in the calling thread before the call returns.
 *	The caller gets the errno anyway, and annex_last_error() keeps the line.
 * @ANNEX_LOG_WARNING: a problem that no call reports: the library goes on, but more slowly than it
 *	could, or an operation in the background failed. Show it to the user.
 * @ANNEX_LOG_INFO: a choice that the caller left to the library. Useful for debugging.
 * @ANNEX_LOG_FATAL: reason of a signal that is about to be raised and usually ends the program
 *	(annex/mem.h). Show it at once.
 */
enum annex_log_level {
	ANNEX_LOG_ERROR,
	ANNEX_LOG_WARNING,
	ANNEX_LOG_INFO,
	ANNEX_LOG_FATAL,
};

/**
 * typedef annex_log_fn - Receives one line, without a newline.
 * @ctx: the argument of annex_set_log().
 * @level: severity of the line.
 * @line: valid until the callback returns.
 *
 * Called by threads within a call of the library and by threads of the library, also by several at
 * once. The calling thread may hold locks of the library: the callback must neither call the
 * library nor access memory of a space, which could wait for such a lock.
 */
typedef void (*annex_log_fn)(void *ctx, enum annex_log_level level, const char *line);

/**
 * annex_set_log() - Set the process's log callback.
 * @fn: the callback; NULL drops every line (the default).
 * @ctx: passed to it.
 *
 * Call it while no other thread is inside the library and no object with threads of its own is
 * open.
 */
void annex_set_log(annex_log_fn fn, void *ctx);

/**
 * annex_log_to_fd() - A callback for annex_set_log() that writes warnings to a file descriptor.
 * @ctx: pointer to the descriptor, an int; both must stay valid.
 * @level: as for annex_log_fn.
 * @line: as for annex_log_fn.
 *
 * Each ANNEX_LOG_WARNING is one write() of the line and a newline. ANNEX_LOG_FATAL lines go to
 * stderr as well, since the process may end before the descriptor is read. Other levels are
 * dropped. For programs whose own code must not run in threads of the library, such as interpreters
 * with a global lock. A line is lost if a non-blocking pipe is full.
 */
void annex_log_to_fd(void *ctx, enum annex_log_level level, const char *line);

/**
 * annex_last_error() - The last ANNEX_LOG_ERROR line of the calling thread, or "".
 *
 * Explains the negative errno that a call has just returned. The text stays valid until the
 * thread's next failing call.
 *
 * Return: the line.
 */
const char *annex_last_error(void);

/**
 * annex_strerror() - Text for an error of this library. Thread-safe.
 * @err: a negative errno.
 *
 * Same as strerror(), except for -EILSEQ, which means that data differs from the written data.
 */
const char *annex_strerror(int err);

#ifdef __cplusplus
}
#endif
#endif
