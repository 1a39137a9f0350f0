/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD as memory: a page is read from the endpoint on a fault. Stored lines are written back
 * when they are persisted and when the page is evicted.
 */
#ifndef ANNEX_HDM_WINDOW_H
#define ANNEX_HDM_WINDOW_H

#include <annex/models/cxlssd.h>

struct window;

/*
 * window_open() - Open a window on all of an endpoint, in the empty shared mapping of @fd at @base,
 * which has @bytes. @most: bytes of resident pages at most.
 * window_close() - Write back and stop; the mapping stays. Return: 0, or an error of the endpoint.
 */
int window_open(struct annex_cxlssd *s, int fd, char *base, uint64_t bytes, uint64_t most,
		struct window **out);
int window_close(struct window *w);

/*
 * window_hold() - Pin [@at, @at + @len), since accesses of devices cause no faults. -ENOMEM: no
 * room would be left for other pages.
 * window_let() - Unpin it.
 */
int window_hold(struct window *w, uint64_t at, uint64_t len);
void window_let(struct window *w, uint64_t at, uint64_t len);

/*
 * window_persist() - Make stores to [@at, @at + @len) durable. Return: 0, or the endpoint's error.
 */
int window_persist(struct window *w, uint64_t at, uint64_t len);

#endif
