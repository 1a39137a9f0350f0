// SPDX-License-Identifier: MIT
#include "tests.h"

extern const void *const test_entries[];

int tests_runner(int device, struct runner **out)
{
	int err = runner_open(device, out);

	if (!err)
		(*out)->more = test_entries;
	return err;
}
