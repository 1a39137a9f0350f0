// SPDX-License-Identifier: GPL-2.0
/*
 * CPU caches of addresses that lead to other memory. Owns the rate at which users may flush them.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include "compat.h"
#include "range.h"

#define PACE (HZ / 5) /* between two ranges that users make */

ANNEX_IMPORT_NS(DEVMEM);

#ifdef CONFIG_X86
#define allow_stale_caches true /* without a flush there is a hypervisor, and no need for one */
#else
static bool allow_stale_caches;
module_param(allow_stale_caches, bool, 0444);
MODULE_PARM_DESC(allow_stale_caches,
		 "Ranges of CXL memory may be made where CPU caches cannot be emptied");
#endif

int annex_caches_check(struct annex_hdm *hdm)
{
	if (annex_has_flush() || allow_stale_caches)
		return 0;
	return annex_hdm_refuse(hdm, -EOPNOTSUPP,
				"range: nothing empties this CPU's caches: see allow_stale_caches");
}

void annex_caches_flush(u64 base, u64 bytes)
{
	if (annex_has_flush())
		annex_flush(base, bytes);
}

/*
 * Making and ending a range flushes caches twice. Callers wait in the mutex, one of them with it: a
 * caller that is killed delays no other.
 */
int annex_caches_pace(void)
{
	static DEFINE_MUTEX(turn);
	static unsigned long next = INITIAL_JIFFIES;
	long left;

	if (!annex_has_flush() || capable(CAP_SYS_ADMIN))
		return 0;
	if (mutex_lock_killable(&turn))
		return -EINTR;
	left = next - jiffies;
	if (left > 0)
		schedule_timeout_killable(min_t(long, left, PACE));
	next = jiffies + PACE;
	mutex_unlock(&turn);
	return fatal_signal_pending(current) ? -EINTR : 0;
}
