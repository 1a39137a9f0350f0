// SPDX-License-Identifier: MIT
#include "core/least.h"
#include "ahead.h"
#include "request.h"
#include "tensor.h"

#define NEAR 256u  /* most pages between neighbours */
#define MOST 512u  /* most pages ahead, and most pages of a tensor that is read ahead */
#define PART 16u   /* at most 1/PART of the device tier is read ahead */
#define LOOK 4096u /* most pages of a search */
#define ASKED 32u  /* most tensors requested at once */

/* struct next - Tensors to request. */
struct next {
	struct {
		void *ptr;
		uint64_t bytes;
	} of[ASKED];
	unsigned int n;
};

/* Pages between a stream and the tensor of pages [@first, @end); 0 also within requested pages. */
static uint32_t distance(const struct ahead_stream *st, uint32_t first, uint32_t end)
{
	if (first >= st->end)
		return st->window && st->back ? UINT32_MAX : first - st->end;
	if (end <= st->first)
		return st->window && !st->back ? UINT32_MAX : st->first - end;
	return st->window ? 0 : UINT32_MAX; /* the same one again */
}

/* The stream that the tensor continues, or NULL. @near: also one that ends shortly before it. */
static struct ahead_stream *find(struct ahead *a, uint32_t first, uint32_t end, bool near)
{
	struct ahead_stream *best = NULL;
	uint32_t least = near ? NEAR : 0;

	for (unsigned int i = 0; i < AHEAD_STREAMS; i++) {
		struct ahead_stream *st = &a->of[i];
		bool inside = st->window && first < st->end && end > st->first;

		if (st->end && (near || inside) && distance(st, first, end) <= least) {
			least = distance(st, first, end);
			best = st;
		}
	}
	return best;
}

/* Advance the stream to the tensor. Return: number of pages that were requested and not used
 * yet. */
static uint32_t advance(struct ahead_stream *st, uint32_t first, uint32_t end)
{
	if (!st->window)
		st->back = end <= st->first;
	if (st->back) {
		st->first = st->first < first ? st->first : first;
		st->end = end;
		return first - st->first;
	}
	st->end = st->end > end ? st->end : end;
	st->first = first;
	return st->end - end;
}

static bool is_below(const struct page *p)
{
	return (p->flags & (PAGE_DEVICE | PAGE_BUSY | PAGE_BELOW)) == PAGE_BELOW;
}

/* Collect the tensors that follow the requested ones, up to @want pages in lower tiers. */
static void collect(const struct annex_space *s, struct ahead_stream *st, uint32_t want,
		    struct next *next)
{
	for (uint32_t passed = 0, n; want && passed < LOOK && next->n < ASKED; passed += n) {
		uint32_t i = st->back ? st->first - 1 : st->end, first = i;
		const struct tensor *t = NULL;

		n = 1;
		if (i >= s->n_pages)
			return;
		if (s->pages[i].tensor) {
			t = tensor_of(s, i);
			first = t->first;
			n = t->n;
		}
		if (n > MOST)
			return;
		if (t && t->live && is_below(&s->pages[i])) {
			next->of[next->n].ptr = s->base + pages_bytes(first);
			next->of[next->n++].bytes = pages_bytes(n);
			want -= (uint32_t)least(want, n);
		}
		if (st->back)
			st->first = first;
		else
			st->end = first + n;
	}
}

static void look(struct annex_space *s, struct ahead *a, const void *ptr, bool there,
		 struct next *next)
{
	uint32_t most = (uint32_t)least(MOST, s->budget / PART), first, n, ahead;
	const struct tensor *t = annex_tensor_at(s, ptr, 1, &first, &n);
	struct ahead_stream *st;

	if (!t)
		return;
	st = find(a, t->first, t->first + t->n, !there);
	if (!st && !there) {
		st = &a->of[a->turn++ % AHEAD_STREAMS];
		*st = (struct ahead_stream){.first = t->first, .end = t->first + t->n};
		return;
	}
	if (!st)
		return;
	a->follows = true;
	ahead = advance(st, t->first, t->first + t->n);
	if (!there || !st->window)
		st->window = (uint32_t)least(2 * (uint64_t)(st->window + t->n), most);
	if (ahead <= st->window / 2)
		collect(s, st, st->window - ahead, next);
}

void annex_ahead(struct annex_space *s, struct ahead *a, const void *ptr, bool there,
		 uint64_t *order)
{
	struct want want = {.to = ANNEX_TIER_GPU, .keep = true, .most = UINT32_MAX};
	struct next next = {.n = 0};

	if (there && !a->follows)
		return;
	pthread_mutex_lock(&s->lock);
	look(s, a, ptr, there, &next);
	pthread_mutex_unlock(&s->lock);
	for (unsigned int i = 0; i < next.n; i++) {
		want.deadline = ++*order;
		/* An error is no problem: the tensor was freed, or a kernel will request it. */
		annex_move_begin(s, next.of[i].ptr, next.of[i].bytes, &want, NULL);
	}
}
