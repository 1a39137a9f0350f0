// SPDX-License-Identifier: MIT
/*
 * Runs every registered suite, or only those on the command line: SUITE, or SUITE/TEST for one
 * test.
 */
#include <errno.h>
#include <stdbool.h>
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

static bool wanted(const char *suite, const char *test, int argc, char **argv)
{
	size_t n = strlen(suite);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], suite, n) &&
		    (!argv[i][n] || (argv[i][n] == '/' && !strcmp(argv[i] + n + 1, test))))
			return true;
	return argc < 2;
}

/* -EINVAL, with a line, where no suite or test has this name. */
static int check_name(char *name)
{
	for (struct unit_suite *s = suites; s; s = s->next)
		for (const struct unit_test *t = s->tests; t->name; t++)
			if (wanted(s->name, t->name, 2, (char *[]){NULL, name}))
				return 0;
	fprintf(stderr, "unit: there is no suite or test %s\n", name);
	return -EINVAL;
}

/* Register the wanted tests of a suite. -ENOMEM, with a line. */
static int add_suite(const struct unit_suite *s, int argc, char **argv)
{
	CU_pSuite suite = NULL;

	for (const struct unit_test *t = s->tests; t->name; t++) {
		if (!wanted(s->name, t->name, argc, argv))
			continue;
		if (!suite)
			suite = CU_add_suite(s->name, NULL, NULL);
		if (!suite || !CU_add_test(suite, t->name, t->run)) {
			fprintf(stderr, "unit: cannot register suite %s\n", s->name);
			return -ENOMEM;
		}
	}
	return 0;
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

	/* Unbuffered, so that the log names a test that never ends. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	for (int i = 1; i < argc; i++)
		if (check_name(argv[i]))
			return 2;
	for (struct unit_suite *s = suites; s; s = s->next)
		if (add_suite(s, argc, argv))
			return 2;
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	print_repeats(argv[0]);
	failed = CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	CU_cleanup_registry();
	return failed || !ran;
}
