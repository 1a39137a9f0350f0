// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/nvme.h>
#include "core/log.h"
#include "module.h"

static uint32_t status(struct annex_ctrl *ctrl)
{
	struct annex_ioc_state state = {.size = sizeof(state)};

	return ioctl(module_of(ctrl)->fd, ANNEX_IOC_STATE, &state) ? UINT32_MAX : state.csts;
}

static char *word_of(const struct module *p, char *base, uint16_t qid, int cq)
{
	size_t stride = 4u << ANNEX_CAP_DSTRD(p->info.cap);

	return base && qid <= p->info.queues ? base + (2u * qid + !!cq) * stride : NULL;
}

static uint32_t *doorbell(struct annex_ctrl *ctrl, uint16_t qid, int cq)
{
	struct module *p = module_of(ctrl);

	return (uint32_t *)word_of(p, p->doorbells, qid, cq);
}

static uint32_t *shadow(struct annex_ctrl *ctrl, uint16_t qid, int cq, uint32_t **event)
{
	struct module *p = module_of(ctrl);

	*event = (uint32_t *)word_of(p, p->event, qid, cq);
	return (uint32_t *)word_of(p, p->shadow, qid, cq);
}

static char *map_file(struct module *p, size_t bytes, uint64_t offset)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

/* The child does not inherit the mappings. */
static void forked(struct annex_ctrl *ctrl)
{
	struct module *p = module_of(ctrl);

	close(p->fd);
	p->fd = -1;
	p->doorbells = NULL;
	p->shadow = p->event = NULL;
}

static int close_module(struct annex_ctrl *ctrl)
{
	struct module *p = module_of(ctrl);

	if (p->doorbells)
		munmap(p->doorbells, p->info.doorbells);
	if (p->shadow)
		munmap(p->shadow, ANNEX_NVME_PAGE);
	if (p->event)
		munmap(p->event, ANNEX_NVME_PAGE);
	/* The module unmaps the rest. */
	if (p->fd >= 0)
		close(p->fd);
	module_pages_free(p);
	module_events_free(p);
	free(p->maps);
	free(p->late);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return 0;
}

static const struct annex_ctrl_ops module_ops = {
	.status = status,
	.identify = module_identify,
	.create = module_create,
	.destroy = module_destroy,
	.abort = module_abort,
	.reset = module_reset,
	.doorbell = doorbell,
	.shadow = shadow,
	.map = module_map,
	.unmap = module_unmap,
	.map_dmabuf = module_map_dmabuf,
	.alloc = module_alloc,
	.free = module_free,
	.event = module_event,
	.sleep = module_sleep,
	.wake = module_wake,
	.forked = forked,
	.close = close_module,
};

static int shake_hands(struct module *p)
{
	p->info = (struct annex_ioc_info){.size = sizeof(p->info), .abi = ANNEX_ABI};
	if (!ioctl(p->fd, ANNEX_IOC_INFO, &p->info))
		return 0;
	if (errno == EPROTONOSUPPORT)
		return annex_fail(-errno, "pci:%s: annex.ko speaks version %u, this library %u",
				  p->name, p->info.abi, ANNEX_ABI);
	return annex_fail(-errno, "pci:%s: %m", p->name);
}

static int map_registers(struct module *p)
{
	p->doorbells = map_file(p, p->info.doorbells, ANNEX_MMAP_DOORBELLS);
	if (p->info.flags & ANNEX_INFO_SHADOW) {
		p->shadow = map_file(p, ANNEX_NVME_PAGE, ANNEX_MMAP_SHADOW);
		p->event = map_file(p, ANNEX_NVME_PAGE, ANNEX_MMAP_EVENTIDX);
	}
	if (!p->doorbells || !p->shadow != !(p->info.flags & ANNEX_INFO_SHADOW) ||
	    !p->event != !p->shadow)
		return annex_fail(-ENOMEM, "pci:%s: cannot map the doorbells", p->name);
	return 0;
}

static int read_wait(struct module *p, const struct annex_uri *uri)
{
	const char *wait = annex_uri_get(uri, "wait");

	if (!wait || !strcmp(wait, "poll")) {
		p->ops.event = NULL; /* threads do not sleep */
		return 0;
	}
	if (strcmp(wait, "sleep"))
		return annex_fail(-EINVAL, "wait=%.32s: waiters poll or sleep", wait);
	if (!p->info.vectors)
		return annex_fail(-EOPNOTSUPP, "pci:%s: it has no interrupts to sleep for",
				  p->name);
	p->sleeps = true;
	return 0;
}

int annex_module_open(const struct annex_uri *uri, struct annex_ctrl **out)
{
	static const char *const keys[] = {"sq", "cq", "wait", NULL};
	struct module *p;
	int err = annex_uri_check_keys(uri, keys);

	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return annex_fail(-ENOMEM, "pci: out of memory");
	p->ops = module_ops;
	p->ctrl.ops = &p->ops;
	p->fd = -1;
	pthread_mutex_init(&p->lock, NULL);
	err = annex_module_name(uri->body, p->name)
		      ? annex_module_file(p->name, &p->fd)
		      : annex_fail(-EINVAL, "pci:%.32s: no PCI address, such as 0000:00:04.0",
				   uri->body);
	if (!err)
		err = shake_hands(p);
	p->ctrl.queues = p->info.queues;
	p->ctrl.depth = p->info.max_depth;
	if (!err)
		err = map_registers(p);
	if (!err)
		err = module_pages_init(p);
	if (!err)
		err = module_events_init(p);
	if (!err)
		err = read_wait(p, uri);
	if (err) {
		close_module(&p->ctrl);
		return err;
	}
	*out = &p->ctrl;
	return 0;
}
