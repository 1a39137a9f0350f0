// SPDX-License-Identifier: MIT
/*
 * Opening a range: find its medium by URI, find or make its table, become an owner.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "core/scheme.h"
#include "hdm.h"

#define DEFAULT_TIMEOUT_MS 30000u

/* Make a table. Data in the range is given up. */
static int format(struct annex_hdm *h)
{
	int err;

	if (!hdm_alone(h))
		return annex_fail(-EBUSY, "%s: others use it: it is not formatted", h->uri);
	err = hdm_poison_mend(h);
	return err ? err : hdm_table_format(&h->t);
}

static int read_table(struct annex_hdm *h, bool anew)
{
	int err = anew ? -ENODATA : hdm_poison_look(h);

	if (!err)
		err = hdm_table_read(&h->t);
	/* Scratch memory holds no data of others, unless another handle still uses it. */
	if (err == -EILSEQ && h->m->scratch && hdm_alone(h)) {
		annex_log(ANNEX_LOG_WARNING,
			  "%s: its table was damaged and is made anew: the old contents are lost",
			  h->uri);
		err = -ENODATA;
	}
	if (err == -ENODATA)
		err = format(h);
	return err;
}

/* An owner that takes the number of a dead one begins with nothing. */
static int enter(struct annex_hdm *h, bool anew)
{
	uint32_t freed;
	int err = hdm_lock(h);

	if (err)
		return err;
	err = hdm_join(h);
	if (!err)
		err = read_table(h, anew);
	if (!err)
		err = hdm_sweep(h, true, &freed);
	return hdm_unlock(h, err);
}

static int check_medium(const struct annex_hdm *h)
{
	if (h->m->bytes < ANNEX_HDM_MIN)
		return annex_fail(-EINVAL, "%s: %llu bytes; a range has at least %llu", h->uri,
				  (ull)h->m->bytes, ANNEX_HDM_MIN);
	return 0;
}

int hdm_open_medium(struct annex_medium *m, const char *uri, const struct annex_hdm_opts *opts,
		    bool anew, struct annex_hdm **out)
{
	struct annex_hdm *h = calloc(1, sizeof(*h));
	int err;

	if (!h) {
		m->ops->close(m);
		return annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	}
	h->m = m;
	h->owner = HDM_OWNERS;
	h->timeout_ms = opts && opts->timeout_ms ? opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->looking, NULL);
	hdm_watch(h);
	hdm_provider_init(h);
	h->uri = strdup(uri);
	err = h->uri ? check_medium(h) : annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	if (!err)
		err = annex_mapping_watch(uri, m->fd, m->base, m->bytes, &h->mapping);
	if (!err) {
		h->t.m = m;
		h->t.uri = h->uri;
		hdm_geo_init(&h->t.g, m->bytes);
		err = slabs_init(h);
	}
	if (!err)
		err = hdm_poison_init(h);
	if (!err)
		err = enter(h, anew);
	if (err) {
		h->owner = HDM_OWNERS;
		annex_hdm_close(h);
		return err;
	}
	*out = h;
	return 0;
}

#define RANGE_ROW(name, summary, traits) {{#name, summary, traits}, hdm_##name##_open, NULL},

static const struct hdm_scheme kinds[] = {RANGE_KINDS(RANGE_ROW)};
static struct hdm_scheme *added;

void annex_hdm_scheme_add(struct hdm_scheme *kind)
{
	kind->next = added;
	/* Release: a thread of the program that finds the kind, by the acquire below, sees its
	 * members. */
	annex_atomic_store(&added, kind, ANNEX_RELEASE);
}

static const struct hdm_scheme *kind_at(unsigned int i)
{
	const unsigned int builtin = sizeof(kinds) / sizeof(kinds[0]);
	const struct hdm_scheme *kind;

	if (i < builtin)
		return &kinds[i];
	/* Acquire: pairs with the release in annex_hdm_scheme_add(). */
	for (kind = annex_atomic_load(&added, ANNEX_ACQUIRE); kind && i > builtin; i--)
		kind = kind->next;
	return kind;
}

const struct annex_scheme *annex_hdm_scheme_at(unsigned int i)
{
	const struct hdm_scheme *kind = kind_at(i);

	return kind ? &kind->scheme : NULL;
}

unsigned int annex_hdm_traits(const char *uri)
{
	int kind = scheme_find(uri, annex_hdm_scheme_at);

	return kind < 0 ? 0 : kind_at((unsigned int)kind)->scheme.traits;
}

static int open_scheme(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	int err, i = scheme_find(uri->scheme, annex_hdm_scheme_at);
	const struct hdm_scheme *kind;

	if (i < 0)
		return scheme_unknown(uri->scheme, annex_hdm_scheme_at);
	kind = kind_at((unsigned int)i);
	err = kind->open(uri, timeout_ms, out);
	if (!err)
		(*out)->scheme = kind->scheme.name;
	return err;
}

int annex_hdm_open(const char *text, const struct annex_hdm_opts *opts, struct annex_hdm **out)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	struct annex_medium *m = NULL;
	bool anew = false;
	int err;

	if (!uri)
		return annex_fail(-ENOMEM, "%.64s: out of memory", text);
	err = annex_uri_parse(text, uri);
	if (!err)
		err = annex_uri_bool(uri, "format", &anew);
	if (!err)
		err = open_scheme(
			uri, opts && opts->timeout_ms ? opts->timeout_ms : DEFAULT_TIMEOUT_MS, &m);
	free(uri);
	return err ? err : hdm_open_medium(m, text, opts, anew, out);
}

void annex_hdm_close(struct annex_hdm *h)
{
	KEEP_LAST_ERROR(true);
	uint32_t freed;

	if (!h)
		return;
	fork_forget(&h->fork);
	if (h->owner < HDM_OWNERS && !h->fork.child && !hdm_lock(h)) {
		if (hdm_sweep(h, true, &freed))
			annex_log(ANNEX_LOG_WARNING,
				  "%s: memory of this process stays taken until the range is "
				  "opened again",
				  h->uri);
		hdm_unlock(h, 0);
	}
	annex_mapping_end(h->mapping);
	slabs_free(h);
	hdm_poison_free(h);
	h->m->ops->close(h->m);
	pthread_mutex_destroy(&h->looking);
	pthread_mutex_destroy(&h->lock);
	free(h->uri);
	free(h);
}

void annex_hdm_get_info(const struct annex_hdm *h, struct annex_hdm_info *info)
{
	*info = (struct annex_hdm_info){
		.base = h->m->base,
		.bytes = h->m->bytes,
		.granule = h->t.g.granule,
		.node = h->m->node,
		.persistent = h->m->persistent,
		.flush = hdm_persist_name(h->m),
		.scheme = h->m->scheme,
	};
}

void *annex_hdm_at(const struct annex_hdm *h, uint64_t offset)
{
	return offset < h->m->bytes ? h->m->base + offset : NULL;
}

int annex_hdm_persist(struct annex_hdm *h, const void *addr, size_t bytes)
{
	uint64_t offset = (uint64_t)((const char *)addr - h->m->base);
	int err;

	if (offset > h->m->bytes || bytes > h->m->bytes - offset)
		return annex_fail(-EINVAL, "%s: %zu bytes at %p are not in it", h->uri, bytes,
				  addr);
	err = hdm_persist(h->m, h->m->base + offset, bytes);
	return annex_mapping_lost(h->m->base, h->m->bytes) ? annex_hdm_check(h) : err;
}
