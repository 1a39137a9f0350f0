// SPDX-License-Identifier: MIT
/*
 * The choice of tensors that leave, and when.
 *
 * One walk over the kernels begins where memory is emptiest. Where it is too full, the periods that
 * include the kernel are candidates. Only candidates that end last are priced: of two tensors that
 * cost the same, the one that stays away longer relieves more (Belady).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "core/array.h"
#include "planner.h"

#define LOOK 12            /* candidates compared for each cut */
#define PASS_BY 128        /* of them and of tensors that cannot leave */
#define GRAIN (2ull << 20) /* cuts are multiples of it, or whole tensors */
#define SMALL 4096         /* tensors below this part of the GPU come last */

/*
 * struct entry - A period, or a slice since @since, that may leave memory until @end; both in slots
 * from where the walk began.
 */
struct entry {
	uint32_t period, end, since;
};

struct heap_of {
	struct entry *e;
	uint32_t n;
};

/* Candidates are looked at in classes, so that many of one kind do not hide the others. */
enum { GLOBAL, LOCAL, SMALL_ONE, CLASSES };

struct walk_select {
	struct annex_pass *p;
	uint32_t start, at; /* the kernel it began at; slots since */
	uint32_t *order;    /* periods by the slot at which they begin */
	struct heap_of heap[CLASSES];
	struct heap_of early; /* slices that arrived before they are due */
	uint32_t most_early;
	uint32_t since, every; /* cuts since @over was made anew; how many it may be */
};

static void push(struct heap_of *h, struct entry e)
{
	uint32_t i = h->n++;

	for (; i && h->e[(i - 1) / 2].end < e.end; i = (i - 1) / 2)
		h->e[i] = h->e[(i - 1) / 2];
	h->e[i] = e;
}

static struct entry pop(struct heap_of *h)
{
	struct entry top = h->e[0], e = h->e[--h->n];
	uint32_t i = 0;

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= h->n)
			break;
		if (c + 1 < h->n && h->e[c + 1].end > h->e[c].end)
			c++;
		if (h->e[c].end <= e.end)
			break;
		h->e[i] = h->e[c];
		i = c;
	}
	h->e[i] = e;
	return top;
}

static uint64_t size(const struct annex_pass *p, uint32_t period)
{
	return p->v->trace->tensors[p->v->periods[period].tensor].bytes;
}

static void measure_over(struct annex_pass *p)
{
	for (uint32_t k = 0; k < p->n; k++) {
		bool over = span_at(&p->press, k) > (int64_t)p->capacity;

		p->over[k + 1] = p->over[k] + (over ? p->ns[k] : 0);
	}
}

/* Nanoseconds of slots [@from, @from + @len) that are too full. */
static double relieves(const struct annex_pass *p, uint32_t from, uint32_t len)
{
	uint32_t end = from + len;
	double ns = end <= p->n ? p->over[end] - p->over[from]
				: p->over[p->n] - p->over[from] + p->over[end - p->n];

	return ns + p->ns[from];
}

/* struct choice - The best so far: a period to cut, or a @cut to make sooner. */
struct choice {
	uint32_t period, cut;
	unsigned int below;
	double score;
};

/* Relief for its price, in transfers of all bytes; a late cut is worse than any that is not. */
static double score(const struct annex_price *price, double relief, double bytes)
{
	if (price->late > 0)
		return -price->late / bytes;
	return relief / ((price->writes ? 2 : 1) + price->rent);
}

/*
 * The tier for a period, and its score: the first, in the order of the pass's taste, from which it
 * returns nearly as fast as if nothing else did; or that from which it is the least late, and then
 * the fastest. Where tiers have a rent, that with the best score. The rest of a period goes where
 * its first cut went, if it is not late there: steps do not say from which tier bytes return, so
 * bytes of the slower tier may come last.
 */
static bool find_tier(const struct walk_select *w, uint32_t drop, uint32_t period, uint64_t bytes,
		      unsigned int *below, double *best)
{
	static const unsigned int near[BELOWS] = {BELOW_HOST, BELOW_CXL, BELOW_SSD};
	static const unsigned int far[BELOWS] = {BELOW_SSD, BELOW_CXL, BELOW_HOST};
	const struct annex_pass *p = w->p;
	uint32_t cut = p->idle[period].cuts;
	struct annex_price price = {0};
	bool found = false;

	if (cut != NONE && annex_price(p, period, drop, bytes, p->cuts[cut].below, &price) &&
	    price.late <= 0) {
		*below = p->cuts[cut].below;
		*best = score(&price, relieves(p, drop, price.away), (double)bytes);
		return true;
	}
	for (unsigned int i = 0; i < BELOWS; i++) {
		unsigned int b = p->taste.far ? far[i] : near[i];
		struct annex_price next;
		double s;

		if (!p->room[b] || !annex_price(p, period, drop, bytes, b, &next))
			continue;
		s = score(&next, relieves(p, drop, next.away), (double)bytes);
		if (found && (p->taste.rent ? s <= *best
					    : next.late > price.late || (next.late >= price.late &&
									 next.lead >= price.lead)))
			continue;
		found = true;
		*below = b;
		*best = s;
		price = next;
		if (!p->taste.rent && next.late <= 0 && next.lead <= p->taste.lead * next.takes)
			break;
	}
	return found;
}

/* Bytes of a period that a cut takes: the need, or all when little would be left. */
static uint64_t cut_size(const struct annex_pass *p, uint32_t period, uint64_t need)
{
	uint64_t left = size(p, period) - p->idle[period].out;
	uint64_t bytes = (need + GRAIN - 1) / GRAIN * GRAIN;

	return bytes + GRAIN > left ? left : bytes;
}

/* Whether a period can leave at all; if it is better than the best so far, it is the best. */
static bool consider(const struct walk_select *w, uint32_t drop, struct entry e, uint64_t need,
		     struct choice *best)
{
	const struct annex_pass *p = w->p;
	uint64_t bytes = cut_size(p, e.period, need);
	unsigned int below;
	double s;

	if (!find_tier(w, drop, e.period, bytes, &below, &s))
		return false;
	if (s > best->score)
		*best = (struct choice){e.period, NONE, below, s};
	return true;
}

/* A cut of the period that was made for the next iteration and can be made now. */
static bool consider_sooner(const struct walk_select *w, uint32_t drop, uint32_t period,
			    struct choice *best)
{
	const struct annex_pass *p = w->p;
	uint32_t cut = annex_later_cut(p, period, drop);
	struct annex_price price;
	double s;

	if (cut == NONE || !annex_price_sooner(p, cut, drop, &price))
		return false;
	s = score(&price, relieves(p, drop, price.away), (double)p->cuts[cut].bytes);
	if (s > best->score)
		*best = (struct choice){period, cut, 0, s};
	return true;
}

/* Price the candidates that end last. Periods that are over, or wholly out, are removed. */
static void look(struct walk_select *w, struct heap_of *h, uint32_t drop, uint64_t need,
		 struct choice *best)
{
	struct entry kept[PASS_BY];
	uint32_t n = 0, seen = 0;

	while (h->n && n < PASS_BY && seen < LOOK) {
		struct entry e = pop(h);
		bool whole, sooner;

		if (e.end <= w->at)
			continue;
		whole = w->p->idle[e.period].out < size(w->p, e.period);
		sooner = consider_sooner(w, drop, e.period, best);
		if (!whole && !sooner)
			continue;
		seen += (whole && consider(w, drop, e, need, best)) || sooner;
		kept[n++] = e;
	}
	while (n)
		push(h, kept[--n]);
}

static bool cut_one(struct walk_select *w, uint32_t drop, uint64_t need)
{
	struct annex_pass *p = w->p;
	struct choice best = {.period = NONE, .score = -INFINITY};

	look(w, &w->heap[GLOBAL], drop, need, &best);
	look(w, &w->heap[LOCAL], drop, need, &best);
	if (best.score < 0)
		look(w, &w->heap[SMALL_ONE], drop, need, &best);
	if (best.period == NONE)
		return false;
	if (best.cut != NONE)
		annex_cut_sooner(p, best.cut, drop);
	else
		annex_cut(p, best.period, drop, cut_size(p, best.period, need), best.below);
	if (++w->since >= w->every) {
		measure_over(p);
		w->since = 0;
	}
	return true;
}

static void enter(struct walk_select *w, uint32_t period, uint32_t end)
{
	bool global = w->p->v->trace->tensors[w->p->v->periods[period].tensor].global;
	bool small = size(w->p, period) < w->p->capacity / SMALL;

	push(&w->heap[small    ? SMALL_ONE
		      : global ? GLOBAL
			       : LOCAL],
	     (struct entry){period, end, w->at});
}

/* The slice that is due last arrives half as early: it may be late, but memory holds. */
static bool defer_one(struct walk_select *w)
{
	while (w->early.n) {
		struct entry e = pop(&w->early);

		if (e.end <= w->at)
			continue;
		annex_defer(w->p, e.period, (e.end - w->at + 1) / 2 + w->at - e.since);
		return true;
	}
	return false;
}

static void note_early(struct walk_select *w, uint32_t k)
{
	struct annex_pass *p = w->p;

	for (uint32_t i = p->slot[k]; i != NONE; i = p->slices[i].in_slot) {
		const struct job *j = &p->jobs[p->slices[i].job];
		uint32_t due = annex_due(p, j);

		if (j->dir != LINK_IN || due == k)
			continue;
		if (!array_grow(w->early.e, w->early.n, w->most_early)) {
			p->err = -ENOMEM;
			return;
		}
		push(&w->early, (struct entry){i, w->at + annex_around(p, k, due), w->at});
	}
}

static void walk_slot(struct walk_select *w)
{
	struct annex_pass *p = w->p;
	uint32_t k = (w->start + w->at) % p->n;

	note_early(w, k);
	while (!p->err) {
		int64_t need = span_at(&p->press, k) - (int64_t)p->capacity;

		if (need <= 0 || (!cut_one(w, k, (uint64_t)need) && !defer_one(w)))
			break;
	}
}

/* Periods in the order of the kernel at which they begin, by counting. */
static int sort_periods(struct walk_select *w, uint32_t *first)
{
	const struct annex_pass *p = w->p;
	const struct annex_vitality *v = p->v;

	for (uint32_t i = 0; i < v->n_periods; i++)
		first[v->periods[i].from % p->n + 1]++;
	for (uint32_t k = 0; k < p->n; k++)
		first[k + 1] += first[k];
	for (uint32_t i = 0; i < v->n_periods; i++)
		w->order[first[v->periods[i].from % p->n]++] = i;
	for (uint32_t k = p->n; k; k--)
		first[k] = first[k - 1];
	first[0] = 0;
	return 0;
}

static uint32_t emptiest(const struct annex_pass *p)
{
	uint32_t least = 0;

	for (uint32_t k = 1; k < p->n; k++)
		if (p->v->live[k] < p->v->live[least])
			least = k;
	return least;
}

static uint32_t slots(const struct annex_pass *p, uint32_t from, uint32_t to)
{
	uint32_t len = (to + p->n - from) % p->n;

	return len ? len : p->n;
}

/* Enter the periods that begin before the walk does, and end in it. */
static void enter_open(struct walk_select *w)
{
	const struct annex_pass *p = w->p;

	for (uint32_t i = 0; i < p->v->n_periods; i++) {
		const struct annex_period *q = &p->v->periods[i];
		uint32_t from = q->from % p->n, to = q->to % p->n;
		uint32_t since = (w->start + p->n - from) % p->n;

		if (since && since < slots(p, from, to))
			enter(w, i, slots(p, from, to) - since);
	}
}

static void walk(struct walk_select *w, const uint32_t *first)
{
	struct annex_pass *p = w->p;

	enter_open(w);
	for (w->at = 0; w->at < p->n && !p->err; w->at++) {
		uint32_t k = (w->start + w->at) % p->n;

		for (uint32_t i = first[k]; i < first[k + 1]; i++) {
			const struct annex_period *q = &p->v->periods[w->order[i]];

			enter(w, w->order[i], w->at + slots(p, k, q->to % p->n));
		}
		walk_slot(w);
	}
}

void annex_select(struct annex_pass *p)
{
	uint32_t n = p->v->n_periods;
	struct walk_select w = {.p = p, .start = emptiest(p), .every = n / 256 + 4};
	uint32_t *first = calloc((size_t)p->n + 1, sizeof(*first));

	bool ok = first;

	w.order = malloc(((size_t)n + 1) * sizeof(*w.order));
	ok = ok && w.order;
	for (unsigned int c = 0; c < CLASSES; c++) {
		/* A period may be there twice: open at the start, and begun at the end. */
		w.heap[c].e = malloc((2 * (size_t)n + 1) * sizeof(struct entry));
		ok = ok && w.heap[c].e;
	}
	if (ok) {
		sort_periods(&w, first);
		measure_over(p);
		walk(&w, first);
		if (!p->settled)
			annex_settle(p, w.start);
	} else {
		p->err = -ENOMEM;
	}
	free(first);
	free(w.order);
	for (unsigned int c = 0; c < CLASSES; c++)
		free(w.heap[c].e);
	free(w.early.e);
}
