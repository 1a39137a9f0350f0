// SPDX-License-Identifier: MIT
/* Services of a hart for its program, by name; 0: all is as it should be. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t word;

__attribute__((noinline, aligned(4096))) static int code(void)
{
	__asm__ volatile("nop\nnop");
	return 1;
}

/* Stores to code are seen after fence.i, and after the system call. */
static int fence(void)
{
	static const uint32_t ret = 0x00008067, li_42 = 0x02a00513, li_43 = 0x02b00513;
	uint32_t *p = (uint32_t *)(uintptr_t)code;
	int (*volatile run)(void) = code;
	int first, second;

	if (mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	first = run();
	p[0] = li_42;
	p[1] = ret;
	__asm__ volatile("fence.i" ::: "memory");
	second = run();
	p[0] = li_43;
	syscall(259, p, p + 2, 0);
	return !(first == 1 && second == 42 && run() == 43);
}

/* rdtime is the monotonic clock at 10 MHz. */
static int counters(void)
{
	uint64_t a, b, now, cycle;
	struct timespec t[2];

	__asm__ volatile("rdinstret %0\nnop\nnop\nrdinstret %1" : "=&r"(a), "=r"(b));
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	__asm__ volatile("rdtime %0\nrdcycle %1" : "=&r"(now), "=r"(cycle));
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	for (int i = 0; i < 2; i++)
		t[i].tv_nsec = t[i].tv_sec * 10000000 + t[i].tv_nsec / 100;
	return !(b - a == 3 && cycle > b && (long)now >= t[0].tv_nsec && (long)now <= t[1].tv_nsec);
}

static int heap(void)
{
	char *p = sbrk(0);

	for (int i = 0; i < 262144; i++)
		if (sbrk(4096) == (void *)-1)
			return 1;
	p[(1 << 30) - 1] = 1;
	return sbrk(-(1 << 30)) == (void *)-1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "fence"))
		return fence();
	if (!strcmp(what, "counters"))
		return counters();
	if (!strcmp(what, "heap"))
		return heap();
	if (!strcmp(what, "abort"))
		abort();
	if (!strcmp(what, "load"))
		return *(volatile char *)8;
	if (!strcmp(what, "ebreak"))
		__asm__ volatile("ebreak");
	if (!strcmp(what, "illegal"))
		__asm__ volatile(".word 0");
	if (!strcmp(what, "wait"))
		return (int)syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0);
	while (!strcmp(what, "spin"))
		__asm__ volatile("");
	return 1;
}
