/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine as options describe it: --gpu 40G --ssd-read 3.2G ...
 */
#ifndef TOOLS_PLAN_MACHINE_H
#define TOOLS_PLAN_MACHINE_H

#include <argp.h>
#include <stdbool.h>
#include <annex/system.h>

/* struct machine - @given: what options have set, as in machine_sets(). */
struct machine {
	struct annex_system sys;
	uint32_t given;
};

/* The options as a child parser; its input is a struct machine, which starts as G10's. */
extern const struct argp machine_argp;

/* machine_gpus() - As many GPUs as traces, unless it was told how many. */
void machine_gpus(struct machine *m, unsigned int traces);

/* machine_sets() - A bit for each number that an option of this name sets; 0: no such name. */
uint32_t machine_sets(const char *name);

/*
 * machine_set() - Set what an option of this name sets, from a text like its value, in which a
 * number alone is in G. "ssd" is the rate of SSDs both ways. @number: the value in G, for plots.
 *
 * Return: 0; -ENOENT (no such name, no line set); -EINVAL.
 */
int machine_set(struct annex_system *sys, const char *name, const char *text, double *number);

/* machine_unit() - "G", "us", or "" of what machine_set() takes and tells. */
const char *machine_unit(const char *name);

#endif
