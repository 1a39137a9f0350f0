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

#define ADMIN_DEPTH 32u
#define ADMIN_SCRATCH 4096u

/**
 * struct nvme_queue - A queue pair and the memory it lives in.
 * @qp: what submitters see.
 * @mem, @bytes: the provider's memory: lists (mapped for the device), then the arrays.
 * @mapped: bytes at the start that the device can reach, at @addr.
 * @sq_addr, @cq_addr: the rings.
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
	uint64_t cap;
	bool sgl;
	bool compare; /* the Compare command is there */
	uint32_t max_transfer;

	struct nvme_queue admin;
	struct nvme_queue *io;
	unsigned int nio;
	struct annex_ns *ns;
	unsigned int nns;

	void *scratch; /* one mapped page for the data of admin commands */
	uint64_t scratch_addr;
	/* One admin command with data, and one recovery, at a time. */
	pthread_mutex_t admin_lock;
	pthread_mutex_t recover_lock;
};

/* qp.c */
int nvme_queue_create(struct annex_dev *dev, struct nvme_queue *q, uint16_t qid, uint32_t depth,
		      uint32_t list_bytes);
void nvme_queue_destroy(struct annex_dev *dev, struct nvme_queue *q);
#define NVME_NO_TOKEN UINT64_MAX /* names no request of any queue */
bool nvme_queue_pending(const struct annex_qp *qp, uint64_t token);
bool nvme_queue_close(struct annex_qp *qp, enum annex_qp_state state);
void nvme_queue_sweep(struct annex_qp *qp);
int nvme_queue_reopen(struct nvme_queue *q);

/* admin.c: each is one admin command, bounded by the device's timeout */
int nvme_admin(struct annex_dev *dev, const struct annex_sqe *sqe, struct annex_result *res);
int nvme_identify(struct annex_dev *dev, enum annex_cns cns, uint32_t nsid, void *data);
int nvme_set_queues(struct annex_dev *dev, unsigned int want, unsigned int *got);
int nvme_create_queue(struct annex_dev *dev, struct nvme_queue *q);
int nvme_delete_queue(struct annex_dev *dev, struct nvme_queue *q);
int nvme_abort(struct annex_dev *dev, uint16_t sqid, uint16_t cid, uint64_t deadline,
	       bool *aborted);

/* memory.c: nvme_map_provided() - Let the device reach what its provider has allocated, by the
 * dma-buf that it lies in, if it does. */
int nvme_map_provided(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);

/* prove.c: -EIO when what the controller reads or writes there gets lost */
int nvme_prove(struct annex_dev *dev, void *ptr, uint64_t addr);

/* reset.c */
int nvme_disable(struct annex_dev *dev);
int nvme_enable(struct annex_dev *dev);
void nvme_shutdown(struct annex_dev *dev);
int nvme_reset(struct annex_dev *dev);
bool nvme_gone(struct annex_dev *dev);

#endif
