/* SPDX-License-Identifier: MIT */
/*
 * Controllers behind annex.ko: pci:DDDD:BB:DD.F (include/uapi/annex.h). annex_module_open() is for
 * lib/nvme, all else is shared by the files of lib/nvme/module.
 */
#ifndef ANNEX_NVME_MODULE_MODULE_H
#define ANNEX_NVME_MODULE_MODULE_H

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <annex/uri.h>
#include <uapi/annex.h>
#include "core/ctrl.h"
#include "core/log.h"
#include "core/module.h"
#include "core/range.h"

/**
 * annex_module_open() - Become the owner of a controller that is bound to annex.ko.
 * @uri: pci:DDDD:BB:DD.F[?wait=poll|sleep], other parameters left alone.
 * @out: the controller, enabled and without I/O queues, to be given back with its close().
 *
 * Return: 0; -ENOENT (no such controller, or not bound); -EBUSY (it has an owner); -EACCES, -EPERM;
 * -EPROTONOSUPPORT (another version of the module); -EINVAL, -ENODEV, -ENOMEM.
 */
int annex_module_open(const struct annex_uri *uri, struct annex_ctrl **out);

/**
 * struct module_map - Memory that the controller can reach.
 * @range: its device addresses.
 * @ptr: its address in this process.
 * @id: its number in the module.
 */
struct module_map {
	struct range range;
	char *ptr;
	uint32_t id;
};

/**
 * struct module_event - Completion interrupts of a queue pair.
 * @fd: an eventfd; -1: it has none.
 * @seen: how many times it was found readable.
 */
struct module_event {
	int fd;
	uint32_t seen;
};

/**
 * struct module_late - A mapping that the module has not unmapped yet.
 * @id: its number in the module.
 * @bytes: its length.
 */
struct module_late {
	uint32_t id;
	uint64_t bytes;
};

/**
 * struct module - A controller.
 * @ctrl: its interface.
 * @ops: operations of @ctrl.
 * @name: its PCI address.
 * @fd: its file, closed last.
 * @info: facts from the module.
 * @doorbells: doorbells of all queues, info.doorbells bytes.
 * @shadow: shadow doorbells, as many bytes; NULL: the controller has none.
 * @event: event indices, as many bytes, or NULL.
 * @sleeps: whether waiters sleep.
 * @events: one for each queue identifier.
 * @lock: of @maps, @late and the pages of ctrl.
 * @maps: the mappings, sorted by device address.
 * @n: number of @maps.
 * @room: allocated elements of @maps.
 * @late: mappings to be unmapped when there are no queue pairs.
 * @nlate: number of @late.
 * @late_room: allocated elements of @late.
 */
struct module {
	struct annex_ctrl ctrl;
	struct annex_ctrl_ops ops;
	char name[MODULE_NAME];
	int fd;
	struct annex_ioc_info info;
	char *doorbells;
	char *shadow, *event;
	bool sleeps;
	struct module_event *events;
	pthread_mutex_t lock;
	struct module_map *maps;
	unsigned int n, room;
	struct module_late *late;
	unsigned int nlate, late_room;
};

static inline struct module *module_of(struct annex_ctrl *ctrl)
{
	return (struct module *)ctrl; /* its first member */
}

/* An ioctl of the module. Return: a negative errno, with a line for all but -ENOSPC. */
static inline int module_call(struct module *p, unsigned long request, void *args, const char *what)
{
	int err = ioctl(p->fd, request, args) < 0 ? -errno : 0;

	if (err && err != -ENOSPC)
		annex_fail(err, "pci:%s: %s: %s", p->name, what, strerror(-err));
	return err;
}

/* map.c */
int module_pages_init(struct module *p);
void module_pages_free(struct module *p);
int module_map(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr);
int module_unmap(struct annex_ctrl *ctrl, uint64_t addr, size_t len);
int module_map_dmabuf(struct annex_ctrl *ctrl, int fd, uint64_t offset, void *ptr, size_t len,
		      uint64_t *addr);
int module_alloc(struct annex_ctrl *ctrl, enum annex_place place, size_t len, void **ptr,
		 uint64_t *addr);
void module_free(struct annex_ctrl *ctrl, void *ptr, size_t bytes, uint64_t addr);
/* module_settle() - Queue pairs were deleted: unmap the mappings that waited for that. */
void module_settle(struct module *p);
/* module_find() - The mapping of a device address, and the offset in it. -ENOENT. */
int module_find(struct module *p, uint64_t addr, uint32_t *id, uint64_t *offset);

/* sleep.c. module_eventfd() - The eventfd that completions of a queue pair signal; -1: none. */
int module_events_init(struct module *p);
void module_events_free(struct module *p);
int module_eventfd(struct module *p, uint16_t qid);
uint32_t module_event(struct annex_ctrl *ctrl, uint16_t qid);
void module_sleep(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline);
void module_wake(struct annex_ctrl *ctrl, uint16_t qid);

/* admin.c */
int module_identify(struct annex_ctrl *ctrl, uint32_t cns, uint32_t nsid, void *data);
int module_create(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq, uint64_t cq);
int module_destroy(struct annex_ctrl *ctrl, uint16_t qid);
int module_abort(struct annex_ctrl *ctrl, uint16_t qid, uint16_t cid, bool *aborted);
int module_reset(struct annex_ctrl *ctrl);

#endif
