/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU caches, of addresses that lead to other memory from now on. A hypervisor's CXL memory is
 * memory of its own, which no decoder moves about behind its caches.
 */
#ifndef ANNEX_CXL_CACHES_H
#define ANNEX_CXL_CACHES_H

#include <linux/types.h>

struct annex_hdm;

/*
 * annex_caches_check() - Whether caches can be emptied where they must be, or the parameter
 * allow_stale_caches says that this does not matter: 0 or -EOPNOTSUPP, with a line.
 */
int annex_caches_check(struct annex_hdm *hdm);

/* annex_caches_flush() - Write back and empty what is cached of [@base, @base + @bytes). */
void annex_caches_flush(u64 base, u64 bytes);

/*
 * annex_caches_pace() - Wait, without locks, until a caller who is not root may have caches
 * emptied: all programs wait for that, so it is a few times a second for all users together.
 * Return: 0, or -EINTR when he is killed.
 */
int annex_caches_pace(void);

#endif
