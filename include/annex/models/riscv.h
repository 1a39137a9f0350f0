/* SPDX-License-Identifier: MIT */
/*
 * RISC-V programs on the harts of the near-data processor (annex/models/ndp.h): small programs, and
 * test suites for its instructions.
 */
#ifndef ANNEX_RISCV_H
#define ANNEX_RISCV_H

#include <stdint.h>
#include <annex/log.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_rv_opts - Options of annex_rv_run().
 * @vlen: bits of a vector register, a power of two from 128 to 1024; 0: 256.
 * @budget: limit of executed instructions; 0: no limit.
 * @out: descriptor for the program's descriptor 1.
 * @err: descriptor for the program's descriptor 2.
 */
struct annex_rv_opts {
	uint32_t vlen;
	uint64_t budget;
	int out;
	int err;
};

/**
 * struct annex_rv_result - Result of a program.
 * @status: its argument of exit(), or 128 + @signal.
 * @signal: 0, or the number of the Linux signal that ended it.
 * @pc: address of the last instruction.
 * @instructions: number of executed instructions.
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
 * @argv: its arguments, beginning with its name, terminated by NULL.
 * @opts: the options.
 * @out: the result.
 *
 * The harts implement IMAFDC, Zicsr, Zicntr, Zifencei, Zba, Zbb, Zfh, V and Zvfh. The program
 * starts with its arguments on a stack of 8 MiB and an empty environment. The system calls are
 * exit, exit_group, write to descriptors 1 and 2, and brk for a heap of up to 4 GiB; any other call
 * ends the program. It cannot store to its code.
 *
 * Return: 0: the program exited, and *@out is set. Otherwise a negative errno, with the reason in
 * annex_last_error(). If a signal ended it, *@out is set too: -EILSEQ: SIGILL; -EFAULT: SIGSEGV or
 * SIGBUS; -EINTR: SIGTRAP, a breakpoint; -ENOSYS: SIGSYS, another system call; -ETIME: SIGXCPU, the
 * budget is used up. If it did not start, the signal in *@out is 0: -ENOENT and other errors of
 * open(); -ENOEXEC, -EINVAL, -E2BIG: not such a program; -ENOMEM.
 */
int annex_rv_run(const char *path, char *const argv[], const struct annex_rv_opts *opts,
		 struct annex_rv_result *out);

#ifdef __cplusplus
}
#endif
#endif
