// SPDX-License-Identifier: MIT
/*
 * A namespace behind functions (core/blocks.h). Each step of a command is one call.
 */
#include <errno.h>
#include "nvme/emu/backend.h"
#include "nvme/emu/emu.h"

#define BLOCKS_REQS 1024u /* commands that can be held back at once */

static int open_ns(struct annex_emu *emu, const struct annex_uri *uri, const void *blocks)
{
	static const char *const keys[] = {"serve", "fault...", NULL};
	const struct annex_blocks *b = blocks;
	int err = annex_uri_check_keys(uri, keys);

	if (err)
		return err;
	if (!ANNEX_BLOCK_IS_GOOD(b->block))
		return annex_fail(
			-EINVAL,
			"%s: it has blocks of %u bytes; a device has blocks of 2^n bytes, "
			"from %u to %u",
			uri->scheme, b->block, ANNEX_BLOCK_MIN, ANNEX_BLOCK_MAX);
	*(struct annex_blocks *)emu->own = *b;
	emu->ns[0] = (struct emu_ns){.nsid = 1,
				     .shift = (unsigned int)__builtin_ctz(b->block),
				     .blocks = b->bytes / b->block,
				     .align = 1,
				     .pieces = 1,
				     .most = UINT32_MAX,
				     .fd = -1};
	emu->nns = 1;
	return 0;
}

static int write(const struct annex_blocks *b, const struct emu_io *io, uint64_t *due)
{
	int err = b->write(b->ctx, io->pos, io->one.iov_base, io->len, due);

	return err || !io->fua ? err : b->flush(b->ctx, due);
}

/* All I/O has ended when the function returns. */
static int blocks_issue(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns)
{
	const struct annex_blocks *b = emu->own;
	const struct emu_io *io = &req->io;
	uint64_t due = 0;
	int err;

	(void)ns;
	switch (io->opcode) {
	case ANNEX_NVM_FLUSH:
		err = b->flush(b->ctx, &due);
		break;
	case ANNEX_NVM_READ:
		err = b->read(b->ctx, io->pos, io->one.iov_base, io->len, &due);
		break;
	case ANNEX_NVM_WRITE:
		err = write(b, io, &due);
		break;
	default:
		err = b->trim(b->ctx, io->pos, io->len, &due);
		break;
	}
	req->due = due > req->due ? due : req->due;
	return err ? err : io->n ? (int)io->len : 0;
}

static const struct emu_backend backend = {
	.scheme = "blocks",
	.requests = BLOCKS_REQS,
	.size = sizeof(struct annex_blocks),
	.cached = true,
	.open = open_ns,
	.prepare = annex_emu_prepare,
	.issue = blocks_issue,
};

int annex_emu_open_blocks(const struct annex_uri *uri, const struct annex_blocks *blocks,
			  struct annex_ctrl **out)
{
	return annex_emu_open(uri, &backend, blocks, out);
}
