// SPDX-License-Identifier: MIT
/*
 * Stores that last: the cache lines are written back by the best instruction that this processor
 * has, and a fence waits for them.
 */
#include <sys/mman.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <asm/hwcap.h>
#endif
#include "core/log.h"
#include "hdm.h"

/* struct flusher - How this processor does it; no @line: it cannot, from user space. */
static struct flusher {
	const char *name;
	void (*line_back)(void *line);
	void (*fence)(void);
	size_t line;
} flusher;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
static void clwb(void *line)
{
	__asm__ volatile("clwb %0" : "+m"(*(volatile char *)line));
}

static void clflushopt(void *line)
{
	__asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)line));
}

static void clflush(void *line)
{
	__asm__ volatile("clflush %0" : "+m"(*(volatile char *)line));
}

/* clwb and clflushopt are ordered by fences only (Intel SDM, volume 2). */
static void sfence(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

static void choose(void)
{
	unsigned int a, b = 0, c, d, line = 0;

	if (__get_cpuid(1, &a, &line, &c, &d) && d & 1u << 19)
		flusher = (struct flusher){"clflush", clflush, sfence, (line >> 8 & 0xff) * 8};
	if (!flusher.line || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return;
	if (b & 1u << 24)
		flusher = (struct flusher){"clwb", clwb, sfence, flusher.line};
	else if (b & 1u << 23)
		flusher = (struct flusher){"clflushopt", clflushopt, sfence, flusher.line};
}
#elif defined(__aarch64__)
/* By their encodings, which assemblers for older processors take too. */
static void cvap(void *line)
{
	__asm__ volatile("sys #3, C7, C12, #1, %0" : : "r"(line) : "memory");
}

static void cvac(void *line)
{
	__asm__ volatile("sys #3, C7, C10, #1, %0" : : "r"(line) : "memory");
}

static void dsb(void)
{
	__asm__ volatile("dsb sy" ::: "memory");
}

static void choose(void)
{
	uint64_t ctr;
	size_t line;

	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	line = (size_t)4 << (ctr >> 16 & 15);
	if (getauxval(AT_HWCAP) & HWCAP_DCPOP)
		flusher = (struct flusher){"dc cvap", cvap, dsb, line};
	else
		flusher = (struct flusher){"dc cvac", cvac, dsb, line};
}
#else
static void choose(void)
{
}
#endif

static const struct flusher *find_flusher(void)
{
	pthread_once(&once, choose);
	return &flusher;
}

int hdm_msync(struct annex_medium *m, void *ptr, size_t len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t from = (uintptr_t)ptr & ~page;

	(void)m;
	if (!msync((void *)from, (uintptr_t)ptr + len - from, MS_SYNC))
		return 0;
	return annex_fail(-errno, "writing a range back failed: %m");
}

int hdm_persist(struct annex_medium *m, void *ptr, size_t len)
{
	const struct flusher *f = find_flusher();
	uintptr_t end = (uintptr_t)ptr + len;

	if (!m->persistent || !len)
		return 0;
	if (m->ops->persist)
		return m->ops->persist(m, ptr, len);
	if (!f->line)
		return hdm_msync(m, ptr, len);
	for (uintptr_t at = (uintptr_t)ptr & ~(f->line - 1); at < end; at += f->line)
		f->line_back((void *)at);
	f->fence();
	return 0;
}

const char *hdm_persist_name(const struct annex_medium *m)
{
	const struct flusher *f = find_flusher();

	if (!m->persistent)
		return "none";
	if (m->ops->persist)
		return m->ops->flush;
	return f->line ? f->name : "msync";
}
