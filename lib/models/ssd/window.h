/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD seen as memory: a page is read from the endpoint when it is touched, and lines that
 * were stored since go back when they are persisted, and when the page makes room for another.
 */
#ifndef ANNEX_HDM_WINDOW_H
#define ANNEX_HDM_WINDOW_H

#include <annex/models/cxlssd.h>

struct window;

/*
 * window_open() - A window on all of an endpoint, in the shared mapping of @fd at @base, which is
 * @bytes long and empty. @most: bytes of pages that are there at a time.
 * window_close() - Write back, and stop; the mapping stays. Return: an error of the endpoint.
 */
int window_open(struct annex_cxlssd *s, int fd, char *base, uint64_t bytes, uint64_t most,
		struct window **out);
int window_close(struct window *w);

/*
 * window_hold() - Devices may reach [@at, @at + @len), which nobody hears of: its pages stay.
 * -ENOMEM: there would be no place for others. window_let() - They may not any more.
 */
int window_hold(struct window *w, uint64_t at, uint64_t len);
void window_let(struct window *w, uint64_t at, uint64_t len);

/* window_persist() - Stores to [@at, @at + @len) last. An error of the endpoint. */
int window_persist(struct window *w, uint64_t at, uint64_t len);

#endif
