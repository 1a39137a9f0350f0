// SPDX-License-Identifier: MIT
/*
 * Memory that a device can reach: its provider, and its place.
 */
#include <errno.h>
#include "core/log.h"
#include "dev.h"

/*
 * Bytes whose unmapping was put off (struct annex_ctrl) and that justify new queue pairs: at any
 * time, and when memory is short. The context of a GPU unmaps less, since its queue pairs must not
 * change.
 */
#define LATE_MOST (64ull << 20)
#define LATE_LEAST (1ull << 20)

/* Whether such a range can be mapped. */
static int check(const struct annex_dev *dev, uint64_t at, size_t len)
{
	if (dev->fork.child)
		return fork_refuse(dev->uri);
	if (at % ANNEX_NVME_PAGE || !len || len % ANNEX_NVME_PAGE)
		return annex_fail(-EINVAL, "%s: mapped memory must be whole pages", dev->uri);
	return 0;
}

/* Return: whether that has freed any. */
static bool take_back_late(struct annex_dev *dev, uint64_t least)
{
	return annex_atomic_load(&dev->ctrl->late, ANNEX_RELAXED) >= least && !nvme_renew(dev);
}

int annex_dev_map(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr)
{
	int err = check(dev, (uintptr_t)ptr, len);

	if (!err)
		err = dev->ctrl->ops->map(dev->ctrl, ptr, len, addr);
	if (err == -ENOMEM && take_back_late(dev, LATE_LEAST))
		err = dev->ctrl->ops->map(dev->ctrl, ptr, len, addr);
	return err;
}

int annex_dev_map_sparse(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr)
{
	int err = check(dev, (uintptr_t)ptr, len);

	if (err)
		return err;
	if (!dev->ctrl->ops->map_sparse)
		return annex_fail(-EOPNOTSUPP, "%s: it works with pinned memory only", dev->uri);
	return dev->ctrl->ops->map_sparse(dev->ctrl, ptr, len, addr);
}

int annex_dev_map_far(struct annex_dev *dev, uint64_t far, size_t len,
		      const struct annex_copier *copier, uint64_t *addr)
{
	int err = check(dev, far, len);

	if (err)
		return err;
	if (!dev->ctrl->ops->map_far)
		return annex_fail(-EOPNOTSUPP, "%s: it moves data by itself: no copier", dev->uri);
	return dev->ctrl->ops->map_far(dev->ctrl, far, len, copier, addr);
}

static int map_dmabuf(struct annex_dev *dev, int fd, uint64_t offset, void *ptr, size_t len,
		      uint64_t *addr)
{
	if (dev->ctrl->ops->map_dmabuf)
		return dev->ctrl->ops->map_dmabuf(dev->ctrl, fd, offset, ptr, len, addr);
	/* A controller in this process can only use memory that is mapped in it. */
	if (!ptr)
		return annex_fail(-EOPNOTSUPP, "%s: memory that is not mapped in this process",
				  dev->uri);
	return dev->ctrl->ops->map(dev->ctrl, ptr, len, addr);
}

int annex_dev_map_dmabuf(struct annex_dev *dev, int fd, uint64_t offset, void *ptr, size_t len,
			 uint64_t *addr)
{
	int err;

	err = check(dev, (uintptr_t)ptr | offset, len);
	if (err)
		return err;
	err = map_dmabuf(dev, fd, offset, ptr, len, addr);
	if (err || !dev->ctrl->ops->map_dmabuf || !ptr)
		return err;
	err = nvme_prove(dev, ptr, len, *addr);
	if (err) {
		KEEP_LAST_ERROR(true);

		annex_dev_unmap(dev, *addr, len);
	}
	return err;
}

int annex_dev_unmap(struct annex_dev *dev, uint64_t addr, size_t len)
{
	int err;

	if (dev->fork.child)
		return fork_refuse(dev->uri);
	err = dev->ctrl->ops->unmap(dev->ctrl, addr, len);
	take_back_late(dev, LATE_MOST);
	return err;
}

int nvme_map_provided(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr)
{
	const struct annex_provider *prov = dev->opts.provider;
	uint64_t offset = 0;
	int fd;

	if (!prov->dmabuf)
		return dev->ctrl->ops->map(dev->ctrl, ptr, len, addr);
	fd = prov->dmabuf(prov->ctx, ptr, &offset);
	return map_dmabuf(dev, fd, offset, ptr, len, addr);
}

int nvme_map_queue(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr)
{
	if (dev->ctrl->ops->map_sparse)
		return dev->ctrl->ops->map_sparse(dev->ctrl, ptr, len, addr);
	return nvme_map_provided(dev, ptr, len, addr);
}

typedef int (*map_fn)(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);

static int provide(struct annex_dev *dev, size_t len, map_fn map, void **ptr, uint64_t *addr)
{
	const struct annex_provider *prov = dev->opts.provider;
	int err;

	*ptr = prov->alloc(prov->ctx, len, ANNEX_NVME_PAGE);
	if (!*ptr)
		return annex_fail(-ENOMEM, "%s: no %zu bytes of %s memory", dev->uri, len,
				  prov->name);
	err = map(dev, *ptr, len, addr);
	if (err)
		prov->free(prov->ctx, *ptr, len);
	return err;
}

static bool is_provided(const struct annex_dev *dev, enum annex_place place)
{
	return place == ANNEX_PLACE_PROVIDER ||
	       (place == ANNEX_PLACE_ANY && !dev->ctrl->ops->alloc);
}

static int alloc(struct annex_dev *dev, enum annex_place place, size_t len, map_fn map, void **ptr,
		 uint64_t *addr)
{
	if (dev->fork.child)
		return fork_refuse(dev->uri);
	if (place > ANNEX_PLACE_CMB || !len || len % ANNEX_NVME_PAGE)
		return annex_fail(-EINVAL, "%s: memory is given out in whole pages", dev->uri);
	if (is_provided(dev, place))
		return provide(dev, len, map, ptr, addr);
	if (!dev->ctrl->ops->alloc)
		return annex_fail(-EOPNOTSUPP, "%s: it has no memory of its own", dev->uri);
	if (place == ANNEX_PLACE_ANY)
		place = ANNEX_PLACE_HOST;
	return dev->ctrl->ops->alloc(dev->ctrl, place, len, ptr, addr);
}

int annex_dev_alloc(struct annex_dev *dev, enum annex_place place, size_t len, void **ptr,
		    uint64_t *addr)
{
	return alloc(dev, place, len, nvme_map_provided, ptr, addr);
}

int nvme_alloc_queue(struct annex_dev *dev, enum annex_place place, size_t len, void **ptr,
		     uint64_t *addr)
{
	return alloc(dev, place, len, nvme_map_queue, ptr, addr);
}

void nvme_free(struct annex_dev *dev, enum annex_place place, void *ptr, size_t len, uint64_t addr)
{
	KEEP_LAST_ERROR(true);
	const struct annex_provider *prov = dev->opts.provider;

	if (!is_provided(dev, place))
		dev->ctrl->ops->free(dev->ctrl, ptr, len, addr);
	/* Memory that a device may still write is lost rather than used again. */
	else if (dev->ctrl->ops->unmap(dev->ctrl, addr, len))
		annex_log(ANNEX_LOG_WARNING, "%s: memory is still in use, and lost", dev->uri);
	else
		prov->free(prov->ctx, ptr, len);
}

void annex_dev_free(struct annex_dev *dev, enum annex_place place, void *ptr, size_t len,
		    uint64_t addr)
{
	KEEP_LAST_ERROR(true);

	if (dev->fork.child)
		return; /* the parent's; the copies end with the child */
	nvme_free(dev, place, ptr, len, addr);
	take_back_late(dev, LATE_MOST);
}
