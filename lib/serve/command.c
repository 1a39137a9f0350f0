// SPDX-License-Identifier: MIT
/*
 * A command of a client: whether it may be carried out, and what the device is told.
 */
#include <errno.h>
#include <string.h>
#include "server.h"

#define ALIGNED 4u

struct annex_serve_sqe serve_load(const struct annex_serve_sqe *at)
{
	uint64_t words[sizeof(*at) / 8];
	struct annex_serve_sqe c;

	for (unsigned int i = 0; i < sizeof(*at) / 8; i++)
		words[i] = annex_atomic_load((const uint64_t *)(const void *)at + i, ANNEX_RELAXED);
	memcpy(&c, words, sizeof(c));
	return c;
}

bool serve_moves(const struct annex_serve_sqe *c)
{
	return c->op == ANNEX_SERVE_READ || c->op == ANNEX_SERVE_WRITE;
}

bool serve_has_length(const struct annex_serve_sqe *c)
{
	return serve_moves(c) || c->op == ANNEX_SERVE_ZERO;
}

int serve_judge(const struct peer *p, const struct annex_serve_sqe *c)
{
	const struct annex_server *s = p->s;
	const uint64_t bytes = p->part->told.bytes, mask = s->ns.block - 1;
	const struct memory *m = &p->mem[c->mem <= ANNEX_SERVE_MEMORIES ? c->mem : 0];

	if (c->op == ANNEX_SERVE_FLUSH)
		return 0;
	if (c->op < ANNEX_SERVE_READ || c->op > ANNEX_SERVE_DISCARD || c->flags & ~ANNEX_SERVE_FUA)
		return -EINVAL;
	if (c->op != ANNEX_SERVE_READ && p->readonly)
		return -EROFS;
	if (!c->len || (c->pos | c->len) & mask)
		return -EINVAL;
	if (c->pos > bytes || c->len > bytes - c->pos)
		return -ERANGE;
	if (!serve_moves(c))
		return c->len / s->ns.block > (c->op == ANNEX_SERVE_ZERO ? 65536 : UINT32_MAX)
			       ? -EINVAL
			       : 0;
	if (c->len > annex_dev_max_transfer(s->dev) || c->offset % ALIGNED ||
	    c->mem > ANNEX_SERVE_MEMORIES)
		return -EINVAL;
	return c->offset > m->bytes || c->len > m->bytes - c->offset ? -EFAULT : 0;
}

struct annex_io serve_describe(struct annex_server *s, const struct flying *f)
{
	static const uint8_t opcodes[] = {
		[ANNEX_SERVE_READ] = ANNEX_NVM_READ,   [ANNEX_SERVE_WRITE] = ANNEX_NVM_WRITE,
		[ANNEX_SERVE_FLUSH] = ANNEX_NVM_FLUSH, [ANNEX_SERVE_ZERO] = ANNEX_NVM_WRITE_ZEROES,
		[ANNEX_SERVE_DISCARD] = ANNEX_NVM_DSM,
	};
	const struct annex_serve_sqe *c = &f->c;
	const struct peer *p = f->peer;
	struct annex_io io = {.opcode = opcodes[c->op], .nsid = s->ns.nsid};
	const uint64_t slba = (p->part->first + c->pos) / s->ns.block;

	if (c->op == ANNEX_SERVE_FLUSH)
		return io;
	if (c->op == ANNEX_SERVE_DISCARD) {
		s->dsm[f->slot] = (struct annex_dsm_range){.nlb = (uint32_t)(c->len / s->ns.block),
							   .slba = slba};
		io.nlb = 1;
		io.bytes = sizeof(s->dsm[0]);
		io.addr = s->dsm_addr + f->slot * sizeof(s->dsm[0]);
		return io;
	}
	io.slba = slba;
	io.nlb = (uint32_t)(f->len / s->ns.block);
	if (serve_moves(c)) {
		io.flags = c->op == ANNEX_SERVE_WRITE && c->flags ? ANNEX_IO_FUA : 0;
		io.bytes = (uint32_t)f->len;
		io.addr = p->mem[c->mem].addr + c->offset;
	}
	return io;
}
