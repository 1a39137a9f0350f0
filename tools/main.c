// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex: work on data larger than memory, straight from storage.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/mapping.h>
#include "cleanup.h"
#include "cli.h"
#include "commands.h"
#include "error.h"
#include "progress.h"
#include "warn.h"

static const struct cli_command commands[] = {
	{"graph", cmd_graph, "make graphs, import them, and search them on storage"},
	{"scan", cmd_scan, "sum columns where another column passes a filter"},
	{"query", cmd_query, "answer TPC-H and SSB queries, filters evaluated near the data"},
	{"trace", cmd_trace, "show and make traces of training iterations"},
	{"plan", cmd_plan, "plan when each tensor leaves the GPU and when it returns"},
	{"simulate", cmd_simulate, "say how fast a plan or a policy runs, and what bounds it"},
	{"train", cmd_train, "train a small GPT with less memory than its tensors take"},
	{"vadd", cmd_vadd, "add two vectors on storage into a third"},
	{"copy", cmd_copy, "write a file's image to devices, striped or replicated"},
	{"verify", cmd_verify, "write patterns to a device and check that they come back"},
	{"ndp", cmd_ndp, "run programs on a near-data processor in software"},
	{"cxl", cmd_cxl, "run programs on simulated memory of CXL-SSDs"},
	{"fs", cmd_fs, "file systems on CXL-SSDs"},
	{"serve", cmd_serve, "give many processes parts of one device, without rights on it"},
	{"part", cmd_part, "make such parts, change and remove them"},
	{"bench", cmd_bench, "measure how fast devices, memory ranges and GPU threads are"},
	{"list", cmd_list, "show NVMe controllers and CXL memory devices, and who uses them"},
	{"bind", cmd_bind, "hand NVMe controllers and CXL memory to the kernel module annex"},
	{"unbind", cmd_unbind, "give them back to the kernel's own driver"},
	{"doctor", cmd_doctor, "tell what this machine lacks for each kind of device"},
	{"selftest", cmd_selftest, "check the library here, against plain computations"},
	{NULL, NULL, NULL}};

int main(int argc, char **argv)
{
	int err;

	cleanup_init();
	annex_mapping_catch(); /* a file that is truncated is an error, and no end of the program */
	warn_init();
	if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		puts("annex " ANNEX_VERSION);
		err = CLI_HELP;
	} else {
		err = cli_dispatch(commands,
				   "Work on data larger than memory, straight from storage.", argc,
				   argv);
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
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
