/* SPDX-License-Identifier: MIT */
/*
 * Handlers that compute one row of integer registers from others, lane by lane. They end in a loop
 * over all lanes that the compiler turns into vector instructions of the host: over the registers
 * of all 64 when they are dense, or with a blend when many of them are somewhere else.
 */
#ifndef ANNEX_NDP_HARTS_ROWS_H
#define ANNEX_NDP_HARTS_ROWS_H

#include "hart.h"

/* Lanes in a group that make a blend over all 64 cheaper than a walk. */
#define RV_BLEND 12

static inline uint64_t word(uint32_t value)
{
	return (uint64_t)(int64_t)(int32_t)value;
}

static inline bool rv_blends(const struct rv_batch *b)
{
	return __builtin_popcountll(b->group) >= RV_BLEND;
}

/* A statement that sets VALUE for lane i, and where it goes. */
#define RV_ROW(b, d, value)                                                                        \
	do {                                                                                       \
		unsigned int i;                                                                    \
		if ((b)->dense) {                                                                  \
			RV_APART                                                                   \
			for (i = 0; i < RV_LANES; i++)                                             \
				d[i] = (value);                                                    \
		} else if (rv_blends(b)) {                                                         \
			const uint64_t *m_ = (b)->member;                                          \
			RV_APART                                                                   \
			for (i = 0; i < RV_LANES; i++)                                             \
				d[i] = ((uint64_t)(value)&m_[i]) | (d[i] & ~m_[i]);                \
		} else {                                                                           \
			rv_each(b, i) {                                                            \
				d[i] = (value);                                                    \
			}                                                                          \
		}                                                                                  \
	} while (0)

#define BINARY(name, value)                                                                        \
	static inline uint64_t name##_of(uint64_t x, uint64_t y)                                   \
	{                                                                                          \
		return (uint64_t)(value);                                                          \
	}                                                                                          \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->x[in->rs1], *y = b->x[in->rs2];                             \
		uint64_t *d = b->x[in->rd];                                                        \
		RV_ROW(b, d, name##_of(x[i], y[i]));                                               \
	}

#define UNARY(name, value)                                                                         \
	static inline uint64_t name##_of(uint64_t x, uint64_t imm)                                 \
	{                                                                                          \
		return (uint64_t)(value);                                                          \
	}                                                                                          \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->x[in->rs1];                                                 \
		uint64_t *d = b->x[in->rd], imm = (uint64_t)in->imm;                               \
		RV_ROW(b, d, name##_of(x[i], imm));                                                \
	}

#endif
