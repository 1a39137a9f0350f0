// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/log.h"
#include "core/thread.h"
#include "fault.h"
#include "finish.h"
#include "guard.h"
#include "job.h"
#include "move.h"
#include "page.h"

#define MSGS 32u

/*
 * Expedite the job that moves the page, which is shown at its end; or cancel its eviction. Return:
 * the lane for annex_link_kick(), or NULL.
 */
static struct lane *expedite(struct annex_space *s, uint32_t page)
{
	bool waits = annex_move_expedite(s, page);
	struct job *recalled = NULL;

	s->pages[page].flags |= PAGE_WANTED;
	for (unsigned int tier = ANNEX_TIER_HOST; tier < ANNEX_TIERS && !waits && !recalled; tier++)
		if (s->tiers[tier].present &&
		    annex_link_expedite(&s->tiers[tier].lane, page, &recalled))
			return &s->tiers[tier].lane;
	if (recalled)
		annex_job_recall(s, recalled);
	return NULL;
}

/* Whether the page is in a live tensor; otherwise the access ends with a SIGSEGV. */
static bool of_tensor(struct annex_space *s, uint32_t page)
{
	const struct page *p = &s->pages[page];

	return p->tensor && tensor_of(s, page)->live && !(p->flags & PAGE_FENCED);
}

/* Fence a page without a tensor, which wakes the thread that accessed it. */
static void refuse(struct annex_space *s, const struct ask *ask)
{
	if (s->guard)
		annex_guard_refuse(s->guard, ask);
	annex_pages_fence(s, ask->page, 1);
}

static struct lane *page_fault(struct annex_space *s, const struct ask *ask, struct job_list *start)
{
	uint32_t page = ask->page, first, n;
	uint8_t flags = s->pages[page].flags;
	/* Signals report any write, also to a page that has been shown since. */
	bool write_protected = ask->write && (!s->guard || flags & PAGE_CLEAN);
	struct lane *kick = NULL;

	if (!of_tensor(s, page)) {
		refuse(s, ask);
		return NULL;
	}
	annex_tensor_use(s, tensor_of(s, page));
	if (s->pool && flags & PAGE_BUSY && flags & PAGE_SHOWN && !write_protected) {
		/* It is being saved, and the program took it away, or it has been shown since. */
		annex_pages_show(s, page, 1);
	} else if (flags & PAGE_BUSY) {
		s->stats.faults++;
		kick = expedite(s, page);
	} else if (!(flags & PAGE_DEVICE)) {
		s->stats.faults++;
		annex_move_wanted(s, page);
	} else if (write_protected) {
		s->stats.write_faults++;
		first = annex_pages_around(s, page,
					   PAGE_DEVICE | PAGE_BUSY | PAGE_SHOWN | PAGE_CLEAN, &n);
		annex_pages_dirty(s, first, n);
	} else {
		s->pages[page].flags |= PAGE_WANTED;
		first = annex_pages_around(s, page, PAGE_DEVICE | PAGE_BUSY | PAGE_SHOWN, &n);
		/* Of shown pages, this one has been shown since, or the program took it away. */
		if (flags & PAGE_SHOWN)
			annex_pages_show(s, page, 1);
		else
			annex_pages_show(s, first, n);
	}
	annex_jobs_settle(s, start);
	return kick;
}

/* Map the file's page, which may be in swap; if it has none, a new page for a transfer. */
static bool map_alias(struct annex_space *s, struct uffdio_range page)
{
	struct uffdio_continue there = {.range = page};
	struct uffdio_zeropage zero = {.range = page};
	int err;

	do
		err = ioctl(s->transfers, UFFDIO_CONTINUE, &there);
	while (err && errno == EAGAIN);
	if (err && errno != EEXIST) {
		do
			err = ioctl(s->transfers, UFFDIO_ZEROPAGE, &zero);
		while (err && errno == EAGAIN);
	}
	/* Another message of the same page may have come before. */
	return (!err || errno == EEXIST) && !ioctl(s->transfers, UFFDIO_WAKE, &page);
}

/* A transfer accesses a page that is not mapped, because the kernel has reclaimed it. */
static void transfer_fault(struct annex_space *s, const struct uffd_msg *msg)
{
	struct uffdio_range alias = {.start = (uintptr_t)s->alias, .len = s->opts.size};
	uint64_t at = msg->arg.pagefault.address / ANNEX_MEM_PAGE * ANNEX_MEM_PAGE;

	if (map_alias(s, (struct uffdio_range){.start = at, .len = ANNEX_MEM_PAGE}))
		return;
	annex_log(ANNEX_LOG_WARNING, "space: transfers fault for themselves, slower: %m");
	if (ioctl(s->transfers, UFFDIO_UNREGISTER, &alias))
		annex_log(ANNEX_LOG_WARNING, "space: a transfer hangs: %m");
}

static void handle_transfers(struct annex_space *s)
{
	struct uffd_msg msgs[MSGS];
	ssize_t got = read(s->transfers, msgs, sizeof(msgs));

	for (ssize_t i = 0; i < got / (ssize_t)sizeof(*msgs); i++)
		if (msgs[i].event == UFFD_EVENT_PAGEFAULT)
			transfer_fault(s, &msgs[i]);
}

static void handle_asks(struct annex_space *s, const struct ask *asks, unsigned int n)
{
	struct lane *kick[MSGS] = {NULL};
	struct job_list start = {0};

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = 0; i < n; i++)
		/* A late request for the entry's previous space may name a page of that space. */
		if (asks[i].page < s->n_pages)
			kick[i] = page_fault(s, &asks[i], &start);
	pthread_mutex_unlock(&s->lock);
	annex_jobs_start(&start);
	for (unsigned int i = 0; i < n; i++)
		if (kick[i])
			annex_link_kick(kick[i]);
}

static void handle_messages(struct annex_space *s, const struct uffd_msg *msgs, unsigned int n)
{
	struct ask asks[MSGS];
	unsigned int k = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t at = msgs[i].arg.pagefault.address - (uintptr_t)s->base;

		if (msgs[i].event == UFFD_EVENT_PAGEFAULT)
			asks[k++] = (struct ask){
				.page = (uint32_t)(at / ANNEX_MEM_PAGE),
				.write = msgs[i].arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP,
			};
	}
	handle_asks(s, asks, k);
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
			handle_messages(s, msgs, (unsigned int)((size_t)got / sizeof(*msgs)));
	}
	return NULL;
}

static void *handle_signals(void *arg)
{
	struct annex_space *s = arg;
	struct ask asks[MSGS];
	unsigned int n;

	while ((n = annex_guard_take(s->guard, asks, MSGS)))
		handle_asks(s, asks, n);
	return NULL;
}

/*
 * Handle page faults of transfers. A transfer may hold a link's lock that the other thread waits
 * for, or run in that thread: so this thread handles only transfers, and takes no lock.
 */
static void *help(void *arg)
{
	struct annex_space *s = arg;
	struct pollfd fds[] = {{.fd = s->transfers, .events = POLLIN},
			       {.fd = s->bell, .events = POLLIN}};

	while (!fds[1].revents)
		if (poll(fds, 2, -1) > 0 && fds[0].revents)
			handle_transfers(s);
	return NULL;
}

int annex_fault_start(struct annex_space *s)
{
	s->bell = eventfd(0, EFD_CLOEXEC);
	if (s->bell < 0)
		return annex_fail(-errno, "space: no eventfd: %m");
	if (annex_thread_start(&s->handler, s->guard ? handle_signals : handle, s))
		return annex_fail(-EAGAIN, "space: no more threads");
	s->handles = true;
	if (s->transfers < 0)
		return 0;
	if (annex_thread_start(&s->helper, help, s))
		return annex_fail(-EAGAIN, "space: no more threads");
	s->helps = true;
	return 0;
}

void annex_fault_stop(struct annex_space *s)
{
	if (s->bell >= 0)
		THREAD_KEPT(eventfd_write(s->bell, 1));
	if (s->guard)
		annex_guard_stop(s->guard);
	if (s->handles)
		pthread_join(s->handler, NULL);
	if (s->helps)
		pthread_join(s->helper, NULL);
	if (s->bell >= 0)
		close(s->bell);
}
