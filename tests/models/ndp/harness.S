/* SPDX-License-Identifier: MIT */
/*
 * A near-data kernel as a program of its own, for an emulator of user mode: micro-threads one after
 * the other, on one core. What to do (struct ndp_job in way.h) comes from descriptor 0, the range
 * is the file at descriptor 3, and when the kernel began and ended goes to descriptor 1.
 *
 * Kernels overwrite all registers, so the state is in memory, in the page before the scratchpad. It
 * exits with 2 when the emulator itself has something at the range's addresses, else with 0 or 1.
 */
	.set	PAGE, 0xffff /* for lui */
	.set	SCRATCHPAD, 0x10000
	.set	SCRATCHPAD_BYTES, 0x20000

	/* struct ndp_job */
	.set	BASE, 0
	.set	BOUND, 8
	.set	PIECE, 16
	.set	SLOTS, 24
	.set	AT, 32
	.set	BYTES, 40
	.set	NARGS, 48
	.set	ARGS, 56
	.set	JOB_BYTES, 312
	/* the micro-thread, and the next ones */
	.set	X1, 512
	.set	X2, 520
	.set	STEP1, 528
	.set	STEP2, 536
	.set	END2, 544
	.set	ENTRY, 552
	.set	PHASE, 560
	.set	TIMES, 568

	.set	SYS_READ, 63
	.set	SYS_WRITE, 64
	.set	SYS_EXIT, 93
	.set	SYS_CLOCK_GETTIME, 113
	.set	SYS_MMAP, 222
	.set	READ_WRITE, 3
	.set	PRIVATE_ZEROES_THERE, 0x100022
	.set	SHARED_THERE, 0x100001
	.set	CLOCK_MONOTONIC, 1

	.weak	ndp_init, ndp_body1, ndp_body2, ndp_body3, ndp_body4, ndp_body5, ndp_body6
	.weak	ndp_body7, ndp_fini
	.globl	_start, ndp_ended

	.macro	call number
	li	a7, \number
	ecall
	bltz	a0, fail
	.endm

	.macro	clock offset
	li	a0, CLOCK_MONOTONIC
	lui	a1, PAGE
	addi	a1, a1, \offset
	call	SYS_CLOCK_GETTIME
	.endm

	.text
_start:
	lui	a0, PAGE
	li	a1, SCRATCHPAD_BYTES + 0x1000
	li	a2, READ_WRITE
	li	a3, PRIVATE_ZEROES_THERE
	li	a4, -1
	li	a5, 0
	lui	s0, PAGE
	call	SYS_MMAP
	bne	a0, s0, fail
	li	a0, 0
	mv	a1, s0
	li	a2, JOB_BYTES
	call	SYS_READ
	li	t0, JOB_BYTES
	bne	a0, t0, fail
	ld	a0, AT(s0)
	ld	a1, BYTES(s0)
	li	a2, READ_WRITE
	li	a3, SHARED_THERE
	li	a4, 3
	li	a5, 0
	li	a7, SYS_MMAP
	ecall
	ld	t0, AT(s0)
	bne	a0, t0, taken

	/* No page of it is new to the kernel. */
	ld	t1, BYTES(s0)
	add	t1, t0, t1
	li	t2, 4096
1:	lb	zero, 0(t0)
	add	t0, t0, t2
	bltu	t0, t1, 1b

	ld	t0, NARGS(s0)
	addi	t1, s0, ARGS
	lui	t2, SCRATCHPAD
2:	beqz	t0, 3f
	ld	t3, 0(t1)
	sd	t3, 0(t2)
	addi	t1, t1, 8
	addi	t2, t2, 8
	addi	t0, t0, -8
	j	2b
3:	la	t0, phases
	sd	t0, PHASE(s0)
	clock	TIMES

next_phase:
	lui	s0, PAGE
	ld	t0, PHASE(s0)
	addi	t1, t0, 16
	sd	t1, PHASE(s0)
	ld	t1, 0(t0)
	ld	t2, 8(t0)
	li	t3, -1
	beq	t1, t3, finish
	beqz	t1, next_phase
	sd	t1, ENTRY(s0)
	sd	zero, X2(s0)
	bnez	t2, 1f
	ld	t3, SLOTS(s0) /* initializer, finalizer: of numbered slots, how many of them */
	sd	t3, X1(s0)
	sd	t3, END2(s0)
	sd	zero, STEP1(s0)
	li	t3, 1
	sd	t3, STEP2(s0)
	j	begin
1:	ld	t3, BASE(s0)
	sd	t3, X1(s0)
	ld	t4, BOUND(s0)
	sub	t4, t4, t3
	sd	t4, END2(s0)
	ld	t3, PIECE(s0)
	sd	t3, STEP1(s0)
	sd	t3, STEP2(s0)
	j	begin

ndp_ended:
	lui	x31, PAGE
	ld	x2, X2(x31)
	ld	x3, STEP2(x31)
	ld	x4, END2(x31)
	add	x2, x2, x3
	bgeu	x2, x4, next_phase
	ld	x1, X1(x31)
	ld	x3, STEP1(x31)
	add	x1, x1, x3
	sd	x1, X1(x31)
	sd	x2, X2(x31)
	ld	x30, ENTRY(x31)
	jr	x30

begin:	ld	x1, X1(s0)
	ld	x2, X2(s0)
	ld	x30, ENTRY(s0)
	jr	x30

finish:	clock	TIMES + 16
	li	a0, 1
	addi	a1, s0, TIMES
	li	a2, 32
	call	SYS_WRITE
	li	a0, 0
	j	exit
taken:	li	a0, 2
	j	exit
fail:	li	a0, 1
exit:	li	a7, SYS_EXIT
	ecall

	.section .rodata
	.balign	8
phases:	.dword	ndp_init, 0
	.dword	ndp_body0, 1
	.dword	ndp_body1, 1
	.dword	ndp_body2, 1
	.dword	ndp_body3, 1
	.dword	ndp_body4, 1
	.dword	ndp_body5, 1
	.dword	ndp_body6, 1
	.dword	ndp_body7, 1
	.dword	ndp_fini, 0
	.dword	-1, 0
