/* SPDX-License-Identifier: MIT */
/*
 * The medium of a memory range (annex/hdm.h): mapped memory, a file to lock, and how stores
 * become durable.
 *
 * The ranges (lib/hdm) sit above this interface; below it are shared files, devdax, NUMA nodes, and
 * memory that a kernel module offers.
 */
#ifndef ANNEX_CORE_MEDIUM_H
#define ANNEX_CORE_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "range.h"

struct annex_medium;

#define ANNEX_MEDIUM_ALIGN (2ull << 20) /* of every mapping */

/**
 * struct annex_medium_ops - One kind of medium. Functions may be called from any thread.
 * @flush: how stores are made to last, when @persist does it.
 * @persist: stores to [@ptr, @ptr + @len) have reached a persistent medium when it returns 0; NULL:
 *	writing back the cache lines and a fence are enough.
 * @dmabuf: the descriptor of a dma-buf that holds the byte @offset of the range, and *@at where in
 *	it; it stays the medium's. NULL: it is memory of the process like any other.
 * @hold: devices may access [@ptr, @ptr + @len) unseen, until @let: -ENOMEM. NULL:
 *	they always may.
 * @poison: bring the list of poison up to date, to which more may come, and from which only @clear
 *	takes. One call at a time. NULL: it stays as it is.
 * @clear: zero the poisoned pages of [@offset, @offset + @len), both of whole pages, and bring the
 *	list up to date: one call at a time with @poison. NULL: it cannot.
 * @close: unmap, and release everything. No other call may be running.
 */
struct annex_medium_ops {
	const char *flush;
	int (*persist)(struct annex_medium *m, void *ptr, size_t len);
	int (*dmabuf)(struct annex_medium *m, uint64_t offset, uint64_t *at);
	int (*hold)(struct annex_medium *m, void *ptr, size_t len);
	void (*let)(struct annex_medium *m, void *ptr, size_t len);
	int (*poison)(struct annex_medium *m);
	int (*clear)(struct annex_medium *m, uint64_t offset, uint64_t len);
	void (*close)(struct annex_medium *m);
};

/**
 * struct annex_medium - The first member of every medium.
 * @scheme: of its URIs, once it is open.
 * @base: where it is mapped, on a multiple of ANNEX_MEDIUM_ALIGN.
 * @bytes: its size, a multiple of 4096.
 * @fd: an open file description for advisory locks, which all sharers see. It is not the mapped
 *	one, since a mapping would keep it, and its locks, when the process is dead and a child
 *	of it is not.
 * @node: the NUMA node it is on; -1: not known.
 * @persistent: its data survives a loss of power.
 * @scratch: its data means nothing before its first use as a range.
 * @poison: ranges of bytes that must not be touched, sorted and disjoint.
 * @npoison: number of those ranges.
 */
struct annex_medium {
	const struct annex_medium_ops *ops;
	const char *scheme;
	char *base;
	uint64_t bytes;
	int fd;
	int node;
	bool persistent;
	bool scratch;
	struct range *poison;
	unsigned int npoison;
};

/*
 * annex_medium_map() - Map @bytes of a file on a multiple of ANNEX_MEDIUM_ALIGN, or of @align if
 * that is more; @flags of mmap(). NULL and errno.
 */
void *annex_medium_map(int fd, uint64_t bytes, uint64_t align, int flags);

#endif
