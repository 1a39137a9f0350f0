// SPDX-License-Identifier: MIT
/*
 * Sleeping until a completion interrupt (wait=sleep): an eventfd for each queue pair.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "core/thread.h"
#include "module.h"

int module_events_init(struct module *p)
{
	p->events = calloc(p->info.queues + 1u, sizeof(*p->events));
	if (!p->events)
		return annex_fail(-ENOMEM, "pci:%s: out of memory", p->name);
	for (unsigned int i = 0; i <= p->info.queues; i++)
		p->events[i].fd = -1;
	return 0;
}

void module_events_free(struct module *p)
{
	for (unsigned int i = 0; p->events && i <= p->info.queues; i++)
		if (p->events[i].fd >= 0)
			close(p->events[i].fd);
	free(p->events);
}

int module_eventfd(struct module *p, uint16_t qid)
{
	struct module_event *e = &p->events[qid];

	if (!p->sleeps || qid > p->info.vectors)
		return -1;
	if (e->fd < 0)
		e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return e->fd;
}

uint32_t module_event(struct annex_ctrl *ctrl, uint16_t qid)
{
	/* Acquire: pairs with take(): completions before the event are visible. */
	return annex_atomic_load(&module_of(ctrl)->events[qid].seen, ANNEX_ACQUIRE);
}

/* Count an event before reading it: a thread with the number from before then does not sleep. */
static void take(struct module_event *e)
{
	uint64_t n;

	annex_atomic_add(&e->seen, 1u, ANNEX_ACQ_REL);
	while (read(e->fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

void module_sleep(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline)
{
	struct module *p = module_of(ctrl);
	struct module_event *e = &p->events[qid];
	struct pollfd fds[] = {{.fd = e->fd, .events = POLLIN}, {.fd = p->fd}};
	uint64_t now = annex_now(), left = deadline > now ? deadline - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(left / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(left % ANNEX_NSEC_PER_SEC)};

	if (e->fd < 0) { /* a queue without an interrupt is polled */
		annex_host_backoff(1000);
		return;
	}
	/* The device file signals the removal of the controller, which raises no interrupt. */
	if (module_event(ctrl, qid) == seen && THREAD_KEPT(ppoll(fds, 2, &ts, NULL)) > 0 &&
	    fds[0].revents & POLLIN)
		take(e);
}

void module_wake(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct module_event *e = &module_of(ctrl)->events[qid];
	uint64_t one = 1;

	if (e->fd >= 0 && write(e->fd, &one, sizeof(one)) < 0)
		annex_atomic_add(&e->seen, 1u, ANNEX_ACQ_REL); /* full: it is readable anyway */
}
