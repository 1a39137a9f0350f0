// SPDX-License-Identifier: MIT
/*
 * Atomics (the A extension), by the host's atomics. All are sequentially consistent, whatever their
 * aq and rl bits; they pair with atomics and fences of harts in other threads.
 *
 * A reservation is the value that was loaded: sc stores if memory still has it. A store of
 * another value and then of the same again is not noticed, as with the host's compare and exchange.
 */
#include "decode.h"

/* Where lane @i's atomic access goes; NULL and a halt. */
static void *place(struct rv_batch *b, unsigned int i, uint64_t va, unsigned int bytes,
		   unsigned int prot)
{
	void *p;

	if (va % bytes) {
		rv_halt(b, RV_MISALIGNED, i, va);
		return NULL;
	}
	p = rv_reach(b, va, bytes, prot);
	if (!p)
		rv_halt(b, prot == RV_READ ? RV_LOAD : RV_STORE, i, va);
	if (b->step)
		b->step->atomic = true;
	return p;
}

static uint32_t swap_word(uint32_t *p, uint32_t y)
{
	return __atomic_exchange_n(p, y, __ATOMIC_SEQ_CST);
}

static uint64_t swap_twin(uint64_t *p, uint64_t y)
{
	return __atomic_exchange_n(p, y, __ATOMIC_SEQ_CST);
}

#define FETCH(name)                                                                                \
	static uint32_t name##_word(uint32_t *p, uint32_t y)                                       \
	{                                                                                          \
		return __atomic_fetch_##name(p, y, __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	static uint64_t name##_twin(uint64_t *p, uint64_t y)                                       \
	{                                                                                          \
		return __atomic_fetch_##name(p, y, __ATOMIC_SEQ_CST);                              \
	}

/* The host has no such atomics: retry until no other thread interferes. */
#define CHOOSE(name, size, type, cast, op)                                                         \
	static type name##_##size(type *p, type y)                                                 \
	{                                                                                          \
		type x = __atomic_load_n(p, __ATOMIC_SEQ_CST);                                     \
		while (!__atomic_compare_exchange_n(p, &x, (cast)x op(cast) y ? x : y, true,       \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))           \
			;                                                                          \
		return x;                                                                          \
	}

FETCH(add)
FETCH(xor)
FETCH(and)
FETCH(or)
CHOOSE(min, word, uint32_t, int32_t, <)
CHOOSE(max, word, uint32_t, int32_t, >)
CHOOSE(minu, word, uint32_t, uint32_t, <)
CHOOSE(maxu, word, uint32_t, uint32_t, >)
CHOOSE(min, twin, uint64_t, int64_t, <)
CHOOSE(max, twin, uint64_t, int64_t, >)
CHOOSE(minu, twin, uint64_t, uint64_t, <)
CHOOSE(maxu, twin, uint64_t, uint64_t, >)

static uint64_t extend(uint32_t value)
{
	return (uint64_t)(int64_t)(int32_t)value;
}

#define AMO(name)                                                                                  \
	static void name##_w(struct rv_batch *b, const struct rv_insn *in)                         \
	{                                                                                          \
		unsigned int i;                                                                    \
		rv_each(b, i) {                                                                    \
			uint32_t *p = place(b, i, b->x[in->rs1][i], 4, RV_READ | RV_WRITE);        \
			if (!p)                                                                    \
				return;                                                            \
			b->x[in->rd][i] = extend(name##_word(p, (uint32_t)b->x[in->rs2][i]));      \
		}                                                                                  \
	}                                                                                          \
	static void name##_d(struct rv_batch *b, const struct rv_insn *in)                         \
	{                                                                                          \
		unsigned int i;                                                                    \
		rv_each(b, i) {                                                                    \
			uint64_t *p = place(b, i, b->x[in->rs1][i], 8, RV_READ | RV_WRITE);        \
			if (!p)                                                                    \
				return;                                                            \
			b->x[in->rd][i] = name##_twin(p, b->x[in->rs2][i]);                        \
		}                                                                                  \
	}

AMO(swap)
AMO(add)
AMO(xor)
AMO(and)
AMO(or)
AMO(min)
AMO(max)
AMO(minu)
AMO(maxu)

static void load_reserved(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int bytes = in->rm == 2 ? 4 : 8, i;

	rv_each(b, i) {
		uint64_t va = b->x[in->rs1][i];
		void *p = place(b, i, va, bytes, RV_READ);

		if (!p)
			return;
		b->lr_va[i] = va;
		b->lr_bytes[i] = (uint8_t)bytes;
		b->lr_value[i] = bytes == 4
					 ? extend(__atomic_load_n((uint32_t *)p, __ATOMIC_SEQ_CST))
					 : __atomic_load_n((uint64_t *)p, __ATOMIC_SEQ_CST);
		b->x[in->rd][i] = b->lr_value[i];
	}
}

static bool exchange(void *p, unsigned int bytes, uint64_t old, uint64_t value)
{
	uint32_t low = (uint32_t)old;

	if (bytes == 4)
		return __atomic_compare_exchange_n((uint32_t *)p, &low, (uint32_t)value, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return __atomic_compare_exchange_n((uint64_t *)p, &old, value, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static void store_conditional(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int bytes = in->rm == 2 ? 4 : 8, i;

	rv_each(b, i) {
		uint64_t va = b->x[in->rs1][i];
		void *p = place(b, i, va, bytes, RV_READ | RV_WRITE);
		bool stored;

		if (!p)
			return;
		stored = b->lr_bytes[i] == bytes && b->lr_va[i] == va &&
			 exchange(p, bytes, b->lr_value[i], b->x[in->rs2][i]);
		b->lr_bytes[i] = 0;
		b->x[in->rd][i] = !stored;
	}
}

unsigned int rv_decode_amo(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const words[32] = {
		[0x00] = add_w, [0x01] = swap_w, [0x04] = xor_w,  [0x08] = or_w,   [0x0c] = and_w,
		[0x10] = min_w, [0x14] = max_w,  [0x18] = minu_w, [0x1c] = maxu_w,
	};
	static rv_op *const twins[32] = {
		[0x00] = add_d, [0x01] = swap_d, [0x04] = xor_d,  [0x08] = or_d,   [0x0c] = and_d,
		[0x10] = min_d, [0x14] = max_d,  [0x18] = minu_d, [0x1c] = maxu_d,
	};
	uint32_t f3 = bits >> 12 & 7, which = bits >> 27;

	if (f3 != 2 && f3 != 3)
		return 0;
	in->unit = RV_LSU;
	in->op = f3 == 2 ? words[which] : twins[which];
	if (which == 3)
		in->op = store_conditional;
	if (which == 2) {
		if (bits >> 20 & 31)
			return 0;
		in->op = load_reserved;
		return RV_XD | RV_X1;
	}
	return in->op ? RV_XD | RV_X1 | RV_X2 : 0;
}
