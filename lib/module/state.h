/* SPDX-License-Identifier: MIT */
/*
 * The inside of a controller behind annex.ko, shared by the files of lib/module.
 */
#ifndef ANNEX_MODULE_STATE_H
#define ANNEX_MODULE_STATE_H

#include <pthread.h>
#include <uapi/annex.h>
#include "core/ctrl.h"

/**
 * struct module_map - Memory that the controller can reach.
 * @addr: its first device address. @ptr: where this process sees it.
 * @id: what the module calls it.
 */
struct module_map {
	uint64_t addr;
	size_t len;
	char *ptr;
	uint32_t id;
};

#define PCI_NAME 16 /* 0000:00:04.0 */

/**
 * struct module - A controller.
 * @fd: its file, closed last.
 * @doorbells: of all queues, of info.doorbells bytes. @shadow, @event: likewise, or NULL.
 * @lock: of @maps and the pages of ctrl.
 * @maps: @n of them, sorted by device address.
 */
struct module {
	struct annex_ctrl ctrl;
	char name[PCI_NAME];
	int fd;
	struct annex_ioc_info info;
	char *doorbells;
	char *shadow, *event;
	pthread_mutex_t lock;
	struct module_map *maps;
	unsigned int n, room;
};

struct module *module_of(struct annex_ctrl *ctrl);

/* One call of the module's; a negative errno, with a line for what users can do about it. */
int module_call(struct module *p, unsigned long request, void *args, const char *what);

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
/* module_find() - Which mapping a device address is in, and where. -ENOENT. */
int module_find(struct module *p, uint64_t addr, uint32_t *id, uint64_t *offset);

extern const struct annex_admin_ops module_admin_ops;

#endif
