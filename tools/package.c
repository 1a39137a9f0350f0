// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands of the models in a program without them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/commands.h"
#include "tools/common/error.h"

#define RANGE "cxlssd:"

/* Become the program of that name, which lies where this one does. */
static int become(const char *name, char **argv)
{
	static char copy[32];
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(copy));

	if (n < 0)
		return err_sys("/proc/self/exe");
	path[n] = '\0';
	argv[0] = strcpy(copy, name);
	strcpy(strrchr(path, '/') + 1, name);
	execv(path, argv);
	if (errno == ENOENT)
		return err_set(-ENOENT, "this needs the package annex-models (there is no %s)",
			       path);
	return err_sys("%s", path);
}

int cmd_cxl(int argc, char **argv)
{
	(void)argc;
	return become("annex-cxl", argv);
}

int cmd_fs(int argc, char **argv)
{
	(void)argc;
	return become("annex-fs", argv);
}

int cmd_ndp(int argc, char **argv)
{
	(void)argc;
	return become("annex-ndp", argv);
}

int cmd_query(int argc, char **argv)
{
	(void)argc;
	return become("annex-query", argv);
}

int package_range(char **argv)
{
	for (char **word = argv; *word; word++) {
		const char *at = strstr(*word, RANGE);

		if (at && (at == *word || at[-1] == '='))
			return become("annex-models", argv);
	}
	return 0;
}
