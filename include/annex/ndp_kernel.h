/* SPDX-License-Identifier: MIT */
/*
 * Near-data kernels in C: the header for the source of a kernel, which a compiler for riscv64 makes
 * into an ELF file for annex_m2_load(). clang has vector intrinsics (riscv_vector.h) from version
 * 17 on; docs/m2func.md has the command.
 *
 *	struct args {
 *		const int32_t *b;
 *		int32_t *c;
 *	};
 *	ANNEX_KERNEL(16, 0, 10, sizeof(struct args), sizeof(struct args))
 *
 *	ANNEX_KERNEL_BODY(0, piece, offset)
 *	{
 *		const struct args *args = ANNEX_KERNEL_SCRATCHPAD;
 *		...
 *	}
 *
 * There is no stack: a function that calls others, or spills registers, ends with -EFAULT at an
 * address below 0. Inline all functions. Static variables are shared by all micro-threads, so use
 * atomics for them.
 */
#ifndef ANNEX_NDP_KERNEL_H
#define ANNEX_NDP_KERNEL_H

#include <stdint.h>
#include <annex/m2wire.h>

/* The unit's scratchpad: the kernel's arguments, then zeroes. */
#define ANNEX_KERNEL_SCRATCHPAD ((void *)ANNEX_M2_SCRATCHPAD)

/**
 * ANNEX_KERNEL() - Declare the resources that the kernel needs, once in its source.
 * @x: number of integer registers: 16 is x0 to x15 (a5). 32 always suffices; fewer registers allow
 *	more micro-threads at once. On Table IV's device all 16 of a sub-core run if the registers
 *	of one have at most 768 bytes (8 for each of @x and @f, 32 for each of @v). Use of another
 *	register ends the kernel with -ENOEXEC.
 * @f: floating-point registers, likewise.
 * @v: vector registers, likewise.
 * @scratchpad: bytes of the scratchpad, arguments included.
 * @args: bytes of arguments, a multiple of 8.
 */
#define ANNEX_KERNEL(x, f, v, scratchpad, args)                                                    \
	ANNEX_M2_ASSERT((args) % 8 == 0 && (args) <= ANNEX_M2_ARGS_MAX && (args) <= (scratchpad)); \
	ANNEX_M2_ASSERT((x) >= 12 && (x) <= 32 && (f) <= 32 && (v) <= 32);                         \
	__attribute__((naked, used)) static void annex_kernel_needs(void)                          \
	{                                                                                          \
		__asm__ volatile(".globl ndp_regs_x, ndp_regs_f, ndp_regs_v\n\t"                   \
				 ".globl ndp_scratchpad, ndp_args\n\t"                             \
				 ".set ndp_regs_x, %0\n\t"                                         \
				 ".set ndp_regs_f, %1\n\t"                                         \
				 ".set ndp_regs_v, %2\n\t"                                         \
				 ".set ndp_scratchpad, %3\n\t"                                     \
				 ".set ndp_args, %4" ::"i"(x),                                     \
				 "i"(f), "i"(v), "i"(scratchpad), "i"(args));                      \
	}

/*
 * An entry point: x1 and x2 become arguments, and the stack pointer is 0, so that every access to
 * the stack is a fault. When the function returns, the micro-thread ends.
 */
#define ANNEX_KERNEL_ENTRY(name, first, second)                                                    \
	__attribute__((noinline, used)) static void annex_kernel_##name(first, second);            \
	void ndp_##name(void);                                                                     \
	__attribute__((naked, used)) void ndp_##name(void)                                         \
	{                                                                                          \
		__asm__ volatile("mv a0, x1\n\t"                                                   \
				 "mv a1, x2\n\t"                                                   \
				 "li x2, 0\n\t"                                                    \
				 "jal x1, annex_kernel_" #name "\n\t"                              \
				 "ecall");                                                         \
	}                                                                                          \
	static void annex_kernel_##name(first, second)

#define ANNEX_KERNEL_UNUSED __attribute__((unused))

/**
 * ANNEX_KERNEL_BODY() - The head of a function that micro-threads run.
 * @n: number of the body, from 0 to 7.
 * @piece: name of its void * to its 32 or 64 bytes of the pool region.
 * @offset: name of its uint64_t with the offset of these bytes in the region.
 */
#define ANNEX_KERNEL_BODY(n, piece, offset)                                                        \
	ANNEX_KERNEL_ENTRY(body##n, void *piece ANNEX_KERNEL_UNUSED,                               \
			   uint64_t offset ANNEX_KERNEL_UNUSED)

/**
 * ANNEX_KERNEL_INIT() - The head of a function that runs before the bodies, once for each slot of a
 * micro-thread.
 * @slots: name of a uint64_t with the number of slots of the device.
 * @slot: name of a uint64_t with the number of this slot.
 */
#define ANNEX_KERNEL_INIT(slots, slot)                                                             \
	ANNEX_KERNEL_ENTRY(init, uint64_t slots ANNEX_KERNEL_UNUSED,                               \
			   uint64_t slot ANNEX_KERNEL_UNUSED)

/**
 * ANNEX_KERNEL_FINI() - The head of a function that runs after the bodies, likewise.
 * @slots: as for ANNEX_KERNEL_INIT().
 * @slot: as for ANNEX_KERNEL_INIT().
 */
#define ANNEX_KERNEL_FINI(slots, slot)                                                             \
	ANNEX_KERNEL_ENTRY(fini, uint64_t slots ANNEX_KERNEL_UNUSED,                               \
			   uint64_t slot ANNEX_KERNEL_UNUSED)

#endif
