/* SPDX-License-Identifier: MIT */
/*
 * Ranges whose accesses are detected by page protection: a thread that accesses a page requests it
 * in a SIGSEGV handler, and waits there. Used if userfaultfd is refused.
 */
#ifndef ANNEX_MIGRATE_GUARD_H
#define ANNEX_MIGRATE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard;

/*
 * struct ask - An access to a page.
 * @page: the page's number in the range.
 * @ticket: number of the request; 0: a request that cannot be refused.
 * @write: it was a write.
 */
struct ask {
	uint32_t page, ticket;
	bool write;
};

/* annex_guard_start() - Begin to watch a range. Return: 0; a negative errno. */
int annex_guard_start(const void *base, uint64_t bytes, struct guard **out);

/* annex_guard_end() - Stop. Waiting threads access their pages again. NULL is allowed. */
void annex_guard_end(struct guard *g);

/* annex_guard_any() - Whether there are ranges: none in a forked child. */
bool annex_guard_any(void);

/*
 * annex_guard_touch() - In a signal handler: this thread has accessed @at. Return: whether to retry
 * the access; false: the page is in no range, or the request was refused.
 */
bool annex_guard_touch(uintptr_t at, bool write);

/* annex_guard_take() - Wait for requests. Return: their number; 0: after annex_guard_stop(). */
unsigned int annex_guard_take(struct guard *g, struct ask *asks, unsigned int most);
void annex_guard_stop(struct guard *g);

/* annex_guard_refuse() - Refuse a request at the next annex_guard_wake() of its page. */
void annex_guard_refuse(struct guard *g, const struct ask *ask);

/* annex_guard_wake() - Let threads that wait for any of these pages access them again. */
void annex_guard_wake(struct guard *g, uint32_t first, uint32_t n);

/* signal.c: the handler. */

/*
 * annex_signal_keep() - Install the handler, also over a handler that the program has installed
 * since, which is then called for all other faults. Return: 0; a negative errno.
 */
int annex_signal_keep(void);

/* annex_signal_end() - After the last range: remove the handler, unless another one covers it. */
void annex_signal_end(void);

#endif
