/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD seen as memory: a page is read from the endpoint when it is touched, and lines that
 * were stored since go back when they are persisted, and when the page makes room for another.
 */
#ifndef ANNEX_HDM_WINDOW_H
#define ANNEX_HDM_WINDOW_H

#include <stdbool.h>
#include <annex/models/cxlssd.h>

#define WINDOW_PAGE 4096u
#define WINDOW_MIN (1ull << 20) /* the fewest bytes of pages that are there at a time */

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

/*
 * struct window_view - The same file mapped once more, by another process perhaps.
 * @uffd: hears of its touches (window_watch()).
 * @base: where it is, in that process.
 * @conn: a socket that is shut down if stores to the mapping cannot be stopped any more; then it
 *	counts no more.
 */
struct window_view {
	int uffd, conn;
	uint64_t base;
	bool cut;
	struct window_view *next;
};

/* window_join() - Pages of @v come and go with those of the window, until window_leave(). */
void window_join(struct window *w, struct window_view *v);
void window_leave(struct window *w, struct window_view *v);

/* window_serve() - A thread waits for the page at offset @at of @v, since it is not there or,
 * @protected, must not be stored to: it goes on. An error of the endpoint: it waits still. */
int window_serve(struct window *w, struct window_view *v, uint64_t at, bool protected);

/* window_watch() - A descriptor that hears of touches of absent pages of [@base, @base + @bytes),
 * and of stores to protected ones; a child of fork() will not have that mapping. */
int window_watch(char *base, uint64_t bytes);
/* window_lose() - Threads that touch the page at @at of a mapping get no data, but a SIGBUS. */
void window_lose(int uffd, char *base, uint64_t at);

#endif
