// SPDX-License-Identifier: MIT
/*
 * A namespace behind functions (core/blocks.h). Each step of a command is one call.
 */
#include <errno.h>
#include "ring.h"

int annex_emu_blocks_open(struct annex_emu *emu, const struct annex_uri *uri)
{
	static const char *const keys[] = {"serve", "fault...", NULL};
	const struct annex_blocks *b = &emu->blocks;
	int err = annex_uri_check_keys(uri, keys);

	if (err)
		return err;
	if (b->block != 512 && b->block != 4096)
		return annex_fail(-EINVAL,
				  "%s: it has blocks of %u bytes; a device has blocks of 512 or "
				  "4096",
				  uri->scheme, b->block);
	emu->ns[0] = (struct emu_ns){.nsid = 1,
				     .shift = (unsigned int)__builtin_ctz(b->block),
				     .blocks = b->bytes / b->block,
				     .fd = -1};
	emu->nns = 1;
	return 0;
}

/* Like the result of an I/O: the bytes that moved, or a negative errno. */
static int moved(const struct emu_req *req, int err)
{
	return err ? err : (int)req->len;
}

static int write(const struct annex_blocks *b, const struct emu_req *req, void *buf, uint64_t *due)
{
	int err = b->write(b->ctx, req->pos, buf, req->len, due);

	return err || !(req->sqe.cdw12 & ANNEX_RW_FUA) ? err : b->flush(b->ctx, due);
}

int annex_emu_blocks_step(const struct annex_emu *emu, struct emu_req *req)
{
	const struct annex_blocks *b = &emu->blocks;
	const unsigned int shift = emu->ns[0].shift;
	void *buf = req->bounce ? req->bounce : req->nsegs ? req->segs->iov_base : NULL;
	const struct annex_dsm_range *r;
	uint64_t due = 0;
	int res;

	switch (req->sqe.opcode) {
	case ANNEX_NVM_FLUSH:
		res = b->flush(b->ctx, &due);
		break;
	case ANNEX_NVM_DSM:
		r = &req->ranges[req->step];
		res = b->trim(b->ctx, r->slba << shift, (uint64_t)r->nlb << shift, &due);
		break;
	case ANNEX_NVM_WRITE_ZEROES:
		res = req->step ? b->flush(b->ctx, &due)
				: b->trim(b->ctx, req->pos, req->len, &due);
		break;
	case ANNEX_NVM_WRITE:
		res = moved(req, write(b, req, buf, &due));
		break;
	default:
		res = moved(req, b->read(b->ctx, req->pos, buf, req->len, &due));
		break;
	}
	req->due = due > req->due ? due : req->due;
	return res;
}
