// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/log.h"
#include "fault.h"
#include "job.h"
#include "page.h"
#include "room.h"

#define MSGS 32u

/* The part of a page's tensor that is brought for one touch: where it begins, and its pages. */
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

/* Pages like @page around it in its window, neighbours of each other. */
static uint32_t around(const struct annex_space *s, uint32_t page, uint8_t mask, uint32_t *n)
{
	uint8_t flags = s->pages[page].flags & mask;
	uint32_t first = window(s, page, n), end = first + *n, from = page;

	while (from > first && (s->pages[from - 1].flags & mask) == flags)
		from--;
	*n = annex_pages_alike(s, from, end - from, mask);
	return from;
}

static int bring_zeroes(struct annex_space *s, uint32_t page)
{
	uint32_t n, first = around(s, page, PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY, &n);

	return annex_move_zeroes(s, NULL, JOB_FAULT, first, n);
}

static int bring_copy(struct annex_space *s, uint32_t page)
{
	uint32_t n, first = around(s, page, PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY, &n);
	uint32_t part = annex_pages_together(s, first, n);

	/* Of pages that lie apart below, those from this one on. */
	if (page - first >= part) {
		n -= page - first;
		first = page;
		part = annex_pages_together(s, first, n);
	}
	return annex_move_in(s, NULL, JOB_FAULT, first, part);
}

void annex_fault_absent(struct annex_space *s, uint32_t page)
{
	int err;

	s->pages[page].flags |= PAGE_WANTED;
	if (s->pages[page].flags & PAGE_BELOW)
		err = bring_copy(s, page);
	else
		err = bring_zeroes(s, page);
	if (err) {
		annex_log(ANNEX_LOG_WARNING,
			  "%s: a program that touches it gets a SIGSEGV: no memory",
			  annex_tensor_name(tensor_of(s, page)));
		annex_pages_fence(s, page, 1);
	}
}

/*
 * A job moves the page: it goes before others, and the page is shown when it has ended; or it does
 * not begin. Return: the lane to be kicked, or NULL.
 */
static struct lane *hurry(struct annex_space *s, uint32_t page, struct job_list *start)
{
	struct job *job = s->waiting.head, *recalled = NULL;

	s->pages[page].flags |= PAGE_WANTED;
	while (job && (page < job->page || page - job->page >= job->n))
		job = job->next;
	if (job && job->kind != JOB_FAULT) {
		annex_jobs_remove(&s->waiting, job);
		job->kind = JOB_FAULT;
		annex_jobs_sort_in(&s->waiting, job);
	}
	for (unsigned int tier = ANNEX_TIER_HOST; tier < ANNEX_TIERS && !job && !recalled; tier++)
		if (s->tiers[tier].present &&
		    annex_link_hurry(&s->tiers[tier].lane, page, &recalled))
			return &s->tiers[tier].lane;
	if (recalled)
		annex_job_recall(s, recalled, start);
	return NULL;
}

/* Return: the page, if it is in a tensor that lives; else who touched it has a SIGSEGV. */
static bool of_tensor(struct annex_space *s, uint32_t page)
{
	const struct page *p = &s->pages[page];

	if (p->tensor && tensor_of(s, page)->live && !(p->flags & PAGE_FENCED))
		return true;
	annex_pages_fence(s, page, 1);
	return false;
}

static struct lane *touched(struct annex_space *s, uint32_t page, bool write_protected,
			    struct job_list *start)
{
	uint8_t flags = s->pages[page].flags;
	struct lane *kick = NULL;
	uint32_t first, n;

	if (!of_tensor(s, page))
		return NULL;
	annex_tensor_use(s, tensor_of(s, page));
	if (flags & PAGE_BUSY) {
		s->stats.faults++;
		kick = hurry(s, page, start);
	} else if (!(flags & PAGE_DEVICE)) {
		s->stats.faults++;
		annex_fault_absent(s, page);
	} else if (write_protected) {
		s->stats.write_faults++;
		first = around(s, page, PAGE_DEVICE | PAGE_BUSY | PAGE_SHOWN | PAGE_CLEAN, &n);
		annex_pages_dirty(s, first, n);
	} else {
		s->pages[page].flags |= PAGE_WANTED;
		first = around(s, page, PAGE_DEVICE | PAGE_BUSY | PAGE_SHOWN, &n);
		annex_pages_show(s, first, n);
	}
	annex_room_made(s, start);
	return kick;
}

/* Pages that a transfer was to find there could not be had before: it faults for itself then. */
static void let_transfers_fault(struct annex_space *s)
{
	struct uffdio_range alias = {.start = (uintptr_t)s->alias, .len = s->opts.size};

	if (ioctl(s->transfers, UFFDIO_UNREGISTER, &alias))
		annex_log(ANNEX_LOG_WARNING, "space: a transfer hangs: %s", strerror(errno));
}

static void hear(struct annex_space *s, const struct uffd_msg *msgs, unsigned int n)
{
	struct lane *kick[MSGS] = {NULL};
	struct job_list start = {0};

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t at = msgs[i].arg.pagefault.address - (uintptr_t)s->base;

		if (msgs[i].event == UFFD_EVENT_PAGEFAULT)
			kick[i] = touched(s, (uint32_t)(at / ANNEX_MEM_PAGE),
					  msgs[i].arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP,
					  &start);
	}
	pthread_mutex_unlock(&s->lock);
	annex_link_add(&start);
	for (unsigned int i = 0; i < n; i++)
		if (kick[i])
			annex_link_kick(kick[i]);
}

static void *handle(void *arg)
{
	struct annex_space *s = arg;
	struct pollfd fds[] = {{.fd = s->uffd, .events = POLLIN},
			       {.fd = s->bell, .events = POLLIN}};
	struct uffd_msg msgs[MSGS];

	while (!fds[1].revents) {
		ssize_t got;

		if (poll(fds, 2, -1) < 0)
			continue;
		got = read(s->uffd, msgs, sizeof(msgs));
		if (got > 0)
			hear(s, msgs, (unsigned int)((size_t)got / sizeof(*msgs)));
	}
	return NULL;
}

/*
 * A transfer may be carried out with a link's lock, which the other thread may wait for, or even by
 * that thread: so this one hears of transfers alone, and takes no lock.
 */
static void *help(void *arg)
{
	struct annex_space *s = arg;
	struct pollfd fds[] = {{.fd = s->transfers, .events = POLLIN},
			       {.fd = s->bell, .events = POLLIN}};
	struct uffd_msg msgs[MSGS];

	while (!fds[1].revents)
		if (poll(fds, 2, -1) > 0 && read(s->transfers, msgs, sizeof(msgs)) > 0)
			let_transfers_fault(s);
	return NULL;
}

int annex_fault_start(struct annex_space *s)
{
	s->bell = eventfd(0, EFD_CLOEXEC);
	if (s->bell < 0)
		return annex_fail(-errno, "space: no eventfd: %s", strerror(errno));
	if (annex_thread_start(&s->handler, handle, s))
		return annex_fail(-EAGAIN, "space: no more threads");
	s->handles = true;
	if (annex_thread_start(&s->helper, help, s))
		return annex_fail(-EAGAIN, "space: no more threads");
	s->helps = true;
	return 0;
}

void annex_fault_stop(struct annex_space *s)
{
	if (s->bell >= 0)
		eventfd_write(s->bell, 1);
	if (s->handles)
		pthread_join(s->handler, NULL);
	if (s->helps)
		pthread_join(s->helper, NULL);
	if (s->bell >= 0)
		close(s->bell);
}
