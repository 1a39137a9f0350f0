/* SPDX-License-Identifier: MIT */
/*
 * A program in user mode: its memory, its one hart, and the Linux system calls it may make. It has
 * no files but those that it begins with, no other threads or processes, and user 0.
 */
#ifndef ANNEX_NDP_HARTS_USER_H
#define ANNEX_NDP_HARTS_USER_H

#include <time.h>
#include <annex/models/riscv.h>
#include "ndp/elf.h"
#include "rv.h"
#include "space.h"

#define USER_STACK_TOP 0x3ffffff000ull
#define USER_STACK_BYTES (8ull << 20)
#define USER_BRK_BYTES SPACE_MOST
#define USER_MAP_LOW 0x2000000000ull
#define USER_MAP_TOP (USER_STACK_TOP - 2 * USER_STACK_BYTES)
#define USER_FDS 64u
#define USER_SIGNALS 64u
#define USER_TIMERS 3u
#define USER_TIMEBASE 10000000ull /* of rdtime, Hz */
#define USER_NS 1000000000ull     /* of a second */

/**
 * struct user_fd - A descriptor of the program.
 * @host: the host's; only if @open.
 */
struct user_fd {
	bool open, cloexec;
	int host;
};

/*
 * struct user_action - struct sigaction of the kernel on RISC-V.
 * @handler: 0 default, 1 ignore.
 */
struct user_action {
	uint64_t handler, flags, mask;
};

/*
 * struct user_timer - ITIMER_REAL and so on.
 * @at: ns of its clock, 0: not armed.
 */
struct user_timer {
	uint64_t at, interval;
};

/**
 * struct user - The program.
 * @text: executable segments.
 * @seen: code as it was decoded, from @code_low on.
 * @done: instructions executed.
 * @blocked: blocked signals, bit n - 1 for signal n.
 * @pending: pending signals, likewise.
 * @ended: the program has ended.
 * @status: its exit status.
 * @signal: the signal that ended it, or 0.
 * @err: the result of annex_rv_run().
 */
struct user {
	struct rv_space space;
	struct rv_batch *batch;
	struct rv_code *code;
	struct user_text {
		uint64_t va, bytes;
	} text[ANNEX_ELF_SEGMENTS];
	unsigned int ntext;
	uint64_t code_low, code_high;
	char *seen;
	struct user_fd fd[USER_FDS];
	struct user_action action[USER_SIGNALS + 1];
	uint64_t blocked, pending;
	struct user_timer timer[USER_TIMERS];
	char name[16];
	uint64_t image_low, brk_low, brk;
	uint64_t done;
	bool ended;
	int status, signal, err;
};

/* user_call() - The system call that the hart is at; its answer goes to a0, and its pc goes on. */
void user_call(struct user *u);

/* user_fetch_anew() - Stores to code so far are seen by the fetch from now on. */
void user_fetch_anew(struct user *u);

/* user_text() - The program's code, from its file. 0 or a negative errno with its line. */
int user_text(struct user *u, const char *file, const struct annex_elf *elf, uint64_t moved,
	      const struct rv_isa *isa);

/* user_kill() - It ends by @signal; @err and the line say why. */
void user_kill(struct user *u, int signal, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* user_signal() - The program gets a signal that no instruction raised. */
void user_signal(struct user *u, unsigned int signal);

/* user_timers() - Timers that have expired send their signals; whether one is armed. */
bool user_timers(struct user *u);

/*
 * user_sleep() - Until @at ns of the monotonic clock, or a timer's signal. UINT64_MAX: for ever,
 * which ends the program. 0, or -EINTR.
 */
int user_sleep(struct user *u, uint64_t at);

uint64_t user_now(clockid_t clock); /* ns */

/* user_timespec() - struct timespec at @va, as ns. -EFAULT, -EINVAL. */
int user_timespec(const struct user *u, uint64_t va, uint64_t *ns);

/* user_stack() - Arguments and what else a program finds on its stack; @sp is where. */
int user_stack(struct user *u, const struct annex_elf *elf, uint64_t moved, char *const argv[],
	       uint64_t *sp);

#endif
