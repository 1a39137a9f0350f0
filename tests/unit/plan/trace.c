// SPDX-License-Identifier: MIT
/*
 * Traces: annex-trace/1 read, written, and refused with a line that names the place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/log.h>
#include <annex/trace.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define HEAD "{\"format\":\"annex-trace/1\","
#define TENSORS(list) "\"tensors\":[" list "]"
#define KERNELS(list) "\"kernels\":[" list "]"
#define T0 "{\"id\":0,\"bytes\":4096,\"global\":true}"
#define T1 "{\"id\":1,\"bytes\":8192,\"global\":false}"
#define K0 "{\"name\":\"forward\",\"ns\":10,\"in\":[0],\"out\":[1]}"
#define K1 "{\"name\":\"backward\",\"ns\":20,\"in\":[1],\"out\":[0]}"

/* The parser gets exactly the bytes, so that a look behind them is seen. */
static int parse(const char *text, struct annex_trace **t)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, text, len);
	err = annex_trace_parse(copy, len, t);
	free(copy);
	return err;
}

static void what_is_read(void)
{
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(parse(HEAD "\"model\":\"M\",\"batch\":3,\"device\":\"D\"," TENSORS(
					    T0 ",{\"id\":1,\"bytes\":8192,\"global\":false,"
					       "\"name\":\"h\",\"role\":\"activation\","
					       "\"death\":1}") "," KERNELS(K0 "," K1) "}",
				    &t),
			      0);
	CU_ASSERT_STRING_EQUAL(t->model, "M");
	CU_ASSERT_STRING_EQUAL(t->device, "D");
	CU_ASSERT_EQUAL(t->batch, 3);
	CU_ASSERT_EQUAL(t->n_tensors, 2);
	CU_ASSERT_EQUAL(t->n_kernels, 2);
	CU_ASSERT_EQUAL(t->n_uses, 4);
	CU_ASSERT_EQUAL(t->tensors[0].bytes, 4096);
	CU_ASSERT_TRUE(t->tensors[0].global);
	CU_ASSERT_PTR_NULL(t->tensors[0].name);
	CU_ASSERT_EQUAL(t->tensors[0].role, ANNEX_ROLE_NONE);
	CU_ASSERT_FALSE(t->tensors[1].global);
	CU_ASSERT_STRING_EQUAL(t->tensors[1].name, "h");
	CU_ASSERT_EQUAL(t->tensors[1].role, ANNEX_ROLE_ACTIVATION);
	CU_ASSERT_STRING_EQUAL(t->kernels[1].name, "backward");
	CU_ASSERT_EQUAL(t->kernels[1].ns, 20);
	CU_ASSERT_EQUAL(t->kernels[0].first, 0);
	CU_ASSERT_EQUAL(t->kernels[1].first, 2);
	CU_ASSERT_EQUAL(t->kernels[2].first, 4);
	CU_ASSERT_EQUAL(t->uses[0].tensor, 0);
	CU_ASSERT_EQUAL(t->uses[0].how, ANNEX_USE_READ);
	CU_ASSERT_EQUAL(t->uses[1].tensor, 1);
	CU_ASSERT_EQUAL(t->uses[1].how, ANNEX_USE_WRITE);
	annex_trace_free(t);
}

static void ids_in_any_order(void)
{
	struct annex_trace *t, *sorted;

	CU_ASSERT_EQUAL_FATAL(parse(HEAD KERNELS(K0) "," TENSORS(T1 "," T0) "}", &t), 0);
	CU_ASSERT_EQUAL_FATAL(parse(HEAD TENSORS(T0 "," T1) "," KERNELS(K0) "}", &sorted), 0);
	CU_ASSERT_EQUAL(t->tensors[0].bytes, 4096);
	CU_ASSERT_EQUAL(t->tensors[1].bytes, 8192);
	CU_ASSERT_EQUAL(annex_trace_hash(t), annex_trace_hash(sorted));
	annex_trace_free(t);
	annex_trace_free(sorted);
}

static void uses_are_merged(void)
{
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(parse(HEAD TENSORS(T0 "," T1) "," KERNELS("{\"ns\":0,\"in\":[1,0,1],"
									"\"out\":[0,0]}") "}",
				    &t),
			      0);
	CU_ASSERT_PTR_NULL(t->kernels[0].name);
	CU_ASSERT_EQUAL(t->n_uses, 2);
	CU_ASSERT_EQUAL(t->kernels[1].first, 2);
	CU_ASSERT_EQUAL(t->uses[0].tensor, 1);
	CU_ASSERT_EQUAL(t->uses[0].how, ANNEX_USE_READ);
	CU_ASSERT_EQUAL(t->uses[1].tensor, 0);
	CU_ASSERT_EQUAL(t->uses[1].how, ANNEX_USE_READ | ANNEX_USE_WRITE);
	annex_trace_free(t);
}

/* Lifetimes that follow from the uses may be omitted, which gives an equal trace. */
static void implied_lives(void)
{
	struct annex_trace *t, *plain;

	CU_ASSERT_EQUAL_FATAL(
		parse(HEAD TENSORS(T0 ",{\"id\":1,\"bytes\":8192,\"global\":false,"
				      "\"birth\":0,\"death\":1}") "," KERNELS(K0 "," K1
										 ",{\"ns\":1}") "}",
		      &t),
		0);
	CU_ASSERT_EQUAL_FATAL(
		parse(HEAD TENSORS(T0 "," T1) "," KERNELS(K0 "," K1 ",{\"ns\":1}") "}", &plain), 0);
	CU_ASSERT_EQUAL(t->tensors[1].birth, ANNEX_KERNEL_NONE);
	CU_ASSERT_EQUAL(t->tensors[1].death, ANNEX_KERNEL_NONE);
	CU_ASSERT_EQUAL(annex_trace_hash(t), annex_trace_hash(plain));
	annex_trace_free(plain);
	annex_trace_free(t);
}

/* A trace of two tensors and the kernels K0 and K1, of which one thing is another. */
static uint64_t hash_with(uint64_t bytes, bool global, uint64_t ns, uint32_t used, const char *name)
{
	struct annex_tensor weight = {.name = (char *)name, .bytes = bytes, .global = true};
	struct annex_tensor other = {.bytes = 7,
				     .birth = ANNEX_KERNEL_NONE,
				     .death = ANNEX_KERNEL_NONE,
				     .role = name ? ANNEX_ROLE_INPUT : ANNEX_ROLE_NONE,
				     .global = global};
	struct annex_trace *t;
	uint64_t hash;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(name, NULL, 0, &t), 0);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &weight), 0);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &other), 1);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, name, ns, &used, 1, NULL, 0), 0);
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	hash = annex_trace_hash(t);
	annex_trace_free(t);
	return hash;
}

static void hash_of_what_matters(void)
{
	uint64_t hash = hash_with(4096, false, 10, 0, NULL);

	CU_ASSERT_EQUAL(hash, hash_with(4096, false, 10, 0, "named"));
	CU_ASSERT_NOT_EQUAL(hash, hash_with(4097, false, 10, 0, NULL));
	CU_ASSERT_NOT_EQUAL(hash, hash_with(4096, true, 10, 0, NULL));
	CU_ASSERT_NOT_EQUAL(hash, hash_with(4096, false, 11, 0, NULL));
	CU_ASSERT_NOT_EQUAL(hash, hash_with(4096, false, 10, 1, NULL));
}

/* Read, written and read again; the hash is that of the trace without the times. */
static void times_with_page_faults(void)
{
	struct annex_trace *plain, *t, *again;
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	CU_ASSERT_EQUAL_FATAL(
		parse(HEAD TENSORS(T0) "," KERNELS("{\"ns\":3},{\"ns\":0}") "}", &plain), 0);
	CU_ASSERT_EQUAL_FATAL(parse(HEAD TENSORS(T0) "," KERNELS("{\"ns\":3,\"fault_ns\":3},"
								 "{\"ns\":0,\"fault_ns\":7}") "}",
				    &t),
			      0);
	f = open_memstream(&text, &len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(annex_trace_write(t, f), 0);
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(annex_trace_parse(text, len, &again), 0);
	CU_ASSERT_EQUAL(plain->kernels[0].fault_ns, 0);
	CU_ASSERT_EQUAL(again->kernels[0].fault_ns, 3);
	CU_ASSERT_EQUAL(again->kernels[1].fault_ns, 7);
	CU_ASSERT_EQUAL(annex_trace_hash(t), annex_trace_hash(plain));
	CU_ASSERT_EQUAL(annex_trace_set_fault_ns(t, 8), -EINVAL);
	annex_trace_free(plain);
	annex_trace_free(t);
	annex_trace_free(again);
	free(text);
}

struct refusal {
	const char *text, *line;
};

static void refused(const struct refusal *r, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct annex_trace *t = (struct annex_trace *)&t;
		int err = parse(r[i].text, &t);
		const char *line = annex_last_error();

		if (err != -EINVAL || !strstr(line, r[i].line))
			fprintf(stderr, "%s\n  gives %d: %s\n", r[i].text, err, line);
		CU_ASSERT_EQUAL(err, -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(line, r[i].line));
		CU_ASSERT_PTR_NULL(strchr(line, '\n'));
		CU_ASSERT_PTR_NULL(t);
	}
}

#define REFUSED(list) refused(list, sizeof(list) / sizeof((list)[0]))
#define ONE_TENSOR(members) HEAD TENSORS("{" members "}") "," KERNELS("{\"ns\":1}") "}"
#define ONE_KERNEL(members) HEAD TENSORS(T0 "," T1) "," KERNELS("{" members "}") "}"

static void bad_files(void)
{
	static const struct refusal list[] = {
		{"", "line 1, column 1: '{' expected near end of file"},
		{"[]", "line 1, column 1: '{' expected"},
		{"{}", "no trace"},
		{"{\"format\":\"annex-trace/2\"}", "no trace"},
		{"{\"format\":1}", "no trace"},
		{HEAD TENSORS(T0), "line 1, column"},
		{HEAD TENSORS(T0) ",\n" KERNELS(K0),
		 "line 2, column 58: ',' or '}' expected near end of file"},
		{HEAD TENSORS(T0) "," KERNELS(K0) "} x", "end of file expected"},
		{HEAD "\"batch\":1,\"batch\":1}", "trace: \"batch\" appears twice"},
		{HEAD "\"x\":\"\xff\"}", "line 1"},
		{HEAD "\"x\":99999999999999999999}", "too big integer"},
		{HEAD "\"x\":NaN}", "line 1"},
		{HEAD "\"x\":\"a\\\n\"}", "line 2, column 0: invalid escape"},
		{HEAD "\n\"model\":\"\u00fc\"\n,\n\"\u00fc\" 1}", "line 4, column 5: ':' expected"},
		{HEAD "model:1}", "line 1, column 27: a key expected"},
		{HEAD "}", "a key expected"},
		{"{\"format\":\"annex-trace/1\" \"model\":1}", "line 1, column 27: ',' or '}'"},
		{HEAD TENSORS(T0 " " T1) "}", "',' or ']' expected"},
		{HEAD TENSORS(T0 ",") "}", "line 1, column 74: unexpected token"},
		{HEAD "\n" TENSORS("{\"id\":0,\n\"id\":0}"),
		 "line 3, column 4: duplicate object key"},
		{HEAD "\"kernel\":[]}", "trace: unknown key \"kernel\""},
		{HEAD "\"a\\nb\":1}", "trace: unknown key \"a?b\""},
		{"{\"a\\nb\":1,\"a\\nb\":1}", "trace: \"a?b\" appears twice"},
		{HEAD "\"a\":\"\\u0000\"}", "a string holds a zero byte"},
		{HEAD "\"model\":1}", "trace: \"model\" is not a string"},
		{HEAD "\"batch\":-1}", "trace: \"batch\" is -1, not 0 to"},
		{HEAD "\"batch\":2.0}", "trace: \"batch\" is not an integer"},
		{HEAD KERNELS(K0) "}", "trace: \"tensors\" is missing"},
		{HEAD TENSORS(T0) "}", "trace: \"kernels\" is missing"},
		{HEAD TENSORS(T0) ",\"kernels\":{}}", "line 1, column 85: '[' expected"},
		{HEAD "\"tensors\":3," KERNELS(K0) "}", "line 1, column 37: '[' expected"},
		{HEAD TENSORS(T0) "," KERNELS() "}", "the trace has no kernels"},
	};

	REFUSED(list);
}

static void bad_tensors(void)
{
	static const struct refusal list[] = {
		{HEAD TENSORS("7") "," KERNELS(K0) "}", "tensors[0] is not an object"},
		{HEAD TENSORS(T0 ",{\"bytes\":1}") "," KERNELS(K0) "}",
		 "tensors[1]: \"id\" is missing"},
		{HEAD TENSORS(T0 "," T0) "," KERNELS(K0) "}", "tensor 0 appears twice"},
		{HEAD TENSORS(T1) "," KERNELS(K0) "}", "tensor 1: there are 1 tensors, 0 to 0"},
		{ONE_TENSOR("\"id\":-1"), "tensors[0]: \"id\" is -1"},
		{ONE_TENSOR("\"id\":0.5"), "tensors[0]: \"id\" is not an integer"},
		{ONE_TENSOR("\"id\":0,\"global\":true"), "tensor 0: \"bytes\" is missing"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1"), "tensor 0: \"global\" is missing"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1,\"global\":1"),
		 "tensor 0: \"global\" is neither true nor false"},
		{ONE_TENSOR("\"id\":0,\"bytes\":0,\"global\":true"),
		 "tensor 0: \"bytes\" is 0, not 1 to"},
		{ONE_TENSOR("\"id\":0,\"bytes\":-1,\"global\":true"), "tensor 0: \"bytes\" is -1"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1e9,\"global\":true"),
		 "tensor 0: \"bytes\" is not an integer"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1125899906842625,\"global\":true"),
		 "tensor 0: \"bytes\" is 1125899906842625, not 1 to 1125899906842624"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1,\"global\":true,\"size\":1"),
		 "tensor 0: unknown key \"size\""},
		{ONE_TENSOR("\"id\":0,\"bytes\":1,\"global\":true,\"role\":\"wheel\""),
		 "tensor 0: \"role\" is none of weight,"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1,\"global\":true,\"name\":[]"),
		 "tensor 0: \"name\" is not a string"},
		{ONE_TENSOR("\"id\":0,\"bytes\":1,\"global\":true,\"death\":0"),
		 "tensor 0: \"death\" is not for global tensors"},
	};

	REFUSED(list);
}

static void bad_kernels(void)
{
	static const struct refusal list[] = {
		{HEAD TENSORS() "," KERNELS("[]") "}", "kernel 0 is not an object"},
		{ONE_KERNEL("\"name\":\"x\""), "kernel 0 (x): \"ns\" is missing"},
		{ONE_KERNEL("\"ns\":-5"), "kernel 0: \"ns\" is -5"},
		{ONE_KERNEL("\"ns\":1.5"), "kernel 0: \"ns\" is not an integer"},
		{ONE_KERNEL("\"ns\":9007199254740993"), "kernel 0: \"ns\" is 9007199254740993"},
		{ONE_KERNEL("\"ns\":3,\"fault_ns\":2"),
		 "kernel 0: \"fault_ns\" is 2, not 3 to 9007199254740992"},
		{ONE_KERNEL("\"ns\":3,\"fault_ns\":9007199254740993"),
		 "kernel 0: \"fault_ns\" is 9007199254740993"},
		{ONE_KERNEL("\"ns\":3,\"fault_ns\":\"4\""),
		 "kernel 0: \"fault_ns\" is not an integer"},
		{ONE_KERNEL("\"ns\":1,\"name\":7"), "kernel 0: \"name\" is not a string"},
		{ONE_KERNEL("\"ns\":1,\"inn\":[]"), "kernel 0: unknown key \"inn\""},
		{ONE_KERNEL("\"ns\":1,\"in\":1"), "kernel 0: \"in\" is not an array"},
		{ONE_KERNEL("\"ns\":1,\"in\":[0,null]"), "kernel 0: \"in\" holds something"},
		{ONE_KERNEL("\"ns\":1,\"out\":[0,1.0]"), "kernel 0: \"out\" holds something"},
		{ONE_KERNEL("\"name\":\"a\\nb\",\"ns\":1,\"out\":[2]"),
		 "kernel 0 (a?b): tensor 2 does not exist (there are 2)"},
		{HEAD TENSORS(T0 "," T1) "," KERNELS(K0 ",{\"name\":\"Conv2d_Forward\",\"ns\":1,"
							"\"in\":[4711]}") "}",
		 "kernel 1 (Conv2d_Forward): tensor 4711 does not exist (there are 2)"},
		{ONE_KERNEL("\"ns\":1,\"in\":[4294967296]"), "kernel 0: tensor 4294967296 does"},
		{ONE_KERNEL("\"ns\":1,\"in\":[-1]"), "kernel 0: tensor -1 does not exist"},
	};

	REFUSED(list);
}

/* Tensor 1 is used by the kernels 0 and 1 of three; tensor 2 by none. */
#define LIVES(one, two)                                                                            \
	HEAD TENSORS(T0 ",{\"id\":1,\"bytes\":1,\"global\":false" one                              \
			"},{\"id\":2,\"bytes\":1,\"global\":false" two                             \
			"}") "," KERNELS(K0 "," K1 ",{\"ns\":1}") "}"

static void bad_lives(void)
{
	static const struct refusal list[] = {
		{LIVES(",\"birth\":1", ""),
		 "tensor 1: used by kernel 0 (forward) before its birth at kernel 1"},
		{LIVES(",\"death\":0", ""),
		 "tensor 1: used by kernel 1 (backward) after its death at kernel 0"},
		{LIVES("", ",\"birth\":2,\"death\":1"),
		 "tensor 2: dies at kernel 1 before it is born at kernel 2"},
		{LIVES(",\"death\":3", ""), "tensor 1: dies at kernel 3, but there are 3 kernels"},
		{LIVES("", ",\"birth\":3"), "tensor 2: born at kernel 3, but there are 3 kernels"},
		{LIVES("", ",\"birth\":2"), "tensor 2: born and never dies"},
		{LIVES("", ",\"death\":2"), "tensor 2: dies and is never born"},
		{LIVES("", ",\"birth\":-1"), "tensor 2: \"birth\" is -1"},
		{LIVES("", ",\"birth\":4294967295"), "tensor 2: \"birth\" is 4294967295"},
	};

	REFUSED(list);
}

/* Sums beyond the limits, each of whose terms is allowed. */
static void sums_overflow(void)
{
	struct annex_tensor half = {.bytes = ANNEX_TRACE_MAX_BYTES / 2, .global = true};
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &half), 0);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &half), 1);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &half), -E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "tensor 2: "));
	half.bytes = UINT64_MAX;
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &half), -E2BIG);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "a", ANNEX_TRACE_MAX_NS, NULL, 0, NULL, 0), 0);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "b", 1, NULL, 0, NULL, 0), -E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "kernel 1 (b): "));
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "c", UINT64_MAX, NULL, 0, NULL, 0), -E2BIG);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "d", 0, NULL, ANNEX_TRACE_MAX_USES, NULL, 1),
			-E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "kernel 1 (d): "));
	annex_trace_free(t);
}

/* The same in a file, where the tensor that is too much has another id than place. */
static void sums_overflow_in_files(void)
{
	struct annex_trace *t;

	CU_ASSERT_EQUAL(parse(HEAD TENSORS("{\"id\":2,\"bytes\":562949953421312,\"global\":true},"
					   "{\"id\":1,\"bytes\":562949953421312,\"global\":true},"
					   "{\"id\":0,\"bytes\":1,\"global\":true}") "}",
			      &t),
			-E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "tensor 0: "));
	CU_ASSERT_EQUAL(parse(HEAD KERNELS("{\"ns\":1},{\"ns\":9007199254740992}") "}", &t),
			-E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "kernel 1: "));
	CU_ASSERT_PTR_NULL(t);
}

static void building(void)
{
	const struct annex_tensor empty = {.global = true}, good = {.bytes = 1, .global = true};
	const struct annex_tensor odd = {.bytes = 1, .role = ANNEX_ROLES};
	const struct annex_tensor alien = {.name = "\xc3(", .bytes = 1};
	const uint32_t later = 1;
	struct annex_trace *t;

	CU_ASSERT_EQUAL(annex_trace_create("\xff", NULL, 0, &t), -EINVAL);
	CU_ASSERT_PTR_NULL(t);
	CU_ASSERT_EQUAL_FATAL(annex_trace_create("m", "d", 1, &t), 0);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &empty), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &odd), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &alien), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "\xed\xa0\x80", 1, NULL, 0, NULL, 0), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_set_fault_ns(t, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_finish(t), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "no kernels"));
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &good), 0);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "k", 1, &later, 1, NULL, 0), 0);
	CU_ASSERT_EQUAL(annex_trace_set_fault_ns(t, 0), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_set_fault_ns(t, ANNEX_TRACE_MAX_NS + 1), -E2BIG);
	CU_ASSERT_EQUAL(annex_trace_set_fault_ns(t, 1), 0);
	/* Tensors may follow the kernels that use them. */
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &good), 1);
	CU_ASSERT_EQUAL(annex_trace_finish(t), 0);
	CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &good), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "k", 1, NULL, 0, NULL, 0), -EINVAL);
	CU_ASSERT_EQUAL(annex_trace_finish(t), -EINVAL);
	annex_trace_free(t);
	annex_trace_free(NULL);
}

static void missing_tensor_is_found_at_the_end(void)
{
	const uint32_t missing = 9;
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(NULL, NULL, 0, &t), 0);
	CU_ASSERT_EQUAL(annex_trace_add_kernel(t, "k", 1, NULL, 0, &missing, 1), 0);
	CU_ASSERT_EQUAL(annex_trace_finish(t), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "kernel 0 (k): tensor 9 does not"));
	annex_trace_free(t);
}

static void deep_nesting(void)
{
	static const char unit[] = "{\"x\":[";
	size_t len = 1u << 20;
	char *text = malloc(len);
	struct annex_trace *t;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	for (size_t i = 0; i < len; i++)
		text[i] = unit[i % (sizeof(unit) - 1)];
	CU_ASSERT_EQUAL(annex_trace_parse(text, len, &t), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "depth"));
	free(text);
}

static void endless_value(void)
{
	static const char begin[] = HEAD "\"model\":\"";
	size_t len = 17u << 20;
	char *text = malloc(len);
	struct annex_trace *t;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, 'x', len);
	memcpy(text, begin, sizeof(begin) - 1);
	CU_ASSERT_EQUAL(annex_trace_parse(text, len, &t), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "more than 16 MiB"));
	free(text);
}

static struct annex_trace *random_trace(uint64_t *seed)
{
	static const char *const names[] = {
		NULL, "", "conv", "\"\\/\b\n\t\x01", "gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x90\x98"};
	uint32_t tensors = 1 + (uint32_t)(random_next(seed) % 40);
	uint32_t kernels = 1 + (uint32_t)(random_next(seed) % 60);
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_create(names[random_next(seed) % 6],
						 names[random_next(seed) % 6],
						 random_next(seed) % 3, &t),
			      0);
	for (uint32_t i = 0; i < tensors; i++) {
		struct annex_tensor tensor = {
			.name = (char *)names[random_next(seed) % 6],
			.bytes = 1 + random_next(seed) % (1ull << 40),
			.birth = random_next(seed) % 2 ? ANNEX_KERNEL_NONE : 0,
			.role = (uint8_t)(random_next(seed) % ANNEX_ROLES),
			.global = random_next(seed) % 3 == 0,
		};

		tensor.death = tensor.birth ? ANNEX_KERNEL_NONE : kernels - 1;
		CU_ASSERT_EQUAL(annex_trace_add_tensor(t, &tensor), (int)i);
	}
	for (uint32_t k = 0; k < kernels; k++) {
		unsigned int n_in = random_next(seed) % 5, n_out = random_next(seed) % 4;
		uint32_t ids[8];

		for (unsigned int i = 0; i < n_in + n_out; i++)
			ids[i] = (uint32_t)(random_next(seed) % t->n_tensors);
		CU_ASSERT_EQUAL(annex_trace_add_kernel(t, names[random_next(seed) % 6],
						       random_next(seed) % 100000, ids, n_in,
						       ids + n_in, n_out),
				0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_trace_finish(t), 0);
	return t;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same(const struct annex_trace *a, const struct annex_trace *b)
{
	bool equal = same_text(a->model, b->model) && same_text(a->device, b->device) &&
		     a->batch == b->batch && a->n_tensors == b->n_tensors &&
		     a->n_kernels == b->n_kernels && a->n_uses == b->n_uses;

	for (uint32_t i = 0; i < a->n_tensors && equal; i++) {
		const struct annex_tensor *x = &a->tensors[i], *y = &b->tensors[i];

		equal = same_text(x->name, y->name) && x->bytes == y->bytes &&
			x->birth == y->birth && x->death == y->death && x->role == y->role &&
			x->global == y->global;
	}
	for (uint32_t i = 0; i < a->n_kernels && equal; i++)
		equal = same_text(a->kernels[i].name, b->kernels[i].name) &&
			a->kernels[i].ns == b->kernels[i].ns &&
			a->kernels[i + 1].first == b->kernels[i + 1].first;
	return equal && !memcmp(a->uses, b->uses, a->n_uses * sizeof(*a->uses));
}

static void round_trip(void)
{
	uint64_t seed = random_seed("round trip");

	for (int i = 0; i < 300; i++) {
		struct annex_trace *t = random_trace(&seed), *again = NULL;
		size_t len = 0;
		char *text = NULL;
		FILE *f = open_memstream(&text, &len);

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(annex_trace_write(t, f), 0);
		fclose(f);
		CU_ASSERT_EQUAL_FATAL(annex_trace_parse(text, len, &again), 0);
		CU_ASSERT_TRUE(same(t, again));
		CU_ASSERT_EQUAL(annex_trace_hash(t), annex_trace_hash(again));
		annex_trace_free(again);
		annex_trace_free(t);
		free(text);
	}
}

/* Every prefix of a file is a file that was cut off. */
static void truncated(void)
{
	static const char text[] = HEAD TENSORS(T0 "," T1) "," KERNELS(K0 "," K1) "}";
	struct annex_trace *t;

	for (size_t len = 0; len + 1 < sizeof(text); len++) {
		CU_ASSERT_EQUAL(annex_trace_parse(text, len, &t), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "line 1, column"));
	}
	CU_ASSERT_EQUAL_FATAL(annex_trace_parse(text, sizeof(text) - 1, &t), 0);
	annex_trace_free(t);
}

static void files(void)
{
	uint64_t seed = random_seed("files");
	struct annex_trace *t = random_trace(&seed), *again = NULL;
	char path[64], pipe_path[64];
	int ends[2];
	FILE *f, *full = fopen("/dev/full", "we");
	int fd = memfd_create("trace", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	f = fdopen(dup(fd), "we");
	CU_ASSERT_EQUAL(annex_trace_write(t, f), 0);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CU_ASSERT_EQUAL_FATAL(annex_trace_read(path, &again), 0);
	CU_ASSERT_TRUE(same(t, again));
	annex_trace_free(again);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	f = fdopen(ends[1], "we");
	CU_ASSERT_EQUAL(annex_trace_write(t, f), 0);
	fclose(f);
	snprintf(pipe_path, sizeof(pipe_path), "/proc/self/fd/%d", ends[0]);
	CU_ASSERT_EQUAL_FATAL(annex_trace_read(pipe_path, &again), 0);
	CU_ASSERT_TRUE(same(t, again));
	annex_trace_free(again);
	close(ends[0]);
	/* Too long is refused before it is read: these are zeroes, and would be no JSON. */
	CU_ASSERT_EQUAL(ftruncate(fd, 1ll << 40), 0);
	CU_ASSERT_EQUAL(annex_trace_read(path, &again), -E2BIG);
	close(fd);
	CU_ASSERT_EQUAL(annex_trace_read("nowhere.json", &again), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "No such file"));
	CU_ASSERT_EQUAL(annex_trace_read(".", &again), -EISDIR);
	CU_ASSERT_PTR_NULL(again);
	if (full) {
		CU_ASSERT_EQUAL(annex_trace_write(t, full), -EIO);
		CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "No space"));
		fclose(full);
	}
	annex_trace_free(t);
}

static void roles(void)
{
	CU_ASSERT_STRING_EQUAL(annex_role_name(ANNEX_ROLE_NONE), "");
	CU_ASSERT_STRING_EQUAL(annex_role_name(ANNEX_ROLE_OPTIMIZER), "optimizer");
	CU_ASSERT_STRING_EQUAL(annex_role_name(ANNEX_ROLES), "");
	for (unsigned int r = 0; r < ANNEX_ROLES; r++)
		CU_ASSERT_PTR_NOT_NULL(annex_role_name(r));
}

UNIT_SUITE(trace, {"a trace is read", what_is_read}, {"ids in any order", ids_in_any_order},
	   {"a tensor appears once in a kernel", uses_are_merged},
	   {"births and deaths that follow from uses", implied_lives},
	   {"the hash counts what plans depend on", hash_of_what_matters},
	   {"times with page faults", times_with_page_faults},
	   {"bad files are refused with a line", bad_files}, {"bad tensors are named", bad_tensors},
	   {"bad kernels are named", bad_kernels}, {"impossible lives are named", bad_lives},
	   {"sums that overflow", sums_overflow},
	   {"sums that overflow in files", sums_overflow_in_files}, {"building a trace", building},
	   {"a tensor that never came", missing_tensor_is_found_at_the_end},
	   {"deep nesting is refused", deep_nesting},
	   {"a value without end is refused", endless_value},
	   {"a written trace reads back equal", round_trip},
	   {"every truncated file is refused", truncated}, {"files", files}, {"roles", roles})
