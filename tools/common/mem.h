/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory: big arrays in huge pages, and how much of it a command may use.
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

/* mem_limit() - Bytes of the machine's memory, as far as the control groups of this process allow
 * them. mem_limit_v1() - The limit of groups of version 1 alone; UINT64_MAX: none. */
uint64_t mem_limit(void);
uint64_t mem_limit_v1(void);

/* mem_available() - Bytes of it that can be had now, as the kernel estimates; 0: not told. */
uint64_t mem_available(void);

/* mem_anonymous() - Bytes of anonymous memory that the process has resident; 0: not told. */
uint64_t mem_anonymous(void);

#endif
