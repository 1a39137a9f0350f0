// SPDX-License-Identifier: MIT
/*
 * Runs every registered suite, or only those named on the command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>
#include "unit.h"

static struct unit_suite *suites;

void unit_register(struct unit_suite *suite)
{
	suite->next = suites;
	suites = suite;
}

const char *unit_device(void)
{
	const char *uri = getenv("ANNEX_TEST_DEVICE");

	return uri ? uri : "mem:1M";
}

static int wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc < 2;
}

/* The command that repeats each suite with a failure. */
static void print_repeats(const char *program)
{
	const char *seed = getenv("ANNEX_SEED");
	CU_pSuite last = NULL;

	for (CU_pFailureRecord f = CU_get_failure_list(); f; f = f->pNext) {
		if (!f->pSuite || f->pSuite == last)
			continue;
		last = f->pSuite;
		printf("repeat: %s%s%s%s %s\n", seed ? "ANNEX_SEED=" : "", seed ? seed : "",
		       seed ? " " : "", program, last->pName);
	}
}

int main(int argc, char **argv)
{
	unsigned int failed, ran;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	for (struct unit_suite *s = suites; s; s = s->next) {
		CU_pSuite suite;

		if (!wanted(s->name, argc, argv))
			continue;
		suite = CU_add_suite(s->name, NULL, NULL);
		for (const struct unit_test *t = s->tests; suite && t->name; t++)
			if (!CU_add_test(suite, t->name, t->run))
				suite = NULL;
		if (!suite) {
			fprintf(stderr, "unit: cannot register suite %s\n", s->name);
			return 2;
		}
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	print_repeats(argv[0]);
	failed = CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	CU_cleanup_registry();
	return failed || !ran;
}
