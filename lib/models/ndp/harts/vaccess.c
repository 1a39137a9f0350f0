// SPDX-License-Identifier: MIT
/*
 * Vector loads and stores element by element.
 */
#include "vaccess.h"

bool rv_vway(const struct rv_batch *b, const struct rv_insn *in, unsigned int eew, bool store,
	     struct rv_vway *way)
{
	int emul = rv_lmul(b) + (int)eew - (int)rv_sew(b);
	unsigned int nf = in->aux >> 4;

	if (rv_vill(b) || emul < -3 || !rv_valign(b, in->rd, emul))
		return false;
	if (!store && !in->vm && !in->rd)
		return false;
	*way = (struct rv_vway){eew, nf, rv_vregs(emul)};
	return nf * way->regs <= 8 && in->rd + nf * way->regs <= b->code->isa.nv;
}

void rv_vfault(struct rv_batch *b, unsigned int i, uint64_t e)
{
	uint64_t done = b->group & ((1ull << i) - 1);

	rv_leave(b, done, b->next);
	for (; done; done &= done - 1)
		b->lane_vstart[__builtin_ctzll(done)] = 0;
	rv_leave(b, 1ull << i, b->at);
	b->lane_vstart[i] = e;
}

/* The span that was of use last, out of the way of what loops write. */
struct window {
	uint64_t va, bytes;
	char *host;
};

static inline struct window look(const struct rv_batch *b, unsigned int prot)
{
	const struct rv_span *s = &b->span[b->newest];

	if (b->step || !(s->prot & prot))
		return (struct window){0, 0, NULL};
	return (struct window){s->va, s->bytes, s->host};
}

static inline void *seen(const struct window *w, uint64_t va, uint64_t bytes)
{
	uint64_t at = va - w->va;

	return at < w->bytes && bytes <= w->bytes - at ? w->host + at : NULL;
}

static bool all_seen(const struct rv_batch *b, const uint64_t *va, uint64_t bytes)
{
	struct window w = look(b, RV_READ);
	uint64_t out = 0, most = w.bytes - bytes;

	if (w.bytes < bytes)
		return false;
	for (uint64_t e = b->vstart; e < b->vl; e++)
		out |= va[e] - w.va > most;
	return !out;
}

/*
 * Of the elements of type T that are active, each field: there is a pointer into the window, or the
 * slow way. Field f of element e is at f * @field + e of the array @data.
 */
#define ACCESS(T, slow, prot, fast)                                                                \
	do {                                                                                       \
		T *data = (T *)buffer;                                                             \
		size_t field = (size_t)way->regs * b->vlenb / sizeof(T);                           \
		struct window w = look(b, prot);                                                   \
		for (e = b->vstart; e < vl; e++) {                                                 \
			if (mask && !rv_vbit(mask, e))                                             \
				continue;                                                          \
			for (unsigned int f = 0; f < nf; f++) {                                    \
				uint64_t at = va[e] + f * sizeof(T);                               \
				T *it = data + f * field + e;                                      \
				void *p = seen(&w, at, sizeof(T));                                 \
				if (p) {                                                           \
					fast;                                                      \
				} else {                                                           \
					T whole = *it;                                             \
					if (!slow(b, i, at, &whole, sizeof(T)))                    \
						goto end;                                          \
					*it = whole;                                               \
					w = look(b, prot);                                         \
				}                                                                  \
			}                                                                          \
		}                                                                                  \
	} while (0)

/*
 * Aligned elements are single accesses of the host too, like scalars (load.c): harts of other
 * threads may access the same place. They order nothing.
 */
#define PEEK(T, to, from)                                                                          \
	do {                                                                                       \
		const void *from_ = (from);                                                        \
		if ((uintptr_t)from_ % sizeof(T))                                                  \
			memcpy(to, from_, sizeof(T));                                              \
		else                                                                               \
			*(to) = __atomic_load_n((const T *)from_, __ATOMIC_RELAXED);               \
	} while (0)
#define POKE(T, to, from)                                                                          \
	do {                                                                                       \
		if ((uintptr_t)(to) % sizeof(T))                                                   \
			memcpy(to, from, sizeof(T));                                               \
		else                                                                               \
			__atomic_store_n((T *)(to), *(from), __ATOMIC_RELAXED);                    \
	} while (0)

/* Elements that are all active and all in the window need not be looked at one by one. */
#define LOAD(T)                                                                                    \
	do {                                                                                       \
		if (nf == 1 && !mask && all_seen(b, va, sizeof(T))) {                              \
			const struct rv_span *s = &b->span[b->newest];                             \
			const char *host = s->host;                                                \
			uint64_t base = s->va;                                                     \
			T *data = (T *)buffer;                                                     \
			for (e = b->vstart; e < vl; e++)                                           \
				PEEK(T, &data[e], host + (va[e] - base));                          \
		} else {                                                                           \
			ACCESS(T, rv_load, RV_READ, PEEK(T, it, p));                               \
		}                                                                                  \
	} while (0)
#define STORE(T) ACCESS(T, rv_store, RV_WRITE, POKE(T, p, it))

uint64_t rv_vget_elems(struct rv_batch *b, const struct rv_insn *in, const struct rv_vway *way,
		       unsigned int i, const uint64_t *va)
{
	char buffer[8 * RV_VLENB] __attribute__((aligned(64)));
	v_u64 v0[RV_VLENB / 8];
	const v_u64 *mask = in->vm ? NULL : v0;
	uint64_t e, vl = b->vl;
	unsigned int nf = way->nf;

	if (mask)
		memcpy(v0, rv_vmask(b, i), b->vlenb);
	rv_vget(b, in->rd, nf * way->regs, i, buffer);
	switch (way->eew) {
	case 0:
		LOAD(v_u8);
		break;
	case 1:
		LOAD(v_u16);
		break;
	case 2:
		LOAD(v_u32);
		break;
	default:
		LOAD(v_u64);
	}
end:
	rv_vput(b, in->rd, nf * way->regs, i, buffer);
	return e;
}

uint64_t rv_vput_elems(struct rv_batch *b, const struct rv_insn *in, const struct rv_vway *way,
		       unsigned int i, const uint64_t *va)
{
	char buffer[8 * RV_VLENB] __attribute__((aligned(64)));
	const v_u64 *mask = in->vm ? NULL : rv_vmask(b, i);
	uint64_t e, vl = b->vl;
	unsigned int nf = way->nf;

	rv_vget(b, in->rd, nf * way->regs, i, buffer);
	switch (way->eew) {
	case 0:
		STORE(v_u8);
		break;
	case 1:
		STORE(v_u16);
		break;
	case 2:
		STORE(v_u32);
		break;
	default:
		STORE(v_u64);
	}
end:
	return e;
}
