/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asynchronous events (NVMe Base 2.0 section 5.2), which the controller reports by interrupt 0.
 */
#ifndef ANNEX_EVENT_H
#define ANNEX_EVENT_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct annex_ctrl;

#define ANNEX_EVENT_LOGS 4u

/**
 * struct annex_event - Events of a controller.
 * @work: takes an event from the admin queue.
 * @irq: interrupt number; 0: no events.
 * @count: number of events that named log page 1, 2 or 3. Written under the controller's lock.
 */
struct annex_event {
	struct delayed_work work;
	int irq;
	u32 count[ANNEX_EVENT_LOGS];
};

void annex_event_init(struct annex_ctrl *ctrl);
/* annex_event_open() - Take interrupt 0. Without it the controller is asked for no events. */
void annex_event_open(struct annex_ctrl *ctrl);
/* annex_event_close() - Free it, without the controller's lock, and wait for the work. */
void annex_event_close(struct annex_ctrl *ctrl);
/* annex_event_count() - Of a log page; 0 for one that no event is counted for. */
u32 annex_event_count(const struct annex_ctrl *ctrl, u32 log);

#endif
