/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs whose loads and stores are simulated. A program computes for real: its data lie in
 * @data, its threads reach them only by the calls of lane.h, and its result is checked.
 */
#ifndef TOOLS_CXL_WORK_H
#define TOOLS_CXL_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/detail/random.h>

struct lane;
struct work;

/*
 * struct work_kind - A program.
 * @set: the paper whose workload it is.
 * @group: how that paper classes it.
 * @compute, @load: percent of all instructions that compute, and of those that reach memory that
 *	load (CXL-GPU, table of its evaluation); 0: whatever the program does.
 * @work: instructions that one of lane_ops() stands for; 0: one. SkyByte's are chosen so that
 *	memory is waited for as large a part of the time as in its artifact (sky.h).
 * @make: sets @bytes, allocates @data by work_alloc() and @own as it likes, and fills @data with
 *	input that depends on @seed and on @scale only. Return: 0, or a negative errno with the line
 *	set.
 * @run: thread @id of @w->lanes, from 0.
 * @check: compares the result in @data with one that was computed without lanes from @first, which
 *	is @data as @make left it. Return: whether they are the same.
 * @free: gives @own back; NULL: free() does.
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
 * struct work - One that is being run. @scale: 1: the size it is judged at. @lanes: threads.
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

/* work_alloc() - Zeroed @data of @bytes, rounded up to pages of 4096 bytes. */
int work_alloc(struct work *w, uint64_t bytes);

/* All of them, set by set; the list ends with NULL. */
extern const struct work_kind *const work_kinds[];

#endif
