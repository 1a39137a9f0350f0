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
 * @rings: where they lie if they were moved; its zero() is NULL if not.
 * @created: the controller was told of it, and not to forget it.
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
	bool compare; /* the Compare command is there */
	bool reader;  /* opened by readonly=1 */
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

/* life.c. fresh: empty rings. start, stop: the controller is told of it, or told to forget it. */
#define NVME_NO_TOKEN UINT64_MAX /* names no request of any queue */
bool nvme_queue_pending(const struct annex_qp *qp, uint64_t token);
bool nvme_queue_close(struct annex_qp *qp, enum annex_qp_state state);
void nvme_queue_sweep(struct annex_qp *qp);
int nvme_queue_fresh(const struct nvme_queue *q);
int nvme_queue_start(struct annex_dev *dev, struct nvme_queue *q);
int nvme_queue_stop(struct annex_dev *dev, struct nvme_queue *q);

/* memory.c: nvme_map_provided() - Let the device reach what its provider has allocated, by the
 * dma-buf that it lies in, if it does. */
int nvme_map_provided(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);
/* nvme_map_queue() - Likewise of a queue's memory, which a controller in this process reads by
 * itself: nothing pins it there. nvme_alloc_queue() - annex_dev_alloc() of such memory. */
int nvme_map_queue(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);
int nvme_alloc_queue(struct annex_dev *dev, enum annex_place place, size_t len, void **ptr,
		     uint64_t *addr);
/* nvme_free() - annex_dev_free(), which leaves the queue pairs alone. */
void nvme_free(struct annex_dev *dev, enum annex_place place, void *ptr, size_t len, uint64_t addr);

/* prove.c: -EIO when what the controller reads or writes there gets lost */
int nvme_prove(struct annex_dev *dev, void *ptr, uint64_t addr);

/* reset.c: nvme_renew() - Queue pairs anew, between commands; -EBUSY: some do not end soon. */
int nvme_renew(struct annex_dev *dev);
bool nvme_gone(struct annex_dev *dev);

#endif
