// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "plan/place.h"
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

uint32_t random_below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)(random_next(seed) % n);
}

void round_system(struct annex_system *sys)
{
	annex_system_init(sys);
	sys->gpu = 256 * MIB;
	sys->host = 1024 * MIB;
	sys->pcie = 1000.0 * MIB;
	sys->ssd_read = sys->ssd_write = 200.0 * MIB;
	sys->ssd_read_ns = sys->ssd_write_ns = 0;
	sys->alloc = 1e18;
}

static void add_tensor(struct annex_trace *t, uint64_t bytes, bool global)
{
	struct annex_tensor tensor = {.bytes = bytes,
				      .birth = ANNEX_KERNEL_NONE,
				      .death = ANNEX_KERNEL_NONE,
				      .global = global};

	CU_ASSERT_FATAL(annex_trace_add_tensor(t, &tensor) >= 0);
}

static struct annex_trace *begin_trace(void)
{
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	return t;
}

static bool is_used(const struct annex_trace *t, uint32_t tensor)
{
	for (uint32_t u = 0; u < t->n_uses; u++)
		if (t->uses[u].tensor == tensor)
			return true;
	return false;
}

/* Some local tensors die with the last kernel, and not with their last use. */
static void finish_trace(uint64_t *seed, struct annex_trace *t)
{
	bool late = !random_below(seed, 3);

	for (uint32_t i = 0; i < t->n_tensors && late; i++)
		if (!t->tensors[i].global && random_below(seed, 2) && is_used(t, i))
			t->tensors[i].death = t->n_kernels - 1;
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
}

struct annex_trace *trace_from(const char *tensors, const char *kernels)
{
	struct annex_trace *t = begin_trace();
	char *at = (char *)tensors;
	bool lives_on[26] = {false};

	while (*at) {
		uint64_t bytes;

		CU_ASSERT_FATAL((uint32_t)(*at - 'A') == t->n_tensors && at[1] == ':');
		bytes = (uint64_t)llround(strtod(at + 2, &at) * (double)MIB);
		add_tensor(t, bytes, *at == 'g');
		lives_on[t->n_tensors - 1] = *at == 'l';
		at += strspn(at, "gl ");
	}
	at = (char *)kernels;
	while (*at) {
		uint32_t use[2][32];
		unsigned int n[2] = {0, 0}, out = 0;
		uint64_t ns = (uint64_t)llround(strtod(at, &at) * 1e6);

		CU_ASSERT_FATAL(*at == ':');
		for (at++; *at && *at != ' '; at++) {
			if (*at == '>')
				out = 1;
			else
				use[out][n[out]++] = (uint32_t)(*at - 'A');
		}
		at += strspn(at, " ");
		CU_ASSERT_EQUAL_FATAL(
			annex_trace_add_kernel(t, NULL, ns, use[0], n[0], use[1], n[1]), 0);
	}
	for (uint32_t i = 0; i < t->n_tensors; i++)
		if (lives_on[i])
			t->tensors[i].death = t->n_kernels - 1;
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	return t;
}

static unsigned int op_of(const char *word)
{
	static const char *const names[ANNEX_PLAN_OPS] = {"alloc", "free", "prefetch",
							  "evict", "save", "wait"};
	unsigned int op = 0;

	while (op < ANNEX_PLAN_OPS && strcmp(names[op], word))
		op++;
	return op;
}

struct annex_plan *plan_from(const struct annex_trace *t, const struct annex_system *sys,
			     const char *steps)
{
	struct annex_plan *p;

	CU_ASSERT_EQUAL_FATAL(annex_plan_create("test", t, sys, &p), 0);
	while (*steps) {
		struct annex_plan_step s = {0};
		char op[16], tensor, how[16] = "";
		double mib = 0;
		int n = sscanf(steps, "%u %15s %c %lf %15[a-z0-9]", &s.kernel, op, &tensor, &mib,
			       how);

		CU_ASSERT_FATAL(n >= 3 && op_of(op) < ANNEX_PLAN_OPS);
		s.op = (uint8_t)op_of(op);
		s.tensor = (uint32_t)(tensor - 'A');
		s.bytes = (uint64_t)llround(mib * (double)MIB);
		s.keep = !strcmp(how, "keep");
		if (*how && !s.keep)
			s.tier = (uint8_t)annex_tier_parse(how);
		CU_ASSERT_EQUAL_FATAL(annex_plan_add(p, &s), 0);
		steps += strcspn(steps, ";");
		steps += strspn(steps, "; ");
	}
	CU_ASSERT_EQUAL_FATAL(annex_plan_finish(p), 0);
	return p;
}

/* Mostly of round sizes, since those meet exactly. */
static uint64_t random_bytes(uint64_t *seed, uint64_t most)
{
	uint64_t unit = most > 64 * MIB ? 4 * MIB : MIB;

	if (random_below(seed, 4) && most >= unit)
		return (1 + random_next(seed) % (most / unit)) * unit;
	return 1 + random_next(seed) % most;
}

struct annex_trace *random_kernels(uint64_t *seed, uint32_t tensors, uint32_t kernels,
				   uint64_t most, uint64_t ns)
{
	struct annex_trace *t = begin_trace();
	uint32_t globals = random_below(seed, 5); /* of four */

	for (uint32_t i = 0; i < tensors; i++)
		add_tensor(t, random_bytes(seed, most), random_below(seed, 4) < globals);
	for (uint32_t k = 0; k < kernels; k++) {
		uint32_t in[3], out[2];
		unsigned int n_in = tensors ? random_below(seed, 4) : 0;
		unsigned int n_out = tensors ? random_below(seed, 3) : 0;

		for (unsigned int i = 0; i < n_in; i++)
			in[i] = random_below(seed, tensors);
		for (unsigned int i = 0; i < n_out; i++)
			out[i] = random_below(seed, tensors);
		CU_ASSERT_EQUAL_FATAL(
			annex_trace_add_kernel(
				t, NULL, random_below(seed, 8) ? random_next(seed) % (ns + 1) : 0,
				in, n_in, out, n_out),
			0);
	}
	finish_trace(seed, t);
	return t;
}

static void add_kernel(struct annex_trace *t, uint64_t ns, const uint32_t *in, unsigned int n_in,
		       uint32_t out)
{
	CU_ASSERT_EQUAL_FATAL(annex_trace_add_kernel(t, NULL, ns, in, n_in, &out, 1), 0);
}

/* Tensors of layer i: weight 4i, its gradient 4i+1, activation 4i+2, gradient of that 4i+3. */
struct annex_trace *random_training(uint64_t *seed, uint32_t layers, uint64_t most, uint64_t ns)
{
	struct annex_trace *t = begin_trace();
	bool optimizer = random_below(seed, 2);

	for (uint32_t i = 0; i < layers; i++) {
		uint64_t weight = random_bytes(seed, most), act = random_bytes(seed, most);

		add_tensor(t, weight, true);
		add_tensor(t, weight, false);
		add_tensor(t, act, false);
		add_tensor(t, act, false);
	}
	for (uint32_t i = 0; i < layers; i++) {
		uint32_t in[] = {4 * i, 4 * i - 2};

		add_kernel(t, 1 + random_next(seed) % ns, in, i ? 2 : 1, 4 * i + 2);
	}
	for (uint32_t i = layers; i--;) {
		uint32_t in[] = {4 * i, 4 * i + 2, 4 * i + 7};

		add_kernel(t, 1 + random_next(seed) % ns, in, i + 1 < layers ? 3 : 2, 4 * i + 3);
		add_kernel(t, 1 + random_next(seed) % ns, &in[1], 1, 4 * i + 1);
		if (!optimizer)
			add_kernel(t, 1 + random_next(seed) % ns, (uint32_t[]){4 * i + 1}, 1,
				   4 * i);
	}
	for (uint32_t i = 0; i < layers && optimizer; i++)
		add_kernel(t, 1 + random_next(seed) % (ns / 4 + 1), (uint32_t[]){4 * i + 1}, 1,
			   4 * i);
	finish_trace(seed, t);
	return t;
}

uint64_t largest_kernel(const struct annex_trace *t)
{
	uint64_t most = 0;

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		uint64_t bytes = 0;

		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
			bytes += t->tensors[t->uses[u].tensor].bytes;
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* struct maker - A plan being made, and where its steps leave everything. */
struct maker {
	uint64_t *seed;
	const struct annex_trace *t;
	const struct annex_system *sys;
	struct annex_plan *p;
	struct place *places;
};

static bool fits(const struct maker *m)
{
	uint64_t gpu = 0, host = 0, cxl = 0;

	for (uint32_t i = 0; i < m->t->n_tensors; i++) {
		gpu += annex_place_resident(&m->places[i]);
		host += annex_place_below(&m->places[i], ANNEX_TIER_HOST);
		cxl += annex_place_below(&m->places[i], ANNEX_TIER_CXL);
	}
	return gpu <= m->sys->gpu && host <= m->sys->host && cxl <= m->sys->cxl;
}

static bool used_at(const struct maker *m, uint32_t tensor, uint32_t k)
{
	if (k == m->t->n_kernels)
		return false;
	for (uint32_t u = m->t->kernels[k].first; u < m->t->kernels[k + 1].first; u++)
		if (m->t->uses[u].tensor == tensor)
			return true;
	return false;
}

static bool used_from(const struct maker *m, uint32_t tensor, uint32_t k)
{
	for (uint32_t u = m->t->kernels[k].first; u < m->t->n_uses; u++)
		if (m->t->uses[u].tensor == tensor)
			return true;
	return false;
}

/* Add a step if it is sound here. */
static bool try_step(struct maker *m, uint32_t k, unsigned int op, uint32_t tensor, uint64_t bytes)
{
	struct place *p = &m->places[tensor], was = *p;
	struct annex_plan_step s = {.kernel = k,
				    .tensor = tensor,
				    .bytes = bytes,
				    .op = (uint8_t)op,
				    .keep = (uint8_t)random_below(m->seed, 2)};
	uint64_t most = op == ANNEX_PLAN_PREFETCH ? annex_place_out(p) : annex_place_resident(p);

	s.tier = (uint8_t)(ANNEX_TIER_HOST + random_below(m->seed, 2 + m->sys->ssds));
	if (op == ANNEX_PLAN_ALLOC) {
		*p = (struct place){.born = true, .dirty = m->t->tensors[tensor].bytes};
	} else if (op == ANNEX_PLAN_FREE) {
		*p = (struct place){0};
	} else if (!p->born || !bytes || bytes > most) {
		return false;
	} else if (op == ANNEX_PLAN_PREFETCH) {
		annex_place_prefetch(p, bytes, s.keep);
	} else if (op == ANNEX_PLAN_EVICT) {
		annex_place_evict(p, bytes, s.tier);
	} else if (op == ANNEX_PLAN_SAVE) {
		annex_place_save(p, bytes, s.tier);
	}
	if (!fits(m)) {
		*p = was;
		return false;
	}
	CU_ASSERT_EQUAL_FATAL(annex_plan_add(m->p, &s), 0);
	return true;
}

/* Bytes of a tensor: all, or some. */
static uint64_t some(struct maker *m, uint64_t all)
{
	return !all || random_below(m->seed, 2) ? all : 1 + random_next(m->seed) % all;
}

/* Something that the kernel does not need leaves. */
static void make_room(struct maker *m, uint32_t k)
{
	uint32_t i = random_below(m->seed, m->t->n_tensors);

	if (!used_at(m, i, k))
		try_step(m, k, ANNEX_PLAN_EVICT, i, some(m, annex_place_resident(&m->places[i])));
}

static bool provide(struct maker *m, uint32_t k, uint32_t tensor)
{
	struct place *p = &m->places[tensor];

	for (int i = 0; i < 200; i++) {
		if (!p->born)
			try_step(m, k, ANNEX_PLAN_ALLOC, tensor, 0);
		else if (annex_place_out(p))
			try_step(m, k, ANNEX_PLAN_PREFETCH, tensor, some(m, annex_place_out(p)));
		if (p->born && !annex_place_out(p))
			return true;
		make_room(m, k);
	}
	return false;
}

static void free_dead(struct maker *m, uint32_t k)
{
	for (uint32_t i = 0; i < m->t->n_tensors; i++)
		if (!m->t->tensors[i].global && m->places[i].born && !used_from(m, i, k) &&
		    (k == m->t->n_kernels || random_below(m->seed, 4)))
			try_step(m, k, ANNEX_PLAN_FREE, i, 0);
}

/* Needless steps. */
static void play(struct maker *m, uint32_t k)
{
	for (unsigned int n = random_below(m->seed, 5); n-- && m->t->n_tensors;) {
		uint32_t i = random_below(m->seed, m->t->n_tensors);
		uint64_t there = annex_place_resident(&m->places[i]);
		unsigned int op = ANNEX_PLAN_PREFETCH + random_below(m->seed, 3);

		if (op == ANNEX_PLAN_PREFETCH)
			try_step(m, k, op, i, some(m, annex_place_out(&m->places[i])));
		else if (!used_at(m, i, k) || op == ANNEX_PLAN_SAVE)
			try_step(m, k, op, i, some(m, there));
		if (!m->places[i].born && used_from(m, i, k) && !random_below(m->seed, 3))
			try_step(m, k, ANNEX_PLAN_ALLOC, i, 0);
	}
}

static bool make_kernel(struct maker *m, uint32_t k)
{
	const struct annex_trace *t = m->t;

	free_dead(m, k);
	play(m, k);
	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
		if (!provide(m, k, t->uses[u].tensor))
			return false;
	if (random_below(m->seed, 2))
		play(m, k);
	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
		if (t->uses[u].how & ANNEX_USE_WRITE)
			annex_place_write(&m->places[t->uses[u].tensor]);
	return true;
}

/* Iterations begin with global tensors on the GPU, or all below. */
static void begin_globals(struct maker *m, bool below)
{
	for (uint32_t i = 0; i < m->t->n_tensors; i++) {
		struct place *p = &m->places[i];

		if (!m->t->tensors[i].global)
			continue;
		p->born = true;
		p->dirty = m->t->tensors[i].bytes;
		for (int n = 0; n < 40 && below && p->dirty; n++) {
			unsigned int tier = ANNEX_TIER_HOST +
					    random_below(m->seed, 2 + m->sys->ssds);
			struct place was = *p;

			annex_place_evict(p, p->dirty, tier);
			if ((tier == ANNEX_TIER_HOST || tier == ANNEX_TIER_CXL) && !fits(m))
				*p = was;
		}
	}
}

/* And end so. */
static bool end_globals(struct maker *m, bool below)
{
	uint32_t n = m->t->n_kernels;

	for (uint32_t i = 0; i < m->t->n_tensors; i++) {
		struct place *p = &m->places[i];

		if (!m->t->tensors[i].global)
			continue;
		if (!below && !provide(m, n, i))
			return false;
		for (int k = 0; k < 40 && below && annex_place_resident(p); k++)
			try_step(m, n, ANNEX_PLAN_EVICT, i, annex_place_resident(p));
	}
	return true;
}

static uint64_t global_bytes(const struct annex_trace *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		sum += t->tensors[i].global ? t->tensors[i].bytes : 0;
	return sum;
}

struct annex_plan *random_plan(uint64_t *seed, const struct annex_trace *t,
			       const struct annex_system *sys)
{
	struct maker m = {.seed = seed, .t = t, .sys = sys};
	bool below = random_below(seed, 3) == 0 || global_bytes(t) > sys->gpu, good = true;

	m.places = calloc((size_t)t->n_tensors + 1, sizeof(*m.places));
	CU_ASSERT_PTR_NOT_NULL_FATAL(m.places);
	CU_ASSERT_EQUAL_FATAL(annex_plan_create("random", t, sys, &m.p), 0);
	begin_globals(&m, below);
	for (uint32_t k = 0; k < t->n_kernels && good; k++)
		good = make_kernel(&m, k);
	free_dead(&m, t->n_kernels);
	good = good && end_globals(&m, below);
	free(m.places);
	CU_ASSERT_EQUAL_FATAL(annex_plan_finish(m.p), 0);
	if (good && !annex_plan_check(m.p, t, sys))
		return m.p;
	annex_plan_free(m.p);
	return NULL;
}

void print_case(const struct annex_trace *t, const struct annex_system *sys,
		const struct annex_plan *p)
{
	fprintf(stderr,
		"\n%u gpus of %llu host %llu cxl %llu ssds %u pcie %g ssd %g/%g duplex %g "
		"alloc %g page %llu\n",
		sys->gpus, (unsigned long long)sys->gpu, (unsigned long long)sys->host,
		(unsigned long long)sys->cxl, sys->ssds, sys->pcie, sys->ssd_read, sys->ssd_write,
		sys->ssd_duplex, sys->alloc, (unsigned long long)sys->page_ns);
	annex_trace_write(t, stderr);
	if (p)
		annex_plan_write(p, stderr);
}
