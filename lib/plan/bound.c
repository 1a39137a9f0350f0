// SPDX-License-Identifier: MIT
/*
 * A time that no plan's steady iteration can beat.
 *
 * Let a window go from the launch of kernel a to the launch of kernel b, later in the iteration. It
 * takes at least
 *  - the time of kernels a to b - 1, which run one after the other;
 *  - what must come in. Take the tensors that lived before a and that kernels a to b use: s bytes.
 *    At the launch of a, the GPU holds at most its capacity, of which the tensors of kernel a that
 *    are not among these take c. So at least s + c - capacity bytes of them are elsewhere, and at
 *    the launch of b all have been on the GPU: they passed the link. Of them, those that neither
 *    host nor CXL memory can hold came from SSDs.
 *  - what must go out. Take the tensors that kernels a to b - 1 write and that live when b
 * launches: w bytes, each without a copy elsewhere that is older than the window. At the launch of
 * b the GPU holds at most its capacity, of which other tensors of kernel b take c. So at least w +
 * c - capacity bytes were written out in the window; those that host and CXL memory cannot hold, to
 * SSDs.
 *
 * Windows that follow one another add up; the bound is the largest sum of windows from kernel 0 to
 * kernel 0 of the next iteration. It needs no more than that kernels run in order with their
 * tensors present, that memories hold what they hold, and that links carry what they carry.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <annex/simulate.h>

/* Windows begin at so many kernels at most: leaving some out keeps the bound true. */
#define BEGINNINGS 2048

struct bound {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	uint32_t n, every;
	double capacity, near;           /* of the GPU; of host and CXL memory, for one GPU */
	double in, out, ssd_in, ssd_out; /* bytes a second, for one GPU */
	double *best;                    /* seconds until each kernel launches, at least; n + 1 */
	uint32_t *seen;                  /* of each tensor: the last window that counted it */
	uint32_t stamp;
};

static double bytes_of(const struct bound *b, uint32_t tensor)
{
	return (double)b->v->trace->tensors[tensor].bytes;
}

static double seconds(double bytes, double link, double near, double ssd)
{
	double s = fmax(bytes, 0) / link;

	return bytes > near ? fmax(s, ssd > 0 ? (bytes - near) / ssd : INFINITY) : s;
}

static bool lived_before(const struct bound *b, uint32_t tensor, uint32_t kernel)
{
	return b->v->trace->tensors[tensor].global || b->v->life[tensor].birth < kernel;
}

static bool lives_at(const struct bound *b, uint32_t tensor, uint32_t kernel)
{
	return b->v->trace->tensors[tensor].global || b->v->life[tensor].death >= kernel;
}

/* Bytes that the kernel uses, but for those that count() has counted already. */
static double others(const struct bound *b, uint32_t kernel)
{
	const struct annex_trace *t = b->v->trace;
	double sum = 0;

	for (uint32_t u = t->kernels[kernel].first; u < t->kernels[kernel + 1].first; u++)
		if (b->seen[t->uses[u].tensor] != b->stamp)
			sum += bytes_of(b, t->uses[u].tensor);
	return sum;
}

static void reach(struct bound *b, uint32_t from, uint32_t to, double s)
{
	double ran = (double)(b->v->start[to] - b->v->start[from]) * 1e-9;

	b->best[to] = fmax(b->best[to], b->best[from] + fmax(ran, s));
}

/* All windows from kernel @a, by what they must bring in. */
static void windows_in(struct bound *b, uint32_t a)
{
	const struct annex_trace *t = b->v->trace;
	double s = 0, own = 0;

	b->stamp++;
	for (uint32_t k = a; k <= b->n; k++) {
		uint32_t kernel = k % b->n;

		for (uint32_t u = t->kernels[kernel].first; u < t->kernels[kernel + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if (b->seen[i] == b->stamp || !lived_before(b, i, a) ||
			    (k == b->n && !t->tensors[i].global))
				continue;
			b->seen[i] = b->stamp;
			s += bytes_of(b, i);
		}
		if (k == a)
			own = others(b, a);
		else
			reach(b, a, k, seconds(s + own - b->capacity, b->in, b->near, b->ssd_in));
	}
}

/*
 * All windows that end at kernel @z, by what must go out: backwards from it. Their beginnings'
 * times are known, since kernels are taken in order.
 */
static void windows_out(struct bound *b, uint32_t z)
{
	const struct annex_trace *t = b->v->trace;
	uint32_t kernel = z % b->n;
	double w = 0, own = 0;

	b->stamp++;
	for (uint32_t u = t->kernels[kernel].first; u < t->kernels[kernel + 1].first; u++)
		own += bytes_of(b, t->uses[u].tensor);
	for (uint32_t k = z; k--;) {
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if (!(t->uses[u].how & ANNEX_USE_WRITE) || b->seen[i] == b->stamp ||
			    (z < b->n ? !lives_at(b, i, z) : !t->tensors[i].global))
				continue;
			b->seen[i] = b->stamp;
			w += bytes_of(b, i);
			/* What kernel z uses itself is not beside it. */
			for (uint32_t x = t->kernels[kernel].first;
			     x < t->kernels[kernel + 1].first; x++)
				if (t->uses[x].tensor == i)
					own -= bytes_of(b, i);
		}
		reach(b, k, z, seconds(w + own - b->capacity, b->out, b->near, b->ssd_out));
	}
}

static void init(struct bound *b)
{
	const struct annex_system *sys = b->sys;
	double share = 1.0 / sys->gpus;

	b->capacity = (double)sys->gpu;
	b->near = ((double)sys->host + (double)sys->cxl) * share;
	b->in = b->out = sys->pcie;
	b->ssd_in = fmin(sys->pcie, sys->ssd_read * sys->ssds * share);
	b->ssd_out = fmin(sys->pcie, sys->ssd_write * sys->ssds * share);
	b->every = b->n / BEGINNINGS + 1;
}

int annex_bound(const struct annex_vitality *v, const struct annex_system *sys, double *result)
{
	struct bound b = {.v = v, .sys = sys, .n = v->trace->n_kernels};
	int err = 0;

	init(&b);
	b.best = calloc((size_t)b.n + 1, sizeof(*b.best));
	b.seen = calloc((size_t)v->trace->n_tensors + 1, sizeof(*b.seen));
	if (!b.best || !b.seen)
		err = -ENOMEM;
	for (uint32_t k = 0; k <= b.n && !err; k++) {
		if (k)
			reach(&b, k - 1, k, 0);
		if (k % b.every == 0 || k == b.n) {
			if (k)
				windows_out(&b, k);
			if (k < b.n)
				windows_in(&b, k);
		}
	}
	if (!err)
		*result = b.best[b.n];
	free(b.best);
	free(b.seen);
	return err;
}
