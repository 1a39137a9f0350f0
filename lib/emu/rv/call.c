// SPDX-License-Identifier: MIT
/*
 * System calls of Linux on RISC-V (asm-generic's numbers): those that a static program makes that
 * computes and writes.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "user.h"

enum {
	SYS_WRITE = 64,
	SYS_WRITEV = 66,
	SYS_READLINKAT = 78,
	SYS_NEWFSTATAT = 79,
	SYS_FSTAT = 80,
	SYS_EXIT = 93,
	SYS_EXIT_GROUP = 94,
	SYS_SET_TID_ADDRESS = 96,
	SYS_SET_ROBUST_LIST = 99,
	SYS_CLOCK_GETTIME = 113,
	SYS_UNAME = 160,
	SYS_GETPID = 172,
	SYS_BRK = 214,
	SYS_MUNMAP = 215,
	SYS_MMAP = 222,
	SYS_MPROTECT = 226,
	SYS_PRLIMIT64 = 261,
	SYS_GETRANDOM = 278,
};

enum { MAP_FIXED_BIT = 0x10, MAP_ANONYMOUS_BIT = 0x20, PROT_EXEC_BIT = 4 };
enum { EMPTY_PATH = 0x1000, RLIMIT_STACK_NO = 3 };

static int host_fd(const struct user *u, uint64_t fd)
{
	return fd == 1 ? u->out : fd == 2 ? u->err : -EBADF;
}

/* As much as one area has; the program's library calls again for the rest. */
static int64_t call_write(struct user *u, uint64_t fd, uint64_t va, uint64_t bytes)
{
	int host = host_fd(u, fd);
	struct rv_span s;
	uint64_t room;
	ssize_t n;

	if (host < 0 || !bytes)
		return host < 0 ? host : 0;
	if (rv_space_find(&u->space, va, &s) || !(s.prot & RV_READ))
		return -EFAULT;
	room = s.bytes - (va - s.va);
	do
		n = write(host, s.host + (va - s.va), bytes < room ? bytes : room);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int64_t call_writev(struct user *u, uint64_t fd, uint64_t va, uint64_t n)
{
	int64_t total = 0;

	if (n > 1024)
		return -EINVAL;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t part[2];
		int64_t did;

		if (rv_space_read(&u->space, va + i * sizeof(part), part, sizeof(part)))
			return total ? total : -EFAULT;
		did = call_write(u, fd, part[0], part[1]);
		if (did < 0)
			return total ? total : did;
		total += did;
		if ((uint64_t)did < part[1])
			break;
	}
	return total;
}

/* struct stat of asm-generic, of which programs look at the mode and the block size. */
static int64_t call_fstat(struct user *u, uint64_t fd, uint64_t va)
{
	struct {
		uint64_t dev, ino;
		uint32_t mode, nlink, uid, gid;
		uint64_t rdev, pad;
		int64_t size;
		int32_t blksize, pad2;
		int64_t blocks, times[6];
		uint32_t unused[2];
	} out = {0};
	int host = host_fd(u, fd);
	struct stat st;

	if (host < 0)
		return host;
	if (fstat(host, &st))
		return -errno;
	out.mode = st.st_mode;
	out.nlink = 1;
	out.size = st.st_size;
	out.blksize = (int32_t)st.st_blksize;
	out.rdev = st.st_rdev;
	return rv_space_write(&u->space, va, &out, sizeof(out));
}

static int64_t call_newfstatat(struct user *u, const uint64_t *a)
{
	char first;

	if (rv_space_read(&u->space, a[1], &first, 1))
		return -EFAULT;
	return first || !(a[3] & EMPTY_PATH) ? -ENOENT : call_fstat(u, a[0], a[2]);
}

static int64_t call_clock(struct user *u, uint64_t clock, uint64_t va)
{
	struct timespec now;
	int64_t out[2];

	if (clock > CLOCK_BOOTTIME || clock_gettime((clockid_t)clock, &now))
		return -EINVAL;
	out[0] = now.tv_sec;
	out[1] = now.tv_nsec;
	return rv_space_write(&u->space, va, out, sizeof(out));
}

static int64_t call_uname(struct user *u, uint64_t va)
{
	static const char *const text[6] = {"Linux", "annex", "6.1.0", "#1", "riscv64", ""};
	char out[6][65] = {{0}};

	for (unsigned int i = 0; i < 6; i++)
		strcpy(out[i], text[i]);
	return rv_space_write(&u->space, va, out, sizeof(out));
}

/* The heap is pages that are added as it grows, and given back as it shrinks. */
static int64_t call_brk(struct user *u, uint64_t to)
{
	uint64_t have = page_up(u->brk), want = page_up(to);

	if (to < u->brk_low || to > u->brk_low + USER_BRK_BYTES)
		return (int64_t)u->brk;
	if (want > have && rv_space_add(&u->space, have, want - have, RV_READ | RV_WRITE))
		return (int64_t)u->brk;
	if (want < have && rv_space_remove(&u->space, want, have - want))
		return (int64_t)u->brk;
	rv_forget(u->batch);
	u->brk = to;
	return (int64_t)to;
}

static bool valid_range(uint64_t va, uint64_t bytes)
{
	return !(va % PAGE) && bytes && bytes <= SPACE_MOST && va < USER_STACK_TOP &&
	       bytes <= USER_STACK_TOP - va;
}

/* Private anonymous memory; not for code, which is given before the program begins. */
static int64_t call_mmap(struct user *u, const uint64_t *a)
{
	uint64_t bytes = page_up(a[1]), va;
	int err;

	if (!a[1] || a[1] > SPACE_MOST)
		return a[1] ? -ENOMEM : -EINVAL;
	if (!(a[3] & MAP_ANONYMOUS_BIT))
		return -EBADF;
	if (a[2] & PROT_EXEC_BIT)
		return -EPERM;
	if (a[3] & MAP_FIXED_BIT) {
		va = a[0];
		if (!valid_range(va, bytes))
			return -EINVAL;
		err = rv_space_remove(&u->space, va, bytes);
	} else {
		va = rv_space_free(&u->space, USER_MAP_LOW, USER_MAP_TOP, bytes);
		err = va ? 0 : -ENOMEM;
	}
	if (!err)
		err = rv_space_add(&u->space, va, bytes, a[2] & (RV_READ | RV_WRITE));
	rv_forget(u->batch);
	return err ? err : (int64_t)va;
}

static int64_t call_munmap(struct user *u, uint64_t va, uint64_t bytes)
{
	int err;

	if (bytes > SPACE_MOST || !valid_range(va, page_up(bytes)))
		return -EINVAL;
	err = rv_space_remove(&u->space, va, page_up(bytes));
	rv_forget(u->batch);
	return err;
}

static int64_t call_mprotect(struct user *u, uint64_t va, uint64_t bytes, uint64_t prot)
{
	int err;

	if (bytes > SPACE_MOST || !valid_range(va, page_up(bytes)))
		return -EINVAL;
	if (prot & PROT_EXEC_BIT)
		return -EPERM;
	err = rv_space_protect(&u->space, va, page_up(bytes), prot & (RV_READ | RV_WRITE));
	rv_forget(u->batch);
	return err;
}

static int64_t call_prlimit(struct user *u, uint64_t which, uint64_t set, uint64_t va)
{
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};

	if (set)
		return -EPERM;
	if (which == RLIMIT_STACK_NO)
		limit[0] = limit[1] = USER_STACK_BYTES;
	return va ? rv_space_write(&u->space, va, limit, sizeof(limit)) : 0;
}

static int64_t call_getrandom(struct user *u, uint64_t va, uint64_t bytes)
{
	char buf[256];
	ssize_t n = getrandom(buf, bytes < sizeof(buf) ? bytes : sizeof(buf), 0);

	if (n < 0)
		return -errno;
	return rv_space_write(&u->space, va, buf, (uint64_t)n) ? -EFAULT : n;
}

static int64_t call_exit(struct user *u, uint64_t status)
{
	u->exited = true;
	u->status = status & 255;
	return 0;
}

static int64_t call(struct user *u, uint64_t number, const uint64_t *a)
{
	switch (number) {
	case SYS_WRITE:
		return call_write(u, a[0], a[1], a[2]);
	case SYS_WRITEV:
		return call_writev(u, a[0], a[1], a[2]);
	case SYS_READLINKAT:
		return -ENOENT;
	case SYS_NEWFSTATAT:
		return call_newfstatat(u, a);
	case SYS_FSTAT:
		return call_fstat(u, a[0], a[1]);
	case SYS_EXIT:
	case SYS_EXIT_GROUP:
		return call_exit(u, a[0]);
	case SYS_SET_TID_ADDRESS:
	case SYS_GETPID:
		return 1;
	case SYS_SET_ROBUST_LIST:
		return 0;
	case SYS_CLOCK_GETTIME:
		return call_clock(u, a[0], a[1]);
	case SYS_UNAME:
		return call_uname(u, a[0]);
	case SYS_BRK:
		return call_brk(u, a[0]);
	case SYS_MUNMAP:
		return call_munmap(u, a[0], a[1]);
	case SYS_MMAP:
		return call_mmap(u, a);
	case SYS_MPROTECT:
		return call_mprotect(u, a[0], a[1], a[2]);
	case SYS_PRLIMIT64:
		return call_prlimit(u, a[1], a[2], a[3]);
	case SYS_GETRANDOM:
		return call_getrandom(u, a[0], a[1]);
	default:
		return -ENOSYS;
	}
}

void user_call(struct user *u)
{
	uint64_t a[6];

	for (unsigned int i = 0; i < 6; i++)
		a[i] = rv_x(u->batch, 10 + i)[0];
	rv_x(u->batch, 10)[0] = (uint64_t)call(u, rv_x(u->batch, 17)[0], a);
	rv_pc(u->batch)[0] += 4;
}
