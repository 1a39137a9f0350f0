// SPDX-License-Identifier: MIT
/*
 * Pieces of a range: taken, given back, found.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "hdm.h"

static int take_named(struct annex_hdm *h, uint64_t bytes, uint32_t align, const char *name,
		      uint32_t *at)
{
	struct hdm_run r, old;
	struct hdm_slot slot;
	int err = hdm_lock(h);

	if (err)
		return err;
	err = hdm_name_find(&h->t, name, &old, &slot);
	if (!err)
		err = annex_fail(-EEXIST, "%s: there is a %s already", h->uri, name);
	else if (err == -ENOENT)
		err = hdm_find_run(h, bytes, align, &r.len, &r.at);
	r.index = 0;
	if (!err)
		err = hdm_name_put(&h->t, name, bytes, r.at, &r.index);
	if (!err) {
		r.kind = HDM_NAMED;
		err = hdm_run_commit(&h->t, &r);
		*at = r.at;
	}
	return hdm_unlock(h, err);
}

static int take(struct annex_hdm *h, size_t bytes, size_t align, const char *name, int class,
		uint64_t *offset)
{
	/* Granules are powers of two, so that larger ones serve every alignment up to theirs. */
	uint32_t granules = align > h->t.g.granule ? (uint32_t)(align / h->t.g.granule) : 1, at;
	int err = -ENOSPC;

	if (class >= 0)
		err = slab_take(h, (unsigned int)class, offset);
	if (err != -ENOSPC)
		return err;
	err = name ? take_named(h, bytes, granules, name, &at)
		   : hdm_take_run(h, bytes, granules, &at);
	*offset = err ? 0 : at * h->t.g.granule;
	return err;
}

static int check(const struct annex_hdm *h, size_t bytes, size_t align, const char *name)
{
	int err = name ? hdm_name_test(name) : 0;

	if (h->fork.child)
		return fork_refuse(h->uri);
	if (!bytes || align > ANNEX_HDM_ALIGN || (align & (align - 1)))
		return annex_fail(-EINVAL, "%s: %zu bytes aligned to %zu: there are no such pieces",
				  h->uri, bytes, align);
	return err ? annex_fail(err, "%s: a name has 1 to %u printable characters, no space",
				h->uri, ANNEX_HDM_NAME - 1)
		   : 0;
}

int annex_hdm_alloc(struct annex_hdm *h, size_t bytes, size_t align, const char *name, void **out)
{
	uint64_t offset = 0;
	uint32_t freed = 0;
	int err = check(h, bytes, align, name), class;

	if (err)
		return err;
	align = align < ANNEX_HDM_LINE ? ANNEX_HDM_LINE : align;
	class = name ? -1 : slab_class(bytes, align);
	err = take(h, bytes, align, name, class, &offset);
	if (err == -ENOSPC && !slabs_trim(h, &freed) && freed)
		err = take(h, bytes, align, name, class, &offset);
	if (err == -ENOSPC && class >= 0)
		err = slab_take_any(h, (unsigned int)class, align, &offset);
	if (err == -ENOSPC)
		annex_fail(err, "%s: no room for %zu bytes aligned to %zu", h->uri, bytes, align);
	if (!err)
		*out = h->m->base + offset;
	return err;
}

int annex_hdm_free(struct annex_hdm *h, void *ptr)
{
	uint64_t offset = (uint64_t)((char *)ptr - h->m->base);
	struct slab *slab;
	int err;

	if (!ptr)
		return 0;
	if (h->fork.child)
		return fork_refuse(h->uri);
	if (offset / h->t.g.granule >= h->t.g.granules)
		return annex_fail(-EINVAL, "%s: %p is not in it", h->uri, ptr);
	slab = slab_of(h, offset);
	if (!slab && offset % h->t.g.granule == 0)
		return hdm_give_run(h, (uint32_t)(offset / h->t.g.granule));
	err = slab ? slab_give(h, slab, offset) : -EINVAL;
	if (err == -EINVAL)
		annex_fail(err, "%s: nothing to free at offset %llu", h->uri, (ull)offset);
	return err;
}

static int describe(struct annex_hdm *h, const struct hdm_run *r, struct annex_hdm_block *out)
{
	struct hdm_slot slot;
	int err;

	*out = (struct annex_hdm_block){.offset = r->at * h->t.g.granule,
					.bytes = r->len * h->t.g.granule};
	if (r->kind == HDM_OWNED) {
		out->owned = r->index == h->owner;
		out->dead = !hdm_owner_lives(h, r->index);
		return 0;
	}
	err = hdm_name_read(&h->t, r, &slot);
	if (!err) {
		out->bytes = slot.bytes;
		memcpy(out->name, slot.name, sizeof(out->name));
	}
	return err;
}

int annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out)
{
	struct hdm_slot slot;
	struct hdm_run r;
	int err = hdm_lock(h);

	if (err)
		return err;
	err = hdm_name_test(name) ? -ENOENT : hdm_name_find(&h->t, name, &r, &slot);
	if (!err)
		err = describe(h, &r, out);
	return hdm_unlock(h, err);
}

/* The run that begins at @from or behind, which others may have moved meanwhile. */
static int next_run(struct annex_hdm *h, uint64_t from, struct hdm_run *r)
{
	for (uint32_t at = h->t.g.first; at < h->t.g.granules; at += r->len) {
		int err = hdm_run_at(&h->t, at, r);

		if (err)
			return err;
		if (r->kind != HDM_FREE && at >= from)
			return 1;
	}
	return 0;
}

int annex_hdm_next(struct annex_hdm *h, uint64_t *cursor, struct annex_hdm_block *out)
{
	struct hdm_run r;
	int err = hdm_lock(h), found;

	if (err)
		return err;
	found = next_run(h, *cursor, &r);
	if (found == 1) {
		*cursor = r.at + 1ull;
		err = describe(h, &r, out);
	}
	err = hdm_unlock(h, err);
	return err ? err : found;
}

int annex_hdm_get_usage(struct annex_hdm *h, struct annex_hdm_usage *out)
{
	uint64_t granule = h->t.g.granule, room = 0;
	struct hdm_run r;
	int err = hdm_lock(h);

	if (err)
		return err;
	*out = (struct annex_hdm_usage){.table = h->t.g.first * granule};
	err = hdm_poison_look(h);
	for (uint32_t at = h->t.g.first; !err && at < h->t.g.granules; at += r.len) {
		bool poisoned = hdm_run_poisoned(&h->t, at);

		err = hdm_run_at(&h->t, at, &r);
		if (r.kind != HDM_FREE)
			out->used += r.len * granule;
		else if (poisoned)
			out->poisoned += granule;
		else
			out->free += granule;
		room = r.kind == HDM_FREE && !poisoned ? room + granule : 0;
		out->largest = room > out->largest ? room : out->largest;
	}
	return hdm_unlock(h, err);
}
