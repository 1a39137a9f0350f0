// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex ndp run: run a user-mode program.
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/models/riscv.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"

struct run_opts {
	uint32_t vlen;
	uint64_t budget;
	bool json;
};

static int set_vlen(void *vlen, const char *opt, char *arg)
{
	uint32_t v = 0;
	int err = cli_u32(opt, arg, 128, 1024, &v);

	*(uint32_t *)vlen = v;
	return err || !(v & (v - 1))
		       ? err
		       : err_set(-EINVAL, "%s %s: choose one of 128, 256, 512, 1024", opt, arg);
}

static const struct cli_option options[] = {
	{"vlen", 0, "BITS", 0, OPT_CALL_AT(struct run_opts, vlen, set_vlen),
	 "Bits of a vector register: 128, 256, 512 or 1024 (256)"},
	{"budget", 0, "N", 0, OPT_SIZE(struct run_opts, budget, 1, UINT64_MAX),
	 "Maximum number of instructions (no limit)"},
	CLI_JSON(struct run_opts, json),
	{0}};

static const char doc[] =
	"Run a simple static program for RV64 (IMAFDC, Zicsr, Zicntr, Zifencei, Zba, Zbb, Zfh, V, "
	"Zvfh) on one hart of the near-data processor. Its system calls are exit, write and brk; "
	"any other one ends it. The exit status is the program's, or 128 and the number of the "
	"signal that ended it: SIGSEGV, SIGILL, SIGSYS for a system call, SIGXCPU when the budget "
	"is used up.\n\n"
	"Arguments after the program's name are the program's. With --json, stdout has the report, "
	"and output of the program goes to stderr."
	"\vExample:\n"
	"  riscv64-linux-gnu-gcc -static -nostdlib -O2 hello.c -o hello\n"
	"  annex ndp run --vlen 512 hello world";

/* Options after the program's name belong to the program. */
static int find_program(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "--vlen") || !strcmp(argv[i], "--budget"))
			i++;
	}
	return i;
}

static int report(const struct annex_rv_result *r, const char *path)
{
	const char *name = sigabbrev_np(r->signal);
	char text[32];
	struct out out;

	out_init(&out, cli_name(), true);
	out_text(&out, "program", "program", path);
	out_count(&out, "status", "status", (uint64_t)r->status);
	snprintf(text, sizeof(text), "SIG%s", name ? name : "RT");
	out_json(&out, "signal", r->signal ? json_string(text) : json_null());
	snprintf(text, sizeof(text), "0x%llx", (ull)r->pc);
	out_text(&out, "pc", "pc", text);
	out_count(&out, "instructions", "instructions", r->instructions);
	return out_end(&out);
}

int ndp_run(int argc, char **argv)
{
	static const struct cli_line line = {
		.options = options, .args = "PROG.elf [ARG]...", .doc = doc};
	struct run_opts o = {0};
	struct annex_rv_opts opts = {.out = STDOUT_FILENO, .err = STDERR_FILENO};
	struct annex_rv_result result;
	int at = find_program(argc, argv), err;

	err = cli_parse(&line, at < argc ? at : argc, argv, &o);
	if (err)
		return err;
	if (at >= argc)
		return err_set(-EINVAL, "name a program");
	opts.vlen = o.vlen;
	opts.budget = o.budget;
	if (o.json)
		opts.out = STDERR_FILENO;
	err = annex_rv_run(argv[at], argv + at, &opts, &result);
	if (err)
		err_lib(err, "%s", argv[at]);
	if (err && !result.signal)
		return err;
	if (o.json && report(&result, argv[at]))
		return -EIO;
	/* main() has no exit status of a program. */
	if (err)
		fprintf(stderr, "%s: %s\n", cli_name(), err_text());
	if (result.status) {
		fflush(stdout);
		exit(result.status);
	}
	return 0;
}
