// SPDX-License-Identifier: MIT
/*
 * System calls of Linux on RISC-V (asm-generic's numbers): those that answer, and what the program
 * is told of itself. It is process 1 of user 0, with one hart, alone.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "call.h"

enum { HWPROBE_CPU_FAST = 3, RANDOM_MOST = 32 << 20 };
/* Of RISCV_HWPROBE_KEY_IMA_EXT_0: F and D, C, V, Zba, Zbb, Zfh, Zfhmin, Zvfh, Zvfhmin. */
#define HWPROBE_EXTENSIONS (0x1full | 3ull << 27 | 3ull << 30)

static int64_t call_zero(struct user *u, const uint64_t *a)
{
	(void)u;
	(void)a;
	return 0;
}

/* Its process, thread, session and group. */
static int64_t call_self(struct user *u, const uint64_t *a)
{
	(void)u;
	(void)a;
	return 1;
}

/* getpgid(), getsid(), of itself. */
static int64_t call_group(struct user *u, const uint64_t *a)
{
	(void)u;
	return (uint32_t)a[0] <= 1 ? 1 : -ESRCH;
}

/* getresuid(), getresgid() */
static int64_t call_three_ids(struct user *u, const uint64_t *a)
{
	const uint32_t id = 0;
	int err = 0;

	for (unsigned int i = 0; i < 3 && !err; i++)
		err = rv_space_write(&u->space, a[i], &id, sizeof(id));
	return err;
}

static int64_t call_exit(struct user *u, const uint64_t *a)
{
	u->ended = true;
	u->status = a[0] & 255;
	return 0;
}

static int64_t call_robust_list(struct user *u, const uint64_t *a)
{
	(void)u;
	return a[1] == 24 ? 0 : -EINVAL; /* bytes of its head */
}

static int64_t call_getaffinity(struct user *u, const uint64_t *a)
{
	const uint64_t first = 1;

	if ((uint32_t)a[0] > 1)
		return -ESRCH;
	if ((uint32_t)a[1] < sizeof(first) || a[1] % sizeof(first))
		return -EINVAL;
	if (rv_space_write(&u->space, a[2], &first, sizeof(first)))
		return -EFAULT;
	return sizeof(first);
}

/* It has one processor, and stays there. */
static int64_t call_setaffinity(struct user *u, const uint64_t *a)
{
	unsigned char first = 0;

	if (a[1] && rv_space_read(&u->space, a[2], &first, 1))
		return -EFAULT;
	if ((uint32_t)a[0] > 1)
		return -ESRCH;
	return first & 1 ? 0 : -EINVAL;
}

static int64_t call_getcpu(struct user *u, const uint64_t *a)
{
	const uint32_t none = 0;

	for (unsigned int i = 0; i < 2; i++)
		if (a[i] && rv_space_write(&u->space, a[i], &none, sizeof(none)))
			return -EFAULT;
	return 0;
}

/* It has no children. */
static int64_t call_wait4(struct user *u, const uint64_t *a)
{
	(void)u;
	return (uint32_t)a[2] & ~(uint32_t)(WNOHANG | WUNTRACED | WCONTINUED) ? -EINVAL : -ECHILD;
}

static int64_t call_uname(struct user *u, const uint64_t *a)
{
	static const char *const text[6] = {"Linux", "annex", "6.1.0", "#1", "riscv64", ""};
	char out[6][65] = {{0}};

	for (unsigned int i = 0; i < 6; i++)
		strcpy(out[i], text[i]);
	return rv_space_write(&u->space, a[0], out, sizeof(out));
}

static int64_t call_prctl(struct user *u, const uint64_t *a)
{
	switch ((uint32_t)a[0]) {
	case PR_SET_NAME:
		memset(u->name, 0, sizeof(u->name));
		for (unsigned int i = 0; i < sizeof(u->name) - 1; i++) {
			if (rv_space_read(&u->space, a[1] + i, &u->name[i], 1))
				return -EFAULT;
			if (!u->name[i])
				break;
		}
		return 0;
	case PR_GET_NAME:
		return rv_space_write(&u->space, a[1], u->name, sizeof(u->name));
	default:
		return -EINVAL;
	}
}

static int64_t call_sysinfo(struct user *u, const uint64_t *a)
{
	struct {
		uint64_t uptime, loads[3], total, free, shared, buffers, swap, swap_free;
		uint16_t processes, pad;
		uint64_t high, high_free;
		uint32_t unit, rest;
	} out = {.total = SPACE_MOST, .processes = 1, .unit = 1};

	out.uptime = user_now(CLOCK_BOOTTIME) / USER_NS;
	out.free = SPACE_MOST - u->space.bytes;
	return rv_space_write(&u->space, a[0], &out, sizeof(out));
}

/* Limits are what they are. */
static int64_t call_prlimit(struct user *u, const uint64_t *a)
{
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};

	if ((uint32_t)a[0] > 1)
		return -ESRCH;
	if ((uint32_t)a[1] >= RLIM_NLIMITS)
		return -EINVAL;
	if (a[2])
		return -EPERM;
	if ((uint32_t)a[1] == RLIMIT_STACK)
		limit[0] = limit[1] = USER_STACK_BYTES;
	if ((uint32_t)a[1] == 7) /* RLIMIT_NOFILE */
		limit[0] = limit[1] = USER_FDS;
	return a[3] ? rv_space_write(&u->space, a[3], limit, sizeof(limit)) : 0;
}

static int64_t call_getrlimit(struct user *u, const uint64_t *a)
{
	const uint64_t of[4] = {0, a[0], 0, a[1]};

	return a[1] ? call_prlimit(u, of) : -EFAULT;
}

static int64_t call_getrandom(struct user *u, const uint64_t *a)
{
	uint64_t bytes = a[1] < RANDOM_MOST ? a[1] : RANDOM_MOST, at = 0;
	char buf[256];

	if (a[2] & ~7ull || (a[2] & 6) == 6)
		return -EINVAL;
	while (at < bytes) {
		uint64_t want = bytes - at < sizeof(buf) ? bytes - at : sizeof(buf);

		if (getrandom(buf, want, 0) != (ssize_t)want)
			return at ? (int64_t)at : -EAGAIN;
		if (rv_space_write(&u->space, a[0] + at, buf, want))
			return at ? (int64_t)at : -EFAULT;
		at += want;
	}
	return (int64_t)at;
}

/* Pairs of a key and its value; unknown keys become -1. */
static int64_t call_hwprobe(struct user *u, const uint64_t *a)
{
	static const uint64_t value[9] = {[3] = 1,
					  [4] = HWPROBE_EXTENSIONS,
					  [5] = HWPROBE_CPU_FAST,
					  [7] = USER_STACK_TOP,
					  [8] = USER_TIMEBASE};
	uint64_t pair[2];

	if (a[4] || !a[2] != !a[3])
		return -EINVAL;
	for (uint64_t i = 0, va = a[0]; i < a[1]; i++, va += sizeof(pair)) {
		if (rv_space_read(&u->space, va, pair, sizeof(pair)))
			return -EFAULT;
		pair[1] = pair[0] < 9 ? value[pair[0]] : 0;
		pair[0] = pair[0] < 9 ? pair[0] : UINT64_MAX;
		if (rv_space_write(&u->space, va, pair, sizeof(pair)))
			return -EFAULT;
	}
	return 0;
}

/* By number. Others answer -ENOSYS. */
static user_fn *const calls[] = {
	[17] = call_getcwd,        [23] = call_dup,
	[24] = call_dup3,          [25] = call_fcntl,
	[29] = call_ioctl,         [34] = call_mkdirat,
	[35] = call_no_path, /* unlinkat */
	[37] = call_no_path, /* linkat */
	[48] = call_no_path, /* faccessat */
	[49] = call_chdir,         [56] = call_openat,
	[57] = call_close,         [59] = call_pipe2,
	[61] = call_getdents,      [62] = call_lseek,
	[63] = call_read,          [64] = call_write,
	[65] = call_read,                            /* readv */
	[66] = call_writev,        [67] = call_read, /* pread64 */
	[68] = call_pwrite,        [72] = call_pselect,
	[73] = call_ppoll,         [78] = call_no_path, /* readlinkat */
	[79] = call_fstatat,       [80] = call_fstat,
	[93] = call_exit,          [94] = call_exit, /* exit_group */
	[96] = call_self,                            /* set_tid_address */
	[98] = call_futex,         [99] = call_robust_list,
	[101] = call_nanosleep,    [102] = call_getitimer,
	[103] = call_setitimer,    [113] = call_clock_gettime,
	[114] = call_clock_getres, [115] = call_clock_nanosleep,
	[122] = call_setaffinity,  [123] = call_getaffinity,
	[124] = call_zero, /* sched_yield */
	[129] = call_kill,         [130] = call_tkill,
	[131] = call_tgkill,       [134] = call_sigaction,
	[135] = call_sigprocmask,  [136] = call_sigpending,
	[148] = call_three_ids,                        /* getresuid */
	[150] = call_three_ids,                        /* getresgid */
	[153] = call_times,        [155] = call_group, /* getpgid */
	[156] = call_group,                            /* getsid */
	[158] = call_zero,                             /* getgroups */
	[160] = call_uname,        [163] = call_getrlimit,
	[165] = call_getrusage,    [167] = call_prctl,
	[168] = call_getcpu,       [169] = call_gettimeofday,
	[172] = call_self, /* getpid */
	[173] = call_zero, /* getppid */
	[174] = call_zero, /* getuid */
	[175] = call_zero, /* geteuid */
	[176] = call_zero, /* getgid */
	[177] = call_zero, /* getegid */
	[178] = call_self, /* gettid */
	[179] = call_sysinfo,      [214] = call_brk,
	[215] = call_munmap,       [216] = call_mremap,
	[222] = call_mmap,         [226] = call_mprotect,
	[227] = call_msync,        [233] = call_madvise,
	[258] = call_hwprobe,      [259] = call_flush_icache,
	[260] = call_wait4,        [261] = call_prlimit,
	[278] = call_getrandom,    [291] = call_statx,
	[439] = call_no_path, /* faccessat2 */
};

void user_call(struct user *u)
{
	uint64_t a[6], number = rv_x(u->batch, 17)[0];
	user_fn *fn = number < sizeof(calls) / sizeof(calls[0]) ? calls[number] : NULL;

	for (unsigned int i = 0; i < 6; i++)
		a[i] = rv_x(u->batch, 10 + i)[0];
	rv_x(u->batch, 10)[0] = (uint64_t)(fn ? fn(u, a) : -ENOSYS);
	rv_pc(u->batch)[0] += 4;
}
