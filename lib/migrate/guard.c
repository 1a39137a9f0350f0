// SPDX-License-Identifier: MIT
/*
 * Ranges are in a table that is never freed, so that a signal handler can read it at any time. It
 * is empty in a forked child, which has no thread that serves requests.
 *
 * A thread that accesses a page reads the turn of the page's bucket, puts a request into a free
 * cell, and sleeps until the turn changes. The request is read later, and the page is shown, fenced
 * or refused after that, which changes the turn: so no wake-up is lost. No pointer to the thread
 * remains: it may leave by siglongjmp(3) from another signal's handler.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <annex/detail/atomic.h>
#include <annex/mem.h>
#include "core/futex.h"
#include "core/log.h"
#include "guard.h"

#define GUARDS 64u  /* most ranges at once */
#define CELLS 128u  /* most requests that have not been read */
#define BUCKETS 16u /* buckets of waiting threads, by page */
#define NEAR 16u    /* neighbours in one bucket */
#define FOR_EVER UINT64_MAX

/*
 * struct bucket - Threads that wait for a set of pages.
 * @turn: changes when any of its pages is shown, fenced or refused. A futex.
 * @refused: ticket of the last refused request.
 */
struct bucket {
	uint32_t turn, refused;
};

/*
 * struct guard - A range.
 * @base: its first address; 0: the entry is free.
 * @bytes: its size.
 * @asked: changes when there is a request. A futex of the serving thread.
 * @stopped: annex_guard_stop() was called.
 * @read: changes when requests have been read. A futex.
 * @full: a thread waits for a free cell.
 * @tickets: the last ticket.
 * @cells: requests: a ticket, the page, and whether it is written; 0: the cell is free.
 * @buckets: waiting threads.
 */
struct guard {
	uintptr_t base;
	uint64_t bytes;
	uint32_t asked, stopped, read, full, tickets;
	struct bucket buckets[BUCKETS];
	uint64_t cells[CELLS];
};

static struct guard *table;
static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static void guard_init(void)
{
	size_t bytes = GUARDS * sizeof(struct guard);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_mutex_init(&lock, NULL);
	if (p == MAP_FAILED)
		return;
	if (madvise(p, bytes, MADV_WIPEONFORK)) {
		munmap(p, bytes);
		return;
	}
	pthread_atfork(take_lock, drop_lock, drop_lock);
	/* Release: pairs with find(), also if another space was the first. */
	annex_atomic_store(&table, p, ANNEX_RELEASE);
}

int annex_guard_start(const void *base, uint64_t bytes, struct guard **out)
{
	struct guard *g = NULL;

	pthread_once(&once, guard_init);
	if (!table)
		return annex_fail(-ENOMEM, "space: no memory for a table of ranges");
	take_lock();
	for (unsigned int i = 0; i < GUARDS && !g; i++)
		g = table[i].base ? NULL : &table[i];
	if (g) {
		/* Relaxed: ordered by the release below. A late thread of the entry's previous
		 * range may still write a cell, which is read as any other. */
		for (unsigned int i = 0; i < CELLS; i++)
			annex_atomic_store(&g->cells[i], 0, ANNEX_RELAXED);
		annex_atomic_store(&g->stopped, 0, ANNEX_RELAXED);
		annex_atomic_store(&g->bytes, bytes, ANNEX_RELAXED);
		/* Release: pairs with find(). */
		annex_atomic_store(&g->base, (uintptr_t)base, ANNEX_RELEASE);
	}
	drop_lock();
	*out = g;
	return g ? 0
		 : annex_fail(-EMFILE, "space: %u of them hear of touches by signals: no more can",
			      GUARDS);
}

void annex_guard_end(struct guard *g)
{
	if (!g)
		return;
	take_lock();
	/* Relaxed: ordered by the release of the turns, which change next. */
	annex_atomic_store(&g->base, 0, ANNEX_RELAXED);
	drop_lock();
	annex_guard_wake(g, 0, BUCKETS * NEAR);
}

bool annex_guard_any(void)
{
	bool any = false;

	pthread_once(&once, guard_init);
	take_lock();
	for (unsigned int i = 0; table && i < GUARDS; i++)
		any |= table[i].base != 0;
	drop_lock();
	return any;
}

/* The range that contains @at, or NULL. */
static struct guard *find(uintptr_t at, uintptr_t *base)
{
	/* Acquire: pairs with guard_init(). */
	struct guard *g = annex_atomic_load(&table, ANNEX_ACQUIRE);

	for (unsigned int i = 0; g && i < GUARDS; i++, g++) {
		/* Acquire: pairs with annex_guard_start(): the size is that of this range, or of
		 * one that has replaced it, and has another base. */
		*base = annex_atomic_load(&g->base, ANNEX_ACQUIRE);
		if (*base && at >= *base &&
		    at - *base < annex_atomic_load(&g->bytes, ANNEX_ACQUIRE) &&
		    annex_atomic_load(&g->base, ANNEX_RELAXED) == *base)
			return g;
	}
	return NULL;
}

static struct bucket *bucket_of(struct guard *g, uint32_t page)
{
	return &g->buckets[page / NEAR % BUCKETS];
}

static void guard_request(struct guard *g, uint64_t request)
{
	for (;;) {
		/* Acquire: cells that were free at this count are seen as free. */
		uint32_t read = annex_atomic_load(&g->read, ANNEX_ACQUIRE);

		for (unsigned int i = 0; i < CELLS; i++) {
			uint64_t none = 0;

			/* Relaxed: the word is the whole request. */
			if (annex_atomic_cas(&g->cells[i], &none, request, ANNEX_RELAXED))
				return;
		}
		/* Sequential: annex_guard_take() counts, then loads this; one of the two threads
		 * sees the other's store. */
		annex_atomic_store(&g->full, 1, ANNEX_SEQ_CST);
		futex_sleep(&g->read, read, FOR_EVER, false);
	}
}

bool annex_guard_touch(uintptr_t at, bool write)
{
	uintptr_t base;
	struct guard *g = find(at, &base);
	uint32_t page, turn, ticket;
	struct bucket *b;

	if (!g)
		return false;
	page = (uint32_t)((at - base) / ANNEX_MEM_PAGE);
	b = bucket_of(g, page);
	/* Acquire: before the request, and pairs with annex_guard_end(): a thread that reads its
	 * turn also sees that the range has ended. */
	turn = annex_atomic_load(&b->turn, ANNEX_ACQUIRE);
	if (annex_atomic_load(&g->base, ANNEX_RELAXED) != base)
		return true;
	do /* relaxed: only the number matters, which no recent request has */
		ticket = annex_atomic_add(&g->tickets, 1, ANNEX_RELAXED);
	while (!ticket);
	guard_request(g, (uint64_t)ticket << 32 | page << 1 | write);
	/* Release: pairs with annex_guard_take(), which then finds the request. */
	annex_atomic_add(&g->asked, 1, ANNEX_RELEASE);
	futex_rouse(&g->asked, 1, false);
	/* Acquire: the page's protection and the refusal come before the turn. */
	while (annex_atomic_load(&b->turn, ANNEX_ACQUIRE) == turn)
		futex_sleep(&b->turn, turn, FOR_EVER, false);
	/* Relaxed: ordered by the acquire above. */
	return annex_atomic_load(&b->refused, ANNEX_RELAXED) != ticket;
}

static unsigned int read_cells(struct guard *g, struct ask *asks, unsigned int most)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CELLS && n < most; i++) {
		/* Relaxed: the word is the whole request, and only this thread empties cells. */
		uint64_t request = annex_atomic_load(&g->cells[i], ANNEX_RELAXED);

		if (!request)
			continue;
		annex_atomic_store(&g->cells[i], 0, ANNEX_RELAXED);
		asks[n++] = (struct ask){.page = (uint32_t)request >> 1,
					 .ticket = (uint32_t)(request >> 32),
					 .write = request & 1};
	}
	return n;
}

unsigned int annex_guard_take(struct guard *g, struct ask *asks, unsigned int most)
{
	for (;;) {
		/* Acquire: counted requests are in their cells. */
		uint32_t asked = annex_atomic_load(&g->asked, ANNEX_ACQUIRE);
		unsigned int n = read_cells(g, asks, most);

		if (n) {
			/* Sequential: see guard_request(). */
			annex_atomic_add(&g->read, 1, ANNEX_SEQ_CST);
			if (annex_atomic_load(&g->full, ANNEX_SEQ_CST)) {
				annex_atomic_store(&g->full, 0, ANNEX_SEQ_CST);
				futex_rouse(&g->read, INT_MAX, false);
			}
			return n;
		}
		/* Relaxed: ordered by the acquire above. */
		if (annex_atomic_load(&g->stopped, ANNEX_RELAXED))
			return 0;
		futex_sleep(&g->asked, asked, FOR_EVER, false);
	}
}

void annex_guard_stop(struct guard *g)
{
	annex_atomic_store(&g->stopped, 1, ANNEX_RELAXED);
	/* Release: pairs with annex_guard_take(). */
	annex_atomic_add(&g->asked, 1, ANNEX_RELEASE);
	futex_rouse(&g->asked, 1, false);
}

void annex_guard_refuse(struct guard *g, const struct ask *ask)
{
	/* Relaxed: ordered by the release of the turn, which comes next. */
	annex_atomic_store(&bucket_of(g, ask->page)->refused, ask->ticket, ANNEX_RELAXED);
}

void annex_guard_wake(struct guard *g, uint32_t first, uint32_t n)
{
	uint32_t near = first / NEAR, end = (first + n - 1) / NEAR + 1;

	end = end - near > BUCKETS ? near + BUCKETS : end;
	for (; near < end; near++) {
		struct bucket *b = &g->buckets[near % BUCKETS];

		/* Release: protection and refusal come before; pairs with annex_guard_touch(). */
		annex_atomic_add(&b->turn, 1, ANNEX_RELEASE);
		futex_rouse(&b->turn, INT_MAX, false);
	}
}
