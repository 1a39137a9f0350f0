/* SPDX-License-Identifier: MIT */
/*
 * A function with a stack of its own, which stops where it goes over to another one and is
 * continued there. All fibers that go over to each other belong to one thread.
 */
#ifndef ANNEX_HDM_HOST_FIBER_H
#define ANNEX_HDM_HOST_FIBER_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/*
 * struct fiber - Zeroed: the thread's own stack, to which its fibers can come back.
 * @fn: never returns: it goes over to another fiber for the last time.
 * @ended: it goes over for the last time.
 * @start, @at: where it is entered, and continued.
 * @checker: what a sanitizer knows it by.
 */
struct fiber {
	void (*fn)(void *arg);
	void *arg;
	void *map;
	size_t bytes;
	bool begun, ended;
	ucontext_t start;
	jmp_buf at;
	void *checker;
};

/* fiber_init() - With a stack of @stack bytes above a guard page; false: no memory. */
bool fiber_init(struct fiber *f, void (*fn)(void *arg), void *arg, size_t stack);
void fiber_free(struct fiber *f);

/* fiber_switch() - From the one that runs to another; it returns when that one or a third comes
 * back. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
