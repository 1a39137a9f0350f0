// SPDX-License-Identifier: MIT
/*
 * Loads and stores. Lanes mostly access neighbouring data, or all the same data; such accesses are
 * made together.
 */
#include <string.h>
#include "decode.h"
#include "hot.h"

/*
 * Pattern of the lanes' addresses: in several spans, or unknown; in one span, aligned or not;
 * evenly spaced by the size of an access; all the same.
 */
enum spread { APART, NEAR, NEAR_ALIGNED, EVEN, SAME };

#define FEW 6u /* lanes that are not worth a look */

/* Pattern of the addresses x[i] + @imm of @n lanes. Loops cover all lanes: they are vectors. */
static inline enum spread look(const struct rv_batch *b, const uint64_t *x, uint64_t imm,
			       unsigned int bytes, unsigned int prot, unsigned int *n)
{
	const struct rv_span *s = &b->span[b->newest];
	unsigned int first = (unsigned int)__builtin_ctzll(b->group);
	uint64_t uneven = 0, differ = 0, from = x[first] - (uint64_t)first * bytes;
	uint64_t far = 0, crooked = 0, base = s->va - imm, room = s->bytes - bytes;

	*n = (unsigned int)__builtin_popcountll(b->group);
	if (*n < FEW || b->step)
		return APART;
	for (unsigned int i = 0; i < RV_LANES; i++) {
		uneven |= (x[i] ^ (from + (uint64_t)i * bytes)) & b->member[i];
		differ |= (x[i] ^ x[first]) & b->member[i];
	}
	if (!differ)
		return SAME;
	if (!uneven && b->group == RV_ALL >> (RV_LANES - *n))
		return EVEN;
	if (s->bytes < bytes || (s->prot & prot) != prot)
		return APART;
	for (unsigned int i = 0; i < RV_LANES; i++) {
		far |= (x[i] - base > room ? RV_ALL : 0) & b->member[i];
		crooked |= (x[i] - base) & b->member[i];
	}
	crooked |= (uintptr_t)s->host;
	return far ? APART : crooked & (bytes - 1) ? NEAR : NEAR_ALIGNED;
}

/*
 * A single access of a lane. Aligned ones are single accesses of the host too, so that harts of
 * other threads, which may be writing there, are not seen halfway; they order nothing (fence does).
 */
#define ACCESS(type)                                                                               \
	static inline bool get_##type(struct rv_batch *b, unsigned int i, uint64_t va,             \
				      type *value)                                                 \
	{                                                                                          \
		void *p = rv_reach(b, va, sizeof(type), RV_READ);                                  \
		if (!p)                                                                            \
			return rv_load(b, i, va, value, sizeof(type));                             \
		if ((uintptr_t)p % sizeof(type))                                                   \
			memcpy(value, p, sizeof(type));                                            \
		else                                                                               \
			*value = __atomic_load_n((type *)p, __ATOMIC_RELAXED);                     \
		return true;                                                                       \
	}                                                                                          \
	static inline bool put_##type(struct rv_batch *b, unsigned int i, uint64_t va, type value) \
	{                                                                                          \
		void *p = rv_reach(b, va, sizeof(type), RV_WRITE);                                 \
		if (!p)                                                                            \
			return rv_store(b, i, va, &value, sizeof(type));                           \
		if ((uintptr_t)p % sizeof(type))                                                   \
			memcpy(p, &value, sizeof(type));                                           \
		else                                                                               \
			__atomic_store_n((type *)p, value, __ATOMIC_RELAXED);                      \
		return true;                                                                       \
	}

ACCESS(uint8_t)
ACCESS(uint16_t)
ACCESS(uint32_t)
ACCESS(uint64_t)

/* Of the lanes of the group, which is mostly all of them, one after the other. */
#define WALK(b, i, ...)                                                                            \
	do {                                                                                       \
		if ((b)->group == RV_ALL) {                                                        \
			for (i = 0; i < RV_LANES; i++) {                                           \
				__VA_ARGS__;                                                       \
			}                                                                          \
		} else {                                                                           \
			rv_each(b, i) {                                                            \
				__VA_ARGS__;                                                       \
			}                                                                          \
		}                                                                                  \
	} while (0)

/* VALUE is of t, the type's bits, and what a register gets. */
#define LOAD(name, type, row, value)                                                               \
	static inline uint64_t name##_of(type t)                                                   \
	{                                                                                          \
		return (value);                                                                    \
	}                                                                                          \
	static inline uint64_t name##_from(const char *p)                                          \
	{                                                                                          \
		type t;                                                                            \
		memcpy(&t, p, sizeof(t));                                                          \
		return name##_of(t);                                                               \
	}                                                                                          \
	static void name##_even(uint64_t *d, const char *p, unsigned int n)                        \
	{                                                                                          \
		RV_APART                                                                           \
		for (unsigned int i = 0; i < n; i++)                                               \
			d[i] = name##_from(p + i * sizeof(type));                                  \
	}                                                                                          \
	static void name##_apart(struct rv_batch *b, const uint64_t *x, uint64_t *d, uint64_t imm) \
	{                                                                                          \
		unsigned int i;                                                                    \
		type t;                                                                            \
		rv_each(b, i) {                                                                    \
			if (!get_##type(b, i, x[i] + imm, &t))                                     \
				return;                                                            \
			d[i] = name##_of(t);                                                       \
		}                                                                                  \
	}                                                                                          \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->x[in->rs1];                                                 \
		uint64_t *d = b->row[in->rd], imm = (uint64_t)in->imm, all;                        \
		unsigned int n, i;                                                                 \
		enum spread how = look(b, x, imm, sizeof(type), RV_READ, &n);                      \
		const struct rv_span *s = &b->span[b->newest];                                     \
		uintptr_t host = (uintptr_t)s->host + (imm - s->va);                               \
		const char *p = NULL;                                                              \
		type t;                                                                            \
		if (how == EVEN)                                                                   \
			p = rv_reach(b, x[0] + imm, n * sizeof(type), RV_READ);                    \
		if (p) {                                                                           \
			name##_even(d, p, n);                                                      \
		} else if (how == SAME) {                                                          \
			i = (unsigned int)__builtin_ctzll(b->group);                               \
			if (!get_##type(b, i, x[i] + imm, &t))                                     \
				return;                                                            \
			all = name##_of(t);                                                        \
			rv_lanes(b, k, d[k] = all);                                                \
		} else if (how == NEAR_ALIGNED) {                                                  \
			WALK(b, i,                                                                 \
			     t = __atomic_load_n((const type *)(host + x[i]), __ATOMIC_RELAXED);   \
			     d[i] = name##_of(t));                                                 \
		} else if (how == NEAR) {                                                          \
			WALK(b, i, d[i] = name##_from((const char *)(host + x[i])));               \
		} else {                                                                           \
			name##_apart(b, x, d, imm);                                                \
		}                                                                                  \
	}

LOAD(lb, uint8_t, x, (uint64_t)(int8_t)t)
LOAD(lh, uint16_t, x, (uint64_t)(int16_t)t)
LOAD(lw, uint32_t, x, (uint64_t)(int32_t)t)
LOAD(ld, uint64_t, x, t)
LOAD(lbu, uint8_t, x, t)
LOAD(lhu, uint16_t, x, t)
LOAD(lwu, uint32_t, x, t)
LOAD(flh, uint16_t, f, t | 0xffffffffffff0000)
LOAD(flw, uint32_t, f, t | 0xffffffff00000000)
LOAD(fld, uint64_t, f, t)

#define STORE(name, type, row)                                                                     \
	static void name##_even(char *p, const uint64_t *s, unsigned int n)                        \
	{                                                                                          \
		RV_APART                                                                           \
		for (unsigned int i = 0; i < n; i++) {                                             \
			type t = (type)s[i];                                                       \
			memcpy(p + i * sizeof(type), &t, sizeof(type));                            \
		}                                                                                  \
	}                                                                                          \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->x[in->rs1], *v = b->row[in->rs2];                           \
		uint64_t imm = (uint64_t)in->imm;                                                  \
		unsigned int n, i;                                                                 \
		enum spread how = look(b, x, imm, sizeof(type), RV_WRITE, &n);                     \
		const struct rv_span *s = &b->span[b->newest];                                     \
		uintptr_t host = (uintptr_t)s->host + (imm - s->va);                               \
		char *p = NULL;                                                                    \
		if (how == EVEN)                                                                   \
			p = rv_reach(b, x[0] + imm, n * sizeof(type), RV_WRITE);                   \
		if (p) {                                                                           \
			name##_even(p, v, n);                                                      \
		} else if (how == NEAR_ALIGNED) {                                                  \
			WALK(b, i,                                                                 \
			     __atomic_store_n((type *)(host + x[i]), (type)v[i],                   \
					      __ATOMIC_RELAXED));                                  \
		} else {                                                                           \
			rv_each(b, i) {                                                            \
				if (!put_##type(b, i, x[i] + imm, (type)v[i]))                     \
					return;                                                    \
			}                                                                          \
		}                                                                                  \
	}

STORE(sb, uint8_t, x)
STORE(sh, uint16_t, x)
STORE(sw, uint32_t, x)
STORE(sd, uint64_t, x)
STORE(fsh, uint16_t, f)
STORE(fsw, uint32_t, f)
STORE(fsd, uint64_t, f)

unsigned int RV_HOT(rv_decode_load)(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const loads[8] = {lb, lh, lw, ld, lbu, lhu, lwu};
	static rv_op *const stores[8] = {sb, sh, sw, sd};
	static rv_op *const float_loads[8] = {NULL, flh, flw, fld};
	static rv_op *const float_stores[8] = {NULL, fsh, fsw, fsd};
	uint32_t f3 = bits >> 12 & 7;
	unsigned int use;

	in->unit = RV_LSU;
	in->imm = (int32_t)bits >> 20;
	switch (bits & 0x7f) {
	case 0x03:
		in->op = loads[f3];
		use = RV_XD | RV_X1;
		break;
	case 0x07:
		in->op = float_loads[f3];
		use = RV_FD | RV_X1;
		break;
	case 0x23:
		in->op = stores[f3];
		use = RV_X1 | RV_X2;
		break;
	default:
		in->op = float_stores[f3];
		use = RV_X1 | RV_F2;
		break;
	}
	if (bits & 0x20)
		in->imm = (int64_t)((int32_t)bits >> 25) * 32 | (bits >> 7 & 31);
	return in->op ? use : 0;
}
