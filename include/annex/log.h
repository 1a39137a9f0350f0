/* SPDX-License-Identifier: MIT */
/*
 * The library prints nothing. Lines that say more than an errno go to one callback.
 */
#ifndef ANNEX_LOG_H
#define ANNEX_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum annex_log_level - How much a line matters.
 * @ANNEX_LOG_ERROR: why a call fails, in the thread that made the call, before it returns. The
 *	caller hears of it anyway, and annex_last_error() keeps the line.
 * @ANNEX_LOG_WARNING: worth a person's attention, and no call tells of it: the library goes on, but
 *	more slowly than it could, or something went wrong in the background. Show it.
 * @ANNEX_LOG_INFO: the library's choice where the caller left one. Of use when debugging.
 * @ANNEX_LOG_FATAL: why the program gets a signal next, which ends most of them (annex/mem.h). Show
 *	it at once.
 */
enum annex_log_level {
	ANNEX_LOG_ERROR,
	ANNEX_LOG_WARNING,
	ANNEX_LOG_INFO,
	ANNEX_LOG_FATAL,
};

/**
 * typedef annex_log_fn - Receives one line, without a newline.
 * @ctx: as annex_set_log() was given it.
 * @level: how much the line matters.
 * @line: valid until the callback returns.
 *
 * Any thread that is inside a call of the library may call it, and so may the library's own
 * threads; two threads may call it at once. Locks of the library may be held: the callback must not
 * call the library, and must not touch memory of a space, which could wait for such a lock.
 */
typedef void (*annex_log_fn)(void *ctx, enum annex_log_level level, const char *line);

/**
 * annex_set_log() - Set the process's log callback.
 * @fn: the callback; NULL drops every line (the default).
 * @ctx: passed to it.
 *
 * Call it while no other thread is inside the library, and nothing of the library is open that has
 * threads of its own.
 */
void annex_set_log(annex_log_fn fn, void *ctx);

/**
 * annex_log_to_fd() - A callback for annex_set_log() that writes warnings to a file descriptor.
 * @ctx: points to the descriptor, an int, which must stay open and where it is.
 * @level: as of annex_log_fn.
 * @line: as of annex_log_fn.
 *
 * Each ANNEX_LOG_WARNING is one write() of a line, with a newline. An ANNEX_LOG_FATAL line goes to
 * stderr as well, as nobody may read the descriptor any more. Other levels are left out. It is for
 * programs whose own code must not run in the library's threads, as that of an interpreter with
 * a global lock. A line for which a pipe that does not block has no room is lost.
 */
void annex_log_to_fd(void *ctx, enum annex_log_level level, const char *line);

/**
 * annex_last_error() - The last ANNEX_LOG_ERROR line of the calling thread, or "".
 *
 * Explains the negative errno that a call has just returned. The text stays until the thread's next
 * failing call.
 *
 * Return: the line.
 */
const char *annex_last_error(void);

/**
 * annex_strerror() - Words for an error of this library; any thread may ask.
 * @err: a negative errno.
 *
 * They are those of strerror(), but for -EILSEQ: here it says that data differs from the written
 * data.
 */
const char *annex_strerror(int err);

#ifdef __cplusplus
}
#endif
#endif
