// SPDX-License-Identifier: MIT
/*
 * Stacks of tasks: all of each can be used, and nothing below it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/cxltask.h>
#include "tests/unit/unit.h"

/* How far a frame is from the first one. */
static uint64_t depth(uintptr_t from)
{
	return from - (uintptr_t)__builtin_frame_address(0);
}

__attribute__((noinline)) static uint64_t dive(struct annex_cxltask *t, uintptr_t from,
					       uint64_t bytes, uint64_t n)
{
	volatile uint64_t kept = n * 3;
	uint64_t sum = n;

	if (n % 64 == 0 || depth(from) >= bytes) {
		annex_cxltask_work(t, 7);
		annex_cxltask_turn(t);
		annex_cxltask_wait(t, annex_cxltask_now(t) + 50, 0);
	}
	if (depth(from) < bytes)
		sum += dive(t, from, bytes, n + 1);
	CU_ASSERT_EQUAL(kept, n * 3);
	return sum + kept - 3 * n;
}

static void dive_down(struct annex_cxltask *t, void *arg)
{
	/* Sanitizers, and an assertion that is noted, need more below. */
	const uint64_t room = UNIT_SANITIZED ? 64u << 10 : 12u << 10;
	const uint64_t bytes = *(const size_t *)arg - room;

	CU_ASSERT(dive(t, (uintptr_t)__builtin_frame_address(0), bytes, 1) > 1);
}

static uint64_t run_seven(size_t stack, void (*fn)(struct annex_cxltask *t, void *arg))
{
	const struct annex_cxltasks_opts o = {.cores = 3, .stack = stack};
	struct annex_cxltasks_stats stats;
	struct annex_cxltasks *all = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_cxltasks_create(&o, &all), 0);
	for (uint32_t i = 0; i < 7; i++)
		CU_ASSERT_EQUAL_FATAL(annex_cxltasks_add(all, fn, &stack), 0);
	annex_cxltasks_run(all, &stats);
	annex_cxltasks_destroy(all);
	return stats.switches;
}

static void stacks(void)
{
	for (size_t stack = 128u << 10; stack <= 4u << 20; stack *= 2)
		CU_ASSERT(run_seven(stack, dive_down) > 7);
}

#define FALL (1u << 20)

static uintptr_t fall_from;

static void fell(int sig, siginfo_t *info, void *context)
{
	const uint64_t deep = fall_from - (uintptr_t)info->si_addr;

	(void)sig;
	(void)context;
	_exit(deep > FALL - 4096 && deep < FALL + (128u << 10) ? 77 : 1);
}

static void fall(struct annex_cxltask *t, void *arg)
{
	(void)arg;
	if (fall_from)
		return;
	fall_from = (uintptr_t)__builtin_frame_address(0);
	dive(t, fall_from, 1ull << 30, 1);
}

/* A stack that is too small ends the process, and overwrites nothing. */
static void guards(void)
{
	int status = 0;
	pid_t child;

	if (UNIT_SANITIZED)
		return;
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		static char other[64 << 10];
		const stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
		const struct sigaction act = {.sa_sigaction = fell,
					      .sa_flags = SA_SIGINFO | SA_ONSTACK};

		sigaltstack(&stack, NULL);
		sigaction(SIGSEGV, &act, NULL);
		run_seven(FALL, fall);
		_exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

UNIT_SUITE(cxltask_stack, {"stacks", stacks}, {"guards", guards})
