// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "entry.h"
#include "layout.h"
#include "reap.h"

#define LINE_DEFAULT 4096u
#define LINE_MIN 512u
#define LINE_MAX (1u << 20)
#define SEG_BYTES 16u /* of an SGL descriptor; a PRP entry takes 8 for a page */

static bool in_process(const struct annex_provider *p)
{
	return p == annex_provider_huge() || p == annex_provider_pages() ||
	       p == annex_provider_shared();
}

/* In memory that a child has a copy of. */
static bool is_private(const struct annex_provider *p)
{
	return in_process(p) && p != annex_provider_shared();
}

static const struct annex_provider *find_provider(const struct annex_cache_opts *opts)
{
	if (opts->provider)
		return opts->provider;
	return opts->ndevs && opts->devs && opts->devs[0] ? annex_dev_provider(opts->devs[0])
							  : annex_provider_huge();
}

static int check_sizes(const struct annex_cache *c, const struct annex_cache_opts *opts)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (c->line < LINE_MIN || c->line > LINE_MAX || c->line & (c->line - 1))
		return annex_fail(-EINVAL,
				  "cache: a line of %u bytes, not a power of two from 512 to 1M",
				  c->line);
	if (opts->bytes / c->line < 2)
		return annex_fail(-EINVAL, "cache: %llu bytes hold fewer than 2 lines of %u",
				  (ull)opts->bytes, c->line);
	if (in_process(c->provider) && opts->bytes > memory)
		return annex_fail(-ENOMEM, "cache: %llu bytes are more than the machine's %llu",
				  (ull)opts->bytes, (ull)memory);
	if (opts->bytes / c->line >= 1ull << ANNEX_LINE_SLOT_BITS)
		return annex_fail(-EINVAL,
				  "cache: %llu lines in memory, at most %llu: use longer ones",
				  (ull)(opts->bytes / c->line), (1ull << ANNEX_LINE_SLOT_BITS) - 1);
	if (!opts->devs || !opts->ndevs || opts->ndevs > UINT16_MAX)
		return annex_fail(-EINVAL, "cache: %u devices", opts->ndevs);
	if (opts->layout != ANNEX_STRIPE && opts->layout != ANNEX_REPLICA)
		return annex_fail(-EINVAL, "cache: unknown layout %d", (int)opts->layout);
	return 0;
}

/* Find the largest transfer that one command can carry on every device. */
static void set_limits(struct annex_cache *c)
{
	bool sgl = true;

	c->piece = UINT32_MAX;
	for (uint32_t i = 0; i < c->nleaves; i++) {
		struct annex_dev *dev = c->leaves[i].dev;
		uint32_t max = annex_dev_max_transfer(dev);

		c->piece = max < c->piece ? max : c->piece;
		sgl = sgl && annex_dev_has_sgl(dev);
		if (annex_dev_timeout_ms(dev) > c->timeout_ms)
			c->timeout_ms = annex_dev_timeout_ms(dev);
	}
	c->pieces = (c->line + c->piece - 1) / c->piece;
	c->run_max = c->piece / c->line;
	if (c->run_max < 1)
		c->run_max = 1;
	if (c->run_max > ANNEX_GROUP)
		c->run_max = ANNEX_GROUP;
	/*
	 * Lines of whole pages make PRP lists of any length that fits the transfer. Pieces of a
	 * page need SGLs, whose list shares its memory with that for PRPs.
	 */
	c->seg_max = c->run_max;
	if (c->line < ANNEX_NVME_PAGE)
		c->seg_max = sgl ? c->piece / ANNEX_NVME_PAGE * 8 / SEG_BYTES : 1;
	if (c->seg_max < 1)
		c->seg_max = 1;
}

static int add_leaf(struct annex_cache *c, uint32_t i, struct annex_dev *dev, uint64_t *bytes)
{
	struct annex_ns ns;
	int err;

	if (!dev)
		return annex_fail(-EINVAL, "cache: device %u is NULL", i);
	err = annex_dev_ns(dev, c->nsid, &ns);
	if (err)
		return annex_fail(err, "cache: device %u has no namespace %u", i, c->nsid);
	if (!ns.block || c->line % ns.block)
		return annex_fail(-EINVAL,
				  "cache: a line of %u bytes is smaller than a block of %u of the "
				  "device",
				  c->line, ns.block);
	if (__builtin_mul_overflow(ns.blocks, (uint64_t)ns.block, &bytes[i]))
		return annex_fail(-EINVAL, "cache: device %u says that it is larger than 2^64", i);
	c->leaves[i].dev = dev;
	c->leaves[i].block = ns.block;
	return 0;
}

/* Capacity of all devices together, by the smallest one. */
static uint64_t capacity(const struct annex_cache *c, const uint64_t *bytes)
{
	uint64_t least = bytes[0];

	for (uint32_t i = 1; i < c->nleaves; i++)
		if (bytes[i] < least)
			least = bytes[i];
	return annex_stripe_capacity(annex_line_stride(c), c->line_shift, least);
}

/* Set the size of the backing data; 0: the capacity. -ERANGE: it exceeds the devices' @bytes. */
static int set_size(struct annex_cache *c, const uint64_t *bytes, uint64_t size)
{
	c->size = size ? size : capacity(c, bytes);
	for (uint32_t i = 0; i < c->nleaves; i++)
		if (annex_stripe_end(annex_line_stride(c), c->line_shift, i % annex_line_stride(c),
				     c->size) > bytes[i])
			return annex_fail(-ERANGE,
					  "cache: %llu bytes of backing data do not fit device %u",
					  (ull)c->size, i);
	return 0;
}

static int add_leaves(struct annex_cache *c, const struct annex_cache_opts *opts)
{
	uint64_t *bytes = calloc(opts->ndevs, sizeof(*bytes));
	int err = 0;

	c->leaves = calloc(opts->ndevs, sizeof(*c->leaves));
	if (!c->leaves || !bytes)
		err = annex_fail(-ENOMEM, "cache: no memory for %u devices", opts->ndevs);
	for (uint32_t i = 0; i < opts->ndevs && !err; i++)
		err = add_leaf(c, i, opts->devs[i], bytes);
	c->nleaves = opts->ndevs;
	if (!err)
		err = set_size(c, bytes, opts->size);
	free(bytes);
	for (uint32_t i = 0; i < c->nleaves && !err; i++)
		if (c->size % c->leaves[i].block)
			err = annex_fail(-EINVAL,
					 "cache: %llu bytes of backing data on blocks of %u",
					 (ull)c->size, c->leaves[i].block);
	if (!err && !c->size)
		err = annex_fail(-EINVAL, "cache: no backing data");
	return err;
}

static int make_slots(struct annex_cache *c, uint64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	c->nslots = (uint32_t)(bytes >> c->line_shift);
	c->mem_len = (((size_t)c->nslots << c->line_shift) + page - 1) & ~(page - 1);
	c->mem = c->provider->alloc(c->provider->ctx, c->mem_len, page);
	c->owner = malloc(c->nslots * sizeof(*c->owner));
	c->slot_xfer = malloc(c->nslots * sizeof(*c->slot_xfer));
	c->slot_retry = calloc(c->nslots, sizeof(*c->slot_retry));
	c->shards = aligned_alloc(sizeof(*c->shards), ANNEX_SHARDS * sizeof(*c->shards));
	if (!c->mem || !c->owner || !c->slot_xfer || !c->slot_retry || !c->shards ||
	    annex_xfers_create(c))
		return annex_fail(-ENOMEM, "cache: no memory for %llu bytes of lines (%s)",
				  (ull)c->mem_len, c->provider->name);
	memset(c->shards, 0, ANNEX_SHARDS * sizeof(*c->shards));
	for (uint32_t i = 0; i < c->nslots; i++) {
		c->owner[i] = ANNEX_SLOT_FREE;
		c->slot_xfer[i] = XFER_NONE;
	}
	return 0;
}

/* Lines that lie in a dma-buf are reached by it: there need be no host memory to pin. */
static int map_leaf(struct annex_cache *c, struct annex_leaf *leaf)
{
	const struct annex_provider *p = c->provider;
	uint64_t offset = 0;
	int fd;

	if (!p->dmabuf)
		return annex_dev_map(leaf->dev, c->mem, c->mem_len, &leaf->addr);
	fd = p->dmabuf(p->ctx, c->mem, &offset);
	return annex_dev_map_dmabuf(leaf->dev, fd, offset, c->mem, c->mem_len, &leaf->addr);
}

static int map_slots(struct annex_cache *c)
{
	for (uint32_t i = 0; i < c->nleaves; i++) {
		struct annex_leaf *leaf = &c->leaves[i];
		int err = map_leaf(c, leaf);

		if (err)
			return annex_fail(err, "cache: device %u cannot reach the lines: %s", i,
					  strerrorname_np(-err));
		leaf->mapped = true;
	}
	return 0;
}

static int unmap_slots(struct annex_cache *c)
{
	int first = 0;

	for (uint32_t i = 0; c->leaves && i < c->nleaves; i++) {
		struct annex_leaf *leaf = &c->leaves[i];
		KEEP_LAST_ERROR(first);
		int err = leaf->mapped ? annex_dev_unmap(leaf->dev, leaf->addr, c->mem_len) : 0;

		if (err && !first)
			first = annex_fail(err, "cache: device %u keeps the lines: %s", i,
					   strerrorname_np(-err));
	}
	return first;
}

static int free_cache(struct annex_cache *c)
{
	int err = c->fork.child ? 0 : unmap_slots(c);

	fork_forget(&c->fork);
	annex_xfers_destroy(c);
	/* Memory that a device may still write to stays allocated. */
	if (c->mem && !err && (!c->fork.child || is_private(c->provider)))
		c->provider->free(c->provider->ctx, c->mem, c->mem_len);
	annex_directory_destroy(c);
	free(c->owner);
	free(c->slot_xfer);
	free(c->slot_retry);
	free(c->shards);
	free(c->leaves);
	free(c);
	return err;
}

/* Return: @err, or else the error of freeing. */
static int free_after(struct annex_cache *c, int err)
{
	KEEP_LAST_ERROR(err);
	int rc = free_cache(c);

	return err ? err : rc;
}

int annex_cache_create(const struct annex_cache_opts *opts, struct annex_cache **out)
{
	struct annex_cache *c = aligned_alloc(64, sizeof(*c));
	int err;

	if (!c)
		return annex_fail(-ENOMEM, "cache: out of memory");
	memset(c, 0, sizeof(*c));
	c->line = opts->line ? opts->line : LINE_DEFAULT;
	c->line_shift = (uint32_t)__builtin_ctz(c->line);
	c->nsid = opts->nsid ? opts->nsid : 1;
	c->layout = opts->layout;
	c->provider = find_provider(opts);
	err = check_sizes(c, opts);
	if (!err)
		err = add_leaves(c, opts);
	if (!err)
		err = annex_directory_create(c, opts->bytes);
	if (!err) {
		set_limits(c);
		err = make_slots(c, opts->bytes);
	}
	if (!err)
		err = map_slots(c);
	if (err) {
		KEEP_LAST_ERROR(true);

		free_cache(c);
		return err;
	}
	fork_watch(&c->fork);
	*out = c;
	return 0;
}

int annex_cache_destroy(struct annex_cache *c)
{
	int err;

	if (!c)
		return 0;
	if (c->fork.child)
		return free_cache(c);
	err = annex_cache_flush(c, 0, UINT64_MAX);
	while (annex_xfer_wait_any(c))
		; /* reads ahead that no thread waited for */
	return free_after(c, err);
}

uint32_t annex_cache_line(const struct annex_cache *c)
{
	return c->line;
}

uint64_t annex_cache_size(const struct annex_cache *c)
{
	return c->size;
}
