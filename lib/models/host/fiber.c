// SPDX-License-Identifier: MIT
/*
 * A fiber is entered by a context of its own (makecontext()), and continued by _longjmp(), which
 * takes no system call as swapcontext() does. The checked _longjmp() of _FORTIFY_SOURCE takes
 * another stack for an error.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fiber.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED_ADDRESSES 1
#elif __has_feature(thread_sanitizer)
#define WATCHED_THREADS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WATCHED_ADDRESSES 1
#elif defined(__SANITIZE_THREAD__)
#define WATCHED_THREADS 1
#endif

#ifdef WATCHED_ADDRESSES
void __asan_unpoison_memory_region(const volatile void *at, size_t bytes);
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);
#endif
#ifdef WATCHED_THREADS
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned int flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned int flags);
#endif

static size_t guard(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

bool fiber_init(struct fiber *f, void (*fn)(void *arg), void *arg, size_t stack)
{
	memset(f, 0, sizeof(*f));
	f->fn = fn;
	f->arg = arg;
	f->bytes = guard() + (stack + guard() - 1) / guard() * guard();
	f->map = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (f->map == MAP_FAILED)
		return false;
	if (mprotect(f->map, guard(), PROT_NONE)) {
		munmap(f->map, f->bytes);
		return false;
	}
#ifdef WATCHED_THREADS
	f->checker = __tsan_create_fiber(0);
#endif
	return true;
}

void fiber_free(struct fiber *f)
{
	if (!f->map)
		return;
#ifdef WATCHED_THREADS
	__tsan_destroy_fiber(f->checker);
#endif
#ifdef WATCHED_ADDRESSES
	/* Otherwise a later mapping at this address would inherit the guards. */
	__asan_unpoison_memory_region(f->map, f->bytes);
#endif
	munmap(f->map, f->bytes);
}

#ifdef WATCHED_ADDRESSES
/* The bounds of the thread's own stack, from which the first fiber was entered. */
static _Thread_local struct {
	const void *bottom;
	size_t size;
} own;

static void arrive(struct fiber *f)
{
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(f->checker, &bottom, &size);
	if (!own.bottom) {
		own.bottom = bottom;
		own.size = size;
	}
}

static void leave(struct fiber *from, struct fiber *to)
{
	__sanitizer_start_switch_fiber(from->ended ? NULL : &from->checker,
				       to->map ? (char *)to->map + guard() : own.bottom,
				       to->map ? to->bytes - guard() : own.size);
}
#elif defined(WATCHED_THREADS)
static void arrive(struct fiber *f)
{
	(void)f;
}

/* Inlined, so that ThreadSanitizer does not see one fiber call it and another return from it. */
__attribute__((always_inline)) static inline void leave(struct fiber *from, struct fiber *to)
{
	if (!from->map)
		from->checker = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(to->checker, 0);
}
#else
static void arrive(struct fiber *f)
{
	(void)f;
}

static void leave(struct fiber *from, struct fiber *to)
{
	(void)from;
	(void)to;
}
#endif

/* makecontext() passes ints only. */
static void enter(unsigned int high, unsigned int low)
{
	struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);

	arrive(f);
	f->fn(f->arg);
	abort();
}

/* Nothing lies on the stack that it leaves: AddressSanitizer would guard that for ever. */
static void begin(struct fiber *f)
{
	const uintptr_t self = (uintptr_t)f;

	f->begun = true;
	getcontext(&f->start);
	f->start.uc_stack.ss_sp = (char *)f->map + guard();
	f->start.uc_stack.ss_size = f->bytes - guard();
	f->start.uc_link = NULL;
	makecontext(&f->start, (void (*)(void))enter, 2, (unsigned int)(self >> 32),
		    (unsigned int)self);
	setcontext(&f->start);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
	if (!_setjmp(from->at)) {
		leave(from, to);
		if (to->map && !to->begun)
			begin(to);
		_longjmp(to->at, 1);
	}
	arrive(from);
}
