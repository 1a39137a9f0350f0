// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening a device for many threads, and the memory of all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "lane.h"

#define PAGE 4096u

static int lane_init(struct lane *l, const struct lanes *ls, unsigned int i,
		     const struct lanes_opts *o)
{
	l->dev = ls->dev;
	l->qp = annex_dev_qp_at(ls->dev, i % ls->queues);
	l->depth = o->depth;
	l->size = o->size;
	/* Small commands share a page, so an IOMMU needs fewer mappings. */
	l->stride = o->size < PAGE ? o->size : (o->size + PAGE - 1) / PAGE * PAGE;
	l->nap_ns = o->nap_us * 1000;
	l->alone = o->threads <= ls->queues;
	l->oldest = l->newest = LANE_NONE;
	l->batch = (o->depth + 3) / 4;
	l->buf = ls->buf + (uint64_t)i * o->depth * l->stride;
	l->addr = ls->addr + (uint64_t)i * o->depth * l->stride;
	l->ios = calloc(o->depth, sizeof(*l->ios));
	l->tokens = calloc(o->depth, sizeof(*l->tokens));
	l->flights = calloc(o->depth, sizeof(*l->flights));
	l->ready_slots = calloc(o->depth, sizeof(*l->ready_slots));
	l->free = calloc(o->depth, sizeof(*l->free));
	if (!l->ios || !l->tokens || !l->flights || !l->ready_slots || !l->free)
		return err_set(-ENOMEM, "out of memory");
	for (uint32_t k = 0; k < o->depth; k++)
		l->free[k] = o->depth - 1 - k;
	l->n_free = o->depth;
	return 0;
}

static int open_device(struct lanes *ls, const char *uri, const struct lanes_opts *o)
{
	uint32_t queues = o->queues ? o->queues : o->threads;
	uint64_t entries = (uint64_t)(o->threads + queues - 1) / queues * o->depth + 1;
	struct annex_dev_opts opts = {.queues = queues,
				      .depth = entries < 65536 ? (uint32_t)entries : 65536,
				      .alone = o->threads == 1};
	int err = annex_dev_open(uri, &opts, &ls->dev);

	if (err)
		return err_lib(err, "cannot open device %s", uri);
	annex_dev_ns(ls->dev, 1, &ls->ns);
	while (ls->queues < queues && annex_dev_qp_at(ls->dev, ls->queues))
		ls->queues++;
	if (o->size % ls->ns.block)
		return err_set(-EINVAL, "--size %u: %s has blocks of %u bytes", o->size, uri,
			       ls->ns.block);
	if (o->size > annex_dev_max_transfer(ls->dev))
		return err_set(-EINVAL, "--size %u: %s takes commands of up to %u bytes", o->size,
			       uri, annex_dev_max_transfer(ls->dev));
	return 0;
}

int lanes_open(struct lanes *ls, const char *uri, const struct lanes_opts *o)
{
	uint64_t each = o->size < PAGE ? o->size : (o->size + PAGE - 1) / PAGE * PAGE;
	int err;

	memset(ls, 0, sizeof(*ls));
	err = open_device(ls, uri, o);
	if (!err) {
		ls->bytes = ((uint64_t)o->threads * o->depth * each + PAGE - 1) / PAGE * PAGE;
		ls->memory = annex_dev_provider(ls->dev);
		ls->buf = mem_take(ls->memory, ls->bytes, 1, "buffers of all commands in flight");
		ls->lane = calloc(o->threads, sizeof(*ls->lane));
		err = !ls->buf    ? -ENOMEM
		      : !ls->lane ? err_set(-ENOMEM, "out of memory")
				  : annex_dev_map(ls->dev, ls->buf, ls->bytes, &ls->addr);
		if (err)
			err_lib(err, "%s cannot use %llu bytes of memory", uri, (ull)ls->bytes);
	}
	/* Counted first, so that resources of a failed lane are freed too. */
	while (!err && ls->n < o->threads) {
		ls->n++;
		err = lane_init(&ls->lane[ls->n - 1], ls, ls->n - 1, o);
	}
	if (err)
		lanes_close(ls);
	return err;
}

void lanes_close(struct lanes *ls)
{
	/* The device first: the buffers are its own until then, or for ever (-EBUSY). */
	const bool busy = annex_dev_close(ls->dev);

	for (unsigned int i = 0; i < ls->n; i++) {
		free(ls->lane[i].ios);
		free(ls->lane[i].tokens);
		free(ls->lane[i].flights);
		free(ls->lane[i].ready_slots);
		free(ls->lane[i].free);
	}
	free(ls->lane);
	if (!busy)
		mem_give(ls->memory, ls->buf, ls->bytes, 1);
	memset(ls, 0, sizeof(*ls));
}
