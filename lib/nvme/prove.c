// SPDX-License-Identifier: MIT
/*
 * Memory of another device is not trusted before a transfer in each direction has arrived.
 *
 * No register says whether a switch, a bridge or the root complex forwards transactions between
 * two devices. Where it does not, reads return all ones, and writes are lost silently. So the
 * controller reads a block into that memory and into ordinary memory, and the two are compared.
 * For the other direction the controller carries out a Compare of the block with that memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "dev.h"

#define TRIES 3 /* another user may write the block meanwhile */

/*
 * struct proof - That memory, ordinary memory, and a block that fits in both.
 * @compare: the controller can compare the block.
 */
struct proof {
	struct annex_dev *dev;
	const struct annex_ns *ns;
	unsigned char *peer, *host;
	uint64_t peer_addr, host_addr;
	bool compare;
};

static int block(const struct proof *p, uint8_t opcode, uint64_t addr, struct annex_result *res)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = p->ns->nsid,
			      .slba = p->ns->blocks - 1,
			      .nlb = 1,
			      .bytes = p->ns->block,
			      .addr = addr};

	return annex_dev_io(p->dev, &io, 1, res);
}

/* Stores through a write-combining mapping reach memory before the controller reads it. */
static void flush_stores(void)
{
	static uint32_t any;

	/* A locked instruction drains them; ordered with the doorbell that follows. */
	annex_atomic_add(&any, 1, ANNEX_SEQ_CST);
}

/* 1: data that the controller writes there arrives. 0: it does not. */
static int arrives(const struct proof *p)
{
	int err = block(p, ANNEX_NVM_READ, p->host_addr, NULL);

	if (err)
		return err;
	for (uint32_t i = 0; i < p->ns->block; i++)
		p->peer[i] = (unsigned char)~p->host[i];
	flush_stores();
	err = block(p, ANNEX_NVM_READ, p->peer_addr, NULL);
	return err ? err : !memcmp(p->peer, p->host, p->ns->block);
}

/* 1: the controller reads the data there, and notices a change. 0: it does not. */
static int is_read(const struct proof *p)
{
	struct annex_result same = {0}, other = {0};
	int err = block(p, ANNEX_NVM_COMPARE, p->peer_addr, &same);

	if (err && (same.status & ANNEX_SC_MASK) != ANNEX_SC_COMPARE_FAILURE)
		return err;
	if (err)
		return 0;
	p->peer[0] ^= 1;
	flush_stores();
	err = block(p, ANNEX_NVM_COMPARE, p->peer_addr, &other);
	if (err && (other.status & ANNEX_SC_MASK) != ANNEX_SC_COMPARE_FAILURE)
		return err;
	return err != 0;
}

static int judge(const struct proof *p)
{
	int got = 0;

	for (int i = 0; i < TRIES && !got; i++) {
		got = arrives(p);
		if (got > 0 && p->compare)
			got = is_read(p);
	}
	if (got < 0)
		return annex_fail(got, "%s: trying the memory of another device: %s", p->dev->uri,
				  strerror(-got));
	return got ? 0
		   : annex_fail(-EIO,
				"%s: transfers between it and that memory get lost: the two must "
				"sit below one root that connects them",
				p->dev->uri);
}

static const struct annex_ns *any_ns(const struct annex_dev *dev)
{
	for (uint32_t i = 0; i < dev->nns; i++)
		if (dev->ns[i].blocks)
			return &dev->ns[i];
	return NULL;
}

int nvme_prove(struct annex_dev *dev, void *ptr, size_t len, uint64_t addr)
{
	struct proof p = {.dev = dev, .ns = any_ns(dev), .peer = ptr, .peer_addr = addr};
	unsigned char *saved;
	int err;

	if (!p.ns) /* without a namespace no data is moved */
		return 0;
	if (p.ns->block > len)
		return annex_fail(-EINVAL,
				  "%s: memory of another device that is smaller than a block of %u",
				  dev->uri, p.ns->block);
	p.host = aligned_alloc(ANNEX_NVME_PAGE, ANNEX_BLOCK_MAX);
	saved = malloc(ANNEX_BLOCK_MAX);
	err = p.host && saved
		      ? dev->ctrl->ops->map(dev->ctrl, p.host, ANNEX_BLOCK_MAX, &p.host_addr)
		      : annex_fail(-ENOMEM, "%s: out of memory", dev->uri);
	if (!err) {
		memcpy(saved, ptr, p.ns->block);
		p.compare = dev->compare && !(dev->protect >> (p.ns->nsid - 1) % 64 & 1);
		err = judge(&p);
		memcpy(ptr, saved, p.ns->block);
		/* A page that a device may still write to is leaked rather than used again. */
		if (dev->ctrl->ops->unmap(dev->ctrl, p.host_addr, ANNEX_BLOCK_MAX))
			p.host = NULL;
	}
	free(saved);
	free(p.host);
	return err;
}
