// SPDX-License-Identifier: MIT
/*
 * M2func with many threads, full queues, calls that come to no end, and a device that goes.
 */
#include <string.h>
#include <annex/models/ndp.h>
#include "m2_rig.h"

#define THREADS 64u
#define EACH 15u /* in all, no more than the device remembers */

/* struct crowd - Threads that call at once, each with a piece of its own. */
struct crowd {
	struct m2_rig *r;
	uint32_t id;
	uint32_t next;
	uint32_t bad;
};

static void *one_of_many(void *arg)
{
	struct crowd *c = arg;
	/* relaxed: the numbers only have to differ */
	uint32_t me = annex_atomic_add(&c->next, 1u, ANNEX_RELAXED);
	uint64_t *piece = &c->r->pool[4 * me], add = me, instance;
	unsigned int bad = 0;

	for (unsigned int i = 0; i < EACH; i++) {
		int err;

		if (i % 2) {
			err = annex_m2_run(c->r->m2, c->id, piece, 32, &add, 8, NULL);
		} else {
			do
				err = annex_m2_launch(c->r->m2, c->id, piece, 32, &add, 8,
						      &instance);
			while (err == -EBUSY);
			if (!err)
				err = annex_m2_wait(c->r->m2, instance, M2_RIG_LONG_MS, NULL);
		}
		/* So many wait at times that the device takes no more. */
		if (err == -EBUSY)
			i--;
		else
			bad += !!err;
	}
	if (bad)
		annex_atomic_add(&c->bad, bad, ANNEX_RELAXED);
	return NULL;
}

static void many_over(const struct annex_m2_opts *opts)
{
	struct crowd c = {0};
	struct m2_rig r;

	m2_rig_open(&r, opts);
	c.r = &r;
	c.id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	unit_threads(THREADS, one_of_many, &c, 0);
	CU_ASSERT_EQUAL(c.bad, 0);
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(r.pool[4 * i], i * EACH);
	m2_rig_close(&r);
}

static void more_threads_than_slots(void)
{
	many_over(NULL);
	many_over(&(struct annex_m2_opts){.slots = 1});
}

/* A call that is given up keeps its slot until its answer comes, and only so long. */
static void calls_given_up(void)
{
	const struct annex_m2_opts opts = {.slots = 1, .timeout_ms = 200};
	uint64_t deadline = annex_deadline_ms(M2_RIG_LONG_MS);
	struct m2_rig r;
	uint32_t id;
	int err;

	m2_rig_open(&r, &opts);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, NULL, 0, NULL), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_m2_poll(r.m2, 1, NULL), -EBUSY);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	m2_rig_let_go(&r.pool[0]);
	do
		err = annex_m2_poll(r.m2, 1, NULL);
	while (err == -EBUSY && annex_now() < deadline);
	CU_ASSERT_EQUAL(err, -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, NULL, 0, NULL), 0);
	m2_rig_close(&r);
}

/* Eight run, but for one place that is kept for others, and eight wait: the next one is told so,
 * and none is lost. */
static void full_queues(void)
{
	uint64_t instance[17];
	struct m2_rig r;
	unsigned int n;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	for (n = 0; n < 17; n++)
		if (annex_m2_launch(r.m2, id, &r.pool[4 * n], 32, NULL, 0, &instance[n]))
			break;
	CU_ASSERT_FATAL(n == 15 || n == 16);
	CU_ASSERT_EQUAL(annex_m2_launch(r.m2, id, &r.pool[64], 32, NULL, 0, &instance[16]), -EBUSY);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, &r.pool[64], 32, NULL, 0, NULL), -EBUSY);
	for (unsigned int i = 0; i < 17; i++)
		m2_rig_let_go(&r.pool[4 * i]);
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance[i], M2_RIG_LONG_MS, NULL), 0);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, &r.pool[64], 32, NULL, 0, NULL), 0);
	m2_rig_close(&r);
}

/* Under way or not, calls of a device that was destroyed end. */
static void destroyed_in_a_call(void)
{
	struct m2_run run;
	struct m2_rig r;

	m2_rig_open(&r, NULL);
	run = (struct m2_run){
		.m2 = r.m2, .id = m2_rig_register(r.m2, m2_rig_gate(&r), 0), .pool = r.pool};
	m2_run_start(&run);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	annex_ndp_destroy(r.ndp);
	r.ndp = NULL;
	CU_ASSERT_EQUAL(m2_run_end(&run), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_poll(r.m2, 1, NULL), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, NULL, 0, 1), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_unmap(r.m2, r.pool, 4096), -ENODEV);
	m2_rig_close(&r);
}

/* What a client has ends with it, and others do not notice. */
static void closed_while_it_runs(void)
{
	struct annex_m2 *other;
	uint64_t instance, one = 1;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	other = m2_rig_client(&r, NULL);
	id = m2_rig_register(other, m2_rig_gate(&r), 0);
	CU_ASSERT_EQUAL(annex_m2_launch(other, id, r.pool, 32, NULL, 0, &instance), 0);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	annex_m2_close(other);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, &r.pool[4], 32, &one, 8, NULL), 0);
	m2_rig_close(&r);
}

/* Memory that is taken away while a kernel is at it: an error, and no access afterwards. */
static void unmapped_while_it_runs(void)
{
	struct m2_run run;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	run = (struct m2_run){.m2 = r.m2, .id = id, .pool = r.pool};
	m2_run_start(&run);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	CU_ASSERT_EQUAL(annex_m2_unmap(r.m2, annex_hdm_at(r.hdm, 0), M2_RIG_BYTES), 0);
	CU_ASSERT_EQUAL(m2_run_end(&run), -EFAULT);
	m2_rig_close(&r);
}

UNIT_SUITE(m2func_threads, {"more threads than slots", more_threads_than_slots},
	   {"calls given up", calls_given_up}, {"full queues", full_queues},
	   {"destroyed in a call", destroyed_in_a_call},
	   {"closed while it runs", closed_while_it_runs},
	   {"unmapped while it runs", unmapped_while_it_runs})
