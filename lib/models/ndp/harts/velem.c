// SPDX-License-Identifier: MIT
/*
 * Vector instructions on single elements: operands become arrays, a kernel runs over them, and
 * active elements of the result are written back.
 */
#include "core/least.h"
#include "vector.h"

#define ROW (RV_LANES * RV_VLENB)
#define MANY 16 /* lanes in a group that make work on all 64 cheaper than a walk */

/*
 * An instruction under way, a register of its widest group after the other: for all lanes at once
 * (rows lie lane beside lane, so each is one array), or for one lane.
 */
struct work {
	struct rv_batch *b;
	const struct rv_insn *in;
	const struct rv_vop *op;
	rv_kern *kern;
	bool single; /* a call for each active element: flags and rounding are each lane's own */
	bool all;    /* every lane of the rows is one of the group, or dead */
	unsigned int sew;
	int widest; /* EEW of the widest operand, as in struct rv_vop */
	unsigned int lane, lanes;
	unsigned int step, n; /* the register of the widest group, elements that it has */
	struct rv_vctx ctx;
	char x[ROW] __attribute__((aligned(64))); /* vs2, vs1 and vd, where they cannot be used */
	char y[ROW] __attribute__((aligned(64))); /* in their place */
	char z[ROW] __attribute__((aligned(64)));
	uint8_t m[ROW] __attribute__((aligned(64)));
};

/* Lanes' parts of @bytes, @stride apart, one beside the other in @to; and back. */
static inline void collect_n(char *to, const char *from, unsigned int lanes, size_t stride,
			     size_t bytes)
{
	for (unsigned int i = 0; i < lanes; i++)
		memcpy(to + i * bytes, from + i * stride, bytes);
}

static void collect(char *to, const char *from, unsigned int lanes, size_t stride, size_t bytes)
{
	if (bytes == stride)
		memcpy(to, from, lanes * bytes);
	else if (bytes == 16)
		collect_n(to, from, lanes, stride, 16);
	else if (bytes == 8)
		collect_n(to, from, lanes, stride, 8);
	else
		collect_n(to, from, lanes, stride, bytes);
}

static inline void spread_n(char *to, const char *from, unsigned int lanes, size_t stride,
			    size_t bytes)
{
	for (unsigned int i = 0; i < lanes; i++)
		memcpy(to + i * stride, from + i * bytes, bytes);
}

static void spread(char *to, const char *from, unsigned int lanes, size_t stride, size_t bytes)
{
	if (bytes == 16)
		spread_n(to, from, lanes, stride, 16);
	else if (bytes == 8)
		spread_n(to, from, lanes, stride, 8);
	else
		spread_n(to, from, lanes, stride, bytes);
}

/* The elements of this step of the group at @reg: their place in a row, and bytes of a lane. */
static char *place(const struct work *w, unsigned int reg, int eew, size_t *bytes)
{
	unsigned int shift = (unsigned int)(w->widest - eew);
	unsigned int piece = w->step & ((1u << shift) - 1);

	*bytes = w->b->vlenb >> shift;
	return rv_row(w->b, reg + (w->step >> shift)) + (size_t)w->lane * w->b->vlenb +
	       piece * *bytes;
}

/* The same as an array: in the row itself, or in @buf. */
static char *fetch(const struct work *w, unsigned int reg, int eew, char *buf)
{
	size_t bytes;
	char *at = place(w, reg, eew, &bytes);

	if (eew == w->widest)
		return at;
	collect(buf, at, w->lanes, w->b->vlenb, bytes);
	return buf;
}

/* Each lane's scalar. */
static void scalars(const struct work *w, uint64_t *out)
{
	const struct rv_insn *in = w->in;
	unsigned int eew = w->sew + (unsigned int)w->op->b;

	if (in->rm == 5) {
		for (unsigned int l = 0; l < w->lanes; l++)
			out[l] = rv_vfscalar(w->b, in->rs1, w->lane + l, eew);
	} else {
		memcpy(out, &w->b->x[in->rs1][w->lane], w->lanes * sizeof(*out));
	}
}

/* A word full of elements that are @value. */
static inline uint64_t repeat(uint64_t value, unsigned int eew)
{
	switch (eew) {
	case 0:
		return (value & UINT8_MAX) * 0x0101010101010101;
	case 1:
		return (value & UINT16_MAX) * 0x0001000100010001;
	case 2:
		return (value & UINT32_MAX) * 0x0000000100000001;
	default:
		return value;
	}
}

static inline void fill(char *to, uint64_t word, size_t bytes)
{
	v_u64 *words = (v_u64 *)to;

	for (size_t k = 0; k < bytes / 8; k++)
		words[k] = word;
	memcpy(to + (bytes & ~(size_t)7), &word, bytes & 7);
}

#define SPLAT(T)                                                                                   \
	do {                                                                                       \
		typedef T elements __attribute__((vector_size(32), may_alias));                    \
		elements *to = (elements *)w->y;                                                   \
		for (unsigned int l = 0; l < w->lanes; l++)                                        \
			to[l] = (T)value[l] - (elements){0};                                       \
	} while (0)

/* Each lane has 32 bytes of elements that are its value. */
static void splat_32(struct work *w, const uint64_t *value, unsigned int eew)
{
	switch (eew) {
	case 0:
		SPLAT(uint8_t);
		break;
	case 1:
		SPLAT(uint16_t);
		break;
	case 2:
		SPLAT(uint32_t);
		break;
	default:
		SPLAT(uint64_t);
	}
}

/* The second operand is a scalar: each element has it, where w->y is an array of them. */
static void splat(struct work *w)
{
	const struct rv_insn *in = w->in;
	unsigned int eew = w->sew + (unsigned int)w->op->b;
	size_t bytes = (size_t)w->n << eew;
	uint64_t value[RV_LANES];
	int64_t imm = (in->rs1 ^ 16) - 16;

	if (in->rm == 3) {
		imm = w->op->flags & RV_VOP_UIMM ? in->rs1 : imm;
		fill(w->y, repeat((uint64_t)imm, eew), w->lanes * bytes);
		return;
	}
	scalars(w, value);
	if (bytes == 32) {
		splat_32(w, value, eew);
		return;
	}
	for (unsigned int l = 0; l < w->lanes; l++)
		fill(w->y + l * bytes, repeat(value[l], eew), bytes);
}

/* Which of the elements [@at, @at + @n) of lane @i are active, with n up to 64. */
static uint64_t active(const struct work *w, unsigned int i, uint64_t at, unsigned int n)
{
	const struct rv_batch *b = w->b;
	uint64_t bits = UINT64_MAX >> (64 - n);

	if (!w->in->vm)
		bits &= rv_vmask(w->b, i)[at / 64] >> at % 64;
	if (b->vstart > at)
		bits &= b->vstart - at < 64 ? UINT64_MAX << (b->vstart - at) : 0;
	if (b->vl < at + n)
		bits &= b->vl > at ? ~(UINT64_MAX << (b->vl - at)) : 0;
	return bits;
}

/* v0 as bytes. */
static void expand(struct work *w)
{
	uint64_t at = (uint64_t)w->step * w->n;

	for (unsigned int l = 0; l < w->lanes; l++) {
		const v_u64 *mask = rv_vmask(w->b, w->lane + l);
		uint8_t *m = w->m + (size_t)l * w->n;

		for (unsigned int k = 0; k < w->n; k += 64) {
			uint64_t bits = mask[(at + k) / 64] >> at % 64;
			unsigned int n = (unsigned int)least(w->n - k, 64);

			for (unsigned int e = 0; e < n; e++)
				m[k + e] = bits >> e & 1;
		}
	}
}

/* Bytes of 0 and 1 as bits; a product puts eight of them side by side. */
static uint64_t gather(const uint8_t *bools, unsigned int n)
{
	uint64_t bits = 0;

	if (n < 8) {
		for (unsigned int e = 0; e < n; e++)
			bits |= (uint64_t)bools[e] << e;
		return bits;
	}
	for (unsigned int e = 0; e < n; e += 8) {
		uint64_t eight;

		memcpy(&eight, bools + e, 8);
		bits |= (eight * 0x0102040810204080 >> 56) << e;
	}
	return bits;
}

/* All of the elements of this step are active, and each lane has 8 of them or more. */
static void put_whole_mask(struct work *w, const uint8_t *bools)
{
	size_t stride = w->b->vlenb, bytes = w->n / 8;
	char *to = rv_row(w->b, w->in->rd) + w->lane * stride + w->step * bytes;
	uint8_t packed[ROW / 8];

	for (size_t k = 0; k < w->lanes * bytes; k++)
		packed[k] = (uint8_t)gather(bools + 8 * k, 8);
	if (bytes == 1) {
		for (unsigned int l = 0; l < w->lanes; l++)
			to[l * stride] = (char)packed[l];
	} else {
		spread(to, (const char *)packed, w->lanes, stride, bytes);
	}
}

/* The same for 4: a byte is that of two steps. */
static void put_half_mask(struct work *w, const uint8_t *bools)
{
	size_t stride = w->b->vlenb;
	uint8_t *to = (uint8_t *)rv_row(w->b, w->in->rd) + w->lane * stride + w->step / 2;
	unsigned int shift = w->step % 2 * 4;

	for (unsigned int l = 0; l < w->lanes; l++) {
		uint32_t four;

		memcpy(&four, bools + (size_t)4 * l, 4);
		four = (four * 0x10204080u >> 28) << shift;
		to[l * stride] = (uint8_t)((to[l * stride] & ~(15u << shift)) | four);
	}
}

static void put_lane_mask(struct work *w, unsigned int l, const uint8_t *bools)
{
	v_u64 *to = (v_u64 *)(rv_row(w->b, w->in->rd) + (size_t)(w->lane + l) * w->b->vlenb);

	for (unsigned int k = 0; k < w->n; k += 64) {
		uint64_t at = (uint64_t)w->step * w->n + k;
		unsigned int n = (unsigned int)least(w->n - k, 64);
		uint64_t bits = active(w, w->lane + l, at, n);
		uint64_t new = gather(bools + (size_t)l * w->n + k, n) & bits;

		to[at / 64] = (to[at / 64] & ~(bits << at % 64)) | new << at % 64;
	}
}

/* Row @l of the work is one to write to. */
static bool counts(const struct work *w, unsigned int l)
{
	return w->all || w->b->group >> (w->lane + l) & 1;
}

static void put_mask(struct work *w, const uint8_t *bools, bool whole)
{
	if (whole && w->all && w->n >= 8) {
		put_whole_mask(w, bools);
		return;
	}
	if (whole && w->all && w->n == 4) {
		put_half_mask(w, bools);
		return;
	}
	for (unsigned int l = 0; l < w->lanes; l++) {
		if (counts(w, l))
			put_lane_mask(w, l, bools);
	}
}

#define BLEND(T)                                                                                   \
	do {                                                                                       \
		T *to_ = (T *)to + k;                                                              \
		const T *from_ = (const T *)from + k;                                              \
		for (unsigned int e_ = 0; e_ < n; e_++)                                            \
			to_[e_] = bits >> e_ & 1 ? from_[e_] : to_[e_];                            \
	} while (0)

/* Copy the active elements of a lane's @from to @to. */
static void blend(struct work *w, unsigned int i, char *to, const char *from)
{
	unsigned int eew = w->sew + (unsigned int)w->op->d;

	for (unsigned int k = 0; k < w->n; k += 64) {
		unsigned int n = (unsigned int)least(w->n - k, 64);
		uint64_t bits = active(w, i, (uint64_t)w->step * w->n + k, n);

		if (bits == UINT64_MAX >> (64 - n))
			memcpy(to + ((size_t)k << eew), from + ((size_t)k << eew),
			       (size_t)n << eew);
		else if (eew == 0)
			BLEND(v_u8);
		else if (eew == 1)
			BLEND(v_u16);
		else if (eew == 2)
			BLEND(v_u32);
		else
			BLEND(v_u64);
	}
}

/*
 * A comparison by rv_bits, as far as it goes: a word of each lane's mask at a time. Where a
 * source and the result overlap, the source has been read before it is overwritten. Return: steps
 * that are done.
 */
static unsigned int compare(struct work *w)
{
	struct rv_batch *b = w->b;
	unsigned int regs = (unsigned int)(b->vl / w->n), most = 64 / w->n, n;
	rv_bits *bits = w->op->bits[w->sew];
	bool scalar = w->in->rm >= 3;
	uint64_t word[RV_LANES];

	if (!bits || b->vlenb != 32 || w->lanes != RV_LANES || !w->all || !w->in->vm || b->vstart)
		return 0;
	for (unsigned int r = 0; r < regs; r += n) {
		char *to = rv_row(b, w->in->rd) + r * w->n / 8;
		uint64_t mask;

		n = (unsigned int)least(regs - r, most);
		mask = UINT64_MAX >> (64 - n * w->n);
		bits(word, rv_row(b, w->in->rs2 + r), scalar ? w->y : rv_row(b, w->in->rs1 + r),
		     scalar ? 0 : (size_t)RV_LANES * 32, n);
		for (unsigned int l = 0; l < RV_LANES; l++) {
			v_u64 *d = (v_u64 *)(to + (size_t)l * 32);

			*d = (*d & ~mask) | word[l];
		}
	}
	return regs;
}

static void call(struct work *w, char *d, const char *x, const char *y)
{
	const struct rv_vop *op = w->op;
	unsigned int sew = w->sew, d_log2 = op->flags & RV_VOP_MASK ? 0 : sew + (unsigned int)op->d;

	if (!w->single) {
		w->kern(d, x, y, (size_t)w->lanes * w->n, &w->ctx);
		return;
	}
	if (op->flags & RV_VOP_MASK)
		memset(d, 0, w->n);
	for (unsigned int k = 0; k < w->n; k += 64) {
		uint64_t bits = active(w, w->lane, (uint64_t)w->step * w->n + k,
				       least(w->n - k, 64));

		for (; bits; bits &= bits - 1) {
			size_t e = k + (unsigned int)__builtin_ctzll(bits);

			w->kern(d + (e << d_log2),
				x ? x + (e << (sew + (unsigned int)op->a)) : NULL,
				y ? y + (e << (sew + (unsigned int)op->b)) : NULL, 1, &w->ctx);
		}
	}
}

static void step(struct work *w)
{
	const struct rv_vop *op = w->op;
	const struct rv_batch *b = w->b;
	uint64_t at = (uint64_t)w->step * w->n;
	bool whole = w->in->vm && b->vstart <= at && b->vl >= at + w->n;
	const char *x = NULL, *y = NULL;
	char *to, *d = w->z;
	size_t bytes;

	if (op->a != RV_VNONE)
		x = fetch(w, w->in->rs2, op->a, w->x);
	if (op->b != RV_VNONE)
		y = w->in->rm < 3 ? fetch(w, w->in->rs1, op->b, w->y) : w->y;
	if (op->flags & RV_VOP_BITS)
		expand(w);
	if (op->flags & RV_VOP_MASK) {
		call(w, d, x, y);
		put_mask(w, (const uint8_t *)d, whole);
		return;
	}
	to = place(w, w->in->rd, op->d, &bytes);
	if (whole && w->all && op->d == w->widest)
		d = to;
	else if (op->flags & RV_VOP_ACC)
		collect(d, to, w->lanes, b->vlenb, bytes);
	call(w, d, x, y);
	if (d == to)
		return;
	if (whole && w->all) {
		spread(to, d, w->lanes, b->vlenb, bytes);
		return;
	}
	for (unsigned int l = 0; l < w->lanes; l++) {
		if (counts(w, l))
			blend(w, w->lane + l, to + (size_t)l * b->vlenb, d + l * bytes);
	}
}

/* Lanes [@lane, @lane + @lanes): all of the batch, or one. */
static void lanes(struct work *w, unsigned int lane, unsigned int n)
{
	struct rv_batch *b = w->b;

	w->lane = lane;
	w->lanes = n;
	w->ctx.flags = 0;
	w->ctx.sat = false;
	w->ctx.m = w->m;
	w->ctx.rm = w->op->flags & RV_VOP_FIXED ? b->vxrm[lane] : b->frm[lane];
	if (w->op->b != RV_VNONE && w->in->rm >= 3)
		splat(w);
	w->step = (unsigned int)(b->vstart / w->n);
	if (w->op->flags & RV_VOP_MASK)
		w->step += compare(w);
	for (; (uint64_t)w->step * w->n < b->vl; w->step++)
		step(w);
	if (w->single) {
		b->fflags[lane] |= w->ctx.flags;
		b->vxsat[lane] |= w->ctx.sat;
	}
}

static bool source_ok(const struct rv_batch *b, const struct rv_insn *in, const struct rv_vop *op,
		      unsigned int reg, int eew)
{
	int lmul = rv_lmul(b);

	if (!rv_valign(b, reg, lmul + eew))
		return false;
	if (op->flags & RV_VOP_MASK)
		return in->rd == reg || rv_vapart(in->rd, 0, reg, lmul + eew);
	if ((!in->vm || op->flags & RV_VOP_MERGE) && !reg)
		return false;
	if (op->d == eew || (op->d < eew && in->rd == reg))
		return true;
	/* A register that is read too must be read with one EEW only. */
	if (op->flags & RV_VOP_ACC)
		return rv_vapart(in->rd, lmul + op->d, reg, lmul + eew);
	return rv_voverlap_ok(in->rd, lmul + op->d, reg, lmul + eew);
}

static bool legal(const struct rv_batch *b, const struct rv_insn *in, const struct rv_vop *op)
{
	unsigned int sew = rv_sew(b);
	int lmul = rv_lmul(b);

	if (rv_vill(b) || !op->kern[sew])
		return false;
	if (!(op->flags & RV_VOP_MASK)) {
		if (!rv_valign(b, in->rd, lmul + op->d))
			return false;
		if (!in->rd && (!in->vm || op->flags & RV_VOP_BITS))
			return false;
	}
	if (op->a != RV_VNONE && !source_ok(b, in, op, in->rs2, op->a))
		return false;
	if (op->b == RV_VNONE || in->rm >= 3)
		return true;
	if (op->a != RV_VNONE && op->a != op->b &&
	    !rv_vapart(in->rs2, lmul + op->a, in->rs1, lmul + op->b))
		return false;
	return source_ok(b, in, op, in->rs1, op->b);
}

static int widest(const struct rv_vop *op)
{
	int w = op->a > op->b ? op->a : op->b;

	return op->flags & RV_VOP_MASK || w > op->d ? w : op->d;
}

/* Whether all lanes round alike. */
static bool same_vxrm(const struct rv_batch *b)
{
	for (unsigned int i = 1; i < RV_LANES; i++) {
		if (b->vxrm[i] != b->vxrm[0])
			return false;
	}
	return true;
}

void RV_HOT(rv_velem)(struct rv_batch *b, const struct rv_insn *in)
{
	const struct rv_vop *op = in->vop;
	bool together = b->dense || __builtin_popcountll(b->group) >= MANY;
	struct work w;
	unsigned int i;

	if (!legal(b, in, op)) {
		rv_illegal(b, in);
		return;
	}
	if (op->flags & RV_VOP_FLOAT && !rv_vframes(b, in))
		return;
	w.b = b;
	w.in = in;
	w.op = op;
	w.sew = rv_sew(b);
	w.widest = widest(op);
	w.n = b->vlenb >> (w.sew + (unsigned int)w.widest);
	w.kern = op->kern[w.sew];
	w.single = false;
	if (op->flags & RV_VOP_FIXED) {
		w.single = b->exact;
		together = together && same_vxrm(b);
	} else if (op->exact[w.sew] && !b->quick) {
		w.single = true;
		w.kern = op->exact[w.sew];
	}
	if (b->vstart >= b->vl) {
		/* nothing is active */
	} else if (together && !w.single) {
		w.all = b->dense;
		lanes(&w, 0, RV_LANES);
	} else {
		w.all = true;
		rv_each(b, i)
			lanes(&w, i, 1);
	}
	rv_vdone(b, rv_vregs(rv_lmul(b) + w.widest));
}
