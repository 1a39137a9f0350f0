// SPDX-License-Identifier: MIT
/*
 * Opening a device: find its controller by URI, create the queue pairs.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "core/least.h"
#include "core/log.h"
#include "core/scheme.h"
#include "nvme/emu/emu.h"
#include "nvme/module/module.h"
#include "blocks.h"
#include "dev.h"

#define DEFAULT_QUEUES 4u
#define SERVED_QUEUES 16u /* of a controller in the process, which has no other users */
#define DEFAULT_DEPTH 1024u
#define DEFAULT_TRANSFER (512u << 10)
#define DEFAULT_TIMEOUT_MS 30000u
#define MAX_QUEUES 1024u
#define MIN_LIST 256u
#define NO_LIMIT_MDTS 31u

/* @served: the controller is in the process. */
static int check_opts(struct annex_dev *dev, const struct annex_dev_opts *opts, bool served)
{
	struct annex_dev_opts o = {0};

	if (opts)
		o = *opts;
	if (!o.queues)
		o.queues = served ? SERVED_QUEUES : DEFAULT_QUEUES;
	o.depth = o.depth ? o.depth : DEFAULT_DEPTH;
	o.max_transfer = o.max_transfer ? o.max_transfer : DEFAULT_TRANSFER;
	o.timeout_ms = o.timeout_ms ? o.timeout_ms : DEFAULT_TIMEOUT_MS;
	o.provider = o.provider ? o.provider : annex_provider_pages();
	if (o.queues > MAX_QUEUES)
		return annex_fail(-EINVAL, "%s: at most %u queue pairs", dev->uri, MAX_QUEUES);
	if (o.depth < 2 || o.depth > 65536)
		return annex_fail(-EINVAL, "%s: a queue has 2 to 65536 entries", dev->uri);
	if (o.sq > ANNEX_PLACE_CMB || o.cq > ANNEX_PLACE_CMB)
		return annex_fail(-EINVAL, "%s: no such place for queues", dev->uri);
	if (o.max_transfer % ANNEX_NVME_PAGE || o.max_transfer > ANNEX_DEV_TRANSFER_MAX)
		return annex_fail(-EINVAL, "%s: largest transfer: a multiple of %u up to %u",
				  dev->uri, ANNEX_NVME_PAGE, ANNEX_DEV_TRANSFER_MAX);
	dev->opts = o;
	return 0;
}

/* The place of a queue by the URI; *@place does not change if the URI has none. */
static int read_place(const struct annex_uri *uri, const char *key, enum annex_place *place)
{
	static const char *const names[] = {"any", "provider", "host", "cmb"};
	const char *value = annex_uri_get(uri, key);

	if (!value)
		return 0;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(value, names[i])) {
			*place = (enum annex_place)i;
			return 0;
		}
	}
	return annex_fail(-EINVAL, "%s=%.32s: queues lie in any, provider, host or cmb memory", key,
			  value);
}

/* Each kind of controller. */
static const struct {
	struct annex_scheme scheme;
	int (*open)(const struct annex_uri *uri, struct annex_ctrl **out);
} kinds[] = {
	{{"mem", "memory of the process, as mem:64M", ANNEX_TRAIT_SERVED | ANNEX_TRAIT_VOLATILE},
	 annex_emu_open_mem},
	{{"file", "a file or a block device, as file:/dev/nvme1n1",
	  ANNEX_TRAIT_SERVED | ANNEX_TRAIT_PATH},
	 annex_emu_open_file},
	{{"ng", "a namespace of the kernel's NVMe driver, as ng:/dev/ng0n1",
	  ANNEX_TRAIT_SERVED | ANNEX_TRAIT_SHARED},
	 annex_emu_open_ng},
	{{"nvme", "all of a controller's, as nvme:/dev/nvme0 or nvme:0000:00:04.0",
	  ANNEX_TRAIT_SERVED | ANNEX_TRAIT_SHARED},
	 annex_emu_open_ng},
	{{"unix", "a part of what annex serve has, as unix:PATH?part=NAME", ANNEX_TRAIT_SERVED},
	 annex_emu_open_unix},
	{{"pci", "an NVMe controller that annex.ko has, as pci:0000:00:04.0", ANNEX_TRAIT_PCI},
	 annex_module_open},
};

const struct annex_scheme *annex_dev_scheme_at(unsigned int i)
{
	return i < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[i].scheme : NULL;
}

unsigned int annex_dev_traits(const char *uri)
{
	int kind = scheme_find(uri, annex_dev_scheme_at);

	return kind < 0 ? 0 : kinds[kind].scheme.traits;
}

/* Kinds that cannot choose the place of queues refuse these keys. */
static int open_kind(struct annex_dev *dev, const struct annex_uri *uri)
{
	int err, kind = scheme_find(uri->scheme, annex_dev_scheme_at);

	if (kind < 0)
		return scheme_unknown(dev->uri, annex_dev_scheme_at);
	err = read_place(uri, "sq", &dev->opts.sq);
	if (!err)
		err = read_place(uri, "cq", &dev->opts.cq);
	return err ? err : kinds[kind].open(uri, &dev->ctrl);
}

/* opts.alone applies where the URI has no serve=. */
static void set_alone(const struct annex_dev *dev, struct annex_uri *uri)
{
	if (dev->opts.alone && annex_dev_traits(dev->uri) & ANNEX_TRAIT_SERVED &&
	    !annex_uri_get(uri, "serve") && uri->nparams < ANNEX_URI_PARAMS) {
		uri->params[uri->nparams].key = "serve";
		uri->params[uri->nparams++].value = "alone";
	}
}

static int open_ctrl(struct annex_dev *dev, const struct annex_blocks *blocks)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	int err;

	if (!uri)
		return annex_fail(-ENOMEM, "%.64s: out of memory", dev->uri);
	err = annex_uri_parse(dev->uri, uri);
	if (!err)
		set_alone(dev, uri);
	if (!err && blocks)
		err = annex_emu_open_blocks(uri, blocks, &dev->ctrl);
	else if (!err)
		err = open_kind(dev, uri);
	if (!err)
		dev->ctrl->timeout_ms = dev->opts.timeout_ms;
	if (!err)
		err = annex_uri_bool(uri, "readonly", &dev->reader);
	free(uri);
	return err;
}

static struct annex_doorbell find_doorbell(struct annex_dev *dev, uint16_t qid, int cq)
{
	struct annex_doorbell bell = {dev->ctrl->ops->doorbell(dev->ctrl, qid, cq), NULL, NULL};

	if (dev->ctrl->ops->shadow)
		bell.shadow = dev->ctrl->ops->shadow(dev->ctrl, qid, cq, &bell.event);
	return bell;
}

static int find_doorbells(struct annex_dev *dev, struct nvme_queue *q)
{
	q->qp->sq_doorbell = find_doorbell(dev, q->qp->qid, 0);
	q->qp->cq_doorbell = find_doorbell(dev, q->qp->qid, 1);
	if (!q->qp->sq_doorbell.reg || !q->qp->cq_doorbell.reg)
		return annex_fail(-EIO, "%s: no doorbells for queue %u", dev->uri, q->qp->qid);
	return 0;
}

static int read_namespace(struct annex_dev *dev, uint32_t nsid, struct annex_ns *ns)
{
	struct annex_id_ns *id = malloc(sizeof(*id));
	int err;

	if (!id)
		return annex_fail(-ENOMEM, "%s: out of memory", dev->uri);
	err = dev->ctrl->ops->identify(dev->ctrl, ANNEX_CNS_NS, nsid, id);
	if (!err) {
		const struct annex_lbaf *f = annex_id_format(id);
		uint32_t shift = annex_id_shift(id);

		ns->nsid = nsid;
		ns->blocks = id->nsze;
		ns->block = 1u << shift;
		if (ns->blocks && (!shift || ns->blocks > UINT64_MAX >> shift))
			err = annex_fail(-EINVAL,
					 "%s: namespace %u has %llu blocks of 2^%u and %u bytes, "
					 "which cannot be used",
					 dev->uri, nsid, (ull)ns->blocks, f->lbads, f->ms);
		if (ns->blocks && annex_id_protected(id))
			dev->protect |= 1ull << (nsid - 1) % 64;
	}
	free(id);
	return err;
}

static int read_identity(struct annex_dev *dev)
{
	struct annex_id_ctrl *id = malloc(sizeof(*id));
	uint32_t limit;
	int err;

	if (!id)
		return annex_fail(-ENOMEM, "%s: out of memory", dev->uri);
	err = dev->ctrl->ops->identify(dev->ctrl, ANNEX_CNS_CTRL, 0, id);
	if (err)
		goto out;
	limit = id->mdts && id->mdts < NO_LIMIT_MDTS - 12 ? ANNEX_NVME_PAGE << id->mdts
							  : UINT32_MAX;
	dev->max_transfer = dev->opts.max_transfer < limit ? dev->opts.max_transfer : limit;
	/* SGLs of any alignment (struct annex_io), and memory contiguous for the controller. */
	dev->sgl = (id->sgls & 3) == 1 && !dev->ctrl->pages;
	dev->compare = id->oncs & ANNEX_ONCS_COMPARE;
	dev->nns = id->nn < 1024 ? id->nn : 1024;
	dev->ns = calloc(dev->nns, sizeof(*dev->ns));
	if (!dev->ns)
		err = annex_fail(-ENOMEM, "%s: out of memory", dev->uri);
	for (uint32_t i = 0; !err && i < dev->nns; i++)
		err = read_namespace(dev, i + 1, &dev->ns[i]);
out:
	free(id);
	return err;
}

/* A reader keeps writers from all namespaces. */
static int claim_read(struct annex_dev *dev)
{
	int err = 0;

	for (uint32_t i = 0; dev->reader && !err && i < dev->nns; i++)
		if (dev->ns[i].blocks)
			err = annex_dev_claim_shared(dev, i + 1, 0, dev->ns[i].blocks);
	return err;
}

static int setup_io(struct annex_dev *dev)
{
	uint32_t list = MIN_LIST;
	unsigned int n = (unsigned int)least(dev->opts.queues, dev->ctrl->queues);
	int err;

	/* One page more for data that begins inside a page, and the entry that ends the list. */
	while (list < (dev->max_transfer / ANNEX_NVME_PAGE + 2) * 8)
		list *= 2;
	dev->opts.depth = (uint32_t)least(dev->opts.depth, dev->ctrl->depth);
	dev->io = calloc(n, sizeof(*dev->io));
	if (!dev->io)
		return annex_fail(-ENOMEM, "%s: out of memory", dev->uri);
	for (unsigned int i = 0; i < n; i++) {
		struct nvme_queue *q = &dev->io[i];
		uint16_t qid = (uint16_t)(i + 1);

		err = nvme_queue_create(dev, q, qid, dev->opts.depth, list);
		if (err)
			return err;
		dev->nio++;
		err = find_doorbells(dev, q);
		if (!err)
			err = nvme_queue_start(dev, q);
		if (err)
			return err;
	}
	return 0;
}

/* A provider with memory of another device is tried once, with one block. */
static int try_provider(struct annex_dev *dev)
{
	const struct annex_provider *prov = dev->opts.provider;
	uint64_t addr;
	void *ptr;
	int err;

	if (!prov->dmabuf || !dev->ctrl->ops->map_dmabuf)
		return 0;
	err = annex_dev_alloc(dev, ANNEX_PLACE_PROVIDER, ANNEX_BLOCK_MAX, &ptr, &addr);
	if (err)
		return err;
	err = nvme_prove(dev, ptr, ANNEX_BLOCK_MAX, addr);
	annex_dev_free(dev, ANNEX_PLACE_PROVIDER, ptr, ANNEX_BLOCK_MAX, addr);
	return err;
}

static bool is_private(const struct annex_provider *p)
{
	return p == annex_provider_pages() || p == annex_provider_huge();
}

/* Descriptors would keep files and their claims after the parent has ended. */
static void in_child(struct fork_watch *w)
{
	struct annex_dev *dev =
		(struct annex_dev *)(void *)((char *)w - offsetof(struct annex_dev, fork));

	dev->ctrl->ops->forked(dev->ctrl);
	/* Queue pairs in memory that parent and child share are the parent's. */
	for (unsigned int i = 0; i < dev->nio && is_private(dev->opts.provider); i++)
		annex_atomic_store(&dev->io[i].qp->state, (uint32_t)ANNEX_QP_FORKED, ANNEX_RELAXED);
}

int annex_nvme_open_blocks(const char *uri, const struct annex_blocks *blocks,
			   const struct annex_dev_opts *opts, struct annex_dev **out)
{
	const bool served = blocks || annex_dev_traits(uri) & ANNEX_TRAIT_SERVED;
	struct annex_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	pthread_mutex_init(&dev->recover_lock, NULL);
	dev->uri = strdup(uri);
	err = dev->uri ? check_opts(dev, opts, served)
		       : annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	if (!err)
		err = open_ctrl(dev, blocks);
	if (!err)
		err = read_identity(dev);
	if (!err)
		err = claim_read(dev);
	if (!err)
		err = setup_io(dev);
	if (!err)
		err = try_provider(dev);
	if (err) {
		KEEP_LAST_ERROR(true);

		annex_dev_close(dev);
		return err;
	}
	dev->fork.in_child = in_child;
	fork_watch(&dev->fork);
	*out = dev;
	return 0;
}

int annex_dev_open(const char *uri, const struct annex_dev_opts *opts, struct annex_dev **out)
{
	return annex_nvme_open_blocks(uri, NULL, opts, out);
}

/* The controller deletes queues before their memory is freed. */
static void stop(struct annex_dev *dev)
{
	bool answers = true;

	for (unsigned int i = 0; i < dev->nio; i++) {
		struct nvme_queue *q = &dev->io[i];

		nvme_queue_close(q->qp, ANNEX_QP_DEAD);
		if (q->created)
			answers = answers && !nvme_gone(dev) && !nvme_queue_stop(dev, q);
	}
}

int annex_dev_close(struct annex_dev *dev)
{
	int err = 0;

	if (!dev)
		return 0;
	fork_forget(&dev->fork);
	for (unsigned int i = 0; i < dev->nio && dev->fork.child; i++)
		if (is_private(dev->opts.provider))
			dev->opts.provider->free(dev->opts.provider->ctx, dev->io[i].mem,
						 dev->io[i].bytes);
	if (dev->fork.child) {
		err = dev->ctrl->ops->close(dev->ctrl);
	} else if (dev->ctrl) {
		stop(dev);
		for (unsigned int i = 0; i < dev->nio; i++)
			nvme_queue_destroy(dev, &dev->io[i]);
		err = dev->ctrl->ops->close(dev->ctrl);
	}
	pthread_mutex_destroy(&dev->recover_lock);
	free(dev->io);
	free(dev->ns);
	free(dev->uri);
	free(dev);
	return err;
}
