// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CXL-SSD, and host memory for its hot pages. When the program begins, the DRAM of the SSD is
 * full of dirty pages of other data, as in a device in use.
 */
#include <errno.h>
#include <stdlib.h>
#include <annex/models/cxltier.h>
#include "tools/common/error.h"
#include "ram.h"

/* struct tier - A CXL-SSD and host memory. */
struct tier {
	struct ram ram;
	struct ram_ssd ssd;
	struct annex_cxltier *tier;
};

static int load(struct ram *ram, uint64_t at, void *line, struct annex_cxlssd_time *t)
{
	struct tier *r = (struct tier *)ram;
	struct annex_cxlssd_time e = {.now = r->ssd.base + t->now};
	int err = annex_cxltier_load(r->tier, at, line, RAM_LINE, &e);

	t->done = e.done - r->ssd.base;
	t->told = e.told - r->ssd.base;
	t->hit = e.hit;
	t->late = e.late;
	return err ? err_lib(err, "a load at %llu", (ull)at) : 0;
}

static int store(struct ram *ram, uint64_t at, const void *buf, uint32_t bytes,
		 struct annex_cxlssd_time *t)
{
	struct tier *r = (struct tier *)ram;
	struct annex_cxlssd_time e = {.now = r->ssd.base + t->now};
	int err = annex_cxltier_store(r->tier, at, buf, bytes, &e);

	t->done = e.done - r->ssd.base;
	return err ? err_lib(err, "a store at %llu", (ull)at) : 0;
}

static int settle(struct ram *ram, uint64_t now)
{
	struct tier *r = (struct tier *)ram;
	struct annex_cxlssd_time e = {.now = r->ssd.base + now};
	int err = ram_ssd_alone(&r->ssd);

	if (err)
		return err;
	err = annex_cxltier_fence(r->tier, &e);
	return err ? err_lib(err, "the final fence") : ram_ssd_settle(&r->ssd);
}

static int read_back(struct ram *ram, uint64_t at, void *buf, uint64_t bytes)
{
	return annex_cxlssd_read(((struct tier *)ram)->ssd.s, at, buf, bytes, NULL);
}

static void get_stats(struct ram *ram, struct ram_stats *out)
{
	struct tier *r = (struct tier *)ram;
	struct annex_cxltier_stats s;

	ram_ssd_stats(&r->ssd, out);
	annex_cxltier_get_stats(r->tier, &s);
	out->promoted = s.promoted;
	out->demoted = s.demoted;
	out->host = s.host;
}

static void close_it(struct ram *ram)
{
	struct tier *r = (struct tier *)ram;

	annex_cxltier_destroy(r->tier);
	annex_cxlssd_close(r->ssd.s);
	free(r);
}

int ram_tier_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out)
{
	const struct annex_cxltier_opts o = {
		.host = m->host,
		.hot = m->promote ? m->hot : ANNEX_CXLTIER_NEVER,
		.rate = m->migration_rate,
		.link_ns = m->link_ns,
		.local_ns = m->local_ns,
	};
	struct tier *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return err_set(-ENOMEM, "out of memory");
	r->ram = (struct ram){load, store, settle, read_back, get_stats, close_it};
	err = ram_ssd_open(m, data, bytes, m->dram / RAM_PAGE, &r->ssd);
	if (!err) {
		err = annex_cxltier_create(r->ssd.s, &o, &r->tier);
		err = err ? err_lib(err, "host memory for hot pages") : 0;
	}
	if (err) {
		close_it(&r->ram);
		return err;
	}
	*out = &r->ram;
	return 0;
}
