// SPDX-License-Identifier: MIT
/*
 * Writing back and invalidating cache lines, for a device that is not coherent with the host's
 * caches. clwb is not used, since it keeps the line: results of a kernel must be read from memory.
 */
#include <errno.h>
#include <pthread.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "core/log.h"
#include "m2.h"

#if defined(__x86_64__)
static size_t line;
static bool optimised;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
	unsigned int a, b, c, d;

	if (__get_cpuid(1, &a, &b, &c, &d) && d & 1u << 19)
		line = (b >> 8 & 0xff) * 8;
	optimised = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 23;
}

static void drop(char *at)
{
	if (optimised)
		__asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)at));
	else
		__asm__ volatile("clflush %0" : "+m"(*(volatile char *)at));
}

/* Only fences order clflushopt with stores before and after it (Intel SDM, volume 2). */
static void fence(void)
{
	__asm__ volatile("mfence" ::: "memory");
}
#elif defined(__aarch64__)
static size_t line;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
	uint64_t ctr;

	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	line = (size_t)4 << (ctr >> 16 & 15);
}

static void drop(char *at)
{
	__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
}

static void fence(void)
{
	__asm__ volatile("dsb sy" ::: "memory");
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
int annex_m2_flush(const void *addr, size_t bytes)
{
	uintptr_t end = (uintptr_t)addr + bytes;

	pthread_once(&once, choose);
	if (!line)
		return annex_fail(-EOPNOTSUPP, "this processor cannot flush cache lines");
	fence();
	for (uintptr_t at = (uintptr_t)addr & ~(line - 1); at < end; at += line)
		drop((char *)at);
	fence();
	return 0;
}
#else
int annex_m2_flush(const void *addr, size_t bytes)
{
	(void)addr;
	(void)bytes;
	return annex_fail(-EOPNOTSUPP, "this processor cannot flush cache lines");
}
#endif
