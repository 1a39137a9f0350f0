/* SPDX-License-Identifier: MIT */
/*
 * RISC-V programs on the harts of the near-data processor (annex/models/ndp.h): small ones, and
 * suites that check its instructions.
 */
#ifndef ANNEX_RISCV_H
#define ANNEX_RISCV_H

#include <stdint.h>
#include <annex/log.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_rv_opts - How a program runs.
 * @vlen: bits of a vector register, a power of two from 128 to 1024; 0: 256.
 * @budget: instructions it may execute; 0: any number.
 * @out: descriptor that its descriptor 1 is.
 * @err: descriptor that its descriptor 2 is.
 */
struct annex_rv_opts {
	uint32_t vlen;
	uint64_t budget;
	int out;
	int err;
};

/**
 * struct annex_rv_result - How it ended.
 * @status: its argument of exit(), or 128 + @signal.
 * @signal: 0, or the signal that ended it, in Linux's numbers.
 * @pc: where it ended.
 * @instructions: that were executed.
 */
struct annex_rv_result {
	int status;
	int signal;
	uint64_t pc;
	uint64_t instructions;
};

/**
 * annex_rv_run() - Run a simple static program for RV64 until it ends.
 * @path: the program.
 * @argv: its arguments, the first of which is its name, NULL at the end.
 * @opts: how to run it.
 * @out: how it ended.
 *
 * Its instructions are those of IMAFDC, Zicsr, Zicntr, Zifencei, Zba, Zbb, Zfh, V and Zvfh. It
 * begins with its arguments on a stack of 8 MiB, and with an empty environment. Its system calls
 * are exit, exit_group, write to descriptors 1 and 2, and brk for a heap of up to 4 GiB; any other
 * one ends it. It cannot store to its code.
 *
 * Return: 0: it exited, and *@out is filled. Otherwise a negative errno, with the reason in
 * annex_last_error(). If a signal ended it, *@out is filled too: -EILSEQ: SIGILL; -EFAULT: SIGSEGV
 * or SIGBUS; -EINTR: SIGTRAP, a breakpoint; -ENOSYS: SIGSYS, another system call; -ETIME: SIGXCPU,
 * the budget is used up. If it did not begin, the signal in *@out is 0: -ENOENT and other errors of
 * open(); -ENOEXEC, -EINVAL, -E2BIG: not such a program; -ENOMEM.
 */
int annex_rv_run(const char *path, char *const argv[], const struct annex_rv_opts *opts,
		 struct annex_rv_result *out);

#ifdef __cplusplus
}
#endif
#endif
