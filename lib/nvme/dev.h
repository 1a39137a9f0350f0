/* SPDX-License-Identifier: MIT */
/*
 * The inside of a device, shared by the files of lib/nvme.
 */
#ifndef ANNEX_NVME_DEV_H
#define ANNEX_NVME_DEV_H

#include <pthread.h>
#include <stdbool.h>
#include <annex/device.h>
#include "core/ctrl.h"
#include "core/fork.h"

/**
 * struct nvme_queue - A queue pair and the memory it lives in.
 * @qp: the submitters' view.
 * @mem: the provider's memory: lists (mapped for the device), then the arrays.
 * @bytes: bytes of @mem.
 * @mapped: bytes at the start of @mem that the device can reach.
 * @addr: device address of @mem.
 * @sq_addr: device address of the submission ring.
 * @cq_addr: device address of the completion ring.
 * @rings: the place of the rings after annex_dev_move_rings(); before, its zero() is NULL.
 * @created: the controller has created the queue pair, and not deleted it.
 */
struct nvme_queue {
	struct annex_qp *qp;
	char *mem;
	size_t bytes;
	size_t mapped;
	uint64_t addr;
	uint64_t sq_addr, cq_addr;
	struct annex_rings rings;
	bool created;
};

struct annex_dev {
	struct annex_ctrl *ctrl;
	char *uri;
	struct annex_dev_opts opts;
	bool sgl;
	bool compare;     /* the controller has the Compare command */
	uint64_t protect; /* as in struct annex_io_limits */
	bool reader;      /* opened by readonly=1 */
	uint32_t max_transfer;

	struct nvme_queue *io;
	unsigned int nio;
	struct annex_ns *ns;
	unsigned int nns;

	pthread_mutex_t recover_lock; /* one at a time */
	struct fork_watch fork;       /* a child must not use its copy */
};

/* qp.c */
int nvme_queue_create(struct annex_dev *dev, struct nvme_queue *q, uint16_t qid, uint32_t depth,
		      uint32_t list_bytes);
void nvme_queue_destroy(struct annex_dev *dev, struct nvme_queue *q);

/* life.c. fresh: empty rings. start, stop: the controller creates or deletes the queue pair. */
#define NVME_NO_TOKEN UINT64_MAX /* names no request of any queue */
bool nvme_queue_pending(const struct annex_qp *qp, uint64_t token);
bool nvme_queue_close(struct annex_qp *qp, enum annex_qp_state state);
void nvme_queue_sweep(struct annex_qp *qp);
int nvme_queue_fresh(const struct nvme_queue *q);
int nvme_queue_start(struct annex_dev *dev, struct nvme_queue *q);
int nvme_queue_stop(struct annex_dev *dev, struct nvme_queue *q);

/* memory.c: nvme_map_provided() - Map memory of the device's provider, by its dma-buf if it has
 * one. */
int nvme_map_provided(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);
/* nvme_map_queue() - Likewise for a queue's memory, which is not pinned if the controller is in
 * this process. nvme_alloc_queue() - annex_dev_alloc() of such memory. */
int nvme_map_queue(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);
int nvme_alloc_queue(struct annex_dev *dev, enum annex_place place, size_t len, void **ptr,
		     uint64_t *addr);
/* nvme_free() - annex_dev_free() that never creates queue pairs again. */
void nvme_free(struct annex_dev *dev, enum annex_place place, void *ptr, size_t len, uint64_t addr);

/* prove.c: -EIO if data is lost that the controller reads or writes there. */
int nvme_prove(struct annex_dev *dev, void *ptr, size_t len, uint64_t addr);

/* reset.c: nvme_renew() - Create all queue pairs again, between commands; -EBUSY: some commands
 * do not end soon. */
int nvme_renew(struct annex_dev *dev);
bool nvme_gone(struct annex_dev *dev);

#endif
