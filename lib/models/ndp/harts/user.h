/* SPDX-License-Identifier: MIT */
/*
 * A program in user mode: its memory, its one hart, and the system calls that it may make. Code
 * cannot be stored to, so fence.i has nothing to do.
 */
#ifndef ANNEX_NDP_HARTS_USER_H
#define ANNEX_NDP_HARTS_USER_H

#include "ndp/elf.h"
#include "rv.h"

#define USER_PAGE 4096ull
#define USER_HEAP (4ull << 30) /* bytes, at most */

/**
 * struct user - The program.
 * @host: memory of the host for image, heap and stack.
 * @host_bytes: its size.
 * @span: segments of the image by address, then the heap and the stack.
 * @n: number of spans.
 * @heap: the heap's, which brk() changes.
 * @brk: the end of the heap.
 * @fd: the host's descriptors for its descriptors 1 and 2, or -1.
 * @done: instructions executed.
 * @ended: the program has ended.
 * @status: its exit status.
 * @signal: the signal that stands for what ended it, or 0.
 * @err: the result of annex_rv_run().
 */
struct user {
	struct rv_batch *batch;
	struct rv_code *code;
	char *host;
	uint64_t host_bytes;
	struct rv_span span[ANNEX_ELF_SEGMENTS + 2];
	unsigned int n;
	struct rv_span *heap;
	uint64_t brk;
	int fd[2];
	uint64_t done;
	bool ended;
	int status, signal, err;
};

static inline uint64_t user_page_up(uint64_t value)
{
	return (value + USER_PAGE - 1) & ~(USER_PAGE - 1);
}

/* user_load() - Memory and code of the program in the file @path; its hart is at the entry. 0, or
 * a negative errno with its line. */
int user_load(struct user *u, const char *path, char *const argv[], const struct rv_isa *isa);

/* user_find() - As rv_mem.find. */
int user_find(void *ctx, uint64_t va, struct rv_span *span);

/* user_call() - The system call that the hart is at; its answer goes to a0, and its pc goes on. */
void user_call(struct user *u);

/* user_kill() - It ends by @signal; @err and the line say why. */
void user_kill(struct user *u, int signal, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
