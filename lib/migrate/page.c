// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <annex/detail/atomic.h>
#include "core/least.h"
#include "core/log.h"
#include "frames.h"
#include "guard.h"
#include "page.h"
#include "pool.h"
#include "tier.h"

#define BOTH (PAGE_DEVICE | PAGE_BELOW)

uint32_t annex_pages_alike(const struct annex_space *s, uint32_t first, uint32_t n, uint8_t mask)
{
	uint8_t flags = s->pages[first].flags & mask;
	uint32_t i = 1;

	while (i < n && (s->pages[first + i].flags & mask) == flags)
		i++;
	return i;
}

/* The part of a page's tensor that one page fault brings in: its first page, and *@n pages. */
static uint32_t window(const struct annex_space *s, uint32_t page, uint32_t *n)
{
	const struct tensor *t = tensor_of(s, page);
	uint32_t size = s->opts.fault_bytes / ANNEX_MEM_PAGE;
	uint32_t first = page / size * size, end = first + size;

	first = first < t->first ? t->first : first;
	end = end > t->first + t->n ? t->first + t->n : end;
	*n = end - first;
	return first;
}

uint32_t annex_pages_around(const struct annex_space *s, uint32_t page, uint8_t mask, uint32_t *n)
{
	uint8_t flags = s->pages[page].flags & mask;
	uint32_t first = window(s, page, n), end = first + *n, from = page;

	while (from > first && (s->pages[from - 1].flags & mask) == flags)
		from--;
	*n = annex_pages_alike(s, from, end - from, mask);
	return from;
}

static uint64_t address(const struct annex_space *s, uint32_t page)
{
	return (uintptr_t)s->base + pages_bytes(page);
}

static void wake(struct annex_space *s, uint32_t first, uint32_t n)
{
	struct uffdio_range range = {.start = address(s, first), .len = pages_bytes(n)};

	if (s->guard)
		annex_guard_wake(s->guard, first, n);
	else if (ioctl(s->uffd, UFFDIO_WAKE, &range))
		annex_log(ANNEX_LOG_WARNING, "space: programs are not woken: %m");
}

bool annex_pages_wanted(const struct annex_space *s, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		if (s->pages[i].flags & PAGE_WANTED)
			return true;
	return false;
}

static bool protect(struct annex_space *s, uint32_t first, uint32_t n, int rights)
{
	return !mprotect(s->base + pages_bytes(first), pages_bytes(n), rights);
}

static int rights_of(bool clean)
{
	return clean ? PROT_READ : PROT_READ | PROT_WRITE;
}

/*
 * The kernel splits the mapping where rights differ, up to vm.max_map_count parts. At that limit
 * hide all pages, which makes it one part, except held pages, which a system call may use. Rights
 * then follow the flags, so change these first.
 */
static void start_over(struct annex_space *s)
{
	static uint32_t told;
	uint32_t part;

	/* Relaxed: it orders no other memory. */
	if (!annex_atomic_add(&told, 1u, ANNEX_RELAXED))
		annex_log(ANNEX_LOG_WARNING,
			  "space: pages are hidden in too many parts, so all are, slower: %m "
			  "(raise vm.max_map_count)");
	if (!protect(s, 0, s->n_pages, PROT_NONE))
		annex_log(ANNEX_LOG_WARNING, "space: pages cannot be hidden: %m");
	for (uint32_t i = 0; i < s->n_pages; i += part) {
		uint8_t flags = s->pages[i].flags;

		part = annex_pages_alike(s, i, s->n_pages - i, PAGE_SHOWN | PAGE_CLEAN);
		if (!(flags & PAGE_SHOWN))
			continue;
		part = (uint32_t)least(part, tensor_of(s, i)->first + tensor_of(s, i)->n - i);
		if (tensor_of(s, i)->holds && protect(s, i, part, rights_of(flags & PAGE_CLEAN)))
			continue;
		for (uint32_t k = i; k < i + part; k++)
			s->pages[k].flags &= (uint8_t) ~(PAGE_SHOWN | PAGE_CLEAN);
	}
}

/* Map the file's pages at once, which avoids a fault for each. */
static uint32_t put_guarded(struct annex_space *s, uint32_t first, uint32_t n, bool clean)
{
	int rights = rights_of(clean);

	if (!protect(s, first, n, rights)) {
		start_over(s);
		if (!protect(s, first, n, rights)) {
			annex_log(ANNEX_LOG_WARNING, "space: a page is not shown: %m");
			annex_pages_fence(s, first, 1);
			return 1;
		}
	}
	madvise(s->base + pages_bytes(first), pages_bytes(n),
		clean ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
	if (annex_pages_wanted(s, first, n))
		wake(s, first, n);
	return n;
}

/* Map the file's pages. Return: their number until an error, which is in errno. */
static uint32_t put_file(struct annex_space *s, uint32_t first, uint32_t n, bool clean, bool wakes)
{
	struct uffdio_continue c = {
		.range = {.start = address(s, first), .len = pages_bytes(n)},
		.mode = (clean ? CONTINUE_MODE_WP : 0) |
			(wakes ? 0 : UFFDIO_CONTINUE_MODE_DONTWAKE),
	};

	if (!ioctl(s->uffd, UFFDIO_CONTINUE, &c))
		return n;
	return c.mapped > 0 ? (uint32_t)((uint64_t)c.mapped / ANNEX_MEM_PAGE) : 0;
}

/* Return: number of pages shown before an error, or before a page that was already shown. */
static uint32_t put(struct annex_space *s, uint32_t first, uint32_t n, bool clean)
{
	uint32_t done;
	bool wakes;

	if (s->frames)
		return n;
	if (s->guard)
		return put_guarded(s, first, n, clean);
	/* A thread whose fault has not been read yet is woken by its handling. */
	wakes = annex_pages_wanted(s, first, n);
	done = s->pool ? annex_pool_show(s, first, n, clean, wakes)
		       : put_file(s, first, n, clean, wakes);
	if (done)
		return done;
	/* EAGAIN: another thread changes mappings. */
	if (errno == EAGAIN)
		return 0;
	if (errno == EEXIST) {
		wake(s, first, 1);
		return 1;
	}
	/* Another mapping begins in the range, as where the program has locked a part. */
	if (n > 1)
		return put(s, first, n / 2, clean);
	/* An access would fault again and again. */
	annex_log(ANNEX_LOG_WARNING, "space: a page is not shown: %m");
	annex_pages_fence(s, first, 1);
	return 1;
}

void annex_pages_show(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, part;

	annex_pages_unfence(s, first, n);
	for (; first < end; first += part) {
		uint8_t flags = s->pages[first].flags;
		bool unseen = (s->user_only && tensor_of(s, first)->writers) ||
			      (!s->frames && !s->track);
		bool clean = !unseen && flags & PAGE_BELOW;

		part = annex_pages_alike(s, first, end - first, PAGE_BELOW | PAGE_SHOWN);
		if (unseen && flags & PAGE_BELOW)
			annex_pages_forget(s, first, part);
		part = put(s, first, part, clean);
		for (uint32_t i = first; i < first + part; i++) {
			if (s->pages[i].flags & PAGE_FENCED)
				continue;
			s->pages[i].flags |= PAGE_SHOWN | (clean ? PAGE_CLEAN : 0);
			s->pages[i].flags &= (uint8_t)~PAGE_WANTED;
		}
	}
}

/* Move pages of the pool that are shown. Return: number of pages, from the first, that are then
 * hidden. */
static uint32_t put_away(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t at = first, end = first + n, part, done;

	for (; at < end; at += part) {
		uint8_t flags = s->pages[at].flags;

		part = done = annex_pages_alike(s, at, end - at, PAGE_SHOWN | PAGE_CLEAN);
		if (flags & PAGE_SHOWN)
			done = annex_pool_hide(s, at, part, flags & PAGE_CLEAN);
		if (done < part)
			return at + done - first;
	}
	return n;
}

bool annex_pages_hide(struct annex_space *s, uint32_t first, uint32_t n)
{
	static uint32_t told;
	uint32_t hidden = s->pool ? put_away(s, first, n) : n;

	/* Also pages that a program has locked in memory. */
	if (!s->frames && !s->guard && !s->pool &&
	    madvise(s->base + pages_bytes(first), pages_bytes(n), MADV_DONTNEED_LOCKED))
		hidden = 0;
	for (uint32_t i = first; i < first + hidden; i++)
		s->pages[i].flags &= (uint8_t) ~(PAGE_SHOWN | PAGE_CLEAN);
	/* Relaxed: it orders no other memory. */
	if (hidden < n && !annex_atomic_add(&told, 1u, ANNEX_RELAXED))
		annex_log(ANNEX_LOG_WARNING, "space: pages stay, as they cannot be hidden: %m");
	if (hidden < n)
		return false;
	if (s->guard) {
		annex_signal_keep();
		if (!protect(s, first, n, PROT_NONE))
			start_over(s);
	}
	return true;
}

/* Hide mapped pages, which would read as zeroes when the file's pages are freed. Of a pool, pages
 * that cannot be hidden are lost. */
static void hide_shown(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, part;

	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_SHOWN);
		if (s->pages[first].flags & PAGE_SHOWN && !annex_pages_hide(s, first, part) &&
		    s->pool)
			madvise(s->base + pages_bytes(first), pages_bytes(part),
				MADV_DONTNEED_LOCKED);
	}
}

void annex_pages_release(struct annex_space *s, uint32_t first, uint32_t n)
{
	if (s->pool)
		annex_pool_give(s, first, n);
	else if (fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   (off_t)pages_bytes(first), (off_t)pages_bytes(n)))
		annex_log(ANNEX_LOG_WARNING, "space: memory is not given back: %m");
}

void annex_pages_gone(struct annex_space *s, uint32_t first, uint32_t n)
{
	if (s->frames)
		annex_frames_discharge(s, first, n);
	else
		s->device -= n;
	for (uint32_t i = first; i < first + n; i++) {
		s->with_copy -= (s->pages[i].flags & PAGE_BELOW) != 0;
		s->pages[i].flags &= (uint8_t) ~(PAGE_DEVICE | PAGE_SHOWN | PAGE_CLEAN);
	}
	tensor_of(s, first)->resident -= n;
}

void annex_pages_drop(struct annex_space *s, uint32_t first, uint32_t n)
{
	if (s->guard || s->pool)
		hide_shown(s, first, n);
	if (!s->frames)
		annex_pages_release(s, first, n);
	annex_pages_gone(s, first, n);
}

void annex_pages_forget(struct annex_space *s, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct page *p = &s->pages[i];

		if (p->flags & PAGE_BELOW)
			annex_tier_give(s, p->tier, p->loc, 1);
		s->with_copy -= (p->flags & BOTH) == BOTH;
		p->flags &= (uint8_t)~PAGE_BELOW;
	}
}

/* Make guarded pages writable. Pages that are not shown stay hidden. */
static void dirty_guarded(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, part;

	for (uint32_t i = first; i < end; i += part) {
		part = annex_pages_alike(s, i, end - i, PAGE_SHOWN);
		if (s->pages[i].flags & PAGE_SHOWN && !protect(s, i, part, rights_of(false)))
			start_over(s);
	}
	wake(s, first, n);
}

void annex_pages_dirty(struct annex_space *s, uint32_t first, uint32_t n)
{
	struct uffdio_writeprotect wp = {
		.range = {.start = address(s, first), .len = pages_bytes(n)},
	};

	annex_pages_forget(s, first, n);
	for (uint32_t i = first; i < first + n; i++)
		s->pages[i].flags &= (uint8_t)~PAGE_CLEAN;
	if (s->guard) {
		dirty_guarded(s, first, n);
		return;
	}
	while (!s->frames && ioctl(s->uffd, UFFDIO_WRITEPROTECT, &wp))
		if (errno != EAGAIN) {
			annex_log(ANNEX_LOG_WARNING, "space: pages stay read-only: %m");
			return;
		}
}

void annex_pages_fence(struct annex_space *s, uint32_t first, uint32_t n)
{
	if (s->guard)
		annex_pages_hide(s, first, n);
	else if (!protect(s, first, n, PROT_NONE))
		annex_log(ANNEX_LOG_WARNING,
			  "space: a program that touches freed memory hangs: %m");
	for (uint32_t i = first; i < first + n; i++) {
		s->pages[i].flags |= PAGE_FENCED;
		s->pages[i].flags &= (uint8_t)~PAGE_WANTED;
	}
	wake(s, first, n);
}

void annex_pages_unfence(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, part;

	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_FENCED);
		if (!(s->pages[first].flags & PAGE_FENCED))
			continue;
		/* A guarded page stays hidden until it is shown. */
		if (!s->guard && !protect(s, first, part, rights_of(false)))
			annex_log(ANNEX_LOG_WARNING, "space: pages cannot be used: %m");
		for (uint32_t i = first; i < first + part; i++)
			s->pages[i].flags &= (uint8_t)~PAGE_FENCED;
	}
}
