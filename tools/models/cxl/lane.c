// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads and stores of lanes. What a program computes with lies in @w->data, and is always as the
 * last store left it; caches are tags, which say when a line comes, and when memory gets the bytes
 * that were stored. Whatever comes from memory is compared with what was stored.
 */
#include <errno.h>
#include <string.h>
#include "tools/common/error.h"
#include "sim.h"

/* Instructions since the last time become time. */
static void charge(struct lane *l)
{
	struct sim *s = l->sim;
	const uint64_t mem = l->loads + l->stores;
	uint64_t all = (uint64_t)((double)l->ops * s->work) + mem, ns;

	if (s->ratio) {
		/* As many more, spills and reloads of the stack or instructions that compute, as
		 * bring the program to the share of its description. */
		const uint64_t by_ops = (uint64_t)((double)l->ops / s->ratio);
		const uint64_t by_mem = (uint64_t)((double)mem / (1 - s->ratio));

		all = by_ops > by_mem ? by_ops : by_mem;
	}
	l->instructions = all;
	ns = all * s->m->instr_ps / 1000;
	annex_cxltask_work(l->task, ns - l->charged);
	l->charged = ns;
}

static void stop(struct sim *s, int err)
{
	if (!s->err)
		s->err = err;
}

/* A line's bytes leave the cache: those that memory does not have, in runs. */
static void write_back(struct sim *s, struct tag *v, uint64_t now)
{
	const uint64_t at = (v->line - 1) * RAM_LINE;
	uint64_t left = v->whole ? UINT64_MAX : v->dirty;
	uint64_t done = now;

	while (left && !s->err) {
		const uint32_t from = (uint32_t)__builtin_ctzll(left);
		const uint64_t run = ~(left >> from);
		const uint32_t n = run ? (uint32_t)__builtin_ctzll(run) : RAM_LINE;
		struct annex_cxlssd_time t = {.now = now};

		stop(s, s->ram->store(s->ram, at + from, s->w->data + at + from, n, &t));
		done = t.done > done ? t.done : done;
		left = n == RAM_LINE ? 0 : left & ~(((1ull << n) - 1) << from);
	}
	v->dirty = 0;
	s->leaving[s->n_leaving++ % s->m->buffer] = done;
	s->stores++;
	hist_add(&s->store_ns, done - now);
	series_store(&s->series, now, done - now);
}

/* A place for a line, and when there is none the lane waits and looks again. */
static struct tag *make_place(struct lane *l, uint64_t line)
{
	struct sim *s = l->sim;
	const uint64_t now = annex_cxltask_now(l->task);
	const uint64_t oldest = s->leaving[s->n_leaving % s->m->buffer];
	struct tag *v;
	uint64_t until;

	v = tags_victim(&s->llc, line, now, &until);
	if (v && (!v->line || !v->dirty))
		return v;
	if (v && oldest <= now) {
		write_back(s, v, now);
		return v;
	}
	annex_cxltask_wait(l->task, v ? oldest : until, now);
	return NULL;
}

/* Memory gives a line; bytes of it in @dirty are newer here. */
static void fetch(struct lane *l, uint64_t line, uint64_t dirty, struct annex_cxlssd_time *t)
{
	struct sim *s = l->sim;
	char buf[RAM_LINE];
	const char *data = s->w->data + line * RAM_LINE;

	t->now = annex_cxltask_now(l->task);
	stop(s, s->ram->load(s->ram, line * RAM_LINE, buf, t));
	s->loads++;
	hist_add(&s->load_ns, t->done - t->now);
	series_load(&s->series, t->now, t->done - t->now);
	for (uint32_t i = 0; memcmp(buf, data, RAM_LINE) && i < RAM_LINE; i++)
		if (!(dirty >> i & 1) && buf[i] != data[i])
			stop(s, err_set(-EIO, "byte %llu came back wrong from memory",
					(ull)line * RAM_LINE + i));
}

/* A store may go on while its line comes, unless too many do. */
static void post(struct lane *l, uint64_t done)
{
	uint64_t *oldest = &l->posted[l->n_posted++ % LANE_POSTED];
	const uint64_t wait = *oldest;

	*oldest = done;
	annex_cxltask_wait(l->task, wait, annex_cxltask_now(l->task));
}

/*
 * struct access - Bytes of a line that are loaded, or stored: @put: these; @add: the sum of this
 * and of the number there, which @was gets. @mask: a bit for each byte. @ready: when they are here.
 */
struct access {
	uint64_t at;
	uint32_t bytes;
	uint64_t mask;
	const void *put;
	const uint32_t *add;
	uint32_t was;
	uint64_t ready;
};

static bool stores(const struct access *a)
{
	return a->put || a->add;
}

/* The line is here: it is stored to before any other lane can go on. */
static void commit(struct sim *s, struct access *a, struct tag *v)
{
	char *to = s->w->data + a->at;
	uint32_t sum;

	if (!stores(a))
		return;
	if (a->add) {
		memcpy(&a->was, to, sizeof(a->was));
		sum = a->was + *a->add;
		memcpy(to, &sum, sizeof(sum));
	} else {
		memcpy(to, a->put, a->bytes);
	}
	v->dirty |= a->mask;
}

/* A lane needs what it has loaded. */
static void catch_up(struct lane *l)
{
	for (; l->n_ahead; l->n_ahead--)
		annex_cxltask_wait(l->task, l->ahead[l->n_ahead - 1], annex_cxltask_now(l->task));
}

/* A lane waits for a load, or goes on until it needs what it has loaded, with a few under way. */
static void answer(struct lane *l, struct access *a, uint64_t done, uint64_t told)
{
	const uint32_t ahead = stores(a) ? 0 : l->sim->m->ahead;

	a->ready = done;
	if (!ahead) {
		annex_cxltask_wait(l->task, done, told);
		return;
	}
	if (l->n_ahead == ahead)
		catch_up(l);
	l->ahead[l->n_ahead++] = done;
}

/* A line that the last-level cache does not have. Return: false: look again. */
static bool miss(struct lane *l, struct access *a)
{
	struct sim *s = l->sim;
	const uint64_t line = a->at / RAM_LINE;
	struct annex_cxlssd_time t = {.done = 0};
	struct tag *v = make_place(l, line);

	if (!v)
		return false;
	if (a->put && !s->m->fetch) {
		tags_put(&s->llc, v, line, 0, false);
		commit(s, a, v);
		return true;
	}
	fetch(l, line, 0, &t);
	tags_put(&s->llc, v, line, t.done, true);
	commit(s, a, v);
	if (a->put)
		post(l, t.done);
	else
		answer(l, a, t.done, t.told);
	return true;
}

/* A line that the last-level cache has, or parts of it. */
static void hit(struct lane *l, struct access *a, struct tag *v)
{
	struct sim *s = l->sim;
	const uint64_t now = annex_cxltask_now(l->task);
	const bool lacks = !a->put && !v->whole && a->mask & ~v->dirty;
	struct annex_cxlssd_time t = {.done = now + s->m->llc_ns, .told = now};

	if (lacks) {
		fetch(l, a->at / RAM_LINE, v->dirty, &t);
		v->whole = true;
		v->ready = t.done;
	} else if (v->ready > now) {
		t.done = v->ready;
	}
	commit(s, a, v);
	if (!a->put)
		answer(l, a, t.done, t.told);
}

static void reach(struct lane *l, struct access *a)
{
	struct sim *s = l->sim;
	const uint64_t line = a->at / RAM_LINE;
	struct tags *l1 = &s->l1[l->core];
	struct tag *v = tags_find(l1, line);
	uint64_t until;

	a->mask = ((1ull << a->bytes) - 1) << a->at % RAM_LINE;
	if (v && !stores(a) && v->ready <= l->seen)
		return;
	charge(l);
	l->seen = annex_cxltask_now(l->task);
	if (v && !stores(a)) {
		if (v->ready > l->seen)
			answer(l, a, v->ready, l->seen);
		return;
	}
	if (stores(a))
		catch_up(l);
	do {
		annex_cxltask_turn(l->task);
		v = tags_find(&s->llc, line);
		if (v)
			hit(l, a, v);
	} while (!v && !miss(l, a));
	if (!stores(a) && !tags_find(l1, line))
		tags_put(l1, tags_victim(l1, line, UINT64_MAX, &until), line, a->ready, true);
}

static const void *load(struct lane *l, uint64_t at, uint32_t bytes)
{
	struct access a = {.at = at, .bytes = bytes};

	l->loads++;
	reach(l, &a);
	return l->sim->w->data + at;
}

static void store(struct lane *l, uint64_t at, const void *v, uint32_t bytes)
{
	struct access a = {.at = at, .bytes = bytes, .put = v};

	l->stores++;
	reach(l, &a);
}

uint32_t lane_load32(struct lane *l, uint64_t at)
{
	return *(const uint32_t *)load(l, at, sizeof(uint32_t));
}

uint64_t lane_load64(struct lane *l, uint64_t at)
{
	return *(const uint64_t *)load(l, at, sizeof(uint64_t));
}

float lane_loadf(struct lane *l, uint64_t at)
{
	return *(const float *)load(l, at, sizeof(float));
}

void lane_store32(struct lane *l, uint64_t at, uint32_t v)
{
	store(l, at, &v, sizeof(v));
}

void lane_store64(struct lane *l, uint64_t at, uint64_t v)
{
	store(l, at, &v, sizeof(v));
}

void lane_storef(struct lane *l, uint64_t at, float v)
{
	store(l, at, &v, sizeof(v));
}

uint32_t lane_add32(struct lane *l, uint64_t at, uint32_t n)
{
	struct access a = {.at = at, .bytes = sizeof(n), .add = &n};

	l->loads++;
	l->stores++;
	reach(l, &a);
	return a.was;
}

void lane_ops(struct lane *l, unsigned int n)
{
	if (l->n_ahead) {
		charge(l);
		catch_up(l);
	}
	l->ops += n;
}

void lane_barrier(struct lane *l)
{
	charge(l);
	catch_up(l);
	annex_cxltask_barrier(l->task);
}

void lane_end(struct lane *l)
{
	charge(l);
	catch_up(l);
}

void lane_write_back_all(struct sim *s, uint64_t now)
{
	for (uint64_t i = 0; i < s->llc.sets * s->llc.ways && !s->err; i++)
		if (s->llc.tags[i].line && s->llc.tags[i].dirty)
			write_back(s, &s->llc.tags[i], now);
}
