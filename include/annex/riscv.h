/* SPDX-License-Identifier: MIT */
/*
 * RISC-V programs on the harts of the near-data processor (annex/ndp.h), so that what is written
 * for it, and suites that check its instructions, run as they do under an emulator of user mode.
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
 * @out, @err: descriptors that its descriptors 1 and 2 are.
 */
struct annex_rv_opts {
	uint32_t vlen;
	uint64_t budget;
	int out;
	int err;
};

/**
 * struct annex_rv_result - How it ended.
 * @status: what it gave to exit().
 * @instructions: that were executed.
 */
struct annex_rv_result {
	int status;
	uint64_t instructions;
};

/**
 * annex_rv_run() - Run a static Linux program for RV64 (IMAFDC, Zicsr, Zba, Zbb, Zfh, V, Zvfh),
 * until it exits. It can write, get memory, random bytes and the time, and ask what C libraries ask
 * at their start; other system calls fail in it (ENOSYS).
 * @argv: its arguments, the first of which is its name, NULL at the end.
 *
 * Return: 0: it exited, and *@out is filled. Otherwise a negative errno, with the reason in
 * annex_last_error() and @instructions in *@out: -ENOENT and what else open() has; -ENOEXEC,
 * -EINVAL, -E2BIG: not such a program; -ENOMEM; -EILSEQ: an illegal instruction; -EFAULT: memory
 * that it may not reach; -EINTR: a breakpoint; -ETIME: the budget is used up.
 */
int annex_rv_run(const char *path, char *const argv[], const struct annex_rv_opts *opts,
		 struct annex_rv_result *out);

#ifdef __cplusplus
}
#endif
#endif
