// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/io.h>
#include "tools/common/error.h"
#include "elements.h"

static size_t blocks_bytes(const struct edges *e)
{
	return (size_t)ELEMENTS_GROUP * e->ns.block;
}

int elements_open(struct elements *el, struct edges *e, const struct annex_array *a)
{
	int err;

	memset(el, 0, sizeof(*el));
	el->held.a = a;
	if (e->access != EDGES_ARRAY || e->mechanisms != EDGES_NONE)
		return 0;
	el->blocks = aligned_alloc(4096, blocks_bytes(e));
	if (!el->blocks)
		return err_set(-ENOMEM, "out of memory");
	err = annex_dev_map(e->store.devs[0], el->blocks, blocks_bytes(e), &el->addr);
	if (!err)
		return 0;
	free(el->blocks);
	el->blocks = NULL;
	return err_lib(err, "cannot read without a cache");
}

void elements_close(struct elements *el, struct edges *e)
{
	held_drop(&el->held);
	/* Memory that the device may still write is lost. */
	if (el->blocks && annex_dev_unmap(e->store.devs[0], el->addr, blocks_bytes(e)) == -EBUSY)
		el->blocks = NULL;
	free(el->blocks);
}

/* Each element by a read of its own, of the block that it is in. */
static int read_each(struct elements *el, struct edges *e, uint64_t i, uint64_t n)
{
	const struct annex_array *a = el->held.a;
	struct annex_io ios[ELEMENTS_GROUP] = {{0}};
	int err;

	for (uint64_t k = 0; k < n; k++)
		ios[k] = (struct annex_io){.opcode = ANNEX_NVM_READ,
					   .nsid = e->ns.nsid,
					   .slba = (a->base + (i + k) * a->elem) / e->ns.block,
					   .nlb = 1,
					   .bytes = e->ns.block,
					   .addr = el->addr + k * e->ns.block};
	err = annex_dev_io(e->store.devs[0], ios, (unsigned int)n, NULL);
	for (uint64_t k = 0; k < n && !err; k++)
		memcpy((char *)el->values + k * a->elem,
		       el->blocks + k * e->ns.block + (a->base + (i + k) * a->elem) % e->ns.block,
		       a->elem);
	return err;
}

static int probe_each(struct elements *el, uint64_t i, uint64_t n)
{
	int err = 0;

	for (uint64_t k = 0; k < n && !err; k++)
		err = annex_array_get(el->held.a, i + k, (char *)el->values + k * el->held.a->elem);
	return err;
}

/* Members of the group that want the same line make one probe. */
static int probe_together(struct elements *el, struct edges *e, uint64_t i, uint64_t n)
{
	const struct annex_array *a = el->held.a;
	uint64_t lines[ELEMENTS_GROUP] = {0};
	void *data[ELEMENTS_GROUP];
	int err;

	for (uint64_t k = 0; k < n; k++)
		lines[k] = (a->base + (i + k) * a->elem) / e->line;
	err = annex_cache_pin_group(e->store.cache, lines, (unsigned int)n, 0, data);
	if (err)
		return err;
	for (uint64_t k = 0; k < n; k++)
		memcpy((char *)el->values + k * a->elem,
		       (char *)data[k] + (a->base + (i + k) * a->elem) % e->line, a->elem);
	annex_cache_unpin_group(e->store.cache, lines, (unsigned int)n, 0);
	return 0;
}

int elements_get(struct elements *el, struct edges *e, uint64_t i, uint64_t n, const void **data,
		 uint64_t *have)
{
	if (e->mechanisms >= EDGES_REUSE)
		return held_get(&el->held, i, data, have);
	*have = n < ELEMENTS_GROUP ? n : ELEMENTS_GROUP;
	*data = el->values;
	if (e->mechanisms == EDGES_NONE)
		return read_each(el, e, i, *have);
	if (e->mechanisms == EDGES_CACHE)
		return probe_each(el, i, *have);
	return probe_together(el, e, i, *have);
}
