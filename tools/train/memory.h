/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the tensors are: a space, what it evicts to, and the executor that moves them; or plain
 * memory.
 */
#ifndef TOOLS_TRAIN_MEMORY_H
#define TOOLS_TRAIN_MEMORY_H

#include <annex/exec.h>

/*
 * struct memory_opts - How to make the space.
 * @size: most bytes of all tensors together.
 * @device: bytes of the device tier; 0: as many as @size.
 * @rate: bytes a second each way of each link; 0: no limit.
 * @checksum: check evicted pages by checksums.
 * @plain: malloc(), and nothing else of all this.
 */
struct memory_opts {
	uint64_t size, device, host;
	const char *const *stores;
	unsigned int n_stores;
	const char *policy;
	double rate;
	bool checksum, plain;
};

/*
 * struct memory - The tensors' space; NULL, and no @exec, if their memory is plain.
 * @began: when the iteration began.
 * @made: files of the stores that were not there before.
 * @now: bytes of the tensors that live, wherever they are.
 * @peak: the most bytes that lived at once.
 * @first: lowest address that a tensor has had.
 * @end: end of the highest.
 */
struct memory {
	struct annex_space *space;
	struct annex_exec *exec;
	struct annex_store *stores[ANNEX_MAX_SSDS];
	char *made[ANNEX_MAX_SSDS];
	unsigned int n_stores;
	uint64_t now, peak;
	const char *first, *end;
	uint64_t began;
};

/*
 * memory_open() - 0 or -errno with the line set. memory_close() - Give back all there is of it.
 * Likewise, if files of its own could not be removed.
 */
int memory_open(struct memory *m, const struct memory_opts *o);
int memory_close(struct memory *m);

/* memory_alloc() - A tensor of @n numbers, all 0. memory_free() - It ends; *@p becomes NULL. */
int memory_alloc(struct memory *m, const char *name, uint64_t n, float **p);
int memory_free(struct memory *m, uint64_t n, float **p);

/* memory_begin() - An iteration begins. memory_end() - It ends, and went so. */
int memory_begin(struct memory *m);
int memory_end(struct memory *m, struct annex_exec_stats *stats);

/* memory_stats() - Of the space; zeroes for plain memory. */
void memory_stats(const struct memory *m, struct annex_space_stats *stats);

/* memory_pages() - Write where each page is, as a table (CSV). 0 or -errno with the line set. */
int memory_pages(const struct memory *m, const char *path, bool overwrite);

/*
 * lost_watch() - (lost.c) Have a kernel that touches bytes which cannot be brought end the command
 * with a line that names the tensor of @m; NULL: no longer. With the policy uvm kernels fault on
 * their own, and the library answers a page that storage cannot give back with SIGSEGV.
 */
void lost_watch(const struct memory *m);

/*
 * scratch_make() - (scratch.c) Make the file behind a file: URI that the library would make
 * (size=), so that the command knows that it is its own and removes it in the end: empty, if @uri
 * has a size and nothing is there. Give *@path to scratch_end(); it is NULL if nothing was made.
 * Opening @uri tells other faults of it. 0, or -errno with the line set.
 */
int scratch_make(const char *uri, char **path);

/*
 * scratch_end() - Remove it, as a signal that ends the program would have done. 0, or -errno with
 * the line set.
 */
int scratch_end(char *path);

#endif
