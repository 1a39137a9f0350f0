// SPDX-License-Identifier: MIT
/*
 * Batches: which lanes go on together, for how long, and why they stop.
 *
 * Of lanes that have parted, those with the lowest pc go first, until they come to where others
 * wait: code is laid out such that this is where their ways meet again. Now and then the lanes that
 * have waited longest get a turn, so that lanes that spin on a lock cannot starve its holder.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif
#include <annex/detail/atomic.h>
#include "group.h"

#define TURN 4096u     /* instructions; the stop word is looked at as often */
#define EXACT_TURN 64u /* of instructions that may take a millisecond each */
#define FAIR_ROUNDS 16u

int rv_batch_create(const struct rv_opts *opts, const struct rv_mem *mem, struct rv_batch **out)
{
	size_t bytes = 32ull * RV_LANES * (opts->isa.vlen / 8);
	struct rv_batch *b;

	if (!rv_isa_valid(&opts->isa))
		return -EINVAL;
	b = aligned_alloc(64, (sizeof(*b) + 63) / 64 * 64);
	if (!b)
		return -ENOMEM;
	memset(b, 0, sizeof(*b));
	b->v = aligned_alloc(64, bytes);
	if (!b->v) {
		free(b);
		return -ENOMEM;
	}
	memset(b->v, 0, bytes);
	b->vlenb = opts->isa.vlen / 8;
	b->opts = *opts;
	b->mem = *mem;
	*out = b;
	return 0;
}

void rv_batch_destroy(struct rv_batch *b)
{
	if (!b)
		return;
	free(b->v);
	free(b);
}

/* Rows of @bytes, a bit of @rows each; neighbours at once. */
static void clear_rows(void *first, uint64_t rows, size_t bytes)
{
	while (rows) {
		unsigned int at = (unsigned int)__builtin_ctzll(rows);
		unsigned int n = (unsigned int)__builtin_ctzll(~(rows >> at));

		memset((char *)first + at * bytes, 0, n * bytes);
		rows &= ~(((1ull << n) - 1) << at);
	}
}

void rv_start(struct rv_batch *b, const struct rv_code *code, unsigned int n, uint64_t pc)
{
	clear_rows(b->x, code->xs, sizeof(b->x[0]));
	clear_rows(b->f, code->fs, sizeof(b->f[0]));
	clear_rows(b->v, code->vs, (size_t)RV_LANES * b->vlenb);
	memset(b->fflags, 0, sizeof(b->fflags));
	memset(b->frm, 0, sizeof(b->frm));
	memset(b->vxsat, 0, sizeof(b->vxsat));
	memset(b->vxrm, 0, sizeof(b->vxrm));
	memset(b->lr_bytes, 0, sizeof(b->lr_bytes));
	memset(b->lane_vl, 0, sizeof(b->lane_vl));
	memset(b->lane_vstart, 0, sizeof(b->lane_vstart));
	b->alone = 0;
	b->fair = 0;
	memset(b->ran, 0, sizeof(b->ran));
	b->clock = 0;
	for (unsigned int i = 0; i < RV_LANES; i++) {
		b->pc[i] = pc;
		b->lane_vtype[i] = RV_VILL;
	}
	b->code = code;
	b->exact = code->flags_seen;
	b->quick = !b->exact;
	b->alive = n < RV_LANES ? (1ull << n) - 1 : RV_ALL;
}

void rv_round(struct rv_batch *b)
{
	uint8_t any = 0;

	for (unsigned int i = 0; i < RV_LANES; i++)
		any |= b->frm[i];
	b->quick = !b->exact && !any;
}

uint64_t *rv_x(struct rv_batch *b, unsigned int reg)
{
	return b->x[reg];
}

uint64_t *rv_f(struct rv_batch *b, unsigned int reg)
{
	return b->f[reg];
}

void *rv_v(struct rv_batch *b, unsigned int reg)
{
	return rv_row(b, reg);
}

uint64_t *rv_pc(struct rv_batch *b)
{
	return b->pc;
}

void rv_halt(struct rv_batch *b, enum rv_why why, unsigned int i, uint64_t value)
{
	if (b->halt.why == RV_ENDED)
		b->halt = (struct rv_stop){why, i, b->at, value};
	b->pause = true;
}

void rv_leave(struct rv_batch *b, uint64_t lanes, uint64_t pc)
{
	rv_hot(rv_settle)(b, lanes, pc, true);
	b->group &= ~lanes;
	b->left = b->pause = true;
}

void rv_illegal(struct rv_batch *b, const struct rv_insn *in)
{
	rv_halt(b, RV_ILLEGAL, (unsigned int)__builtin_ctzll(b->group), in->bits);
}

/* At most @most instructions of the group; how many there were. */
static uint64_t go(struct rv_batch *b, uint64_t most)
{
	const struct rv_code *code = b->code;
	uint64_t n = 0;

	while (n < most) {
		uint64_t off = b->at - code->va;
		const struct rv_insn *in;

		if (off >= code->bytes || off % 2) {
			rv_halt(b, RV_FETCH, (unsigned int)__builtin_ctzll(b->group), b->at);
			break;
		}
		in = &code->insn[off / 2];
		b->next = b->at + in->bytes;
		in->op(b, in);
		if (b->pause && b->halt.why != RV_ENDED)
			break;
		n++;
		b->at = b->next;
		if (b->pause || b->at >= b->limit)
			break;
	}
	return n;
}

static struct rv_stop stop_now(struct rv_batch *b, enum rv_why why)
{
	unsigned int i = b->alive ? rv_hot(rv_first)(b, b->pc) : 0;

	return (struct rv_stop){why, i, b->pc[i], 0};
}

/*
 * Whether the lanes that have waited longest are next, in place of the lanes with the smallest pc:
 * for some rounds after every TURN instructions, so that lanes that spin on a lock let its holder
 * run.
 */
static bool is_fair_round(struct rv_batch *b)
{
	if (b->alone >= TURN) {
		b->alone = 0;
		b->fair = FAIR_ROUNDS;
	}
	if (!b->fair)
		return false;
	b->fair--;
	return true;
}

static struct rv_stop run(struct rv_batch *b, uint64_t budget)
{
	/* Exact flags are told by soft arithmetic, and the stop word is looked at between. */
	const uint64_t turn = b->exact ? EXACT_TURN : TURN;

	b->halt.why = RV_ENDED;
	while (b->alive) {
		uint64_t lanes, most, n;

		/* Relaxed: the setter learns by other means that it was seen. */
		if (b->opts.stop && annex_atomic_load(b->opts.stop, ANNEX_RELAXED))
			return stop_now(b, RV_STOPPED);
		if (!budget)
			return stop_now(b, RV_BUDGET);
		rv_hot(rv_choose)(b, rv_hot(rv_first)(b, is_fair_round(b) ? b->ran : b->pc));
		lanes = (uint64_t)__builtin_popcountll(b->group);
		most = budget / lanes + (budget % lanes != 0);
		n = go(b, most < turn ? most : turn);
		b->alone += n;
		b->done += n * lanes;
		budget -= n * lanes < budget ? n * lanes : budget;
		/* After a pause, shapes may be the lanes' own already (hart.h). */
		rv_hot(rv_settle)(b, b->group, b->at,
				  !b->pause || b->left || b->halt.why != RV_ENDED);
		if (b->halt.why != RV_ENDED)
			return b->halt;
	}
	return stop_now(b, RV_ENDED);
}

/* The host's arithmetic is the harts': round to nearest, subnormals kept, no traps. */
struct rv_stop rv_run(struct rv_batch *b, uint64_t budget, uint64_t *done)
{
#ifdef __SSE__
	unsigned int mode = _mm_getcsr();
#else
	fenv_t mode;
#endif
	struct rv_stop stop;

#ifdef __SSE__
	_mm_setcsr(0x1f80);
#else
	fegetenv(&mode);
	fesetenv(FE_DFL_ENV);
#endif
	b->done = 0;
	stop = run(b, budget);
	*done += b->done;
#ifdef __SSE__
	_mm_setcsr(mode);
#else
	fesetenv(&mode);
#endif
	return stop;
}

struct rv_stop rv_step(struct rv_batch *b, struct rv_step *out)
{
	uint64_t off = b->pc[0] - b->code->va, done = 0;
	struct rv_stop stop;

	out->pc = b->pc[0];
	out->unit = off < b->code->bytes ? b->code->insn[off / 2].unit : RV_ALU;
	out->atomic = false;
	out->uops = 0;
	out->ntouch = 0;
	b->step = out;
	stop = rv_run(b, 1, &done);
	b->step = NULL;
	return stop;
}
