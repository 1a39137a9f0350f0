// SPDX-License-Identifier: MIT
/*
 * Data in memory that only a copier reaches: room to move it through, and the moves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "far.h"
#include "ring.h"

#define FAR_UNIT 4096u  /* of room; also what O_DIRECT asks for at most */
#define FAR_UNITS 8192u /* 32 MiB in all, many times the largest command */
#define FAR_MOVES 512u  /* of one call of the copier */

struct far_list {
	struct emu_req *first, *last;
};

/**
 * struct emu_far - The copier, its buffer, and the requests between the two.
 * @ranges: that are mapped.
 * @used: units of @mem; @room: how many are free; @at: where to look for them first.
 * @waiting: for room, first come, first served. @moving: have it.
 */
struct emu_far {
	const struct annex_copier *copier;
	const struct annex_provider *provider;
	unsigned int ranges;
	char *mem;
	unsigned int room, at;
	bool used[FAR_UNITS];
	struct far_list waiting, moving;
	unsigned int nmoves;
	struct annex_far_move moves[FAR_MOVES];
};

static int far_open(struct annex_emu *emu, const struct annex_copier *copier)
{
	struct emu_far *far = calloc(1, sizeof(*far));
	size_t bytes = (size_t)FAR_UNITS * FAR_UNIT;

	if (!far)
		return annex_fail(-ENOMEM, "map: out of memory");
	far->copier = copier;
	far->provider = copier->provider ? copier->provider : annex_provider_pages();
	far->mem = far->provider->alloc(far->provider->ctx, bytes, FAR_UNIT);
	if (!far->mem) {
		annex_fail(-ENOMEM, "map: no %zu bytes of %s memory to move data through", bytes,
			   far->provider->name);
		free(far);
		return -ENOMEM;
	}
	far->room = FAR_UNITS;
	emu->far = far;
	return 0;
}

int annex_emu_far_get(struct annex_emu *emu, const struct annex_copier *copier)
{
	int err = 0;

	pthread_mutex_lock(&emu->async);
	if (!emu->far)
		err = far_open(emu, copier);
	else if (emu->far->copier != copier)
		err = annex_fail(-EBUSY, "map: the controller has another copier (%s)",
				 emu->far->copier->name);
	if (!err)
		emu->far->ranges++;
	pthread_mutex_unlock(&emu->async);
	return err;
}

void annex_emu_far_close(struct annex_emu *emu)
{
	struct emu_far *far = emu->far;

	if (!far)
		return;
	emu->far = NULL;
	far->provider->free(far->provider->ctx, far->mem, (size_t)FAR_UNITS * FAR_UNIT);
	free(far);
}

void annex_emu_far_put(struct annex_emu *emu)
{
	pthread_mutex_lock(&emu->async);
	if (!--emu->far->ranges)
		annex_emu_far_close(emu);
	pthread_mutex_unlock(&emu->async);
}

static void append(struct far_list *list, struct emu_req *req)
{
	req->next = NULL;
	req->prev = list->last;
	*(list->last ? &list->last->next : &list->first) = req;
	list->last = req;
}

static void take_out(struct far_list *list, struct emu_req *req)
{
	*(req->prev ? &req->prev->next : &list->first) = req->next;
	*(req->next ? &req->next->prev : &list->last) = req->prev;
}

/* Data to compare with that is not in RAM needs a place beside the far data. */
static bool compares_file(const struct annex_emu *emu, const struct emu_req *req)
{
	return !annex_emu_in_ram(emu) && req->sqe.opcode == ANNEX_NVM_COMPARE;
}

static unsigned int units_of(const struct annex_emu *emu, const struct emu_req *req)
{
	uint32_t bytes = compares_file(emu, req) ? 2 * req->len : req->len;

	return (bytes + FAR_UNIT - 1) / FAR_UNIT;
}

/* Find a run of free units, from where the last one ended. */
static bool take_room(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_far *far = emu->far;
	unsigned int n = units_of(emu, req), run = 0;

	if (n > far->room)
		return false;
	for (unsigned int i = 0; i < FAR_UNITS + n; i++) {
		unsigned int at = (far->at + i) % FAR_UNITS;

		if (!at)
			run = 0; /* a run does not go around the end */
		run = far->used[at] ? 0 : run + 1;
		if (run < n)
			continue;
		far->at = (at + 1) % FAR_UNITS;
		far->room -= n;
		memset(&far->used[at + 1 - n], true, n);
		req->bounce = far->mem + (size_t)(at + 1 - n) * FAR_UNIT;
		return true;
	}
	return false;
}

void annex_emu_far_release(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_far *far = emu->far;
	unsigned int n;

	if (!req->far || !req->bounce)
		return;
	n = units_of(emu, req);
	memset(&far->used[(size_t)(req->bounce - far->mem) / FAR_UNIT], false, n);
	far->room += n;
	req->bounce = NULL;
}

/* With room: data of RAM and data to be written are moved next, that of a file is read first. */
static void begin(struct annex_emu *emu, struct emu_req *req)
{
	if (!annex_emu_in_ram(emu) && req->sqe.opcode != ANNEX_NVM_WRITE) {
		annex_emu_ring_start(emu, req);
		return;
	}
	if (req->sqe.opcode == ANNEX_NVM_READ)
		memcpy(req->bounce, req->ns->ram + req->pos, req->len);
	annex_emu_far_arrived(emu, req);
}

void annex_emu_far_start(struct annex_emu *emu, struct emu_req *req)
{
	req->state = EMU_REQ_WAITING;
	append(&emu->far->waiting, req);
}

void annex_emu_far_forget(struct annex_emu *emu, struct emu_req *req)
{
	take_out(&emu->far->waiting, req);
}

void annex_emu_far_arrived(struct annex_emu *emu, struct emu_req *req)
{
	/* The last chance to change it, since nothing here reaches the memory that it moves to. */
	if (req->fault == ANNEX_FAULT_FLIP + 1)
		req->bounce[req->len - 1] ^= EMU_FLIP;
	req->state = EMU_REQ_MOVING;
	req->status = 0;
	append(&emu->far->moving, req);
}

/* Carry out the moves noted, which are those of requests @from to @to. */
static void copy(struct emu_far *far, struct emu_req *from, struct emu_req *to)
{
	int err = far->nmoves ? far->copier->copy(far->copier->ctx, far->moves, far->nmoves) : 0;

	far->nmoves = 0;
	if (!err)
		return;
	annex_log(ANNEX_LOG_WARNING, "emulated controller: %s cannot move data: %s",
		  far->copier->name, strerror(-err));
	for (;; from = from->next) {
		from->status = ANNEX_SC_DATA_TRANSFER;
		if (from == to)
			return;
	}
}

static void note_moves(struct annex_emu *emu, struct emu_req **from, struct emu_req *req)
{
	struct emu_far *far = emu->far;
	char *near = req->bounce + (compares_file(emu, req) ? req->len : 0);

	for (unsigned int i = 0; i < req->nsegs; i++) {
		const struct iovec *seg = &req->segs[i];

		if (far->nmoves == FAR_MOVES) {
			copy(far, *from, req);
			*from = req;
		}
		far->moves[far->nmoves++] = (struct annex_far_move){.far = (uintptr_t)seg->iov_base,
								    .near = near,
								    .len = (uint32_t)seg->iov_len,
								    .to_far = req->sqe.opcode ==
									      ANNEX_NVM_READ};
		near += seg->iov_len;
	}
}

/* After the moves a request ends, but a write to a file now begins its I/O. */
static void go_on(struct annex_emu *emu, struct emu_req *req)
{
	const bool in_ram = annex_emu_in_ram(emu);
	uint16_t status = req->status;
	uint8_t op = req->sqe.opcode;

	if (!status && op == ANNEX_NVM_COMPARE &&
	    memcmp(req->bounce, in_ram ? req->ns->ram + req->pos : req->bounce + req->len,
		   req->len))
		status = ANNEX_SC_COMPARE_FAILURE;
	if (!in_ram && op != ANNEX_NVM_WRITE) {
		annex_emu_ring_finish(emu, req, status);
		return;
	}
	if (!in_ram && !status) {
		annex_emu_ring_start(emu, req);
		return;
	}
	if (!status && op == ANNEX_NVM_WRITE)
		memcpy(req->ns->ram + req->pos, req->bounce, req->len);
	annex_emu_req_done(emu, req, status);
}

static void move_all(struct annex_emu *emu)
{
	struct emu_far *far = emu->far;
	struct far_list list = far->moving;
	struct emu_req *from = list.first, *next;

	far->moving = (struct far_list){NULL, NULL};
	for (struct emu_req *req = list.first; req; req = req->next)
		note_moves(emu, &from, req);
	copy(far, from, list.last);
	for (struct emu_req *req = list.first; req; req = next) {
		next = req->next;
		go_on(emu, req);
	}
}

void annex_emu_far_run(struct annex_emu *emu)
{
	struct emu_far *far = emu->far;

	while (far) {
		while (far->waiting.first && take_room(emu, far->waiting.first)) {
			struct emu_req *req = far->waiting.first;

			take_out(&far->waiting, req);
			begin(emu, req);
		}
		if (!far->moving.first)
			return;
		move_all(emu);
	}
}
