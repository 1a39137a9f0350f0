/* SPDX-License-Identifier: MIT */
/*
 * Two sides that wake each other by file descriptors: eventfds within a process, a socket between
 * processes. All users of an eventfd share its flags, so another process could make a write block;
 * on a socket each call has MSG_DONTWAIT.
 */
#ifndef ANNEX_NDP_BELL_H
#define ANNEX_NDP_BELL_H

#include <stdbool.h>

/*
 * struct bell - One side.
 * @in: readable after the other side has rung.
 * @out: written to ring the other side.
 * @socket: both are a socket.
 */
struct bell {
	int in;
	int out;
	bool socket;
};

#define BELL_NONE ((struct bell){-1, -1, false})

/* annex_bell_pair() - Make both sides; @socket: for different processes. 0 or a negative errno. */
int annex_bell_pair(struct bell *a, struct bell *b, bool socket);

/*
 * annex_bell_ring(), annex_bell_drain() - These never block. Rings before a drain count as one.
 * annex_bell_drain(): false: the other side is closed.
 */
void annex_bell_ring(const struct bell *b);
bool annex_bell_drain(const struct bell *b);

void annex_bell_close(struct bell *b);

#endif
