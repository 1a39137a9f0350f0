// SPDX-License-Identifier: MIT
/*
 * Arrival and completion of requests.
 */
#include <time.h>
#include <annex/detail/clock.h>
#include "ssd.h"

/* The arrival of a call without a time: the last reported time, or the real time. */
static uint64_t present(const struct annex_cxlssd *s)
{
	return s->c.delay ? annex_now() - s->start : s->last;
}

struct annex_cxlssd_time *ssd_enter(struct annex_cxlssd *s, struct annex_cxlssd_time *t,
				    struct annex_cxlssd_time *own)
{
	pthread_mutex_lock(&s->lock);
	if (!t) {
		own->now = present(s);
		t = own;
	}
	t->told = ssd_ingress_enter(&s->queue, t->now) + s->c.look;
	t->done = t->told;
	t->hit = true;
	t->late = false;
	return t;
}

static enum annex_cxlssd_load load_of(const struct annex_cxlssd *s, uint64_t now)
{
	uint32_t quarters = s->queue.n * 4 / s->queue.room;

	if (now < ssd_flash_collected(s->flash) || ssd_flash_collects(s->flash, now))
		return ANNEX_CXLSSD_SEVERE;
	return quarters < 3 ? (enum annex_cxlssd_load)quarters : ANNEX_CXLSSD_SEVERE;
}

static void wait_until(uint64_t ns)
{
	const struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
		;
}

int ssd_leave(struct annex_cxlssd *s, struct annex_cxlssd_time *t,
	      const struct annex_cxlssd_time *own, uint64_t until, int err)
{
	const bool waits = t == own && s->c.delay && !err;
	const uint64_t at = s->start + t->done;

	ssd_ingress_leave(&s->queue, until);
	t->load = load_of(s, t->done);
	if (t->done > s->last)
		s->last = t->done;
	pthread_mutex_unlock(&s->lock);
	if (waits)
		wait_until(at);
	return err;
}
