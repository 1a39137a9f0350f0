// SPDX-License-Identifier: MIT
/*
 * Records of iterations: the usual times of their kernels, and copies.
 */
#include <stdint.h>
#include <string.h>
#include "migrate/log.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define DRIFT 1.5
#define KERNELS 3u

/* An iteration of kernels that take so long. */
static struct iteration_log iteration(const uint64_t *ns)
{
	struct iteration_log log = {0};

	for (unsigned int k = 0; k < KERNELS; k++) {
		struct log_tensor t = {.serial = k + 7, .bytes = 4096};
		int64_t number;

		CU_ASSERT_EQUAL_FATAL(annex_log_kernel(&log, k ? "mul" : NULL), 0);
		number = annex_log_tensor(&log, &t);
		CU_ASSERT_EQUAL_FATAL(number, k);
		CU_ASSERT_EQUAL_FATAL(annex_log_use(&log, k, ANNEX_USE_READ), 0);
		log.kernels[k].ns = ns[k];
	}
	log.open = false;
	return log;
}

/* The next iteration, in which kernel 1 takes @ns. Return: its usual time. */
static uint64_t next(struct iteration_log *last, uint64_t ns)
{
	struct iteration_log log = iteration((uint64_t[KERNELS]){100, ns, 100});
	uint64_t usual;

	annex_log_follow(&log, last->n_kernels ? last : NULL, DRIFT);
	CU_ASSERT_EQUAL(log.kernels[0].usual, 100);
	CU_ASSERT_EQUAL(log.kernels[2].usual, 100);
	usual = log.kernels[1].usual;
	annex_log_clear(last);
	*last = log;
	return usual;
}

static void usual_times(void)
{
	struct iteration_log last = {0};

	CU_ASSERT_EQUAL(next(&last, 900), 900);
	CU_ASSERT_EQUAL(next(&last, 1000), 900);
	/* Twice is no change, nor is up and down. */
	CU_ASSERT_EQUAL(next(&last, 9000), 900);
	CU_ASSERT_EQUAL(next(&last, 9000), 900);
	CU_ASSERT_EQUAL(next(&last, 1000), 900);
	CU_ASSERT_EQUAL(next(&last, 9000), 900);
	CU_ASSERT_EQUAL(next(&last, 9000), 900);
	CU_ASSERT_EQUAL(next(&last, 100), 900);
	/* Three times is one, to the nearest of them. */
	CU_ASSERT_EQUAL(next(&last, 3000), 900);
	CU_ASSERT_EQUAL(next(&last, 2000), 900);
	CU_ASSERT_EQUAL(next(&last, 4000), 2000);
	CU_ASSERT_EQUAL(next(&last, 300), 2000);
	CU_ASSERT_EQUAL(next(&last, 400), 2000);
	CU_ASSERT_EQUAL(next(&last, 200), 400);
	CU_ASSERT_EQUAL(next(&last, 400), 400);
	annex_log_clear(&last);
}

/* Of two iterations, the one that was disturbed less. */
static void first_two(void)
{
	struct iteration_log last = {0};

	CU_ASSERT_EQUAL(next(&last, 9000), 9000);
	CU_ASSERT_EQUAL(next(&last, 1000), 1000);
	CU_ASSERT_EQUAL(next(&last, 990), 1000);
	annex_log_clear(&last);
}

/* Times that vary within the drift do not change the usual time. */
static void noise(void)
{
	uint64_t state = random_seed("noise");
	struct iteration_log last = {0};

	next(&last, 1000);
	next(&last, 1000);
	for (unsigned int i = 0; i < 200; i++)
		CU_ASSERT_EQUAL(next(&last, 700 + random_next(&state) % 750), 1000);
	annex_log_clear(&last);
}

static void copied(void)
{
	struct iteration_log log = iteration((uint64_t[KERNELS]){5, 6, 7}), copy, none = {0};

	annex_log_follow(&log, NULL, DRIFT);
	CU_ASSERT_EQUAL_FATAL(annex_log_copy(&copy, &log), 0);
	CU_ASSERT(annex_log_same(&log, &copy));
	CU_ASSERT_STRING_EQUAL(copy.kernels[0].name, "");
	CU_ASSERT_STRING_EQUAL(copy.kernels[1].name, "mul");
	CU_ASSERT(copy.kernels[1].name != log.kernels[1].name);
	CU_ASSERT_EQUAL(copy.kernels[2].usual, 7);
	copy.uses[2].how = ANNEX_USE_WRITE;
	CU_ASSERT(!annex_log_same(&log, &copy));
	annex_log_clear(&log);
	annex_log_clear(&copy);
	CU_ASSERT_EQUAL_FATAL(annex_log_copy(&copy, &none), 0);
	CU_ASSERT(annex_log_same(&none, &copy));
	annex_log_clear(&copy);
}

UNIT_SUITE(exec_log, {"usual times", usual_times}, {"first two", first_two}, {"noise", noise},
	   {"copied", copied})
