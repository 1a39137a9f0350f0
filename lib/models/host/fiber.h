/* SPDX-License-Identifier: MIT */
/*
 * Fibers: functions with stacks of their own, which switch to each other. All fibers that switch to
 * each other belong to one thread.
 */
#ifndef ANNEX_HDM_HOST_FIBER_H
#define ANNEX_HDM_HOST_FIBER_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/*
 * struct fiber - A fiber; zeroed: the thread's own stack.
 * @fn: its function, which never returns: it ends with a switch to another fiber.
 * @arg: argument of @fn.
 * @map: mapping of its stack.
 * @bytes: bytes of @map.
 * @begun: it has run.
 * @ended: its next switch is the last.
 * @start: context of its start.
 * @at: context of its last switch.
 * @checker: handle of a sanitizer.
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

/* fiber_switch() - Switch from the running fiber to another one. It returns when a fiber switches
 * back. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
