/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine as options describe it: --gpu 40G --ssd-read 3.2G ...
 */
#ifndef TOOLS_PLAN_MACHINE_H
#define TOOLS_PLAN_MACHINE_H

#include <stdbool.h>
#include <annex/system.h>
#include "tools/common/cli.h"

/*
 * struct machine - The machine to plan for.
 * @given: bits of the members that options have set, as in machine_sets().
 */
struct machine {
	struct annex_system sys;
	uint32_t given;
};

/* A table of its options; annex_system_init() comes before them. */
extern const struct cli_option machine_options[];

/* machine_gpus() - As many GPUs as traces, unless an option gives their number. */
void machine_gpus(struct machine *m, unsigned int traces);

/* machine_sets() - A bit for each number that an option of this name sets; 0: no such name. */
uint32_t machine_sets(const char *name);

/*
 * machine_set() - Set the member of the option of this name from a text like its value, in which a
 * number alone is in G. "ssd" is the rate of SSDs both ways. *@number is the value in G, for plots.
 *
 * Return: 0; -ENOENT (no such name, no line set); -EINVAL.
 */
int machine_set(struct annex_system *sys, const char *name, const char *text, double *number);

/* machine_name() - The names that machine_set() takes, from 0 up to the first NULL. */
const char *machine_name(unsigned int i);

/* machine_unit() - The unit of the values of machine_set(): "G", "us", or "". */
const char *machine_unit(const char *name);

#endif
