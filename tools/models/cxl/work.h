/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs whose loads and stores are simulated. A program computes on real data in @data, which
 * its threads access through lane.h only, and its result is checked.
 */
#ifndef TOOLS_CXL_WORK_H
#define TOOLS_CXL_WORK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/random.h>
#include "tools/common/mem.h"

struct lane;
struct work;

/*
 * struct work_kind - A program.
 * @name: its name.
 * @summary: a line for users.
 * @set: the paper that it is a workload of.
 * @group: its class in that paper.
 * @compute: percent of all instructions that compute (CXL-GPU, table in its evaluation); 0: as in
 *	the program.
 * @load: percent of memory instructions that load; 0: as in the program.
 * @work: instructions of one lane_ops(); 0: one. For SkyByte's programs it is fitted, so that
 *	waiting for memory takes the same share of the time as in the artifact (sky.h).
 * @make: sets @bytes, allocates @data by work_alloc() and @own, and fills @data with input that
 *	depends on @seed and @scale only. Return: 0, or a negative errno with the line set.
 * @run: runs thread @id of @w->lanes, from 0.
 * @check: compares the result in @data with one computed without lanes from @first. Return: whether
 *	they are equal.
 * @free: frees @own; NULL: free() does.
 */
struct work_kind {
	const char *name;
	const char *summary;
	const char *set;
	const char *group;
	double compute, load;
	double work;
	int (*make)(struct work *w);
	void (*run)(struct work *w, struct lane *l, unsigned int id);
	bool (*check)(const struct work *w);
	void (*free)(struct work *w);
};

/*
 * struct work - A program during a run.
 * @kind: the program.
 * @scale: size of its data; 1: the size for figures.
 * @seed: seed of its input.
 * @lanes: number of threads.
 * @bytes: bytes of @data.
 * @data: its data.
 * @first: a copy of @data before the run.
 * @own: state of the program.
 */
struct work {
	const struct work_kind *kind;
	double scale;
	uint64_t seed;
	unsigned int lanes;
	uint64_t bytes;
	char *data;
	const char *first;
	void *own;
};

/* work_alloc() - Allocate zeroed @data of @bytes, rounded up to pages of 4096 bytes. */
static inline int work_alloc(struct work *w, uint64_t bytes)
{
	w->bytes = (bytes + 4095) / 4096 * 4096;
	w->data = mem_alloc(w->bytes, 1, "a program's data");
	return w->data ? 0 : -ENOMEM;
}

/* All programs, set by set; NULL ends the list. */
extern const struct work_kind *const work_kinds[];

#endif
