// SPDX-License-Identifier: MIT
/*
 * System calls of Linux on RISC-V: exit, write and brk. Any other ends the program.
 */
#include <asm-generic/unistd.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "user.h"

static int64_t call_exit(struct user *u, const uint64_t *a)
{
	u->ended = true;
	u->status = a[0] & 255;
	return 0;
}

static int64_t call_write(struct user *u, const uint64_t *a)
{
	const uint32_t which = (uint32_t)a[0] - 1;
	uint64_t done = 0;

	if (which >= 2 || u->fd[which] < 0)
		return -EBADF;
	while (done < a[2]) {
		const uint64_t va = a[1] + done, left = a[2] - done;
		struct rv_span s;
		uint64_t room;
		ssize_t n;

		if (user_find(u, va, &s))
			return done ? (int64_t)done : -EFAULT;
		room = s.bytes - (va - s.va);
		n = write(u->fd[which], s.host + (va - s.va), room < left ? room : left);
		if (n < 0 && errno != EINTR)
			return done ? (int64_t)done : -errno;
		done += n > 0 ? (uint64_t)n : 0;
	}
	return (int64_t)done;
}

/* The heap is pages that come zeroed as it grows, and are given back as it shrinks. */
static int64_t call_brk(struct user *u, const uint64_t *a)
{
	struct rv_span *h = u->heap;
	const uint64_t had = h->bytes, to = a[0];

	if (to < h->va || to > h->va + USER_HEAP)
		return (int64_t)u->brk;
	h->bytes = user_page_up(to) - h->va;
	if (h->bytes < had && madvise(h->host + h->bytes, had - h->bytes, MADV_DONTNEED))
		memset(h->host + h->bytes, 0, had - h->bytes);
	rv_forget(u->batch);
	u->brk = to;
	return (int64_t)to;
}

/* Names of calls that libraries of C make first, for the line about one that is not there. */
#define NAME(name) [__NR_##name] = #name
static const char *const names[] = {
	NAME(ioctl),
	NAME(openat),
	NAME(close),
	NAME(lseek),
	NAME(read),
	NAME(readv),
	NAME(writev),
	NAME(readlinkat),
	[79] = "newfstatat",
	[80] = "fstat",
	NAME(futex),
	NAME(set_tid_address),
	NAME(set_robust_list),
	NAME(clock_gettime),
	NAME(kill),
	NAME(tgkill),
	NAME(rt_sigaction),
	NAME(rt_sigprocmask),
	NAME(gettimeofday),
	NAME(getpid),
	NAME(gettid),
	NAME(munmap),
	NAME(clone),
	[222] = "mmap",
	NAME(mprotect),
	NAME(prlimit64),
	NAME(getrandom),
	NAME(rseq),
};

static void refuse(struct user *u, uint64_t number)
{
	const char *name = number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;

	user_kill(u, SIGSYS, -ENOSYS,
		  "system call %llu (%s): a program has exit, write and brk only,",
		  (unsigned long long)number, name ? name : "of Linux on RISC-V");
}

void user_call(struct user *u)
{
	const uint64_t number = rv_x(u->batch, 17)[0];
	const uint64_t a[] = {rv_x(u->batch, 10)[0], rv_x(u->batch, 11)[0], rv_x(u->batch, 12)[0]};
	int64_t answer;

	switch (number) {
	case __NR_exit:
	case __NR_exit_group:
		answer = call_exit(u, a);
		break;
	case __NR_write:
		answer = call_write(u, a);
		break;
	case __NR_brk:
		answer = call_brk(u, a);
		break;
	default:
		refuse(u, number);
		return;
	}
	rv_x(u->batch, 10)[0] = (uint64_t)answer;
	rv_pc(u->batch)[0] += 4;
}
