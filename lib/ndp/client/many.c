// SPDX-License-Identifier: MIT
/*
 * Many launches by one thread. It stores calls to all free slots before it polls for answers, so
 * that the device works on one call while others are in flight.
 */
#include <errno.h>
#include "core/log.h"
#include "m2.h"

#define FLIGHTS 64u                /* most launches in flight */
#define NAP_NS ANNEX_NSEC_PER_MSEC /* a later call may be answered before the oldest */

/* struct flight - A launch in flight. */
struct flight {
	struct m2_call call;
	struct annex_m2_launch ask;
	struct annex_m2_job *job;
};

/*
 * struct many - Launches of one thread.
 * @order: indices in @flight: launches in flight, oldest first, then free entries.
 * @next: the next job to launch.
 * @deadline: deadline of all launches.
 */
struct many {
	struct annex_m2 *m2;
	struct annex_m2_job *jobs;
	size_t n, next;
	bool sync;
	uint64_t deadline;
	unsigned int flying;
	uint8_t order[FLIGHTS];
	struct flight flight[FLIGHTS];
};

static void conclude(struct annex_m2_job *job, int err, const struct annex_m2_answer *a)
{
	job->err = err ? err : m2_verdict("launch", a, &job->end);
	if (!job->err)
		job->instance = (uint64_t)a->value;
}

static struct annex_m2_launch ask_of(const struct many *m, const struct annex_m2_job *job)
{
	return (struct annex_m2_launch){.id = job->id,
					.sync = m->sync,
					.base = (uintptr_t)job->pool,
					.bound = (uintptr_t)job->pool + job->bytes};
}

/* Store a launch, which has a slot. */
static int fly(struct many *m, struct flight *f)
{
	f->job->err = m2_launch_ready(m->m2, &f->ask, f->job->nargs);
	if (f->job->err)
		m2_end(&f->call, f->job->err);
	else
		m2_store_call(&f->call);
	return f->job->err;
}

/* Launch the next job, if there is a slot. @wait: wait for one. Return: whether to try another. */
static bool take_off(struct many *m, bool wait)
{
	struct flight *f = &m->flight[m->order[m->flying]];
	struct annex_m2_job *job = &m->jobs[m->next];
	int err;

	f->ask = ask_of(m, job);
	f->job = job;
	f->call = (struct m2_call){
		.m2 = m->m2,
		.function = ANNEX_M2_LAUNCH,
		.deadline = m->deadline,
		.text = {&f->ask, sizeof(f->ask), job->args, job->nargs},
	};
	err = m2_usable(m->m2);
	if (!err)
		err = m2_begin(&f->call, wait);
	if (err == -EBUSY && !wait)
		return false;
	m->next++;
	if (err)
		job->err = err;
	else if (!fly(m, f))
		m->flying++;
	return true;
}

/* Launch as many jobs as possible. Wait for a slot only if no launch is in flight. */
static void take_off_all(struct many *m)
{
	unsigned int before = m->flying;

	if (m->next == m->n)
		return;
	m2_delay(m->m2->opts.mem_ns / 2);
	while (m->next < m->n && m->flying < FLIGHTS && take_off(m, !m->flying))
		;
	if (m->flying > before)
		m2_wake_device(m->m2);
}

/* End the launch at @at in order. */
static void land(struct many *m, unsigned int at, int err)
{
	uint8_t place = m->order[at];
	struct flight *f = &m->flight[place];

	m2_end(&f->call, err);
	conclude(f->job, err, &f->call.answer);
	m->flying--;
	for (unsigned int i = at; i < m->flying; i++)
		m->order[i] = m->order[i + 1];
	m->order[m->flying] = place;
}

/*
 * Collect answers up to the first call without one: polling the others would only take their cache
 * lines from the device. With @slow poll all of them. Return: number of answers.
 */
static unsigned int collect(struct many *m, bool slow)
{
	unsigned int at = 0, before = m->flying;

	while (at < m->flying) {
		int rc = m2_look(&m->flight[m->order[at]].call, slow);

		if (rc != M2_LATER)
			land(m, at, rc);
		else if (slow)
			at++;
		else
			break;
	}
	return before - m->flying;
}

static void give_up(struct many *m)
{
	while (m->flying)
		land(m, 0,
		     annex_fail(-ETIMEDOUT, "M2func: no answer in %u ms", m->m2->opts.timeout_ms));
}

/* Wait until at least one call is answered, or all of them have failed. */
static void await(struct many *m)
{
	struct m2_call *oldest = &m->flight[m->order[0]].call;

	for (unsigned int round = 1;; round++) {
		if (collect(m, m2_slow(round)))
			break;
		if (m2_over(oldest, round)) {
			give_up(m);
			break;
		}
		m2_back_off(oldest, round, NAP_NS);
	}
	m2_delay(m->m2->opts.mem_ns / 2);
}

static void launch_all(struct many *m)
{
	for (unsigned int i = 0; i < FLIGHTS; i++)
		m->order[i] = (uint8_t)i;
	while (m->next < m->n || m->flying) {
		take_off_all(m);
		if (m->flying)
			await(m);
	}
}

static int launch_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n, bool sync)
{
	struct many m = {.m2 = m2,
			 .jobs = jobs,
			 .n = n,
			 .sync = sync,
			 .deadline = annex_deadline_ms(m2->opts.timeout_ms)};

	for (size_t i = 0; i < n; i++) {
		jobs[i].err = 0;
		jobs[i].instance = 0;
		jobs[i].end = (struct annex_m2_end){0};
	}
	launch_all(&m);
	for (size_t i = 0; i < n; i++)
		if (jobs[i].err)
			return jobs[i].err;
	return 0;
}

int annex_m2_launch_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n)
{
	return launch_many(m2, jobs, n, false);
}

int annex_m2_run_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n)
{
	return launch_many(m2, jobs, n, true);
}
