/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Big arrays: one entry a vertex or an edge, accessed at random, hence in huge pages.
 */
#ifndef TOOLS_MEM_H
#define TOOLS_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <annex/provider.h>

/*
 * mem_alloc() - @count zeroed elements of @size bytes; NULL with the line set when that overflows
 * or exceeds mem_limit() (Linux would promise it, and kill the program later).
 */
void *mem_alloc(uint64_t count, size_t size, const char *what);
void mem_free(void *p, uint64_t count, size_t size);

/* mem_take(), mem_give() - The same, from a provider. */
void *mem_take(const struct annex_provider *prov, uint64_t count, size_t size, const char *what);
void mem_give(const struct annex_provider *prov, void *p, uint64_t count, size_t size);

/* mem_limit() - Bytes of the machine's memory, as far as its control groups allow them. */
uint64_t mem_limit(void);

/* mem_available() - Bytes of it that can be had now, as the kernel estimates; 0: not told. */
uint64_t mem_available(void);

/* mem_anonymous() - Bytes of anonymous memory that the process has resident; 0: not told. */
uint64_t mem_anonymous(void);

#endif
