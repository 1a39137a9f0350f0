// SPDX-License-Identifier: MIT
/* Services of a hart for its program, by name, without a library of C; 0: all is well. */
#include <stdint.h>

static long call(long number, long a, long b, long c)
{
	register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	return a0;
}

static int is(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static long to_output(long fd, const void *text, long bytes)
{
	return call(64, fd, (long)text, bytes);
}

static char zeroes[16384];

/* Also over the ends of two pages, and to descriptors and from places that are not there. */
static int output(void)
{
	zeroes[8191] = 'a';
	zeroes[8192] = '\n';
	return !(to_output(1, zeroes + 8191, 2) == 2 && to_output(1, zeroes, 0) == 0 &&
		 to_output(0, zeroes, 1) == -9 && to_output(3, zeroes, 1) == -9 &&
		 to_output(-1, zeroes, 1) == -9 && to_output(1, (void *)8, 1) == -14);
}

static int counters(void)
{
	uint64_t a, b, before, after, cycle;

	__asm__ volatile("rdtime %0" : "=r"(before));
	__asm__ volatile("rdinstret %0\nnop\nnop\nrdinstret %1" : "=&r"(a), "=r"(b));
	__asm__ volatile("rdtime %0\nrdcycle %1" : "=&r"(after), "=r"(cycle));
	return !(b - a == 3 && cycle > b && after >= before);
}

/* It grows to 1 GiB by pages, goes, and comes back empty; it has an end. */
static int heap(void)
{
	long low = call(214, 0, 0, 0), to = low;
	volatile char *p = (volatile char *)low;

	for (int i = 0; i < 262144; i++, to += 4096)
		if (call(214, to + 4096, 0, 0) != to + 4096)
			return 1;
	p[0] = p[(1 << 30) - 1] = 1;
	if (call(214, low, 0, 0) != low || call(214, to, 0, 0) != to || p[0] || p[(1 << 30) - 1])
		return 2;
	return call(214, low + (5l << 30), 0, 0) != to || call(214, low - 1, 0, 0) != to;
}

void begin(const long *sp);

static int run(const char *what)
{
	static const char misaligned[16];
	uint64_t old;

	if (is(what, "output"))
		return output();
	if (is(what, "counters"))
		return counters();
	if (is(what, "heap"))
		return heap();
	if (is(what, "load"))
		return *(volatile char *)8;
	if (is(what, "store"))
		*(volatile char *)(uintptr_t)begin = 1;
	if (is(what, "atomic"))
		__asm__ volatile("amoadd.d %0, zero, (%1)" : "=r"(old) : "r"(misaligned + 1));
	if (is(what, "ebreak"))
		__asm__ volatile("ebreak");
	if (is(what, "illegal"))
		__asm__ volatile(".word 0");
	if (is(what, "futex"))
		call(98, 0, 0, 0);
	if (is(what, "call"))
		call(1000, 0, 0, 0);
	while (is(what, "spin"))
		__asm__ volatile("");
	return 1;
}

__attribute__((used)) void begin(const long *sp)
{
	const char *const *argv = (const char *const *)(sp + 1);

	call(94, run(*sp > 1 ? argv[1] : ""), 0, 0);
}

__asm__(".globl _start\n_start:\n\tmv a0, sp\n\tcall begin");
