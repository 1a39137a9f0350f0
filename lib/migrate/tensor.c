// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/array.h"
#include "core/log.h"
#include "page.h"
#include "guard.h"
#include "tensor.h"

#define LOOKS 8u /* most shared tensors that are searched for places */

const char *annex_tensor_name(const struct tensor *t)
{
	return t->shared ? "(small tensors)" : t->name ? t->name : "(no name)";
}

static struct tensor *of_page(struct annex_space *s, uint64_t page)
{
	struct tensor *t;

	if (page >= s->n_pages)
		return NULL;
	t = s->pages[page].tensor ? tensor_of(s, (uint32_t)page) : NULL;
	return t && t->live ? t : NULL;
}

struct tensor *annex_tensor_at(struct annex_space *s, const void *ptr, uint64_t bytes,
			       uint32_t *first, uint32_t *n)
{
	uint64_t at = (uintptr_t)ptr - (uintptr_t)s->base;
	struct tensor *t = of_page(s, at / ANNEX_MEM_PAGE);
	uint64_t end;

	if (!t || !bytes)
		return NULL;
	end = pages_bytes(t->first + t->n);
	if (bytes > end - at)
		return NULL;
	*first = (uint32_t)(at / ANNEX_MEM_PAGE);
	*n = (uint32_t)((at + bytes - 1) / ANNEX_MEM_PAGE) - *first + 1;
	return t;
}

int annex_tensor_info(struct annex_space *s, const void *ptr, struct tensor_info *out)
{
	uint32_t first, n;
	struct tensor *t;

	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	if (t)
		*out = (struct tensor_info){
			.ptr = s->base + pages_bytes(t->first),
			.bytes = pages_bytes(t->n),
			.serial = t->serial,
			.shared = t->shared,
			.any = t->any,
		};
	pthread_mutex_unlock(&s->lock);
	return t ? 0 : annex_fail(-EINVAL, "%p is in no tensor", ptr);
}

bool annex_tensor_lives(struct annex_space *s, const void *ptr, uint64_t serial)
{
	uint32_t first, n;
	const struct tensor *t;
	bool lives;

	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	lives = t && t->serial == serial;
	pthread_mutex_unlock(&s->lock);
	return lives;
}

uint64_t annex_tensor_serials(struct annex_space *s)
{
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	n = s->serials;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void take_from(struct annex_space *s, struct order *order, struct tensor *t)
{
	if (t->older == NO_TENSOR)
		order->oldest = t->newer;
	else
		s->tensors[t->older].newer = t->newer;
	if (t->newer == NO_TENSOR)
		order->newest = t->older;
	else
		s->tensors[t->newer].older = t->older;
}

static void add_to(struct annex_space *s, struct order *order, struct tensor *t)
{
	uint32_t i = (uint32_t)(t - s->tensors);

	t->older = order->newest;
	t->newer = NO_TENSOR;
	if (order->newest == NO_TENSOR)
		order->oldest = i;
	else
		s->tensors[order->newest].newer = i;
	order->newest = i;
}

void annex_tensor_use(struct annex_space *s, struct tensor *t)
{
	if (t->newer == NO_TENSOR)
		return;
	take_from(s, &s->used, t);
	add_to(s, &s->used, t);
}

/* Free pages that are not busy, with their copies. */
static void clear(struct annex_space *s, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, part;

	for (; first < end; first += part) {
		part = annex_pages_alike(s, first, end - first, PAGE_DEVICE | PAGE_BUSY);
		if (s->pages[first].flags & PAGE_BUSY)
			continue;
		annex_pages_forget(s, first, part);
		if (s->pages[first].flags & PAGE_DEVICE)
			annex_pages_drop(s, first, part);
	}
}

/* The list of kept tensors of @n pages, and of other sizes: upper bits of a multiplicative hash. */
static struct order *of_size(struct annex_space *s, uint32_t n)
{
	return &s->kept[(n * 2654435761u >> 16) % SIZES];
}

static void keep_now(struct annex_space *s, struct tensor *t)
{
	add_to(s, of_size(s, t->n), t);
	s->kept_pages += t->resident;
	t->kept = true;
}

/* Keep the pages of a freed tensor for the next one of its size, if they suffice. Copies below are
 * freed. */
static bool keep(struct annex_space *s, struct tensor *t)
{
	uint32_t end = t->first + t->n, part;

	if (!t->any || t->jobs || !t->resident || annex_pages_wanted(s, t->first, t->n))
		return false;
	for (uint32_t i = t->first; i < end; i += part) {
		part = annex_pages_alike(s, i, end - i, PAGE_CLEAN);
		if (s->pages[i].flags & PAGE_CLEAN)
			annex_pages_dirty(s, i, part);
		else
			annex_pages_forget(s, i, part);
	}
	keep_now(s, t);
	return true;
}

static void keep_no_more(struct annex_space *s, struct tensor *t)
{
	take_from(s, of_size(s, t->n), t);
	s->kept_pages -= t->resident;
	t->kept = false;
}

/* A kept tensor of @n pages, or NULL. The last one is most likely in the processor's cache. */
static struct tensor *find_kept(struct annex_space *s, uint32_t n)
{
	uint32_t i = of_size(s, n)->newest;

	while (i != NO_TENSOR && s->tensors[i].n != n)
		i = s->tensors[i].older;
	return i == NO_TENSOR ? NULL : &s->tensors[i];
}

/* Evict pages of a kept tensor, whose entry is freed with the last of them. */
static uint32_t drop_from(struct annex_space *s, struct tensor *t, uint32_t most)
{
	uint32_t n, i = t->first;

	while (!(s->pages[i].flags & PAGE_DEVICE))
		i++;
	n = annex_pages_alike(s, i, t->first + t->n - i, PAGE_DEVICE);
	n = n < most ? n : most;
	annex_pages_drop(s, i, n);
	s->kept_pages -= n;
	if (!t->resident) {
		keep_no_more(s, t);
		annex_tensor_rest(s, t);
	}
	return n;
}

uint32_t annex_tensor_drop_kept(struct annex_space *s, uint32_t want)
{
	uint32_t left = want;

	for (; left && s->kept_pages; s->drop = (s->drop + 1) % SIZES)
		if (s->kept[s->drop].oldest != NO_TENSOR)
			left -= drop_from(s, &s->tensors[s->kept[s->drop].oldest], left);
	return want - left;
}

/* A free entry of the table, or NULL. */
static struct tensor *new_entry(struct annex_space *s)
{
	if (s->n_spare)
		return &s->tensors[s->spare[--s->n_spare]];
	if (!array_grow(s->spare, s->n_tensors, s->spare_room) ||
	    !array_grow(s->tensors, s->n_tensors, s->tensor_room))
		return NULL;
	return &s->tensors[s->n_tensors++];
}

/* Allocate addresses, if necessary by dropping kept tensors. */
static bool take_addresses(struct annex_space *s, uint32_t n, uint32_t *first)
{
	while (!annex_runs_take_all(&s->addresses, n, first))
		if (!annex_tensor_drop_kept(s, n))
			return false;
	return true;
}

/* The tensor takes over @name; NULL: it has none. */
static int create(struct annex_space *s, char *name, uint32_t n, struct tensor **out)
{
	uint32_t first;
	struct tensor *t;

	if (!take_addresses(s, n, &first))
		return annex_fail(-ENOSPC, "%s: no %llu bytes of addresses are left of %llu",
				  name ? name : "space", (ull)pages_bytes(n),
				  (ull)pages_bytes(s->n_pages));
	t = new_entry(s);
	if (!t) {
		annex_runs_give(&s->addresses, first, n);
		return annex_fail(-ENOMEM, "space: no memory for one more tensor");
	}
	memset(t, 0, sizeof(*t));
	t->name = name;
	t->first = t->hand = first;
	t->n = n;
	t->serial = s->serials++;
	t->live = true;
	if (s->guard)
		annex_signal_keep();
	annex_pages_unfence(s, first, n);
	for (uint32_t i = first; i < first + n; i++) {
		memset(&s->pages[i], 0, sizeof(s->pages[i]));
		s->pages[i].tensor = (uint32_t)(t - s->tensors) + 1;
	}
	add_to(s, &s->used, t);
	*out = t;
	return 0;
}

/* Use a kept tensor. */
static void revive(struct annex_space *s, char *name, struct tensor *t)
{
	keep_no_more(s, t);
	free(t->name);
	t->name = name;
	t->serial = s->serials++;
	t->hand = t->first;
	t->holds = t->writers = 0;
	t->live = true;
	annex_pages_unfence(s, t->first, t->n);
	add_to(s, &s->used, t);
}

static bool has_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void flip_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] ^= 1ull << i % 64;
}

/* Add a tensor to the list of those with free places. */
static void open_shared(struct annex_space *s, struct tensor *t)
{
	uint32_t i = (uint32_t)(t - s->tensors);

	t->next = s->open;
	t->previous = NO_TENSOR;
	if (s->open != NO_TENSOR)
		s->tensors[s->open].previous = i;
	s->open = i;
}

static void close_shared(struct annex_space *s, const struct tensor *t)
{
	if (t->previous == NO_TENSOR)
		s->open = t->next;
	else
		s->tensors[t->previous].next = t->next;
	if (t->next != NO_TENSOR)
		s->tensors[t->next].previous = t->previous;
}

/* The first of @need neighbouring free places; PLACES: none. */
static uint32_t free_places(const struct tensor *t, uint32_t need)
{
	uint32_t n = 0, i = 0;

	while (n < need && i < PLACES)
		n = has_bit(t->taken, i++) ? 0 : n + 1;
	return n < need ? PLACES : i - need;
}

/* A tensor with @need neighbouring free places, from *@first on. */
static int find_shared(struct annex_space *s, uint32_t need, struct tensor **out, uint32_t *first)
{
	uint32_t i = s->open;
	int err;

	for (unsigned int looks = 0; i != NO_TENSOR && looks < LOOKS; looks++) {
		*out = &s->tensors[i];
		*first = free_places(*out, need);
		if (*first < PLACES)
			return 0;
		i = (*out)->next;
	}
	err = create(s, NULL, SHARED_PAGES, out);
	if (err)
		return err;
	(*out)->shared = true;
	open_shared(s, *out);
	*first = 0;
	return 0;
}

/* *@dirty: its bytes must be zeroed. A GPU's memory cannot be written here, so there each place is
 * allocated only once. */
static int create_small(struct annex_space *s, uint64_t bytes, void **ptr, bool *dirty)
{
	uint32_t need = ((uint32_t)bytes + SMALL - 1) / SMALL, first;
	struct tensor *t;
	int err = find_shared(s, need, &t, &first);

	if (err)
		return err;
	*ptr = s->base + pages_bytes(t->first) + first * SMALL;
	*dirty = t->dirty;
	flip_bit(t->starts, first);
	for (uint32_t i = first; i < first + need; i++)
		flip_bit(t->taken, i);
	t->fill += need;
	t->parts++;
	if (t->fill == PLACES)
		close_shared(s, t);
	return 0;
}

/* Free the places of a small tensor. */
static void free_small(struct annex_space *s, struct tensor *t, uint32_t first)
{
	uint32_t i = first;

	if (s->frames)
		return;
	if (t->fill == PLACES && !t->shut)
		open_shared(s, t);
	t->dirty = true;
	do {
		flip_bit(t->taken, i++);
		t->fill--;
	} while (i < PLACES && has_bit(t->taken, i) && !has_bit(t->starts, i));
}

void annex_tensor_shut(struct annex_space *s, const void *ptr)
{
	uint32_t first, n;
	struct tensor *t;

	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	if (t && t->shared && !t->shut) {
		if (t->fill < PLACES)
			close_shared(s, t);
		t->shut = true;
	}
	pthread_mutex_unlock(&s->lock);
}

/* The tensor takes over @name. */
static int create_whole(struct annex_space *s, char *name, uint64_t bytes, bool any, void **ptr)
{
	uint64_t n = (bytes + ANNEX_MEM_PAGE - 1) / ANNEX_MEM_PAGE;
	struct tensor *t;
	int err = 0;

	if (n > s->n_pages)
		return annex_fail(-ENOSPC, "%s: %llu bytes in a space of %llu",
				  name ? name : "space", (ull)bytes, (ull)pages_bytes(s->n_pages));
	t = any ? find_kept(s, (uint32_t)n) : NULL;
	if (t)
		revive(s, name, t);
	else
		err = create(s, name, (uint32_t)n, &t);
	if (err)
		return err;
	t->any = any;
	*ptr = s->base + pages_bytes(t->first);
	return 0;
}

int annex_tensor_new(struct annex_space *s, const char *name, uint64_t bytes, bool any, void **ptr,
		     bool *dirty)
{
	bool small = bytes < ANNEX_MEM_PAGE;
	char *copy = NULL;
	void *p = NULL;
	int err;

	*dirty = false;
	if (s->fork.child)
		return fork_refuse("space");
	if (!bytes)
		return annex_fail(-EINVAL, "%s: a tensor of no bytes", name ? name : "space");
	/* @name may be in the space itself: the handler of its fault needs the lock. */
	if (name && !small) {
		copy = strdup(name);
		if (!copy)
			return annex_fail(-ENOMEM, "space: no memory for the name of a tensor");
	}
	pthread_mutex_lock(&s->lock);
	err = small ? create_small(s, bytes, &p, dirty) : create_whole(s, copy, bytes, any, &p);
	pthread_mutex_unlock(&s->lock);
	if (err)
		free(copy);
	else
		*ptr = p;
	return err;
}

struct tensor *annex_tensor_ahead(struct annex_space *s, uint32_t n)
{
	struct tensor *t;

	if (find_kept(s, n) || s->waiting.head || s->device - s->kept_pages + n > s->budget ||
	    create(s, NULL, n, &t))
		return NULL;
	take_from(s, &s->used, t);
	t->live = false;
	t->any = t->ahead = true;
	return t;
}

void annex_tensor_rest(struct annex_space *s, struct tensor *t)
{
	if (t->live || t->kept || t->jobs || t->flights || !t->n)
		return;
	if (t->ahead && t->resident && !s->closing) {
		t->ahead = false;
		keep_now(s, t);
		return;
	}
	clear(s, t->first, t->n);
	for (uint32_t i = t->first; i < t->first + t->n; i++) {
		if (s->pages[i].flags & PAGE_WANTED)
			annex_pages_fence(s, i, 1);
		s->pages[i].tensor = 0;
	}
	annex_runs_give(&s->addresses, t->first, t->n);
	free(t->name);
	t->name = NULL;
	t->n = 0;
	s->spare[s->n_spare++] = (uint32_t)(t - s->tensors);
}

void annex_tensor_gone(struct annex_space *s, struct tensor *t)
{
	if (!keep(s, t))
		clear(s, t->first, t->n);
	annex_tensor_rest(s, t);
}

/* Whether a tensor begins there. Clears the bit of a small one. */
static bool begins(struct annex_space *s, struct tensor *t, const void *ptr)
{
	uint64_t at = (uintptr_t)ptr - (uintptr_t)s->base - pages_bytes(t->first);

	if (!t->shared)
		return !at;
	if (at % SMALL || !has_bit(t->starts, (uint32_t)(at / SMALL)))
		return false;
	flip_bit(t->starts, (uint32_t)(at / SMALL));
	free_small(s, t, (uint32_t)(at / SMALL));
	return true;
}

struct tensor *annex_tensor_end(struct annex_space *s, const void *ptr, bool *shares)
{
	uint32_t first, n;
	struct tensor *t = annex_tensor_at(s, ptr, 1, &first, &n);

	if (!t || !begins(s, t, ptr))
		return NULL;
	*shares = t->shared && --t->parts;
	if (*shares)
		return t;
	if (t->shared && t->fill < PLACES && !t->shut)
		close_shared(s, t);
	t->live = false;
	take_from(s, &s->used, t);
	if (t->flights) /* of kernels that may not have run yet */
		return t;
	if (!keep(s, t))
		clear(s, t->first, t->n);
	return t;
}
