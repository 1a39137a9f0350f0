// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex ndp run: a program in user mode.
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/riscv.h>
#include "../cli.h"
#include "../error.h"
#include "../out.h"
#include "ndp.h"

enum { OPT_VLEN = 256, OPT_BUDGET };

struct run_opts {
	uint32_t vlen;
	uint64_t budget;
	bool json;
};

static const struct argp_option options[] = {
	{"vlen", OPT_VLEN, "BITS", 0, "Bits of a vector register: 128, 256, 512 or 1024 (256)", 0},
	{"budget", OPT_BUDGET, "N", 0, "Instructions it may execute (any number)", 0},
	{0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->json;
		return 0;
	case OPT_VLEN:
		if (cli_u32("--vlen", arg, 128, 1024, &o->vlen))
			return EINVAL;
		return o->vlen & (o->vlen - 1)
			       ? -err_set(-EINVAL, "--vlen %s: choose one of 128, 256, 512, 1024",
					  arg)
			       : 0;
	case OPT_BUDGET:
		return -cli_size("--budget", arg, 1, UINT64_MAX, &o->budget);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};

static const char doc[] =
	"Run a static Linux program for RV64 (IMAFDC, Zicsr, Zicntr, Zifencei, Zba, Zbb, Zfh, V, "
	"Zvfh) on one hart of the near-data processor. It is alone and has no files but its output "
	"(annex_riscv(3) lists system calls). The status is the program's, or 128 and the number "
	"of "
	"the signal that ended it: SIGSEGV, SIGILL, SIGXCPU when the budget is used up.\n\n"
	"What follows the program's name are its own arguments. With --json, stdout has the report "
	"and the program's goes to stderr."
	"\vExample:\n"
	"  riscv64-linux-gnu-gcc -static -O2 hello.c -o hello\n"
	"  annex ndp run --vlen 512 hello world";

/* Options end where the program is named: those behind it are its own. */
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
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)r->pc);
	out_text(&out, "pc", "pc", text);
	out_count(&out, "instructions", "instructions", r->instructions);
	return out_end(&out);
}

int ndp_run(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "PROG.elf [ARG]...", doc, children,
					 NULL,    NULL};
	struct run_opts o = {0};
	struct annex_rv_opts opts = {.out = STDOUT_FILENO, .err = STDERR_FILENO};
	struct annex_rv_result result;
	int at = find_program(argc, argv), err;

	err = cli_parse(&argp, at < argc ? at : argc, argv, &o);
	if (err)
		return err;
	if (at >= argc)
		return err_set(-EINVAL, "which program?");
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
	/* The status is the program's own, which main() does not know. */
	if (err)
		fprintf(stderr, "%s: %s\n", cli_name(), err_text());
	if (result.status) {
		fflush(stdout);
		exit(result.status);
	}
	return 0;
}
