/* SPDX-License-Identifier: MIT */
/*
 * Two sides that wake each other by a file descriptor: eventfds within a process, a socket between
 * processes. An eventfd's flags are shared by all who have it, so another process could make
 * ringing it block; on a socket each call says for itself that it must not.
 */
#ifndef ANNEX_NDP_BELL_H
#define ANNEX_NDP_BELL_H

#include <stdbool.h>

/*
 * struct bell - One side.
 * @in: readable when the other side rang.
 * @out: what rings there.
 */
struct bell {
	int in;
	int out;
	bool socket;
};

#define BELL_NONE ((struct bell){-1, -1, false})

/* annex_bell_pair() - Make both sides; with @socket one of them goes to another process. 0 or
 * -errno. */
int annex_bell_pair(struct bell *a, struct bell *b, bool socket);

/*
 * annex_bell_ring(), annex_bell_drain() - Never block. Rings that were not drained are one.
 * annex_bell_drain(): false: the other side is closed, for good.
 */
void annex_bell_ring(const struct bell *b);
bool annex_bell_drain(const struct bell *b);

void annex_bell_close(struct bell *b);

#endif
