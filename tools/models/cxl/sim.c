// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "sim.h"

#define L1_WAYS 4u
#define LLC_WAYS 16u
#define FIRST_WIDTH 1024u /* nanoseconds */

static void join_pairs(struct series_sum *sums)
{
	for (uint32_t i = 0; i < SERIES_WINDOWS / 2; i++) {
		sums[i].n = sums[2 * i].n + sums[2 * i + 1].n;
		sums[i].ns = sums[2 * i].ns + sums[2 * i + 1].ns;
	}
	for (uint32_t i = SERIES_WINDOWS / 2; i < SERIES_WINDOWS; i++)
		sums[i] = (struct series_sum){0, 0};
}

/* The window of a time; widen the windows if it is beyond the last. */
static uint32_t window(struct series *s, uint64_t now)
{
	uint32_t i;

	if (!s->width)
		s->width = FIRST_WIDTH;
	while (now / s->width >= SERIES_WINDOWS) {
		join_pairs(s->loads);
		join_pairs(s->stores);
		s->width *= 2;
		s->n = (s->n + 1) / 2;
	}
	i = (uint32_t)(now / s->width);
	s->n = i < s->n ? s->n : i + 1;
	return i;
}

static void add(struct series_sum *sum, uint64_t ns)
{
	sum->n++;
	sum->ns += ns;
}

void series_load(struct series *s, uint64_t now, uint64_t ns)
{
	add(&s->loads[window(s, now)], ns);
}

void series_store(struct series *s, uint64_t now, uint64_t ns)
{
	add(&s->stores[window(s, now)], ns);
}

/* Mean nanoseconds of a request. */
static double mean(const struct series_sum *sums)
{
	uint64_t n = 0, ns = 0;

	for (uint32_t i = 0; i < SERIES_WINDOWS; i++) {
		n += sums[i].n;
		ns += sums[i].ns;
	}
	return n ? (double)ns / (double)n : 0;
}

static void run_lane(struct annex_cxltask *t, void *arg)
{
	struct lane *l = arg;

	l->task = t;
	l->core = annex_cxltask_core(t);
	l->sim->w->kind->run(l->sim->w, l, (unsigned int)(l - l->sim->lanes));
	lane_end(l);
}

/* Check that memory has all bytes that the program stored, and that its result is right. */
static int compare(struct sim *s)
{
	char buf[RAM_PAGE];

	for (uint64_t at = 0; at < s->w->bytes; at += RAM_PAGE) {
		int err = s->ram->read(s->ram, at, buf, RAM_PAGE);

		if (err)
			return err_lib(err, "the final read");
		if (memcmp(buf, s->w->data + at, RAM_PAGE))
			return err_set(-EIO, "%s: the page at %llu differs from the stored data",
				       s->w->kind->name, (ull)at);
	}
	if (!s->w->kind->check(s->w))
		return err_set(-EBADMSG, "%s: the result is wrong", s->w->kind->name);
	return 0;
}

static void sum_up(const struct sim *s, const struct annex_cxltasks_stats *tasks,
		   struct result *out)
{
	*out = (struct result){.ns = tasks->ns, .switches = tasks->switches, .bytes = s->w->bytes};
	for (unsigned int i = 0; i < s->w->lanes; i++) {
		out->loads += s->lanes[i].loads;
		out->stores += s->lanes[i].stores;
		out->ops += s->lanes[i].ops;
		out->instructions += s->lanes[i].instructions;
	}
	out->misses = s->loads;
	out->write_backs = s->stores;
	out->load_mean = mean(s->series.loads);
	out->store_mean = mean(s->series.stores);
	out->load_p99 = hist_at(&s->load_ns, 0.99) * 1e9;
	out->store_p99 = hist_at(&s->store_ns, 0.99) * 1e9;
	s->ram->stats(s->ram, &out->ram);
	out->series = s->series;
}

/* Tasks are assigned to cores round robin; neighbouring lanes share a core. */
static unsigned int lane_of(const struct sim *s, unsigned int task)
{
	const unsigned int cores = s->m->cores, core = task % cores;
	const unsigned int each = s->w->lanes / cores, more = s->w->lanes % cores;

	return core * each + (core < more ? core : more) + task / cores;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Lines in caches are not part of the residue: settle first, then write them back. */
static int settle(struct sim *s, uint64_t now, struct result *out)
{
	struct ram_stats after;
	int err = s->ram->settle(s->ram, now);

	if (err)
		return err;
	s->ram->stats(s->ram, &after);
	out->residue = after.flash_writes - out->ram.flash_writes;
	lane_write_back_all(s, now);
	return s->err ? s->err : s->ram->settle(s->ram, now);
}

static int run_tasks(struct sim *s, struct result *out)
{
	const struct board *m = s->m;
	const struct annex_cxltasks_opts o = {
		.cores = m->cores,
		.policy = (enum annex_cxltask_policy)m->policy,
		.threshold_ns = m->threshold_ns,
		.switch_ns = m->switch_ns,
		.seed = m->seed,
	};
	struct annex_cxltasks_stats stats;
	struct annex_cxltasks *tasks;
	int err = annex_cxltasks_create(&o, &tasks);

	if (err)
		return err_lib(err, "tasks");
	for (unsigned int i = 0; i < s->w->lanes && !err; i++) {
		struct lane *l = &s->lanes[lane_of(s, i)];

		l->sim = s;
		err = annex_cxltasks_add(tasks, run_lane, l);
	}
	if (err) {
		err = err_lib(err, "tasks");
	} else {
		const double began = seconds();

		annex_cxltasks_run(tasks, &stats);
		sum_up(s, &stats, out);
		out->real_s = seconds() - began;
		err = s->err;
	}
	annex_cxltasks_destroy(tasks);
	return err ? err : settle(s, stats.ns, out);
}

static int make_caches(struct sim *s)
{
	const struct board *m = s->m;
	bool made = tags_init(&s->llc, m->llc, LLC_WAYS);

	s->l1 = calloc(m->cores, sizeof(*s->l1));
	for (uint32_t i = 0; s->l1 && i < m->cores; i++)
		made &= tags_init(&s->l1[i], m->l1, L1_WAYS);
	s->lanes = calloc(m->threads, sizeof(*s->lanes));
	s->leaving = calloc(m->buffer, sizeof(*s->leaving));
	return made && s->l1 && s->lanes && s->leaving ? 0 : err_set(-ENOMEM, "out of memory");
}

static void free_caches(struct sim *s)
{
	for (uint32_t i = 0; s->l1 && i < s->m->cores; i++)
		tags_free(&s->l1[i]);
	tags_free(&s->llc);
	free(s->l1);
	free(s->lanes);
	free(s->leaving);
}

static int open_ram(struct sim *s)
{
	switch (s->m->memory) {
	case BOARD_LOCAL:
		return ram_local_open(s->m, s->w->data, s->w->bytes, &s->ram);
	case BOARD_PORT:
		return ram_port_open(s->m, s->w->data, s->w->bytes, &s->ram);
	case BOARD_TIER:
		return ram_tier_open(s->m, s->w->data, s->w->bytes, &s->ram);
	default:
		return ram_paged_open(s->m, s->w->data, s->w->bytes, &s->ram);
	}
}

static int simulate(struct sim *s, struct result *out)
{
	int err = make_caches(s);

	if (!err)
		err = open_ram(s);
	if (!err)
		err = run_tasks(s, out);
	if (!err)
		err = compare(s);
	if (s->ram)
		s->ram->close(s->ram);
	free_caches(s);
	return err;
}

int sim_run(const struct board *m, const struct work_kind *kind, struct result *out)
{
	struct work w = {.kind = kind, .scale = m->scale, .seed = m->seed, .lanes = m->threads};
	struct sim s = {
		.m = m, .w = &w, .ratio = kind->compute / 100, .work = kind->work ? kind->work : 1};
	char *first = NULL;
	int err = kind->make(&w);

	if (!err) {
		first = mem_alloc(w.bytes, 1, "a program's input");
		err = first ? 0 : -ENOMEM;
	}
	if (!err) {
		memcpy(first, w.data, w.bytes);
		w.first = first;
		err = simulate(&s, out);
	}
	if (kind->free)
		kind->free(&w);
	else
		free(w.own);
	mem_free(first, w.bytes, 1);
	mem_free(w.data, w.bytes, 1);
	return err;
}
