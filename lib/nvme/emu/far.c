// SPDX-License-Identifier: MIT
/*
 * Data in memory that only a copier reaches: a buffer to move it through, and the moves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "backend.h"

#define FAR_UNIT 4096u  /* of room; also what O_DIRECT asks for at most */
#define FAR_UNITS 8192u /* 32 MiB in all, many times the largest command */
#define FAR_MOVES 512u  /* of one call of the copier */

struct far_list {
	struct emu_req *first, *last;
};

/**
 * struct emu_far - The copier, its buffer, and the requests between the two.
 * @ranges: number of mapped ranges.
 * @mem: the buffer.
 * @room: free units of @mem.
 * @at: the unit at which the search for free ones begins.
 * @used: units in use.
 * @waiting: requests that wait for room, first come, first served.
 * @moving: requests that have room, and whose data is moved next.
 * @nmoves: number of @moves.
 * @moves: of the next call of the copier.
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

/* A Compare needs room for the data of the namespace too. */
static unsigned int units_of(const struct emu_req *req)
{
	uint32_t bytes = req->sqe.opcode == ANNEX_NVM_COMPARE ? 2 * req->len : req->len;

	return (bytes + FAR_UNIT - 1) / FAR_UNIT;
}

/* Find a run of free units, from where the last one ended. */
static bool take_room(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_far *far = emu->far;
	unsigned int n = units_of(req), run = 0;

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
	n = units_of(req);
	memset(&far->used[(size_t)(req->bounce - far->mem) / FAR_UNIT], false, n);
	far->room += n;
	req->bounce = NULL;
}

/* The request has room: data of a Write is moved next, other data is read first. */
static void start_request(struct annex_emu *emu, struct emu_req *req)
{
	if (req->sqe.opcode == ANNEX_NVM_WRITE)
		annex_emu_far_arrived(emu, req);
	else
		annex_emu_start(emu, req);
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
	/* The last chance to change the data: far memory cannot be written from here. */
	if (req->fault == ANNEX_FAULT_FLIP + 1)
		req->bounce[req->len - 1] ^= EMU_FLIP;
	req->state = EMU_REQ_MOVING;
	req->status = 0;
	append(&emu->far->moving, req);
}

/* Carry out the moves, which belong to the requests from @from to @to. */
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

static void note_moves(struct emu_far *far, struct emu_req **from, struct emu_req *req)
{
	char *near = req->bounce + (req->sqe.opcode == ANNEX_NVM_COMPARE ? req->len : 0);

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

/* After the moves a Write begins its I/O; another request ends. */
static void go_on(struct annex_emu *emu, struct emu_req *req)
{
	uint16_t status = req->status;
	uint8_t op = req->sqe.opcode;

	if (op == ANNEX_NVM_WRITE && status) {
		annex_emu_req_done(emu, req, status);
		return;
	}
	if (op == ANNEX_NVM_WRITE) {
		annex_emu_start(emu, req);
		return;
	}
	if (!status && op == ANNEX_NVM_COMPARE &&
	    memcmp(req->bounce, req->bounce + req->len, req->len))
		status = ANNEX_SC_COMPARE_FAILURE;
	annex_emu_finish(emu, req, status);
}

static void move_all(struct annex_emu *emu)
{
	struct emu_far *far = emu->far;
	struct far_list list = far->moving;
	struct emu_req *from = list.first, *next;

	far->moving = (struct far_list){NULL, NULL};
	for (struct emu_req *req = list.first; req; req = req->next)
		note_moves(far, &from, req);
	copy(far, from, list.last);
	for (struct emu_req *req = list.first; req; req = next) {
		next = req->next;
		go_on(emu, req);
	}
}

bool annex_emu_far_run(struct annex_emu *emu)
{
	struct emu_far *far = emu->far;
	bool some = false;

	while (far) {
		while (far->waiting.first && take_room(emu, far->waiting.first)) {
			struct emu_req *req = far->waiting.first;

			take_out(&far->waiting, req);
			start_request(emu, req);
			some = true;
		}
		if (!far->moving.first)
			break;
		move_all(emu);
		some = true;
	}
	return some;
}
