// SPDX-License-Identifier: MIT
/*
 * System calls whose answers do not depend on the machine: the same under Linux as on a hart.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define NOWHERE ((void *)8)
#define SAY(...) say(#__VA_ARGS__, syscall(__VA_ARGS__))

static void say(const char *call, long ret)
{
	printf("%s: %ld %d\n", call, ret, ret == -1 ? errno : 0);
}

static void futexes(void)
{
	static const struct timespec soon = {0, 1000}, wrong = {0, -1};
	static uint32_t word = 5, other;
	void *odd = (char *)&word + 1;

	SAY(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAIT, 4, NULL, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAIT, 5, &soon, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAIT, 5, &wrong, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAIT, 4, NOWHERE, NULL, 0);
	SAY(SYS_futex, NULL, FUTEX_WAIT, 4, NULL, NULL, 0);
	SAY(SYS_futex, odd, FUTEX_WAIT, 4, NULL, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAIT_BITSET, 5, &soon, NULL, 1);
	SAY(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &soon, NULL, 1);
	SAY(SYS_futex, &word, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0);
	SAY(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1);
	SAY(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 5);
	SAY(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 6);
	SAY(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, &other,
	    FUTEX_OP(FUTEX_OP_ADD, 7, FUTEX_OP_CMP_EQ, 0));
	printf("%u\n", other);
}

static void memory(void)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, anonymous, -1, 0), *q;

	p[0] = p[4096] = p[8192] = 1;
	say("protect nothing", mprotect(p, 0, PROT_READ));
	say("protect odd", mprotect(p + 1, 4096, PROT_READ));
	say("protect a hole", mprotect((void *)0x100000000, 4096, PROT_READ));
	say("no bytes", (long)mmap(NULL, 0, PROT_READ, anonymous, -1, 0));
	say("no file", (long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 33, 0));
	say("no kind", (long)mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS, -1, 0));
	say("replace", (long)mmap(p, 4096, PROT_READ, anonymous | MAP_FIXED_NOREPLACE, -1, 0));
	q = mmap(NULL, 16ul << 30, PROT_NONE, anonymous | MAP_NORESERVE, -1, 0);
	printf("reserved %d\n", q != MAP_FAILED);
	say("used", mprotect(q + (8ul << 30), 4096, PROT_READ | PROT_WRITE));
	q[8ul << 30] = 1;
	say("given back", munmap(q, 16ul << 30));
	say("unmap the middle", munmap(p + 4096, 4096));
	say("unmap it again", munmap(p + 4096, 4096));
	say("unmap nothing", munmap(p, 0));
	printf("%d %d\n", p[0], p[8192]);
	say("sync a hole", msync(p, 3 * 4096, MS_SYNC));
	say("sync", msync(p, 4096, MS_SYNC));
	say("zero", madvise(p, 4096, MADV_DONTNEED));
	printf("%d\n", p[0]);
	p[8192] = 3;
	q = mremap(p + 8192, 4096, 1 << 20, MREMAP_MAYMOVE);
	printf("%d %d\n", q != MAP_FAILED && q[0] == 3, q[(1 << 20) - 1]);
	say("remap a hole", (long)mremap((void *)0x100000000, 4096, 8192, MREMAP_MAYMOVE));
}

static void times(void)
{
	const struct timespec zero = {0}, wrong = {0, 1000000000};
	const struct timespec some = {0, 2000000};
	const struct itimerval off = {0};
	struct timespec t, before, after;
	struct itimerval left;

	SAY(SYS_nanosleep, &zero, NULL);
	SAY(SYS_nanosleep, &wrong, NULL);
	SAY(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &zero, NULL);
	SAY(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &zero, NULL);
	clock_gettime(CLOCK_MONOTONIC, &before);
	SAY(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &some, NULL);
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%d\n",
	       (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >=
		       some.tv_nsec);
	SAY(SYS_clock_getres, CLOCK_MONOTONIC, &t);
	printf("%ld %ld\n", t.tv_sec, t.tv_nsec);
	SAY(SYS_clock_gettime, 99, &t);
	SAY(SYS_gettimeofday, NULL, NULL);
	SAY(SYS_setitimer, ITIMER_REAL, &off, NULL);
	SAY(SYS_setitimer, 9, &off, NULL);
	SAY(SYS_getitimer, ITIMER_REAL, &left);
	printf("%ld %ld\n", (long)left.it_value.tv_sec, (long)left.it_value.tv_usec);
	SAY(SYS_getitimer, 9, &left);
	SAY(SYS_getitimer, ITIMER_REAL, NOWHERE);
}

static void files(void)
{
	struct pollfd p = {1, POLLOUT, 0}, none = {40, POLLIN, 0};
	int fd;

	SAY(SYS_close, 40);
	SAY(SYS_fcntl, 40, F_GETFL);
	SAY(SYS_fcntl, 1, F_GETFD);
	SAY(SYS_fcntl, 1, 9999);
	SAY(SYS_dup3, 1, 1, 0);
	SAY(SYS_dup3, 1, 20, O_CLOEXEC);
	SAY(SYS_fcntl, 20, F_GETFD);
	SAY(SYS_write, 20, "through a copy\n", 15);
	SAY(SYS_close, 20);
	SAY(SYS_write, 20, "x", 1);
	fd = (int)syscall(SYS_fcntl, 1, F_DUPFD, 30);
	printf("%d\n", fd);
	SAY(SYS_openat, AT_FDCWD, "/no/such/file", O_RDONLY);
	SAY(SYS_openat, AT_FDCWD, NOWHERE, O_RDONLY);
	SAY(SYS_unlinkat, AT_FDCWD, "/no/such/file", 0);
	SAY(SYS_faccessat, AT_FDCWD, "/no/such/file", 0);
	SAY(SYS_faccessat2, AT_FDCWD, "/no/such/file", 0, 0);
	SAY(SYS_linkat, AT_FDCWD, "/no/such/file", AT_FDCWD, "/no/other", 0);
	SAY(SYS_mkdirat, AT_FDCWD, "/", 0700);
	SAY(SYS_mkdirat, AT_FDCWD, NOWHERE, 0700);
	SAY(SYS_chdir, "/no/such/folder");
	SAY(SYS_chdir, NOWHERE);
	SAY(SYS_chdir, "/");
	SAY(SYS_ppoll, &p, 1, NULL, NULL, 8);
	printf("%d\n", p.revents);
	SAY(SYS_ppoll, &none, 1, NULL, NULL, 8);
	printf("%d\n", none.revents);
	SAY(SYS_ioctl, 40, 0x5401, NOWHERE);
}

static void process(void)
{
	unsigned long first = 1, none = 0, pending = 7;
	struct rlimit limit;
	struct rusage usage;
	char name[16] = "";

	printf("%d\n", getpid() == gettid());
	SAY(SYS_sched_yield);
	SAY(SYS_sched_setaffinity, 0, 8, &first);
	SAY(SYS_sched_setaffinity, 0, 8, &none);
	SAY(SYS_sched_setaffinity, 0, 8, NOWHERE);
	SAY(SYS_getcpu, NULL, NULL, NULL);
	SAY(SYS_getcpu, NOWHERE, NULL, NULL);
	SAY(SYS_wait4, -1, NULL, 0, NULL);
	SAY(SYS_wait4, -1, NULL, 0x100, NULL);
	SAY(SYS_getrlimit, RLIMIT_NOFILE, &limit);
	SAY(SYS_getrlimit, 99, &limit);
	SAY(SYS_getrlimit, RLIMIT_NOFILE, NULL);
	SAY(SYS_rt_sigpending, &pending, 8);
	printf("%lu\n", pending);
	SAY(SYS_rt_sigpending, &pending, 9);
	SAY(SYS_getrusage, 7, &usage);
	SAY(SYS_prctl, PR_SET_NAME, "a name");
	SAY(SYS_prctl, PR_GET_NAME, name);
	puts(name);
	SAY(SYS_rt_sigaction, SIGKILL, name, NULL, 8);
	SAY(SYS_rt_sigaction, 99, NULL, NULL, 8);
	SAY(SYS_rt_sigprocmask, 9, NULL, NULL, 8);
	SAY(SYS_rt_sigprocmask, 0, NULL, NULL, 4);
	SAY(SYS_tgkill, getpid(), getpid(), 0);
	SAY(SYS_tgkill, 0, 0, 0);
	signal(SIGUSR1, SIG_IGN);
	say("ignored", raise(SIGUSR1));
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	futexes();
	memory();
	times();
	files();
	process();
	return 0;
}
