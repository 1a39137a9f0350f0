// SPDX-License-Identifier: MIT
/*
 * A time that no plan's steady iteration can beat.
 *
 * Let a window go from the end of kernel a to the end of kernel b, at most an iteration later. It
 * takes at least
 *  - the time of kernels a + 1 to b, which run one after the other;
 *  - bytes that must come in. At the end of a, the GPU holds the tensors of a, and no more than its
 *    capacity. Take these and all that was used before and that kernels a + 1 to b use: of t bytes,
 *    at least t - capacity are elsewhere, and by the end of b all have been on the GPU: they passed
 *    the link, and the program spent page_ns on each of their pages while no kernel ran. Bytes of
 *    them that neither host nor CXL memory can hold came from SSDs.
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
 * a kernel to its end in the next iteration. Two such kernels are tried: the last one, and that
 * with most live memory, so that windows may span the end of an iteration, where optimizers update
 * all weights in a short time. Below, kernels are counted from the one after it.
 *
 * Where kernels may run again (annex_recompute_bound()), some of the bytes that must come in may be
 * computed in the window: in the time of a kernel that writes them, in the share that they are of
 * its results. The cheapest are. Such bytes need not go out.
 *
 * The bound assumes only that kernels run in order, that all tensors of a kernel are present when
 * it ends, and that memories and links have their capacities. So it also holds if kernels begin
 * before their tensors are present.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/recompute.h>
#include "bound.h"

/* Windows begin at so many kernels at most: leaving some out keeps the bound true. */
#define BEGINNINGS 2048
#define PAGE 4096
#define PRICES 64    /* classes of seconds a byte, each the square root of 2 above the last */
#define CHEAPEST -50 /* the first one has less than 2^-50 */
#define TRIES 30     /* bisections */
#define KEPT PRICES  /* not a class: it cannot be computed again */

struct bound {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	uint32_t n, every;
	uint32_t begin;                  /* the kernel from which all are counted */
	double capacity, near;           /* of the GPU; of host and CXL memory */
	double in, out, ssd_in, ssd_out; /* bytes a second */
	double duplex;
	double page;            /* seconds a byte that comes in */
	uint32_t *dies, *dying; /* tensors by death: kernel k's begin at dies[k] */
	uint32_t *written;      /* of each tensor: the last window that has it written */
	double *best;           /* seconds until so many kernels ended, at least; n + 1 */
	uint32_t *from;         /* the beginning of the last window of each of these sums */
	uint32_t *seen;         /* of each tensor: the last window that counted it */
	uint32_t *first;        /* its first use: before it may be nowhere */
	uint32_t stamp;
	uint8_t *again; /* of each tensor: the class of its price; NULL: none is computed again */
	double bytes[PRICES]; /* of a window, that can be computed again */
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

static bool can_repeat(const struct bound *b, uint32_t tensor)
{
	return b->again && b->again[tensor] < KEPT;
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

/* The kernel that runs when @k kernels have ended. */
static uint32_t kernel(const struct bound *b, uint32_t k)
{
	return (b->begin + k) % b->n;
}

/* Seconds that kernels @from to @to - 1 run. */
static double runs(const struct bound *b, uint32_t from, uint32_t to)
{
	const uint64_t *start = b->v->start;
	uint32_t f = b->begin + from, t = b->begin + to;
	uint64_t ns = f >= b->n  ? start[t - b->n] - start[f - b->n]
		      : t > b->n ? start[b->n] - start[f] + start[t - b->n]
				 : start[t] - start[f];

	return (double)ns * 1e-9;
}

/* Kernels @from to @to - 1 take @s seconds, or their own time. */
static void reach(struct bound *b, uint32_t from, uint32_t to, double s)
{
	double ran = runs(b, from, to);
	double end = b->best[from] + fmax(ran, s);

	if (end <= b->best[to])
		return;
	b->best[to] = end;
	b->from[to] = from;
}

/*
 * Bytes that a kernel, @k after @a, uses of tensors from before @a, counted once. A local tensor is
 * as old as the kernels since its first use.
 */
static double used_from(struct bound *b, uint32_t a, uint32_t k)
{
	const struct annex_trace *t = b->v->trace;
	uint32_t at = kernel(b, k);
	double sum = 0;

	for (uint32_t u = t->kernels[at].first; u < t->kernels[at + 1].first; u++) {
		uint32_t i = t->uses[u].tensor;

		if ((!t->tensors[i].global && at - b->first[i] <= k - a) || !first_seen(b, i))
			continue;
		sum += bytes_of(b, i);
		if (can_repeat(b, i))
			b->bytes[b->again[i]] += bytes_of(b, i);
	}
	return sum;
}

/* Seconds until @bytes have come in, beside kernels that run @ran. */
static double comes(const struct bound *b, double ran, double bytes)
{
	bytes = fmax(bytes, 0);
	return fmax(seconds(bytes, b->in, b->near, b->ssd_in), ran + bytes * b->page);
}

/* The same, if the cheapest are computed again as long as that is faster. */
static double comes_or_again(const struct bound *b, double ran, double bytes)
{
	double best = comes(b, ran, bytes);

	for (unsigned int c = 0; c < PRICES && bytes > 0; c++) {
		double price, all, low = 0, high = b->bytes[c];

		if (!high)
			continue;
		price = c ? exp2(CHEAPEST + (c - 1) / 2.0) : 0;
		all = comes(b, ran + high * price, bytes - high);
		/* All of a class: the time still falls at its end. */
		if (all <= best && seconds(fmax(bytes - high, 0), b->in, b->near, b->ssd_in) >=
					   ran + high * price) {
			best = all;
			ran += high * price;
			bytes -= high;
			continue;
		}
		/* A part: where the kernels take as long as the link. */
		for (unsigned int i = 0; i < TRIES; i++) {
			double mid = (low + high) / 2;

			if (seconds(fmax(bytes - mid, 0), b->in, b->near, b->ssd_in) >=
			    ran + mid * price)
				low = mid;
			else
				high = mid;
		}
		return fmin(best, ran + low * price);
	}
	return best;
}

/* All windows that begin when @a kernels ended, by bytes that must come in. */
static void windows_in(struct bound *b, uint32_t a)
{
	double sum = count_kernel(b, kernel(b, a + b->n - 1));

	memset(b->bytes, 0, sizeof(b->bytes));
	for (uint32_t k = a; k < b->n; k++) {
		double ran = runs(b, a, k + 1), s;

		sum += used_from(b, a, k);
		s = comes(b, ran, sum - b->capacity);
		if (b->again && b->best[a] + s > b->best[k + 1])
			s = comes_or_again(b, ran, sum - b->capacity);
		reach(b, a, k + 1, s);
	}
}

/*
 * All windows that end when @z kernels ended, by bytes that must go out: backwards from it. How
 * long it takes to get to their beginnings is known, since ends are taken in order.
 */
static void windows_out(struct bound *b, uint32_t z)
{
	const struct annex_trace *t = b->v->trace;
	double sum = count_kernel(b, kernel(b, z - 1));

	for (uint32_t k = z; k--;) {
		uint32_t at = kernel(b, k);

		for (uint32_t u = t->kernels[at].first; u < t->kernels[at + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if ((t->uses[u].how & ANNEX_USE_WRITE) && !can_repeat(b, i) &&
			    (t->tensors[i].global || b->v->life[i].death - at >= z - 1 - k) &&
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

		if ((t->uses[u].how & ANNEX_USE_WRITE) && !can_repeat(b, i) &&
		    b->written[i] != b->stamp) {
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

/* Bytes of the window that can be computed again. */
static double repeatable(const struct bound *b)
{
	double sum = 0;

	for (unsigned int c = 0; b->again && c < PRICES; c++)
		sum += b->bytes[c];
	return sum;
}

/* All windows that begin when @a kernels ended, by bytes through SSDs both ways. */
static void windows_both(struct bound *b, uint32_t a)
{
	uint32_t before = kernel(b, a + b->n - 1);
	double in = count_kernel(b, before), out = 0;
	double read = b->sys->ssd_read * b->sys->ssds, write = b->sys->ssd_write * b->sys->ssds;

	memset(b->bytes, 0, sizeof(b->bytes));
	written_by(b, before, &out);
	bury(b, before, &out);
	for (uint32_t k = a; k < b->n; k++) {
		double from, to;

		in += used_from(b, a, k);
		from = fmax(in - repeatable(b) - b->capacity - b->near, 0);
		to = written_by(b, kernel(b, k), &out);
		reach(b, a, k + 1, (from / read + to / write) / b->duplex);
		bury(b, kernel(b, k), &out);
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
	b->page = (double)sys->page_ns * 1e-9 / PAGE;
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

static void all_windows(struct bound *b, uint32_t begin)
{
	b->begin = begin;
	memset(b->best, 0, ((size_t)b->n + 1) * sizeof(*b->best));
	memset(b->from, 0, ((size_t)b->n + 1) * sizeof(*b->from));
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

/* See bound.h. */
static void spread(const struct bound *b, double *ns)
{
	for (uint32_t to = b->n; to; to = b->from[to]) {
		uint32_t from = b->from[to];
		double ran = runs(b, from, to), stall = b->best[to] - b->best[from] - ran;

		for (uint32_t k = from; k < to; k++) {
			double own = runs(b, k, k + 1);
			double even = own + stall * (ran > 0 ? own / ran : 1.0 / (to - from));

			ns[kernel(b, k)] = (even + b->best[k + 1] - b->best[k]) / 2 * 1e9;
		}
	}
}

/* Windows of iterations that begin with kernel @begin, if their sum is larger than @result. */
static void try_from(struct bound *b, uint32_t begin, double *ns, double *result)
{
	all_windows(b, begin);
	if (b->best[b->n] < *result)
		return;
	*result = b->best[b->n];
	for (uint32_t k = 0; ns && k < b->n; k++)
		ns[k] = (double)b->v->trace->kernels[k].ns;
	if (ns && isfinite(*result))
		spread(b, ns);
}

/* The kernel with the most live memory. */
static uint32_t fullest(const struct bound *b)
{
	uint32_t most = 0;

	for (uint32_t k = 1; k < b->n; k++)
		if (b->v->live[k] > b->v->live[most])
			most = k;
	return most;
}

/* The class of what kernel @k's results cost, for each byte, when it runs again. */
static uint8_t price(const struct annex_trace *t, uint32_t k)
{
	double bytes = 0, c;

	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
		if ((t->uses[u].how & ANNEX_USE_WRITE) && !t->tensors[t->uses[u].tensor].global)
			bytes += (double)t->tensors[t->uses[u].tensor].bytes;
	c = 1 + floor(2 * (log2((double)t->kernels[k].ns * 1e-9 / bytes) - CHEAPEST));
	return (uint8_t)fmin(fmax(c, 0), PRICES - 1);
}

/* A local tensor can be computed again by a kernel that writes it, at least the cheapest one. */
static bool find_prices(struct bound *b)
{
	const struct annex_trace *t = b->v->trace;

	b->again = malloc((size_t)t->n_tensors + 1);
	if (!b->again)
		return false;
	memset(b->again, KEPT, (size_t)t->n_tensors + 1);
	for (uint32_t k = 0; k < b->n; k++) {
		uint8_t least = price(t, k);

		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t i = t->uses[u].tensor;

			if (t->uses[u].how & ANNEX_USE_WRITE && !t->tensors[i].global &&
			    least < b->again[i])
				b->again[i] = least;
		}
	}
	return true;
}

static int find(const struct annex_vitality *v, const struct annex_system *sys, bool again,
		double *ns, double *result)
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
	if (b.best && b.from && b.seen && b.first && b.written && b.dying && b.dies &&
	    (!again || find_prices(&b))) {
		find_uses(&b);
		find_deaths(&b);
		*result = 0;
		try_from(&b, 0, ns, result);
		if (fullest(&b) + 1 < b.n)
			try_from(&b, fullest(&b) + 1, ns, result);
		err = 0;
	}
	free(b.best);
	free(b.from);
	free(b.seen);
	free(b.first);
	free(b.written);
	free(b.dying);
	free(b.dies);
	free(b.again);
	return err;
}

int bound_times(const struct annex_vitality *v, const struct annex_system *sys, double *ns,
		double *seconds)
{
	return find(v, sys, false, ns, seconds);
}

int annex_bound(const struct annex_vitality *v, const struct annex_system *sys, double *seconds)
{
	return find(v, sys, false, NULL, seconds);
}

int annex_recompute_bound(const struct annex_vitality *v, const struct annex_system *sys,
			  double *seconds)
{
	return find(v, sys, true, NULL, seconds);
}
