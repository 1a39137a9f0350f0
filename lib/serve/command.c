// SPDX-License-Identifier: MIT
/*
 * A command of a client: its checks, and the command for the device.
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
	return c->opcode == ANNEX_NVM_READ || c->opcode == ANNEX_NVM_WRITE;
}

bool serve_has_length(const struct annex_serve_sqe *c)
{
	return serve_moves(c) || c->opcode == ANNEX_NVM_WRITE_ZEROES;
}

int serve_judge(const struct peer *p, const struct annex_serve_sqe *c)
{
	const struct annex_server *s = p->s;
	const uint64_t bytes = p->part->told.bytes, mask = s->ns.block - 1;
	const struct memory *m = &p->mem[c->mem <= ANNEX_SERVE_MEMORIES ? c->mem : 0];

	if (c->opcode == ANNEX_NVM_FLUSH)
		return 0;
	if ((!serve_has_length(c) && c->opcode != ANNEX_NVM_DSM) || c->flags & ~ANNEX_SERVE_FUA)
		return -EINVAL;
	if (c->opcode != ANNEX_NVM_READ && p->readonly)
		return -EROFS;
	if (!c->len || (c->pos | c->len) & mask)
		return -EINVAL;
	if (c->pos > bytes || c->len > bytes - c->pos)
		return -ERANGE;
	if (!serve_moves(c))
		return c->len / s->ns.block >
				       (c->opcode == ANNEX_NVM_WRITE_ZEROES ? 65536 : UINT32_MAX)
			       ? -EINVAL
			       : 0;
	if (c->len > annex_dev_max_transfer(s->dev) || c->offset % ALIGNED ||
	    c->mem > ANNEX_SERVE_MEMORIES)
		return -EINVAL;
	return c->offset > m->bytes || c->len > m->bytes - c->offset ? -EFAULT : 0;
}

struct annex_io serve_describe(struct annex_server *s, const struct flying *f)
{
	const struct annex_serve_sqe *c = &f->c;
	const struct peer *p = f->peer;
	struct annex_io io = {.opcode = c->opcode, .nsid = s->ns.nsid};
	const uint64_t slba = (p->part->first + c->pos) / s->ns.block;

	if (c->opcode == ANNEX_NVM_FLUSH)
		return io;
	if (c->opcode == ANNEX_NVM_DSM) {
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
		io.flags = c->opcode == ANNEX_NVM_WRITE && c->flags ? ANNEX_IO_FUA : 0;
		io.bytes = (uint32_t)f->len;
		io.addr = p->mem[c->mem].addr + c->offset;
	}
	return io;
}
