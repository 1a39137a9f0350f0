// SPDX-License-Identifier: MIT
/*
 * A time that no plan's steady iteration can beat.
 *
 * Let a window go from the end of kernel a to the end of kernel b, later in the iteration. It takes
 * at least
 *  - the time of kernels a + 1 to b, which run one after the other;
 *  - bytes that must come in. At the end of a, the GPU holds the tensors of a, and no more than its
 *    capacity. Take these and all that was used before and that kernels a + 1 to b use: of t bytes,
 *    at least t - capacity are elsewhere, and by the end of b all have been on the GPU: they passed
 *    the link. Bytes of them that neither host nor CXL memory can hold came from SSDs.
 *  - bytes that must go out. At the end of b, the GPU holds the tensors of b, and no more than its
 *    capacity. Take these and all that kernels a + 1 to b write and that lives on: of t bytes,
 *    at least t - capacity are elsewhere, and written bytes have no copy older than the
 *    window: they passed the link; bytes that host and CXL memory cannot hold, to SSDs.
 *
 *  - bytes that must pass SSDs both ways, where reads and writes share their time. Output is
 *    counted from the window's beginning here: bytes that kernels a to b write and that live at its
 *    end.
 *
 * Windows that follow one another add up; the bound is the largest sum of windows from the end of
 * one iteration to the end of the next. It assumes only that kernels run in order, that all tensors
 * of a kernel are present when it ends, and that memories and links have their capacities. So it
 * also holds if kernels begin before their tensors are present.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "bound.h"

/* Windows begin at so many kernels at most: leaving some out keeps the bound true. */
#define BEGINNINGS 2048

struct bound {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	uint32_t n, every;
	double capacity, near;           /* of the GPU; of host and CXL memory */
	double in, out, ssd_in, ssd_out; /* bytes a second */
	double duplex;
	uint32_t *dies, *dying; /* tensors by death: kernel k's begin at dies[k] */
	uint32_t *written;      /* of each tensor: the last window that has it written */
	double *best;           /* seconds until so many kernels ended, at least; n + 1 */
	uint32_t *from;         /* the beginning of the last window of each of these sums */
	uint32_t *seen;         /* of each tensor: the last window that counted it */
	uint32_t *first;        /* its first use: before it may be nowhere */
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

/* Whether a window counts a tensor for the first time. */
static bool first_seen(struct bound *b, uint32_t tensor)
{
	bool first = b->seen[tensor] != b->stamp;

	b->seen[tensor] = b->stamp;
	return first;
}

/* A new window begins with the tensors of one kernel. */
static double count_kernel(struct bound *b, uint32_t kernel)
{
	const struct annex_trace *t = b->v->trace;
	double sum = 0;

	b->stamp++;
	for (uint32_t u = t->kernels[kernel].first; u < t->kernels[kernel + 1].first; u++)
		if (first_seen(b, t->uses[u].tensor))
			sum += bytes_of(b, t->uses[u].tensor);
	return sum;
}

/* Kernels @from to @to - 1 take @s seconds, or their own time. */
static void reach(struct bound *b, uint32_t from, uint32_t to, double s)
{
	double ran = (double)(b->v->start[to] - b->v->start[from]) * 1e-9;
	double end = b->best[from] + fmax(ran, s);

	if (end <= b->best[to])
		return;
	b->best[to] = end;
	b->from[to] = from;
}

/* All windows that begin when @a kernels ended, by bytes that must come in. */
static void windows_in(struct bound *b, uint32_t a)
{
	const struct annex_trace *t = b->v->trace;
	double sum = count_kernel(b, (a + b->n - 1) % b->n);

	for (uint32_t k = a; k < b->n; k++) {
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if ((t->tensors[i].global || b->first[i] < a) && first_seen(b, i))
				sum += bytes_of(b, i);
		}
		reach(b, a, k + 1, seconds(sum - b->capacity, b->in, b->near, b->ssd_in));
	}
}

/*
 * All windows that end when @z kernels ended, by bytes that must go out: backwards from it. How
 * long it takes to get to their beginnings is known, since ends are taken in order.
 */
static void windows_out(struct bound *b, uint32_t z)
{
	const struct annex_trace *t = b->v->trace;
	double sum = count_kernel(b, z - 1);

	for (uint32_t k = z; k--;) {
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if ((t->uses[u].how & ANNEX_USE_WRITE) &&
			    (t->tensors[i].global || b->v->life[i].death >= z - 1) &&
			    first_seen(b, i))
				sum += bytes_of(b, i);
		}
		reach(b, k, z, seconds(sum - b->capacity, b->out, b->near, b->ssd_out));
	}
}

/* Bytes that kernel @k leaves written and alive, and that SSDs must get; @sum: before it. */
static double written_by(struct bound *b, uint32_t k, double *sum)
{
	const struct annex_trace *t = b->v->trace;
	double others = 0;

	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
		uint32_t i = t->uses[u].tensor;

		if ((t->uses[u].how & ANNEX_USE_WRITE) && b->written[i] != b->stamp) {
			b->written[i] = b->stamp;
			*sum += bytes_of(b, i);
		}
	}
	/* The kernel's tensors are on the GPU, written or not. */
	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
		if (b->written[t->uses[u].tensor] != b->stamp)
			others += bytes_of(b, t->uses[u].tensor);
	return fmax(*sum + others - b->capacity - b->near, 0);
}

/* Tensors that die with kernel @k are not counted after it. */
static void bury(struct bound *b, uint32_t k, double *sum)
{
	for (uint32_t d = b->dies[k]; d < b->dies[k + 1]; d++)
		if (b->written[b->dying[d]] == b->stamp)
			*sum -= bytes_of(b, b->dying[d]);
}

/* All windows that begin when @a kernels ended, by bytes through SSDs both ways. */
static void windows_both(struct bound *b, uint32_t a)
{
	const struct annex_trace *t = b->v->trace;
	uint32_t before = (a + b->n - 1) % b->n;
	double in = count_kernel(b, before), out = 0;
	double read = b->sys->ssd_read * b->sys->ssds, write = b->sys->ssd_write * b->sys->ssds;

	written_by(b, before, &out);
	bury(b, before, &out);
	for (uint32_t k = a; k < b->n; k++) {
		double from, to;

		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if ((t->tensors[i].global || b->first[i] < a) && first_seen(b, i))
				in += bytes_of(b, i);
		}
		from = fmax(in - b->capacity - b->near, 0);
		to = written_by(b, k, &out);
		reach(b, a, k + 1, (from / read + to / write) / b->duplex);
		bury(b, k, &out);
	}
}

static void init(struct bound *b)
{
	const struct annex_system *sys = b->sys;

	/* One GPU may have all of a shared resource while the others need none of it. */
	b->capacity = (double)sys->gpu;
	b->near = (double)sys->host + (double)sys->cxl;
	b->in = b->out = sys->pcie;
	b->ssd_in = fmin(sys->pcie, sys->ssd_read * sys->ssds);
	b->ssd_out = fmin(sys->pcie, sys->ssd_write * sys->ssds);
	b->duplex = sys->ssds ? sys->ssd_duplex : 2;
	b->every = b->n / BEGINNINGS + 1;
}

static void find_uses(struct bound *b)
{
	const struct annex_trace *t = b->v->trace;

	for (uint32_t k = b->n; k--;)
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
			b->first[t->uses[u].tensor] = k;
}

/* By counting; global tensors live on. */
static void find_deaths(struct bound *b)
{
	const struct annex_trace *t = b->v->trace;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		if (!t->tensors[i].global && b->v->life[i].used)
			b->dies[b->v->life[i].death + 2]++;
	for (uint32_t k = 2; k < b->n + 2; k++)
		b->dies[k] += b->dies[k - 1];
	for (uint32_t i = 0; i < t->n_tensors; i++)
		if (!t->tensors[i].global && b->v->life[i].used)
			b->dying[b->dies[b->v->life[i].death + 1]++] = i;
}

static void all_windows(struct bound *b)
{
	for (uint32_t k = 0; k <= b->n; k++) {
		if (k)
			reach(b, k - 1, k, 0);
		if (k % b->every && k != b->n)
			continue;
		if (k)
			windows_out(b, k);
		if (k < b->n)
			windows_in(b, k);
		if (k < b->n && b->duplex < 2)
			windows_both(b, k);
	}
}

static void spread(const struct bound *b, double *ns)
{
	for (uint32_t to = b->n; to; to = b->from[to]) {
		uint32_t from = b->from[to];
		double ran = (double)(b->v->start[to] - b->v->start[from]);
		double stall = (b->best[to] - b->best[from]) * 1e9 - ran;

		for (uint32_t k = from; k < to; k++) {
			double even = ns[k] + stall * (ran > 0 ? ns[k] / ran : 1.0 / (to - from));

			ns[k] = (even + (b->best[k + 1] - b->best[k]) * 1e9) / 2;
		}
	}
}

int bound_times(const struct annex_vitality *v, const struct annex_system *sys, double *ns,
		double *result)
{
	struct bound b = {.v = v, .sys = sys, .n = v->trace->n_kernels};
	size_t tensors = (size_t)v->trace->n_tensors + 1;
	int err = -ENOMEM;

	init(&b);
	b.best = calloc((size_t)b.n + 1, sizeof(*b.best));
	b.from = calloc((size_t)b.n + 1, sizeof(*b.from));
	b.seen = calloc(tensors, sizeof(*b.seen));
	b.first = calloc(tensors, sizeof(*b.first));
	b.written = calloc(tensors, sizeof(*b.written));
	b.dying = calloc(tensors, sizeof(*b.dying));
	b.dies = calloc((size_t)b.n + 3, sizeof(*b.dies));
	if (b.best && b.from && b.seen && b.first && b.written && b.dying && b.dies) {
		find_uses(&b);
		find_deaths(&b);
		all_windows(&b);
		*result = b.best[b.n];
		for (uint32_t k = 0; ns && k < b.n; k++)
			ns[k] = (double)v->trace->kernels[k].ns;
		if (ns && isfinite(*result))
			spread(&b, ns);
		err = 0;
	}
	free(b.best);
	free(b.from);
	free(b.seen);
	free(b.first);
	free(b.written);
	free(b.dying);
	free(b.dies);
	return err;
}

int annex_bound(const struct annex_vitality *v, const struct annex_system *sys, double *seconds)
{
	return bound_times(v, sys, NULL, seconds);
}
