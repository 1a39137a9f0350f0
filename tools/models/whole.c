// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex-models has the ranges of the models itself.
 */
#include "tools/common/commands.h"

int package_range(char **argv)
{
	(void)argv;
	return 0;
}
