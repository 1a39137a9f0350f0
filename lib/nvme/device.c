// SPDX-License-Identifier: MIT
/*
 * Facts about a device, and the choice of a thread's queue pair.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "core/thread.h"
#include "dev.h"

#define CLAIM_MS 500u
#define CLAIM_NAP_NS 5000000

const char *annex_dev_uri(const struct annex_dev *dev)
{
	return dev->uri;
}

const struct annex_provider *annex_dev_provider(const struct annex_dev *dev)
{
	return dev->ctrl->provider ? dev->ctrl->provider : annex_provider_huge();
}

int annex_dev_ns(const struct annex_dev *dev, uint32_t nsid, struct annex_ns *out)
{
	if (!nsid || nsid > dev->nns || !dev->ns[nsid - 1].blocks)
		return annex_fail(-ENXIO, "%s: no namespace %u", dev->uri, nsid);
	*out = dev->ns[nsid - 1];
	return 0;
}

int annex_dev_bytes(const struct annex_dev *dev, uint32_t nsid, uint64_t *out)
{
	struct annex_ns ns = {.nsid = nsid};
	int err = annex_dev_ns(dev, nsid, &ns);

	*out = ns.blocks * ns.block;
	if (!err && dev->ctrl->ops->missing)
		*out -= dev->ctrl->ops->missing(dev->ctrl, nsid);
	return err;
}

uint32_t annex_dev_max_transfer(const struct annex_dev *dev)
{
	return dev->max_transfer;
}

int annex_dev_has_sgl(const struct annex_dev *dev)
{
	return dev->sgl;
}

uint32_t annex_dev_timeout_ms(const struct annex_dev *dev)
{
	return dev->opts.timeout_ms;
}

struct annex_qp *annex_dev_qp(struct annex_dev *dev)
{
	static unsigned int threads;
	static _Thread_local unsigned int number; /* from 1; 0: not numbered yet */

	if (!number) /* relaxed: the number only has to be unique */
		number = annex_atomic_add(&threads, 1, ANNEX_RELAXED) + 1;
	return dev->io[(number - 1) % dev->nio].qp;
}

struct annex_qp *annex_dev_qp_at(struct annex_dev *dev, unsigned int index)
{
	return index < dev->nio ? dev->io[index].qp : NULL;
}

/*
 * A killed process keeps its file open until the kernel has ended its I/O, and a daemon may not
 * have noticed yet that a client has left: so try again for a while.
 */
static int wait_claim(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks,
		      bool shared)
{
	const struct timespec nap = {.tv_nsec = CLAIM_NAP_NS};
	uint64_t end = annex_deadline_ms(CLAIM_MS);
	int err;

	if (!dev->ctrl->ops->claim)
		return 0;
	do
		err = dev->ctrl->ops->claim(dev->ctrl, nsid, first, blocks, shared);
	while (err == -EBUSY && annex_now() < end && !THREAD_KEPT(nanosleep(&nap, NULL)));
	return err;
}

static int claim(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks, bool shared)
{
	struct annex_ns ns;
	int err = dev->fork.child ? fork_refuse(dev->uri) : annex_dev_ns(dev, nsid, &ns);

	if (err)
		return err;
	if (!blocks || first > ns.blocks || blocks > ns.blocks - first)
		return annex_fail(-ENXIO, "%s: namespace %u ends at block %llu", dev->uri, nsid,
				  (ull)ns.blocks);
	err = wait_claim(dev, nsid, first, blocks, shared);
	if (err == -EBUSY)
		return annex_fail(err, "%s: something else %s it, or a part of it", dev->uri,
				  shared ? "writes to" : "uses");
	return err ? annex_fail(err, "%s: it cannot be claimed: %s", dev->uri, strerror(-err)) : 0;
}

int annex_dev_claim(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks)
{
	return claim(dev, nsid, first, blocks, false);
}

int annex_dev_claim_shared(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks)
{
	return claim(dev, nsid, first, blocks, true);
}

int annex_dev_inject(struct annex_dev *dev, const struct annex_fault *fault)
{
	if (dev->fork.child)
		return fork_refuse(dev->uri);
	if (!dev->ctrl->ops->inject)
		return annex_fail(-ENOTSUP, "%s: real hardware takes no faults", dev->uri);
	return dev->ctrl->ops->inject(dev->ctrl, fault);
}
