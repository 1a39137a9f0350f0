/* SPDX-License-Identifier: MIT */
/*
 * A program in user mode: its memory, its one hart, and the Linux system calls it may make.
 */
#ifndef ANNEX_EMU_RV_USER_H
#define ANNEX_EMU_RV_USER_H

#include <annex/riscv.h>
#include "rv.h"
#include "space.h"

#define USER_STACK_TOP 0x3ffffff000ull
#define USER_STACK_BYTES (8ull << 20)
#define USER_BRK_BYTES (1ull << 30)
#define USER_MAP_LOW 0x2000000000ull
#define USER_MAP_TOP (USER_STACK_TOP - 2 * USER_STACK_BYTES)

struct user {
	struct rv_space space;
	struct rv_batch *batch;
	struct rv_code *code;
	int out, err;
	uint64_t brk_low, brk;
	bool exited;
	int status;
};

/* user_call() - The system call that the hart is at; its answer goes to a0, and its pc goes on. */
void user_call(struct user *u);

/* user_stack() - Arguments and what else a program finds on its stack; @sp is where. */
struct annex_elf;
int user_stack(struct user *u, const struct annex_elf *elf, uint64_t moved, char *const argv[],
	       uint64_t *sp);

#endif
