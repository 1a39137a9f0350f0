/* SPDX-License-Identifier: MIT */
/*
 * A minimal NVMe host for the tests of the emulated controller: queues and commands by hand,
 * without the library's queue pairs.
 */
#ifndef ANNEX_TESTS_EMU_HOST_H
#define ANNEX_TESTS_EMU_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include <annex/nvme.h>
#include "core/ctrl.h"
#include "nvme/emu/emu.h"

#define HOST_QUEUES 8
#define HOST_MEM (8u << 20)
#define HOST_WAIT_MS 20000

struct host_queue {
	uint16_t qid;
	uint32_t depth;
	uint32_t tail;
	uint32_t head;
	uint16_t phase;
	struct annex_sqe *sq;
	volatile struct annex_cqe *cq;
};

struct host {
	struct annex_ctrl *ctrl;
	char *mem; /* mapped, HOST_MEM bytes */
	size_t used;
	struct host_queue q[HOST_QUEUES]; /* by queue id */
};

/* Return: the errno of opening it. */
int host_try(const char *uri);
/* Open a controller and map memory; then also queue pair 1, of 64 entries. */
void host_open(struct host *h, const char *uri);
void host_ready(struct host *h, const char *uri);
void host_close(struct host *h);

/* emu_odd.c: its tests, which emu_file.c repeats without an io_uring. */
void odd_files(void);

/* Zeroed, page-aligned, mapped; given back with the host. */
void *host_alloc(struct host *h, size_t len);
uint64_t host_addr(const void *p);

/* The errno of the controller's. */
int host_create(struct host *h, uint16_t qid, uint32_t depth);
int host_destroy(struct host *h, uint16_t qid);

void host_put(struct host *h, uint16_t qid, const struct annex_sqe *sqe);
void host_ring(struct host *h, uint16_t qid);
void host_submit(struct host *h, uint16_t qid, const struct annex_sqe *sqe);
/* The next completion of a CQ, if there is one now. */
bool host_poll(struct host *h, uint16_t qid, struct annex_cqe *out);
/* The same, sleeping for it. Return: false after @ms. */
bool host_wait_ms(struct host *h, uint16_t qid, struct annex_cqe *out, uint64_t ms);
bool host_wait(struct host *h, uint16_t qid, struct annex_cqe *out);
/* Submit one command and wait for it. Return: its status, 0xffff when it does not complete. */
uint16_t host_do(struct host *h, uint16_t qid, const struct annex_sqe *sqe, uint32_t *dw0);

/* A read, write or compare of @nlb blocks with PRP1 and PRP2. */
struct annex_sqe host_rw(uint8_t opcode, uint64_t slba, uint32_t nlb, const void *prp1,
			 const void *prp2);
/* host_do() of such a command on queue 1. */
uint16_t host_io(struct host *h, uint8_t opcode, uint64_t slba, uint32_t nlb, const void *p);

#endif
