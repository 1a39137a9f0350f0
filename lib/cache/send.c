// SPDX-License-Identifier: MIT
#include <errno.h>
#include <annex/detail/clock.h>
#include "layout.h"
#include "xfer.h"

#define NO_TOKEN UINT64_MAX          /* recovers the queue, not a command of it */
#define STALL_NS ANNEX_NSEC_PER_MSEC /* between looks at one's own completions in a full queue */

/* Commands for one device that go out together. */
struct outbox {
	struct annex_cache *c;
	struct annex_xfer **xfers;
	unsigned int nxfers;
	uint32_t leaf;
	bool wait;
	unsigned int n;
	unsigned int nsegs;
	struct annex_io ios[ANNEX_GROUP];
	struct annex_cmd *cmds[ANNEX_GROUP];
	struct annex_seg segs[ANNEX_GROUP];
};

static void send_begin(struct annex_cmd *cmd, struct annex_qp *qp, uint64_t token)
{
	cmd->qp = qp;
	cmd->token = token;
	cmd->pending = true;
}

static void count(struct annex_cache *c, uint64_t cmds)
{
	uint64_t depth = annex_atomic_add(&c->inflight, cmds, ANNEX_RELAXED) + cmds;
	uint64_t max = annex_atomic_load(&c->depth_max, ANNEX_RELAXED);

	while (depth > max && !annex_atomic_cas(&c->depth_max, &max, depth, ANNEX_RELAXED))
		;
}

/*
 * The queue has no identifier free. They may all belong to completed commands of ours that nothing
 * has reaped, so take the results of every transfer, including the caller's.
 */
static void make_room(struct outbox *box)
{
	for (unsigned int i = 0; i < box->nxfers; i++)
		annex_xfer_poll(box->c, box->xfers[i]);
	annex_xfer_collect(box->c);
}

/* One attempt. A queue that another thread's command has broken is recovered first, once. */
static int submit(struct outbox *box, struct annex_qp *qp, unsigned int from, uint64_t *tokens,
		  uint64_t deadline)
{
	const struct annex_io *ios = box->ios + from;
	int rc = annex_qp_submit(qp, ios, box->n - from, tokens, deadline);

	if (rc != -EIO)
		return rc;
	rc = annex_dev_recover(box->c->leaves[box->leaf].dev, qp, NO_TOKEN);
	return rc ? rc : annex_qp_submit(qp, ios, box->n - from, tokens, deadline);
}

static void post(struct outbox *box)
{
	struct annex_qp *qp = annex_dev_qp(box->c->leaves[box->leaf].dev);
	struct annex_patience patience = {annex_deadline_ms(box->c->timeout_ms), 0};
	uint64_t slice = 0;
	uint64_t tokens[ANNEX_GROUP];
	unsigned int done = 0;

	while (done < box->n) {
		int rc = submit(box, qp, done, tokens, slice);
		bool full = rc == -EAGAIN || rc == -ETIMEDOUT;

		for (int i = 0; i < rc; i++)
			send_begin(box->cmds[done + (unsigned int)i], qp, tokens[i]);
		if (rc > 0) {
			count(box->c, (uint64_t)rc);
			done += (unsigned int)rc;
			continue;
		}
		if (!full || !box->wait || annex_patience_ends(&patience)) {
			rc = !full ? rc : box->wait ? -ETIMEDOUT : XFER_UNSENT;
			while (done < box->n)
				box->cmds[done++]->err = rc;
			break;
		}
		make_room(box);
		slice = annex_now() + STALL_NS;
	}
	box->n = 0;
	box->nsegs = 0;
}

static uint64_t slot_addr(const struct outbox *box, uint32_t slot)
{
	return box->c->leaves[box->leaf].addr + ((uint64_t)slot << box->c->line_shift);
}

static struct annex_io describe(const struct outbox *box, bool write, uint64_t offset,
				uint32_t bytes)
{
	const struct annex_leaf *leaf = &box->c->leaves[box->leaf];

	return (struct annex_io){
		.opcode = write ? ANNEX_NVM_WRITE : ANNEX_NVM_READ,
		.nsid = box->c->nsid,
		.slba = offset / leaf->block,
		.nlb = bytes / leaf->block,
		.bytes = bytes,
	};
}

static struct annex_io *send_put(struct outbox *box, struct annex_cmd *cmd, bool write,
				 uint64_t offset, uint32_t bytes)
{
	cmd->leaf = box->leaf;
	cmd->pending = false;
	cmd->err = 0;
	box->cmds[box->n] = cmd;
	box->ios[box->n] = describe(box, write, offset, bytes);
	return &box->ios[box->n++];
}

static struct annex_io *add(struct outbox *box, struct annex_xfer *x, uint64_t offset,
			    uint32_t bytes)
{
	return send_put(box, &x->cmds[x->ncmds++], x->write, offset, bytes);
}

/* One line, in as many commands as the largest transfer asks for. */
static void add_line(struct outbox *box, struct annex_xfer *x)
{
	struct annex_cache *c = box->c;
	uint64_t offset = annex_line_at(c, x->first) << c->line_shift;
	uint64_t addr = slot_addr(box, x->slots[0]);
	uint32_t bytes = annex_line_bytes(c, x->first);

	for (uint32_t at = 0; at < bytes; at += c->piece) {
		if (box->n == ANNEX_GROUP)
			post(box);
		add(box, x, offset + at, bytes - at < c->piece ? bytes - at : c->piece)->addr =
			addr + at;
	}
}

/* Several lines in one command; slots that follow each other are one piece of memory. */
static void add_run(struct outbox *box, struct annex_xfer *x)
{
	struct annex_cache *c = box->c;
	struct annex_seg *seg = &box->segs[box->nsegs];
	uint32_t bytes = 0, nsegs = 0;
	struct annex_io *io;

	for (uint32_t i = 0; i < x->count; i++) {
		uint32_t len = annex_line_bytes(c, x->first + (uint64_t)i * x->stride);

		if (i && x->slots[i] == x->slots[i - 1] + 1) {
			seg[nsegs - 1].len += len;
		} else {
			seg[nsegs].addr = slot_addr(box, x->slots[i]);
			seg[nsegs++].len = len;
		}
		bytes += len;
	}
	io = add(box, x, annex_line_at(c, x->first) << c->line_shift, bytes);
	io->addr = seg->addr;
	if (nsegs > 1) {
		io->segs = seg;
		io->nsegs = (uint16_t)nsegs;
		box->nsegs += nsegs;
	}
}

static void add_xfer(struct outbox *box, struct annex_xfer *x)
{
	if (box->n == ANNEX_GROUP)
		post(box);
	if (x->count == 1)
		add_line(box, x);
	else
		add_run(box, x);
}

static bool goes_to(const struct annex_cache *c, const struct annex_xfer *x, uint32_t leaf)
{
	return x->leaf == leaf || (x->write && c->layout == ANNEX_REPLICA);
}

void annex_send(struct annex_cache *c, struct annex_xfer **xfers, unsigned int n, bool wait)
{
	struct outbox box;

	box.c = c;
	box.xfers = xfers;
	box.nxfers = n;
	box.wait = wait;
	box.n = 0;
	box.nsegs = 0;
	for (uint32_t leaf = 0; leaf < c->nleaves; leaf++) {
		box.leaf = leaf;
		for (unsigned int i = 0; i < n; i++)
			if (goes_to(c, xfers[i], leaf))
				add_xfer(&box, xfers[i]);
		if (box.n)
			post(&box);
	}
	for (unsigned int i = 0; i < n; i++)
		annex_xfer_fly(xfers[i]);
}

int annex_send_line(struct annex_cache *c, struct annex_xfer *x, uint32_t i, uint32_t leaf)
{
	uint64_t line = x->first + (uint64_t)i * x->stride;
	uint64_t offset = annex_line_at(c, line) << c->line_shift;
	uint32_t bytes = annex_line_bytes(c, line);
	struct annex_cmd cmd = {0};
	struct outbox box;

	box.c = c;
	box.nxfers = 0;
	box.leaf = leaf;
	box.wait = true;
	box.n = 0;
	for (uint32_t at = 0; at < bytes && !cmd.err; at += c->piece) {
		uint32_t len = bytes - at < c->piece ? bytes - at : c->piece;
		struct annex_io *io = send_put(&box, &cmd, x->write, offset + at, len);

		io->addr = slot_addr(&box, x->slots[i]) + at;
		post(&box);
		annex_cmd_await(c, &cmd);
	}
	return cmd.err;
}
