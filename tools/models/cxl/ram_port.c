// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CXL endpoint behind a root port: made of DRAM (ram_local.c), or an SSD.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "ram.h"

/* struct port - A root port. @up, @down: directions of the link. */
struct port {
	struct ram ram;
	struct ram_ssd ssd;
	struct annex_cxlport *port;
	struct ram_link up, down;
};

static int load(struct ram *ram, uint64_t at, void *line, struct annex_cxlssd_time *t)
{
	struct port *r = (struct port *)ram;
	struct annex_cxlssd_time e = {.now = r->ssd.base + t->now};
	int err = annex_cxlport_load(r->port, at, line, RAM_LINE, &e);

	t->done = ram_pass(&r->down, e.done - r->ssd.base, RAM_LINE);
	t->told = t->now;
	t->hit = e.hit;
	t->late = e.late;
	return err ? err_lib(err, "a load at %llu", (ull)at) : 0;
}

static int store(struct ram *ram, uint64_t at, const void *buf, uint32_t bytes,
		 struct annex_cxlssd_time *t)
{
	struct port *r = (struct port *)ram;
	struct annex_cxlssd_time e = {.now = r->ssd.base + ram_pass(&r->up, t->now, RAM_LINE)};
	int err = annex_cxlport_store(r->port, at, buf, bytes, &e);

	t->done = e.told - r->ssd.base;
	return err ? err_lib(err, "a store at %llu", (ull)at) : 0;
}

static int settle(struct ram *ram, uint64_t now)
{
	struct port *r = (struct port *)ram;
	struct annex_cxlssd_time e = {.now = r->ssd.base + now};
	int err = annex_cxlport_fence(r->port, &e);

	return err ? err_lib(err, "the final fence") : ram_ssd_settle(&r->ssd);
}

static int read_back(struct ram *ram, uint64_t at, void *buf, uint64_t bytes)
{
	return annex_cxlssd_read(((struct port *)ram)->ssd.s, at, buf, bytes, NULL);
}

static void get_stats(struct ram *ram, struct ram_stats *out)
{
	struct port *r = (struct port *)ram;
	struct annex_cxlport_stats p;

	ram_ssd_stats(&r->ssd, out);
	annex_cxlport_get_stats(r->port, &p);
	out->reads = p.loads - p.local;
	out->hits = p.hits;
	out->late = p.late;
}

static void close_it(struct ram *ram)
{
	struct port *r = (struct port *)ram;

	annex_cxlport_destroy(r->port);
	annex_cxlssd_close(r->ssd.s);
	free(r);
}

int ram_port_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out)
{
	struct annex_cxlport_opts o = m->port;
	struct port *r;
	int err;

	if (!strcmp(m->media, "dram"))
		return ram_local_open(m, data, bytes, out);
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(-ENOMEM, "out of memory");
	r->ram = (struct ram){load, store, settle, read_back, get_stats, close_it};
	r->up.rate = r->down.rate = m->link_rate;
	o.link_ns = m->link_ns;
	o.local_ns = m->local_ns;
	err = ram_ssd_open(m, data, bytes, 0, &r->ssd);
	if (!err) {
		err = annex_cxlport_create(r->ssd.s, &o, &r->port);
		err = err ? err_lib(err, "the root port") : 0;
	}
	if (err) {
		close_it(&r->ram);
		return err;
	}
	*out = &r->ram;
	return 0;
}
