// SPDX-License-Identifier: MIT
/*
 * The host's own commands, on a queue pair that no GPU thread uses.
 */
#include <errno.h>
#include <string.h>
#include "context.h"
#include "core/log.h"

/* annex_dev_io() would use any queue pair, and those are the GPU's. */
int gpu_io(struct gpu_dev *d, const struct annex_io *io, struct annex_result *res)
{
	uint32_t timeout_ms = annex_dev_timeout_ms(d->dev);
	uint64_t deadline = annex_deadline_ms(timeout_ms), token;
	const char *uri = annex_dev_uri(d->dev);
	int n = annex_qp_submit(d->own, io, 1, &token, deadline), err;

	if (n < 0)
		return annex_fail(n, "%s: cannot submit a command", uri);
	err = annex_qp_wait(d->own, token, res, deadline);
	if (err) {
		/* Only a reset ends it for certain, and the GPU's commands with it: recovery. */
		annex_qp_abandon(d->own, token);
		return annex_fail(err, "%s: command 0x%02x did not complete in %u ms", uri,
				  io->opcode, timeout_ms);
	}
	if (!res->status)
		return 0;
	return annex_fail(annex_nvme_errno(res->status), "%s: command 0x%02x: NVMe status 0x%03x",
			  uri, io->opcode, res->status & ANNEX_SC_MASK);
}

/*
 * struct proof - Pinned memory for two blocks: one that is read into, one to compare with; and a
 * block of GPU memory, @there.
 */
struct proof {
	struct gpu_dev *d;
	unsigned char *page, *other;
	void *there;
	uint64_t addr, there_addr;
};

/* On the last block, which is there whatever its number. */
static int block(const struct proof *p, uint8_t opcode, uint64_t addr, struct annex_result *res)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = p->d->ctx->view.nsid,
			      .slba = p->d->blocks - 1,
			      .nlb = 1,
			      .bytes = 1u << p->d->view.block_shift,
			      .addr = addr};

	return gpu_io(p->d, &io, res);
}

/* 1: what the device reads arrives in GPU memory. 0: it does not. */
static int arrives(const struct proof *p)
{
	struct annex_gpu_context *ctx = p->d->ctx;
	uint32_t bytes = 1u << p->d->view.block_shift;
	struct annex_result res = {0};
	int err = block(p, ANNEX_NVM_READ, p->addr, &res);

	for (uint32_t i = 0; i < bytes; i++)
		p->other[i] = (unsigned char)~p->page[i];
	if (!err)
		err = gpu_put(ctx, p->there, p->other, bytes);
	if (!err)
		err = block(p, ANNEX_NVM_READ, p->there_addr, &res);
	if (!err)
		err = gpu_get(ctx, p->other, p->there, bytes);
	return err ? err : !memcmp(p->page, p->other, bytes);
}

/* 1: it finds the bytes there, as far as it can compare. 0: it does not. */
static int is_read(const struct proof *p)
{
	struct annex_result res = {0};
	int err = block(p, ANNEX_NVM_COMPARE, p->there_addr, &res);

	if ((res.status & ANNEX_SC_MASK) == ANNEX_SC_COMPARE_FAILURE)
		return 0;
	return err && err != -EOPNOTSUPP ? err : 1;
}

/* With the text of annex_last_error() that @got has, if it is an error. */
static int unmap_after(const struct proof *p, size_t bytes, int got)
{
	KEEP_LAST_ERROR(got < 0);

	return annex_dev_unmap(p->d->dev, p->addr, bytes);
}

/*
 * Whether a drive reaches the memory of a GPU is not written anywhere (lib/nvme/prove.c), and what
 * a copier does neither.
 */
int gpu_prove(struct gpu_dev *d, void *there, uint64_t addr)
{
	const struct annex_gpu_memory *memory = d->ctx->memory;
	const struct annex_provider *pinned = memory->pinned;
	size_t bytes = 2 * (size_t)ANNEX_BLOCK_MAX;
	struct proof p = {.d = d,
			  .page = pinned->alloc(pinned->ctx, bytes, ANNEX_NVME_PAGE),
			  .there = there,
			  .there_addr = addr};
	int got;

	if (!p.page)
		return annex_fail(-ENOMEM, "%s: out of %s memory", memory->name, pinned->name);
	p.other = p.page + ANNEX_BLOCK_MAX;
	got = annex_dev_map(d->dev, p.page, bytes, &p.addr);
	if (!got) {
		got = arrives(&p);
		if (got > 0)
			got = is_read(&p);
		/* Memory that a device may still write to is leaked rather than used again. */
		if (unmap_after(&p, bytes, got))
			return got < 0 ? got : -EIO;
	}
	pinned->free(pinned->ctx, p.page, bytes);
	if (got < 0)
		return got;
	return got ? 0
		   : annex_fail(-EIO, "%s: data that it moves to and from %s memory is lost",
				annex_dev_uri(d->dev), memory->device->name);
}
