// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Local memory for a part of the data. An access to a page that is not resident is a fault; the
 * host's runtime serves one fault at a time. The page comes from the host's memory (UVM) or from an
 * SSD (GPUDirect storage). The least recently used page is evicted, and written back if dirty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "ram.h"

#define NONE UINT32_MAX

/*
 * struct page - A page of the data.
 * @ready: time of its arrival.
 * @newer: next page of the LRU list.
 * @older: previous page of the LRU list.
 */
struct page {
	uint64_t ready;
	uint32_t newer, older;
	bool here, dirty;
};

/*
 * struct paged - Paged memory.
 * @room: pages of local memory.
 * @newest: most recently used resident page.
 * @oldest: least recently used resident page.
 * @runtime_free: time at which the host's runtime is idle.
 * @ssd: the SSD that holds the data; without an endpoint, the host's memory holds them.
 */
struct paged {
	struct ram ram;
	char *data;
	uint64_t bytes;
	struct page *pages;
	uint32_t n, room, used;
	uint32_t newest, oldest;
	uint64_t runtime_ns, runtime_free, local_ns, link_ns;
	struct ram_link dram, link;
	struct ram_ssd ssd;
	char *page;
	uint64_t faults, reads;
};

static void unlink_page(struct paged *r, uint32_t i)
{
	struct page *p = &r->pages[i];

	*(p->newer == NONE ? &r->newest : &r->pages[p->newer].older) = p->older;
	*(p->older == NONE ? &r->oldest : &r->pages[p->older].newer) = p->newer;
}

static void make_newest(struct paged *r, uint32_t i)
{
	struct page *p = &r->pages[i];

	p->newer = NONE;
	p->older = r->newest;
	*(r->newest == NONE ? &r->oldest : &r->pages[r->newest].newer) = i;
	r->newest = i;
}

/* Evict the least recently used page. *@now becomes the time at which its frame is free. */
static int evict(struct paged *r, uint64_t *now)
{
	const uint32_t i = r->oldest;
	struct annex_cxlssd_time t;
	int err = 0;

	unlink_page(r, i);
	r->pages[i].here = false;
	r->used--;
	if (!r->pages[i].dirty)
		return 0;
	r->pages[i].dirty = false;
	*now = ram_pass(&r->link, *now, RAM_PAGE) + r->link_ns;
	if (r->ssd.s) {
		t.now = r->ssd.base + *now;
		err = annex_cxlssd_write_blocks(r->ssd.s, (uint64_t)i * RAM_PAGE,
						r->data + (uint64_t)i * RAM_PAGE, RAM_PAGE, &t);
		*now = t.done - r->ssd.base;
	}
	return err;
}

static int fault(struct paged *r, uint32_t i, uint64_t now)
{
	struct annex_cxlssd_time t;
	uint64_t at = (now > r->runtime_free ? now : r->runtime_free) + r->runtime_ns;
	int err = 0;

	r->faults++;
	if (r->used == r->room)
		err = evict(r, &at);
	if (!err && r->ssd.s) {
		t.now = r->ssd.base + at;
		err = annex_cxlssd_read_blocks(r->ssd.s, (uint64_t)i * RAM_PAGE, r->page, RAM_PAGE,
					       &t);
		at = t.done - r->ssd.base;
		if (!err && memcmp(r->page, r->data + (uint64_t)i * RAM_PAGE, RAM_PAGE))
			err = err_set(-EIO, "the SSD returned wrong data");
	}
	if (err)
		return err;
	at = ram_pass(&r->link, at, RAM_PAGE) + r->link_ns;
	r->runtime_free = at;
	r->pages[i].ready = at;
	r->pages[i].here = true;
	r->used++;
	make_newest(r, i);
	return 0;
}

static int reach(struct paged *r, uint64_t at, bool dirty, struct annex_cxlssd_time *t)
{
	const uint32_t i = (uint32_t)(at / RAM_PAGE);
	struct page *p = &r->pages[i];
	int err = 0;

	t->told = t->now;
	t->hit = p->here;
	t->late = false;
	if (!p->here) {
		err = fault(r, i, t->now);
	} else if (i != r->newest) {
		unlink_page(r, i);
		make_newest(r, i);
	}
	p->dirty |= dirty;
	t->done = p->ready > t->now ? p->ready + r->local_ns
				    : ram_pass(&r->dram, t->now, RAM_LINE) + r->local_ns;
	return err;
}

static int load(struct ram *ram, uint64_t at, void *line, struct annex_cxlssd_time *t)
{
	struct paged *r = (struct paged *)ram;
	int err = reach(r, at, false, t);

	memcpy(line, r->data + at, RAM_LINE);
	r->reads++;
	return err;
}

static int store(struct ram *ram, uint64_t at, const void *buf, uint32_t bytes,
		 struct annex_cxlssd_time *t)
{
	struct paged *r = (struct paged *)ram;
	int err = reach(r, at, true, t);

	memcpy(r->data + at, buf, bytes);
	return err;
}

static int settle(struct ram *ram, uint64_t now)
{
	struct paged *r = (struct paged *)ram;
	int err = 0;

	while (!err && r->used)
		err = evict(r, &now);
	return err;
}

static int read_back(struct ram *ram, uint64_t at, void *buf, uint64_t bytes)
{
	struct paged *r = (struct paged *)ram;

	if (r->ssd.s)
		return annex_cxlssd_read(r->ssd.s, at, buf, bytes, NULL);
	memcpy(buf, r->data + at, bytes);
	return 0;
}

static void get_stats(struct ram *ram, struct ram_stats *out)
{
	struct paged *r = (struct paged *)ram;

	*out = (struct ram_stats){0};
	if (r->ssd.s)
		ram_ssd_stats(&r->ssd, out);
	out->faults = r->faults;
}

static void close_it(struct ram *ram)
{
	struct paged *r = (struct paged *)ram;

	annex_cxlssd_close(r->ssd.s);
	mem_free(r->data, r->bytes, 1);
	free(r->pages);
	free(r->page);
	free(r);
}

int ram_paged_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out)
{
	struct paged *r = calloc(1, sizeof(*r));
	const uint64_t room = (uint64_t)((double)bytes / m->share) / RAM_PAGE;
	int err = 0;

	if (!r)
		return err_set(-ENOMEM, "out of memory");
	r->ram = (struct ram){load, store, settle, read_back, get_stats, close_it};
	r->n = (uint32_t)(bytes / RAM_PAGE);
	r->room = room ? (uint32_t)room : 1;
	r->newest = r->oldest = NONE;
	r->runtime_ns = m->runtime_ns;
	r->local_ns = m->local_ns;
	r->link_ns = m->link_ns;
	r->dram.rate = m->local_rate;
	r->link.rate = m->link_rate;
	r->bytes = bytes;
	r->data = mem_alloc(bytes, 1, "simulated memory");
	r->pages = calloc(r->n, sizeof(*r->pages));
	r->page = malloc(RAM_PAGE);
	if (!r->data || !r->pages || !r->page)
		err = err_set(-ENOMEM, "out of memory");
	else
		memcpy(r->data, data, bytes);
	if (!err && m->memory == BOARD_GDS)
		err = ram_ssd_open(m, data, bytes, 0, &r->ssd);
	if (err) {
		close_it(&r->ram);
		return err;
	}
	*out = &r->ram;
	return 0;
}
