// SPDX-License-Identifier: MIT
/*
 * Rings in GPU memory, which the drive reaches by a dma-buf of it.
 *
 * GPU threads then look at their own memory, as they do again and again, and only the drive's reads
 * of commands and its writes of completions cross the bus. The order is the same as with rings in
 * host memory (annex/detail/ring.h says what each fence is for):
 *
 * - A command is written by plain stores and announced by a doorbell, a store that releases with
 *   system scope. Another device's reads from the GPU are then answered by the same L2 cache that
 *   all its threads store through, and the release waits until they have, also for entries of other
 *   threads, whose marks were acquired before.
 * - A completion is looked for by a load that acquires with system scope, so none of an older line
 *   in the cache next to the thread is seen afterwards: neither of the entry nor of data.
 * - A drive's writes come in order as long as they take one way. So data comes to the GPU as well
 *   (struct annex_gpu_opts); the code that makes dma-bufs for a GPU knows that it keeps that order.
 * - Lists stay in pinned host memory. They are written before the doorbell's release, which also
 *   waits for stores to host memory, and are read by the drive after its doorbell.
 *
 * The process cannot load or store any of this: lib/nvme leaves it alone (annex_dev_move_rings()).
 */
#include <errno.h>
#include "context.h"
#include "core/log.h"

int gpu_rings_check(const struct gpu_dev *d, const char *uri, const struct annex_gpu_opts *opts)
{
	const struct annex_provider *device = d->ctx->memory->device;

	if (!opts->gpu_rings)
		return 0;
	if (d->proxy)
		return annex_fail(-EOPNOTSUPP,
				  "%.64s: threads of this process serve it, and do not reach rings "
				  "in GPU memory",
				  uri);
	if (!device->dmabuf)
		return annex_fail(-EOPNOTSUPP,
				  "%.64s: no dma-bufs of %s memory, to reach rings in it", uri,
				  device->name);
	if (!opts->direct)
		return annex_fail(-EINVAL,
				  "%.64s: with rings in GPU memory data must go there too: direct",
				  uri);
	return 0;
}

static int zero(void *ctx, void *ptr, size_t bytes)
{
	const struct annex_gpu_memory *memory = ((struct annex_gpu_context *)ctx)->memory;

	return memory->fill(memory->ctx, ptr, 0, bytes);
}

/* One piece for all, and the submission queues first in it. */
static int map_all(struct gpu_dev *d, uint64_t *addr)
{
	const struct annex_provider *device = d->ctx->memory->device;
	uint64_t offset;
	int fd, err;

	d->rings = gpu_alloc(d->ctx, d->ring_bytes, "rings");
	if (!d->rings)
		return -ENOMEM;
	fd = device->dmabuf(device->ctx, d->rings, &offset);
	if (fd < 0)
		return fd;
	err = annex_dev_map_dmabuf(d->dev, fd, offset, NULL, d->ring_bytes, addr);
	return err ? err : gpu_prove(d, d->rings, *addr);
}

int gpu_rings_open(struct gpu_dev *d)
{
	uint32_t depth = annex_dev_qp_at(d->dev, 0)->depth, nqueues = d->view.nqueues;
	size_t sq = gpu_whole_pages(depth * sizeof(struct annex_sqe));
	size_t cq = gpu_whole_pages(depth * sizeof(struct annex_cqe));
	uint64_t addr = 0;
	int err;

	d->ring_bytes = nqueues * (sq + cq);
	if (d->ring_bytes < ANNEX_BLOCK_MAX)
		d->ring_bytes = ANNEX_BLOCK_MAX; /* gpu_prove() moves a block to it */
	err = map_all(d, &addr);
	for (uint32_t i = 0; !err && i < nqueues; i++) {
		size_t sq_at = i * sq, cq_at = nqueues * sq + i * cq;
		struct annex_rings rings = {
			.sq = d->rings + sq_at,
			.cq = d->rings + cq_at,
			.sq_addr = addr + sq_at,
			.cq_addr = addr + cq_at,
			.zero = zero,
			.ctx = d->ctx,
		};

		err = annex_dev_move_rings(d->dev, i, &rings);
	}
	return err;
}

/* After the device was closed, which reads and writes them. */
void gpu_rings_close(struct gpu_dev *d)
{
	gpu_free(d->ctx, d->rings, d->ring_bytes);
}
