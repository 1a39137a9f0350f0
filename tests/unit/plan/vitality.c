// SPDX-License-Identifier: MIT
/*
 * Vitality: lives, periods and pressure against a reference that looks at each kernel and tensor.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/log.h>
#include <annex/system.h>
#include <annex/vitality.h>
#include "plan/trace/ends.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define NONE ANNEX_KERNEL_NONE

static bool uses(const struct annex_trace *t, uint32_t kernel, uint32_t tensor)
{
	for (uint32_t i = t->kernels[kernel].first; i < t->kernels[kernel + 1].first; i++)
		if (t->uses[i].tensor == tensor)
			return true;
	return false;
}

static bool lives(const struct annex_trace *t, uint32_t kernel, uint32_t tensor)
{
	const struct annex_tensor *tensor_of = &t->tensors[tensor];
	bool before = tensor_of->birth != NONE && tensor_of->birth <= kernel;
	bool after = tensor_of->death != NONE && tensor_of->death >= kernel;

	for (uint32_t k = 0; k <= kernel; k++)
		before |= uses(t, k, tensor);
	for (uint32_t k = kernel; k < t->n_kernels; k++)
		after |= uses(t, k, tensor);
	return tensor_of->global || (before && after);
}

/* Step through the kernels after @from, once around for global tensors, until one uses @id. */
static void expect_period(const struct annex_vitality *v, uint32_t id, uint32_t from, uint32_t *n)
{
	const struct annex_trace *t = v->trace;
	const struct annex_period *p = &v->periods[v->life[id].period + *n];
	uint64_t ns = 0;
	uint32_t k = from, steps = 0;

	while (steps < t->n_kernels && !uses(t, k % t->n_kernels, id)) {
		ns += t->kernels[k % t->n_kernels].ns;
		k++;
		steps++;
	}
	if (!steps || (k >= t->n_kernels && !t->tensors[id].global))
		return;
	CU_ASSERT_FATAL(*n < v->life[id].n_periods);
	CU_ASSERT_EQUAL(p->tensor, id);
	CU_ASSERT_EQUAL(p->from, from);
	CU_ASSERT_EQUAL(p->to, k % t->n_kernels);
	CU_ASSERT_EQUAL(p->ns, ns);
	CU_ASSERT_EQUAL(p->wraps, k >= t->n_kernels);
	++*n;
}

static void compare_tensor(const struct annex_vitality *v, uint32_t id)
{
	const struct annex_trace *t = v->trace;
	const struct annex_life *life = &v->life[id];
	uint32_t birth = NONE, death = NONE, n = 0;
	bool used = false;

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		if (lives(t, k, id)) {
			birth = birth == NONE ? k : birth;
			death = k;
		}
		if (uses(t, k, id)) {
			used = true;
			expect_period(v, id, k + 1, &n);
		}
	}
	if (!used && t->tensors[id].global)
		expect_period(v, id, 0, &n);
	CU_ASSERT_EQUAL(life->birth, birth);
	CU_ASSERT_EQUAL(life->death, death);
	CU_ASSERT_EQUAL(life->used, used);
	CU_ASSERT_EQUAL(life->n_periods, n);
}

static void compare(const struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;
	uint64_t start = 0, peak = 0, global = 0;
	uint32_t periods = 0;

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		uint64_t live = 0, active = 0;

		for (uint32_t i = 0; i < t->n_tensors; i++) {
			live += lives(t, k, i) ? t->tensors[i].bytes : 0;
			active += uses(t, k, i) ? t->tensors[i].bytes : 0;
		}
		CU_ASSERT_EQUAL(v->start[k], start);
		CU_ASSERT_EQUAL(v->live[k], live);
		CU_ASSERT_EQUAL(v->active[k], active);
		CU_ASSERT(v->peak_kernel != k || live == v->peak_bytes);
		CU_ASSERT(k >= v->peak_kernel || live < v->peak_bytes);
		start += t->kernels[k].ns;
		peak = live > peak ? live : peak;
	}
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		compare_tensor(v, i);
		CU_ASSERT_EQUAL(v->life[i].period, periods);
		periods += v->life[i].n_periods;
		global += t->tensors[i].global ? t->tensors[i].bytes : 0;
	}
	CU_ASSERT_EQUAL(v->start[t->n_kernels], start);
	CU_ASSERT_EQUAL(v->peak_bytes, peak);
	CU_ASSERT_EQUAL(v->global_bytes, global);
	CU_ASSERT_EQUAL(v->n_periods, periods);
}

static struct annex_trace *random_trace(uint64_t *seed)
{
	uint32_t tensors = (uint32_t)(random_next(seed) % 25);
	uint32_t kernels = 1 + (uint32_t)(random_next(seed) % 30);
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	for (uint32_t i = 0; i < tensors; i++) {
		bool whole = random_next(seed) % 4 == 0;
		struct annex_tensor tensor = {
			.bytes = 1 + random_next(seed) % (1ull << 40),
			.birth = whole ? 0 : NONE,
			.death = whole ? kernels - 1 : NONE,
			.global = random_next(seed) % 3 == 0,
		};

		CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &tensor), (int)i);
	}
	for (uint32_t k = 0; k < kernels; k++) {
		unsigned int n = tensors ? random_next(seed) % 4 : 0;
		uint32_t ids[4];

		for (unsigned int i = 0; i < n; i++)
			ids[i] = (uint32_t)(random_next(seed) % tensors);
		CU_ASSERT_EQUAL(
			annex_trace_add_kernel(t, NULL, random_next(seed) % 1000, ids, n, ids, n),
			0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	return t;
}

static void reference(void)
{
	uint64_t seed = random_seed("reference");

	for (int i = 0; i < 300; i++) {
		struct annex_trace *t = random_trace(&seed);
		struct annex_vitality *v;

		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		compare(v);
		annex_vitality_destroy(v);
		annex_trace_free(t);
	}
	annex_vitality_destroy(NULL);
}

/* The kernel after the last use. */
static uint32_t unused_from(const struct annex_trace *t, uint32_t id)
{
	uint32_t k = t->n_kernels;

	while (k && !uses(t, k - 1, id))
		k--;
	return k;
}

/* A local tensor that dies later than its last use has one more period, its last. */
static void compare_ends(const struct annex_vitality *with, const struct annex_vitality *v,
			 uint32_t id)
{
	const struct annex_trace *t = v->trace;
	const struct annex_life *life = &with->life[id];
	uint32_t from = unused_from(t, id), n = v->life[id].n_periods, to = v->life[id].death + 1;
	bool ends = !t->tensors[id].global && from && to > from;
	const struct annex_period *p = &with->periods[life->period];

	CU_ASSERT_EQUAL_FATAL(life->n_periods, n + ends);
	for (uint32_t i = 0; i < n; i++) {
		const struct annex_period *q = &v->periods[v->life[id].period + i];

		CU_ASSERT(p[i].tensor == id && p[i].from == q->from && p[i].to == q->to &&
			  p[i].ns == q->ns && p[i].wraps == q->wraps);
		CU_ASSERT(!period_is_end(with, &p[i]));
	}
	if (!ends)
		return;
	CU_ASSERT(period_is_end(with, &p[n]));
	CU_ASSERT(p[n].from == from && p[n].to == to && p[n].tensor == id && !p[n].wraps);
	CU_ASSERT_EQUAL(p[n].ns, v->start[to] - v->start[from]);
}

static void ends_of_lives(void)
{
	uint64_t seed = random_seed("ends of lives");

	for (int i = 0; i < 300; i++) {
		struct annex_trace *t = random_trace(&seed);
		struct annex_vitality *v, *with;

		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_with_ends(t, &with), 0);
		for (uint32_t id = 0; id < t->n_tensors; id++)
			compare_ends(with, v, id);
		annex_vitality_destroy(with);
		annex_vitality_destroy(v);
		annex_trace_free(t);
	}
}

/* Tensor i is used by the kernels whose digits uses[i] has; kernel k takes 10^k ns. */
struct shape {
	const char *uses;
	bool global;
	uint32_t birth, death;
};

static struct annex_vitality *analyse(const struct shape *shapes, uint32_t n, uint32_t kernels)
{
	struct annex_vitality *v;
	struct annex_trace *t;
	uint64_t ns = 1;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct annex_tensor tensor = {.bytes = 1u << i,
					      .birth = shapes[i].birth,
					      .death = shapes[i].death,
					      .global = shapes[i].global};

		CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &tensor), (int)i);
	}
	for (uint32_t k = 0; k < kernels; k++, ns *= 10) {
		uint32_t ids[8];
		unsigned int m = 0;

		for (uint32_t i = 0; i < n; i++)
			if (strchr(shapes[i].uses, (char)('0' + k)))
				ids[m++] = i;
		CU_ASSERT_EQUAL(annex_trace_add_kernel(t, NULL, ns, ids, m, NULL, 0), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	compare(v);
	return v;
}

static void end(struct annex_vitality *v)
{
	struct annex_trace *t = (struct annex_trace *)v->trace;

	annex_vitality_destroy(v);
	annex_trace_free(t);
}

static void has_period(const struct annex_vitality *v, uint32_t i, uint32_t tensor, uint32_t from,
		       uint32_t to, uint64_t ns)
{
	const struct annex_period *p = &v->periods[i];

	CU_ASSERT_FATAL(i < v->n_periods);
	CU_ASSERT_EQUAL(p->tensor, tensor);
	CU_ASSERT_EQUAL(p->from, from);
	CU_ASSERT_EQUAL(p->to, to);
	CU_ASSERT_EQUAL(p->ns, ns);
	CU_ASSERT_EQUAL(p->wraps, to <= from);
}

static void periods_of_locals(void)
{
	static const struct shape shapes[] = {
		{"0245", false, NONE, NONE}, /* between 0 and 2, and 2 and 4 */
		{"12", false, NONE, NONE},   /* neighbours: none */
		{"3", false, 1, 5},          /* neither before its first use nor after its last */
		{"", false, NONE, NONE},     /* lives nowhere */
		{"", false, 2, 3},           /* lives, unused */
	};
	struct annex_vitality *v = analyse(shapes, 5, 6);

	CU_ASSERT_EQUAL(v->n_periods, 2);
	has_period(v, 0, 0, 1, 2, 10);
	has_period(v, 1, 0, 3, 4, 1000);
	CU_ASSERT_EQUAL(v->life[2].birth, 1);
	CU_ASSERT_EQUAL(v->life[2].death, 5);
	CU_ASSERT_EQUAL(v->life[3].birth, NONE);
	CU_ASSERT_FALSE(v->life[3].used);
	CU_ASSERT_EQUAL(v->live[0], 1);
	CU_ASSERT_EQUAL(v->live[2], 1 + 2 + 4 + 16);
	CU_ASSERT_EQUAL(v->live[5], 1 + 4);
	CU_ASSERT_EQUAL(v->active[2], 1 + 2);
	CU_ASSERT_EQUAL(v->peak_kernel, 2);
	end(v);
}

static void periods_of_globals(void)
{
	static const struct shape shapes[] = {
		{"03", true, NONE, NONE}, /* all ends are uses: one between, none that wraps */
		{"12", true, NONE, NONE}, /* from after 2 around to 1 */
		{"13", true, NONE, NONE}, /* from the end on */
		{"0", true, NONE, NONE},  /* up to the end */
		{"", true, NONE, NONE},   /* always */
	};
	struct annex_vitality *v = analyse(shapes, 5, 4);

	CU_ASSERT_EQUAL(v->n_periods, 6);
	has_period(v, 0, 0, 1, 3, 110);
	has_period(v, 1, 1, 3, 1, 1001);
	has_period(v, 2, 2, 2, 3, 100);
	has_period(v, 3, 2, 4, 1, 1);
	has_period(v, 4, 3, 1, 0, 1110);
	has_period(v, 5, 4, 0, 0, 1111);
	CU_ASSERT_EQUAL(v->global_bytes, 31);
	CU_ASSERT_EQUAL(v->live[0], 31);
	CU_ASSERT_EQUAL(v->live[3], 31);
	end(v);
}

static void one_kernel(void)
{
	static const struct shape shapes[] = {{"0", true, NONE, NONE}, {"", true, NONE, NONE}};
	struct annex_vitality *v = analyse(shapes, 2, 1);

	CU_ASSERT_EQUAL(v->n_periods, 1);
	has_period(v, 0, 1, 0, 0, 1);
	end(v);
}

/* What G10's artifact says of the traces it came with (shared/traces). */
static void real_traces(void)
{
	static const struct {
		const char *path;
		uint32_t peak_kernel;
		double peak_gib, ideal;
	} known[] = {
		{"../shared/traces/bert-256.json", 486, 47.76, 7.285},
		{"../shared/traces/vit-1280.json", 542, 57.39, 3.716},
		{"../shared/traces/resnet152-1280.json", 423, 273.46, 112.589},
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct annex_vitality *v;
		struct annex_trace *t;

		if (access(known[i].path, R_OK)) {
			printf("(no %s) ", known[i].path);
			continue;
		}
		CU_ASSERT_EQUAL_FATAL(annex_trace_read(known[i].path, &t), 0);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		CU_ASSERT_EQUAL(v->peak_kernel, known[i].peak_kernel);
		CU_ASSERT_DOUBLE_EQUAL((double)v->peak_bytes / (1u << 30), known[i].peak_gib,
				       0.005);
		CU_ASSERT_DOUBLE_EQUAL((double)v->start[t->n_kernels] * 1e-9, known[i].ideal,
				       0.0005);
		end(v);
	}
}

static void systems(void)
{
	struct annex_system good, bad;

	annex_system_init(&good);
	CU_ASSERT_EQUAL(annex_system_check(&good), 0);
	CU_ASSERT_EQUAL(good.gpu, 40ull << 30);
	CU_ASSERT_DOUBLE_EQUAL(good.pcie, 15.754e9, 1);
#define REFUSED(member, value, option)                                                             \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.member = value;                                                                \
		CU_ASSERT_EQUAL(annex_system_check(&bad), -EINVAL);                                \
		CU_ASSERT_EQUAL(strncmp(annex_last_error(), option ": ", sizeof(option) + 1), 0);  \
	} while (0)
	REFUSED(gpu, 0, "--gpu");
	REFUSED(gpu, UINT64_MAX, "--gpu");
	REFUSED(host, 1ull << 60, "--host");
	REFUSED(cxl, 1ull << 60, "--cxl");
	REFUSED(pcie, 0, "--pcie");
	REFUSED(pcie, (double)INFINITY, "--pcie");
	REFUSED(ssd_read, -3.2e9, "--ssd-read");
	REFUSED(ssd_read, (double)NAN, "--ssd-read");
	REFUSED(ssd_write, 3.2, "--ssd-write");
	REFUSED(ssd_duplex, 0, "--ssd-duplex");
	REFUSED(ssd_duplex, 2.5, "--ssd-duplex");
	REFUSED(ssd_duplex, (double)NAN, "--ssd-duplex");
	REFUSED(alloc, 0, "--alloc");
	REFUSED(host_link, -1, "--host-link");
	REFUSED(host_link, (double)NAN, "--host-link");
	REFUSED(cxl, 1, "--cxl-rate");
	REFUSED(cxl_rate, -1, "--cxl-rate");
	REFUSED(ssd_read_ns, UINT64_MAX, "--ssd-read-latency");
	REFUSED(ssd_write_ns, UINT64_MAX, "--ssd-write-latency");
	REFUSED(ssd_bytes, (64ull << 40) + 1, "--ssd-size");
	REFUSED(ssd_spare, UINT64_MAX, "--ssd-spare");
	REFUSED(ssd_spare, 1, "--ssd-spare");
	REFUSED(fault_ns, UINT64_MAX, "--fault");
	REFUSED(fault_bytes, 0, "--fault-size");
	REFUSED(page_ns, 10000000001, "--page");
	REFUSED(gpus, 0, "--gpus");
	REFUSED(gpus, ANNEX_MAX_GPUS + 1, "--gpus");
	REFUSED(ssds, ANNEX_MAX_SSDS + 1, "--ssds");
#undef REFUSED
	good.host = good.ssds = 0;
	good.cxl = 1;
	good.cxl_rate = good.host_link = 64e9;
	CU_ASSERT_EQUAL(annex_system_check(&good), 0);
}

static void tiers(void)
{
	for (int tier = 0; tier < ANNEX_TIERS; tier++)
		CU_ASSERT_EQUAL(annex_tier_parse(annex_tier_name((unsigned int)tier)), tier);
	CU_ASSERT_EQUAL(annex_tier_parse("ssd"), ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_tier_parse("ssd15"), ANNEX_TIER_SSD + 15);
	CU_ASSERT_EQUAL(annex_tier_parse("ssd16"), -EINVAL);
	CU_ASSERT_EQUAL(annex_tier_parse("ssd01"), -EINVAL);
	CU_ASSERT_EQUAL(annex_tier_parse("GPU"), -EINVAL);
	CU_ASSERT_EQUAL(annex_tier_parse(""), -EINVAL);
	CU_ASSERT_STRING_EQUAL(annex_tier_name(ANNEX_TIER_HOST), "host");
	CU_ASSERT_STRING_EQUAL(annex_tier_name(ANNEX_TIERS), "?");
}

UNIT_SUITE(vitality, {"as a reference finds it", reference},
	   {"periods of local tensors", periods_of_locals},
	   {"periods of global tensors wrap", periods_of_globals}, {"one kernel", one_kernel},
	   {"ends of lives", ends_of_lives}, {"known peaks of real traces", real_traces},
	   {"impossible systems are refused by option", systems}, {"names of tiers", tiers})
