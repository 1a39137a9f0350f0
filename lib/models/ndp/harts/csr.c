// SPDX-License-Identifier: MIT
/*
 * Control and status registers of user level, and what else has the system's opcode.
 */
#include "decode.h"
#include "hot.h"

enum {
	CSR_FFLAGS = 0x001,
	CSR_FRM = 0x002,
	CSR_FCSR = 0x003,
	CSR_VSTART = 0x008,
	CSR_VXSAT = 0x009,
	CSR_VXRM = 0x00a,
	CSR_VCSR = 0x00f,
	CSR_CYCLE = 0xc00,
	CSR_INSTRET = 0xc02,
	CSR_VL = 0xc20,
	CSR_VTYPE = 0xc21,
	CSR_VLENB = 0xc22,
};

static uint64_t read_csr(const struct rv_batch *b, unsigned int csr, unsigned int i)
{
	switch (csr) {
	case CSR_FFLAGS:
		return b->fflags[i];
	case CSR_FRM:
		return b->frm[i];
	case CSR_FCSR:
		return (uint64_t)b->frm[i] << 5 | b->fflags[i];
	case CSR_VSTART:
		return b->vstart;
	case CSR_VXSAT:
		return b->vxsat[i];
	case CSR_VXRM:
		return b->vxrm[i];
	case CSR_VCSR:
		return (uint64_t)b->vxrm[i] << 1 | b->vxsat[i];
	case CSR_VL:
		return b->vl;
	case CSR_VTYPE:
		return b->vtype;
	default:
		return b->vlenb;
	}
}

static void write_csr(struct rv_batch *b, unsigned int csr, unsigned int i, uint64_t value)
{
	switch (csr) {
	case CSR_FFLAGS:
		b->fflags[i] = value & 31;
		break;
	case CSR_FRM:
		b->frm[i] = value & 7;
		break;
	case CSR_FCSR:
		b->fflags[i] = value & 31;
		b->frm[i] = value >> 5 & 7;
		break;
	case CSR_VXSAT:
		b->vxsat[i] = value & 1;
		break;
	case CSR_VXRM:
		b->vxrm[i] = value & 3;
		break;
	default:
		b->vxsat[i] = value & 1;
		b->vxrm[i] = value >> 1 & 3;
		break;
	}
}

/* Lanes with another vstart than the first of them are no longer of its group. */
static void write_vstart(struct rv_batch *b, const uint64_t *value)
{
	unsigned int first = (unsigned int)__builtin_ctzll(b->group), i;
	uint64_t other = 0, mask = b->vlenb * 8 - 1;

	b->vstart = value[first] & mask;
	rv_each(b, i) {
		if ((value[i] & mask) != b->vstart)
			other |= 1ull << i;
	}
	if (!other)
		return;
	rv_leave(b, other, b->next);
	for (uint64_t left = other; left; left &= left - 1) {
		i = (unsigned int)__builtin_ctzll(left);
		b->lane_vstart[i] = value[i] & mask;
	}
}

/* The group's state is the same in all of its lanes. */
static void read_shape(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t *d = b->x[in->rd], value = read_csr(b, in->aux, 0);

	rv_lanes(b, i, d[i] = value);
}

enum { WRITES = 1 << 12 }; /* in aux, beside the number */

static void csr(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int number = in->aux & 0xfff, i;
	uint64_t *d = b->x[in->rd], value[RV_LANES] = {0};

	rv_each(b, i) {
		uint64_t old = read_csr(b, number, i);
		uint64_t with = in->rm & 4 ? in->rs1 : b->x[in->rs1][i];

		value[i] = in->rm % 4 == 1 ? with : in->rm % 4 == 2 ? old | with : old & ~with;
		d[i] = old;
		if (in->aux & WRITES && number != CSR_VSTART)
			write_csr(b, number, i, value[i]);
	}
	if (!(in->aux & WRITES))
		return;
	if (number == CSR_VSTART)
		write_vstart(b, value);
	if (number == CSR_FRM || number == CSR_FCSR)
		rv_round(b);
}

static void ecall(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t ended = b->group;

	(void)in;
	if (!b->opts.ecall_ends) {
		rv_halt(b, RV_ECALL, (unsigned int)__builtin_ctzll(b->group), 0);
		return;
	}
	b->alive &= ~ended;
	rv_leave(b, ended, b->at);
}

static void ebreak(struct rv_batch *b, const struct rv_insn *in)
{
	(void)in;
	rv_halt(b, RV_EBREAK, (unsigned int)__builtin_ctzll(b->group), 0);
}

/* Pairs with the fences and atomics of harts in other threads; whatever kind it is, it is full.
 * Code never changes, so fence.i needs no more. */
static void fence(struct rv_batch *b, const struct rv_insn *in)
{
	(void)b;
	(void)in;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The batch's user knows the time, and how many instructions there were before. */
static void counter(struct rv_batch *b, const struct rv_insn *in)
{
	if (b->opts.ecall_ends)
		rv_illegal(b, in);
	else
		rv_halt(b, RV_COUNTER, (unsigned int)__builtin_ctzll(b->group), in->bits);
}

static bool is_counter(unsigned int number)
{
	return number >= CSR_CYCLE && number <= CSR_INSTRET;
}

static bool is_csr(unsigned int number)
{
	return is_counter(number) || (number >= CSR_FFLAGS && number <= CSR_FCSR) ||
	       (number >= CSR_VSTART && number <= CSR_VXRM) || number == CSR_VCSR ||
	       (number >= CSR_VL && number <= CSR_VLENB);
}

unsigned int rv_decode_csr(uint32_t bits, struct rv_insn *in)
{
	uint32_t f3 = bits >> 12 & 7, number = bits >> 20;
	bool writes = f3 % 4 == 1 || (bits >> 15 & 31);

	in->unit = RV_ALU;
	if ((bits & 0x7f) == 0x0f) {
		in->op = f3 <= 1 ? fence : NULL;
		in->unit = RV_LSU;
		return in->op ? RV_NONE : 0;
	}
	if (f3 % 4 == 0) {
		in->op = bits == 0x00000073 ? ecall : bits == 0x00100073 ? ebreak : NULL;
		in->unit = RV_BRANCH;
		return in->op ? RV_NONE : 0;
	}
	/* The highest two bits of the number say that it can only be read. */
	if (!is_csr(number) || (writes && number >> 10 == 3))
		return 0;
	in->op = is_counter(number) ? counter : number >= CSR_VL ? read_shape : csr;
	in->aux = number | (writes ? WRITES : 0);
	return f3 & 4 ? RV_XD : RV_XD | RV_X1;
}
