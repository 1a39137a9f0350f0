// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Local memory that holds a copy of all data. Behind a link, it is a CXL endpoint made of DRAM.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "ram.h"

/* struct local - Local memory. @up, @down: directions of the link; rate 0: no link. */
struct local {
	struct ram ram;
	char *data;
	uint64_t bytes;
	uint64_t ns, link_ns;
	struct ram_link dram, up, down;
	uint64_t reads;
};

static void pass(struct local *r, struct annex_cxlssd_time *t, bool load)
{
	uint64_t there = t->now;

	if (r->up.rate)
		there = ram_pass(&r->up, there, load ? 0 : RAM_LINE) + r->link_ns;
	t->done = ram_pass(&r->dram, there, RAM_LINE) + r->ns;
	if (r->up.rate)
		t->done = ram_pass(&r->down, t->done, load ? RAM_LINE : 0) + r->link_ns;
	t->told = t->now;
	t->hit = true;
	t->late = false;
}

static int load(struct ram *ram, uint64_t at, void *line, struct annex_cxlssd_time *t)
{
	struct local *r = (struct local *)ram;

	memcpy(line, r->data + at, RAM_LINE);
	pass(r, t, true);
	r->reads++;
	return 0;
}

static int store(struct ram *ram, uint64_t at, const void *buf, uint32_t bytes,
		 struct annex_cxlssd_time *t)
{
	struct local *r = (struct local *)ram;

	memcpy(r->data + at, buf, bytes);
	pass(r, t, false);
	return 0;
}

static int settle(struct ram *ram, uint64_t now)
{
	(void)ram;
	(void)now;
	return 0;
}

static int read_back(struct ram *ram, uint64_t at, void *buf, uint64_t bytes)
{
	memcpy(buf, ((struct local *)ram)->data + at, bytes);
	return 0;
}

static void get_stats(struct ram *ram, struct ram_stats *out)
{
	*out = (struct ram_stats){.reads = ((struct local *)ram)->reads};
	out->hits = out->reads;
}

static void close_it(struct ram *ram)
{
	struct local *r = (struct local *)ram;

	mem_free(r->data, r->bytes, 1);
	free(r);
}

int ram_local_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out)
{
	struct local *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(-ENOMEM, "out of memory");
	r->ram = (struct ram){load, store, settle, read_back, get_stats, close_it};
	r->data = mem_alloc(bytes, 1, "simulated memory");
	r->bytes = bytes;
	r->ns = m->local_ns;
	r->dram.rate = m->local_rate;
	if (m->memory == BOARD_PORT) {
		r->up.rate = r->down.rate = m->link_rate;
		r->link_ns = m->link_ns;
	}
	if (!r->data) {
		free(r);
		return -ENOMEM;
	}
	memcpy(r->data, data, bytes);
	*out = &r->ram;
	return 0;
}
