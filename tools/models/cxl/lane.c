// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads and stores of lanes. @w->data holds the program's data with all stores so far. Caches are
 * tags only: they say when a line arrives, and when stored bytes reach memory. Lines that are
 * loaded from memory are compared with @w->data.
 */
#include <errno.h>
#include <string.h>
#include "tools/common/error.h"
#include "sim.h"

/* Account the time of instructions since the last call. */
static void charge(struct lane *l)
{
	struct sim *s = l->sim;
	const uint64_t mem = l->loads + l->stores;
	uint64_t all = (uint64_t)((double)l->ops * s->work) + mem, ns;

	if (s->ratio) {
		/* Add instructions that compute, or stack accesses, to reach the share of the
		 * program's description. */
		const uint64_t by_ops = (uint64_t)((double)l->ops / s->ratio);
		const uint64_t by_mem = (uint64_t)((double)mem / (1 - s->ratio));

		all = by_ops > by_mem ? by_ops : by_mem;
	}
	l->instructions = all;
	ns = all * s->m->instr_ps / 1000;
	annex_cxltask_work(l->task, ns - l->charged);
	l->charged = ns;
}

static void set_error(struct sim *s, int err)
{
	if (!s->err)
		s->err = err;
}

/* Write the dirty bytes of a line to memory, or all bytes of a whole line, in runs. */
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

		set_error(s, s->ram->store(s->ram, at + from, s->w->data + at + from, n, &t));
		done = t.done > done ? t.done : done;
		left = n == RAM_LINE ? 0 : left & ~(((1ull << n) - 1) << from);
	}
	v->dirty = 0;
	s->leaving[s->n_leaving++ % s->m->buffer] = done;
	s->stores++;
	hist_add(&s->store_ns, done - now);
	series_store(&s->series, now, done - now);
}

/* Find a way for a line. NULL: the lane has waited for one, and must look the line up again. */
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

/* Load a line from memory; bytes in @dirty are newer in the cache. */
static void fetch(struct lane *l, uint64_t line, uint64_t dirty, struct annex_cxlssd_time *t)
{
	struct sim *s = l->sim;
	char buf[RAM_LINE];
	const char *data = s->w->data + line * RAM_LINE;

	t->now = annex_cxltask_now(l->task);
	set_error(s, s->ram->load(s->ram, line * RAM_LINE, buf, t));
	s->loads++;
	hist_add(&s->load_ns, t->done - t->now);
	series_load(&s->series, t->now, t->done - t->now);
	for (uint32_t i = 0; memcmp(buf, data, RAM_LINE) && i < RAM_LINE; i++)
		if (!(dirty >> i & 1) && buf[i] != data[i])
			set_error(s, err_set(-EIO, "memory returned a wrong byte at %llu",
					     (ull)line * RAM_LINE + i));
}

/* A store does not wait for its line, unless too many stores are in flight. */
static void post(struct lane *l, uint64_t done)
{
	uint64_t *oldest = &l->posted[l->n_posted++ % LANE_POSTED];
	const uint64_t wait = *oldest;

	*oldest = done;
	annex_cxltask_wait(l->task, wait, annex_cxltask_now(l->task));
}

/*
 * struct access - A load or store of bytes of a line.
 * @at: byte in @w->data.
 * @bytes: number of bytes.
 * @mask: the bytes in their line, a bit each.
 * @put: bytes to store, or NULL.
 * @add: number to add to memory, or NULL.
 * @was: value before the addition.
 * @ready: time at which the bytes are in the cache.
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

/* The line is in the cache: store to it before any other lane runs. */
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

/* Wait for all loads of a lane. */
static void wait_loads(struct lane *l)
{
	for (; l->n_ahead; l->n_ahead--)
		annex_cxltask_wait(l->task, l->ahead[l->n_ahead - 1], annex_cxltask_now(l->task));
}

/* A lane waits for a load, or continues with up to @ahead loads in flight. */
static void answer(struct lane *l, struct access *a, uint64_t done, uint64_t told)
{
	const uint32_t ahead = stores(a) ? 0 : l->sim->m->ahead;

	a->ready = done;
	if (!ahead) {
		annex_cxltask_wait(l->task, done, told);
		return;
	}
	if (l->n_ahead == ahead)
		wait_loads(l);
	l->ahead[l->n_ahead++] = done;
}

/* The line is not in the last-level cache. Return: false: look it up again. */
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

/* The line, or a part of it, is in the last-level cache. */
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
		wait_loads(l);
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
		wait_loads(l);
	}
	l->ops += n;
}

void lane_barrier(struct lane *l)
{
	charge(l);
	wait_loads(l);
	annex_cxltask_barrier(l->task);
}

void lane_end(struct lane *l)
{
	charge(l);
	wait_loads(l);
}

void lane_write_back_all(struct sim *s, uint64_t now)
{
	for (uint64_t i = 0; i < s->llc.sets * s->llc.ways && !s->err; i++)
		if (s->llc.tags[i].line && s->llc.tags[i].dirty)
			write_back(s, &s->llc.tags[i], now);
}
