/* SPDX-License-Identifier: MIT */
/*
 * Ranges whose pages are guarded by their protection: a thread that touches one asks for it in a
 * signal handler (signal.h), and waits there.
 */
#ifndef ANNEX_MIGRATE_GUARD_H
#define ANNEX_MIGRATE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard;

/*
 * struct ask - A touch of a page.
 * @page: its number in the range.
 * @ticket: which touch it is; 0: nobody asks so that it could be refused.
 * @write: it was a write.
 */
struct ask {
	uint32_t page, ticket;
	bool write;
};

/* annex_guard_start() - Hear of touches in a range from now on. Return: 0; a negative errno. */
int annex_guard_start(const void *base, uint64_t bytes, struct guard **out);

/* annex_guard_end() - No more. Threads that wait touch their pages again. NULL is allowed. */
void annex_guard_end(struct guard *g);

/* annex_guard_any() - Whether there are ranges: none in a child that was forked. */
bool annex_guard_any(void);

/*
 * annex_guard_touch() - In a signal handler: this thread has touched @at. Return: whether it is to
 * try again; false: the page is in no range, or it was refused.
 */
bool annex_guard_touch(uintptr_t at, bool write);

/* annex_guard_take() - Wait for touches. Return: how many; 0: annex_guard_stop() was called. */
unsigned int annex_guard_take(struct guard *g, struct ask *asks, unsigned int most);
void annex_guard_stop(struct guard *g);

/* annex_guard_refuse() - The thread that asked is refused when its page is next woken. */
void annex_guard_refuse(struct guard *g, const struct ask *ask);

/* annex_guard_wake() - Threads that wait for any of these pages touch them again. */
void annex_guard_wake(struct guard *g, uint32_t first, uint32_t n);

#endif
