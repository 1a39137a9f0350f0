// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex: work on data larger than memory, straight from storage.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/log.h>
#include <annex/mapping.h>
#include "tools/common/cleanup.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/progress.h"

/* annex help graph bfs is annex graph bfs --help. */
static void put_help_last(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc < 2 || strcmp(argv[1], "help"))
		return;
	memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = option;
}

static bool is_version(const char *arg)
{
	return !strcmp(arg, "--version") || !strcmp(arg, "-V") || !strcmp(arg, "version");
}

/* annex-fs is annex fs. Return: the words, or @argv. */
static char **put_command_first(int *argc, char **argv)
{
	const struct cli_command *cmd = tool_commands;
	char *name = strrchr(argv[0], '/'), **words;

	name = name ? name + 1 : argv[0];
	if (strncmp(name, "annex-", 6))
		return argv;
	while (cmd->name && strcmp(cmd->name, name + 6))
		cmd++;
	words = cmd->name ? calloc((size_t)*argc + 2, sizeof(*words)) : NULL;
	if (!words)
		return argv;
	memcpy(words + 1, argv, (size_t)*argc * sizeof(*words));
	words[0] = argv[0];
	words[1] = name + 6;
	++*argc;
	return words;
}

static const char about[] =
	"Work on data larger than memory, straight from storage."
	"\vSizes take the suffixes K, M, G and T (powers of 1024), rates the same letters (powers\n"
	"of 1000 bytes per second). --json reports one JSON object in base units. A command that\n"
	"runs longer than a second shows its progress on a terminal.\n\n"
	"An output file gets its name when it is complete; nothing of it remains if the command\n"
	"fails or is killed. Without O_TMPFILE in the file system, it is NAME.Xyz123 until then,\n"
	"which remains after SIGKILL only. With --overwrite, vadd and copy write into the\n"
	"existing file; other commands replace it.\n\n"
	"No command reads and writes the same file or device, under any of its names. A command\n"
	"locks the file or device that it writes: other readers and writers fail until it ends.\n"
	"Readers share. Only bench block reads beside a writer.\n\n"
	"The exit status is 0, or 1 after one line on standard error that names the failure. ndp\n"
	"run and fs fsck have others: see their help. Warnings are lines on standard error and\n"
	"change neither the exit status nor standard output.\n\n"
	"Examples:\n"
	"  annex doctor\n"
	"  annex graph gen kron --scale 22 -o kron22.csr\n"
	"  annex graph cc kron22.csr --cache 64M\n"
	"  annex trace gen bert-base --batch 256 -o bert.json\n"
	"  annex simulate bert.json --policy all --gpu 24G --host 32G";

static int run(int argc, char **argv)
{
	int err = package_range(argv);

	return err ? err : cli_dispatch(tool_commands, about, argc, argv);
}

/*
 * A file or device that is opened next must not get the number of a closed standard stream, because
 * reports and messages would overwrite it. Writes to such a stream fail (EBADF).
 */
static bool fill_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	char **given = argv;
	int err;

	if (!fill_closed_streams())
		return EXIT_FAILURE;
	argv = put_command_first(&argc, argv);
	cleanup_init();
	annex_mapping_catch(); /* a file that is truncated is an error, and no end of the program */
	warn_init();
	put_help_last(argc, argv);
	if (argc == 2 && is_version(argv[1])) {
		puts("annex " ANNEX_VERSION);
		err = CLI_HELP;
	} else {
		err = run(argc, argv);
	}
	progress_end();
	/* Whatever else went wrong went wrong because of it. */
	if (err != CLI_HELP && annex_mapping_check_all()) {
		err_clear();
		err = err_mappings();
	}
	if (err == CLI_HELP)
		err = fflush(stdout) || ferror(stdout) ? err_sys("cannot write") : 0;
	if (err)
		fprintf(stderr, "%s: %s\n", cli_name(),
			*err_text() ? err_text() : annex_strerror(err));
	if (argv != given)
		free(argv);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
