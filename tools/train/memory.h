/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the tensors are: a space, what it evicts to, and the executor that moves them.
 */
#ifndef TOOLS_TRAIN_MEMORY_H
#define TOOLS_TRAIN_MEMORY_H

#include <annex/exec.h>

/*
 * struct memory_opts - @size: of all tensors together, at most.
 * @device: of the device tier; 0: as much as @size.
 * @rate: bytes a second each way of each link, or 0.
 * @checksum: of what leaves.
 */
struct memory_opts {
	uint64_t size, device, host;
	const char *const *stores;
	unsigned int n_stores;
	const char *policy;
	double rate;
	bool checksum;
};

/*
 * struct memory - @now, @peak: bytes of tensors that live, wherever they are.
 * @first, @end: all of them have had addresses between these.
 * @made: files of the stores that were not there before.
 */
struct memory {
	struct annex_space *space;
	struct annex_exec *exec;
	struct annex_store *stores[ANNEX_MAX_SSDS];
	char *made[ANNEX_MAX_SSDS];
	unsigned int n_stores;
	uint64_t now, peak;
	const char *first, *end;
};

/* memory_open() - 0 or -errno with the line set. memory_close() - Give back all there is of it. */
int memory_open(struct memory *m, const struct memory_opts *o);
void memory_close(struct memory *m);

/* memory_alloc() - A tensor of @n numbers, all 0. memory_free() - It ends; *@p becomes NULL. */
int memory_alloc(struct memory *m, const char *name, uint64_t n, float **p);
int memory_free(struct memory *m, uint64_t n, float **p);

/* memory_pages() - Write where each page is, as a table (CSV). 0 or -errno with the line set. */
int memory_pages(const struct memory *m, const char *path, bool overwrite);

#endif
