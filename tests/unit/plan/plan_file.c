// SPDX-License-Identifier: MIT
/*
 * Files of plans: a plan that is written is read, and a file that is no plan is refused with a line
 * that names the place.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/log.h>
#include <annex/plan.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define TENSORS 50
#define KERNELS 40

static bool says(const char *words)
{
	if (strstr(annex_last_error(), words))
		return true;
	fprintf(stderr, "\"%s\" does not say \"%s\"\n", annex_last_error(), words);
	return false;
}

static struct annex_trace *random_trace(uint64_t *seed)
{
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	for (int i = 0; i < TENSORS; i++) {
		struct annex_tensor tensor = {.bytes = 1 + random_next(seed) % (1ull << 44),
					      .birth = ANNEX_KERNEL_NONE,
					      .death = ANNEX_KERNEL_NONE,
					      .global = random_next(seed) & 1};

		CU_ASSERT_EQUAL_FATAL(annex_trace_add_tensor(t, &tensor), i);
	}
	for (int k = 0; k < KERNELS; k++) {
		uint32_t in = (uint32_t)(random_next(seed) % TENSORS);

		CU_ASSERT_EQUAL_FATAL(annex_trace_add_kernel(t, "k", 1000, &in, 1, NULL, 0), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	return t;
}

/* Steps of every kind; whether they make sense does not matter to files. */
static struct annex_plan *random_plan(uint64_t *seed, unsigned int steps)
{
	struct annex_trace *t = random_trace(seed);
	struct annex_system sys;
	struct annex_plan *p;

	annex_system_init(&sys);
	CU_ASSERT_EQUAL_FATAL(annex_plan_create("g10-gds", t, &sys, &p), 0);
	p->flags = (uint32_t)random_next(seed) & 7;
	p->window = (uint32_t)random_next(seed);
	p->cxl = random_next(seed) >> 1;
	for (unsigned int i = 0; i < steps; i++) {
		struct annex_plan_step s = {
			.kernel = (uint32_t)(random_next(seed) % (KERNELS + 1)),
			.tensor = (uint32_t)(random_next(seed) % TENSORS),
			.op = (uint8_t)(random_next(seed) % ANNEX_PLAN_OPS),
			.tier = (uint8_t)(1 + random_next(seed) % (ANNEX_TIERS - 1)),
			.keep = random_next(seed) & 1,
		};

		s.ns = s.kernel * 12345678901ull;
		s.bytes = 1 + random_next(seed) % t->tensors[s.tensor].bytes;
		CU_ASSERT_EQUAL_FATAL(annex_plan_add(p, &s), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_plan_finish(p), 0);
	annex_trace_free(t);
	return p;
}

static bool equal(const struct annex_plan *a, const struct annex_plan *b)
{
	bool same = !strcmp(a->policy, b->policy) && a->hash == b->hash &&
		    a->n_kernels == b->n_kernels && a->n_tensors == b->n_tensors &&
		    a->flags == b->flags && a->window == b->window && a->gpu == b->gpu &&
		    a->host == b->host && a->cxl == b->cxl && a->n_steps == b->n_steps;

	for (size_t i = 0; i < a->n_steps && same; i++) {
		const struct annex_plan_step *x = &a->steps[i], *y = &b->steps[i];

		same = x->kernel == y->kernel && x->tensor == y->tensor && x->bytes == y->bytes &&
		       x->ns == y->ns && x->op == y->op && x->tier == y->tier && x->keep == y->keep;
	}
	return same;
}

/* The file of a plan, to be freed. */
static char *written(const struct annex_plan *p, size_t *len)
{
	char *data;
	FILE *f = open_memstream(&data, len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(annex_plan_write(p, f), 0);
	fclose(f);
	return data;
}

/* In memory of exactly its size, so that a read behind its end is seen. */
static int parse(const char *data, size_t len, struct annex_plan **p)
{
	char *exact = malloc(len ? len : 1);
	int err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
	memcpy(exact, data, len);
	err = annex_plan_parse(exact, len, p);
	free(exact);
	return err;
}

static void written_and_read(void)
{
	uint64_t seed = random_seed("plan files");

	for (int round = 0; round < 60; round++) {
		struct annex_plan *p = random_plan(&seed, round < 3 ? (unsigned int)round : 100);

		struct annex_plan *q;
		size_t len;
		char *data = written(p, &len);

		CU_ASSERT_EQUAL_FATAL(parse(data, len, &q), 0);
		CU_ASSERT(equal(p, q));
		annex_plan_free(q);
		free(data);
		annex_plan_free(p);
	}
}

static void read_from_a_file(void)
{
	char path[] = P_tmpdir "/annex-plan.XXXXXX";
	int fd = mkstemp(path);
	uint64_t seed = random_seed("plan on a disk");
	struct annex_plan *p = random_plan(&seed, 1000), *q;
	FILE *f;

	CU_ASSERT_FATAL(fd >= 0);
	f = fdopen(fd, "w");
	CU_ASSERT_EQUAL(annex_plan_write(p, f), 0);
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(annex_plan_read(path, &q), 0);
	CU_ASSERT(equal(p, q));
	annex_plan_free(q);
	unlink(path);
	CU_ASSERT_EQUAL(annex_plan_read(path, &q), -ENOENT);
	CU_ASSERT_PTR_NULL(q);
	CU_ASSERT(says("No such file"));
	annex_plan_free(p);
}

static void full_disk(void)
{
	uint64_t seed = random_seed("plan on a full disk");
	struct annex_plan *p = random_plan(&seed, 1000);
	FILE *f = fopen("/dev/full", "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(annex_plan_write(p, f), -EIO);
	fclose(f);
	annex_plan_free(p);
}

static void cut_short(void)
{
	uint64_t seed = random_seed("truncated plans");
	struct annex_plan *p = random_plan(&seed, 5), *q;
	size_t len;
	char *data = written(p, &len);

	/* The newline at the end may go. */
	for (size_t cut = 0; cut < len - 1; cut++) {
		CU_ASSERT_EQUAL(parse(data, cut, &q), -EINVAL);
		CU_ASSERT_PTR_NULL(q);
		CU_ASSERT_PTR_NULL(strchr(annex_last_error(), '\n'));
	}
	data = realloc(data, len + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	data[len] = 'x';
	CU_ASSERT_EQUAL(parse(data, len + 1, &q), -EINVAL);
	free(data);
	annex_plan_free(p);
}

#define HEAD                                                                                       \
	"{\"format\":\"annex-plan/1\",\"policy\":\"p\",\"trace\":\"0123456789abcdef\","            \
	"\"kernels\":9,\"tensors\":4,\"overlap\":true,\"reclaim\":false,\"lazy\":false,"           \
	"\"unlimited\":false,"                                                                     \
	"\"window\":0,\"gpu\":5,\"host\":6,\"cxl\":7"
#define STEPS(text) HEAD ",\"steps\":[" text "]}"
#define STEP "{\"kernel\":1,\"ns\":5,\"op\":\"free\",\"tensor\":3,\"bytes\":9}"
#define ONE(kernel, ns, op, tensor, bytes, more)                                                   \
	STEPS(STEP ",{\"kernel\":" kernel ",\"ns\":" ns ",\"op\":" op ",\"tensor\":" tensor        \
		   ",\"bytes\":" bytes more "}")

static const struct {
	const char *text, *words;
} bad[] = {
	{"", "no JSON object"},
	{"[]", "no JSON object"},
	{"{}", "\"format\" is missing"},
	{HEAD "}", "\"steps\" is missing"},
	{STEPS("") "x", "end: line 1"},
	{"{\"format\":\"annex-trace/1\"}", "\"format\" is not \"annex-plan/1\""},
	{HEAD ",\"colour\":1}", "unknown key \"colour\""},
	{"{\"a\\nb\":1}", "unknown key \"a?b\""},
	{STEPS("{\"kernel\":1,\"ns\":5,\"op\":\"free\",\"tensor\":3,\"bytes\":9,\"\\n\":1}"),
	 "step 0: unknown key \"?\""},
	{HEAD ",\"gpu\":5}", "\"gpu\" is there twice"},
	{"{\"kernels\":-1}", "\"kernels\" is no integer from 0 to 4294967295"},
	{"{\"kernels\":4294967296}", "\"kernels\" is no integer"},
	{"{\"kernels\":1.5}", "\"kernels\" is no integer"},
	{"{\"gpu\":9223372036854775808}", "\"gpu\""},
	{"{\"overlap\":1}", "\"overlap\" is not true or false"},
	{"{\"trace\":\"0123456789ABCDEF\"}", "\"trace\" is not a hash"},
	{"{\"trace\":\"0x23456789abcdef\"}", "\"trace\" is not a hash"},
	{"{\"trace\":7}", "\"trace\" is not a hash"},
	{"{\"policy\":\"0123456789012345678901234567890x\"}", "\"policy\" is not a short name"},
	{"{\"steps\":{}}", "\"steps\""},
	{"{\"steps\":[1]}", "step 0 is no object"},
	{"{\"steps\":[" STEP " " STEP "]}", "step 0: "},
	{"{\"steps\":[" STEP ",]}", "step 1: "},
	{STEPS("{}"), "step 0 has no \"kernel\""},
	{STEPS(STEP ",{\"kernel\":1,\"ns\":5,\"op\":\"free\",\"tensor\":3}"),
	 "step 1 has no \"bytes\""},
	{ONE("1", "5", "\"move\"", "3", "9", ""), "step 1: \"op\" is not alloc, free"},
	{ONE("1", "5", "4", "3", "9", ""), "step 1: \"op\" is not alloc, free"},
	{ONE("1", "5", "\"evict\"", "3", "9", ""), "step 1 (kernel 1, tensor 3): a tensor cannot"},
	{ONE("1", "5", "\"free\"", "3", "9", ",\"to\":\"host\""), "step 1 (kernel 1, tensor 3): a"},
	{ONE("1", "5", "\"evict\"", "3", "9", ",\"to\":\"tape\""), "step 1: \"to\" is not host"},
	{ONE("1", "5", "\"evict\"", "3", "9", ",\"to\":\"gpu\""), "step 1: \"to\" is not host"},
	{ONE("1", "5", "\"evict\"", "3", "9", ",\"to\":\"ssd16\""), "step 1: \"to\" is not host"},
	{ONE("1", "5", "\"free\"", "3", "9", ",\"keep\":true"), "step 1 (kernel 1, tensor 3): \"k"},
	{ONE("1", "5", "\"free\"", "3", "9", ",\"keep\":1"), "step 1: \"keep\" is not true"},
	{ONE("1", "5", "\"free\"", "3", "9", ",\"colour\":1"), "step 1: unknown key \"colour\""},
	{ONE("1", "5", "\"free\"", "3", "9", ",\"ns\":5"), "step 1: "},
	{ONE("1", "5", "\"free\"", "4", "9", ""), "step 1 (kernel 1): tensor 4 of 4"},
	{ONE("1", "5", "\"free\"", "3", "0", ""), "step 1 (kernel 1, tensor 3): 0 bytes"},
	{ONE("1", "5", "\"free\"", "3", "-1", ""), "step 1: \"bytes\" is no integer"},
	{ONE("1", "5", "\"free\"", "3", "1125899906842625", ""), "step 1: \"bytes\" is no integer"},
	{ONE("10", "5", "\"free\"", "3", "9", ""), "step 1: kernel 10 of 9"},
	{ONE("0", "5", "\"free\"", "3", "9", ""), "step 1: kernel 0 comes after kernel 1"},
	{ONE("1", "4", "\"free\"", "3", "9", ""), "time goes back, from 5 to 4 ns"},
	{ONE("1", "9223372036854775807", "\"free\"", "3", "9", ""), "step 1: \"ns\" is no integer"},
	{ONE("1", "99999999999999999999", "\"free\"", "3", "9", ""), "step 1: "},
};

static void bad_json(void)
{
	struct annex_plan *p;

	CU_ASSERT_EQUAL(parse(STEPS(STEP), strlen(STEPS(STEP)), &p), 0);
	annex_plan_free(p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = parse(bad[i].text, strlen(bad[i].text), &p);

		if (err != -EINVAL)
			fprintf(stderr, "%s gives %d\n", bad[i].text, err);
		CU_ASSERT_EQUAL(err, -EINVAL);
		CU_ASSERT(says(bad[i].words));
		CU_ASSERT_PTR_NULL(strchr(annex_last_error(), '\n'));
	}
}

/* Keys in any order, blanks anywhere. */
static void loose_json(void)
{
	static const char text[] =
		" {\t\"steps\" : [ ] , "
		"\"cxl\":7,\"host\":6,\"gpu\":5,\n\"window\":3,\"lazy\":true,\"unlimited\":false,"
		"\"reclaim\":true,\"overlap\":false,\"tensors\":0,\"kernels\":1,"
		"\"trace\":\"00000000000000ff\",\"policy\":\"x\",\"format\":\"annex-plan/1\" } "
		"\r\n";
	struct annex_plan *p;

	CU_ASSERT_EQUAL_FATAL(parse(text, sizeof(text) - 1, &p), 0);
	CU_ASSERT_EQUAL(p->hash, 255);
	CU_ASSERT_EQUAL(p->window, 3);
	CU_ASSERT_EQUAL(p->flags, ANNEX_PLAN_RECLAIM | ANNEX_PLAN_LAZY);
	CU_ASSERT_EQUAL(p->n_steps, 0);
	annex_plan_free(p);
}

UNIT_SUITE(plan_file, {"a plan that is written is read", written_and_read},
	   {"files", read_from_a_file}, {"a full disk is told", full_disk},
	   {"every truncation is refused", cut_short}, {"bad plans", bad_json},
	   {"keys in any order", loose_json})
