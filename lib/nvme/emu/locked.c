// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "locked.h"

/* One part in so many of the limit. */
#define SHARE 4u

static uint64_t taken;

/* Whether the kernel asks no limit of this thread. */
static bool is_exempt(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, caps) && caps[0].effective & 1u << CAP_IPC_LOCK;
}

uint64_t annex_locked_limit(void)
{
	struct rlimit limit;

	if (is_exempt() || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

bool annex_locked_take(uint64_t bytes)
{
	/* Relaxed: a count, which orders nothing else. */
	uint64_t before = annex_atomic_add(&taken, bytes, ANNEX_RELAXED);

	if (before + bytes <= annex_locked_limit() / SHARE)
		return true;
	annex_locked_give(bytes);
	return false;
}

void annex_locked_give(uint64_t bytes)
{
	annex_atomic_sub(&taken, bytes, ANNEX_RELAXED); /* as above */
}
