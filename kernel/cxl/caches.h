/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU caches of addresses that lead to other memory from now on. In a virtual machine they need no
 * flush: its CXL memory is the hypervisor's memory, which decoders do not move.
 */
#ifndef ANNEX_CXL_CACHES_H
#define ANNEX_CXL_CACHES_H

#include <linux/types.h>

struct annex_hdm;

/*
 * annex_caches_check() - Check that caches can be flushed, need no flush, or that the parameter
 * allow_stale_caches is set. 0 or -EOPNOTSUPP, with a line.
 */
int annex_caches_check(struct annex_hdm *hdm);

/* annex_caches_flush() - Write back and invalidate cached lines of [@base, @base + @bytes). */
void annex_caches_flush(u64 base, u64 bytes);

/*
 * annex_caches_pace() - Wait, without locks, until a caller without CAP_SYS_ADMIN may flush caches.
 * A flush stalls all programs, so all users together may cause only a few a second. 0 or -EINTR
 * (killed).
 */
int annex_caches_pace(void);

#endif
