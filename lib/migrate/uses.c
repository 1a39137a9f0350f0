// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "core/array.h"
#include "core/log.h"
#include "core/thread.h"
#include "request.h"
#include "uses.h"

void annex_uses_wait_from_now(struct annex_exec *e)
{
	e->patience = (struct annex_patience){annex_deadline_ms(e->opts.timeout_ms), 0};
}

int annex_uses_wait(struct annex_exec *e, struct annex_move *move)
{
	uint64_t now = annex_now();
	int err = annex_move_await(move, &e->patience, e->opts.timeout_ms);

	e->waited += annex_now() - now;
	if (err == -ETIMEDOUT)
		annex_move_forget(move);
	return err;
}

static int hold(struct annex_exec *e, const struct annex_exec_use *use, bool on)
{
	bool writes = use->how & ANNEX_USE_WRITE;

	if (e->flies)
		return annex_tensor_fly(e->space, use->ptr, on, writes);
	return annex_tensor_hold(e->space, use->ptr, on, writes);
}

static bool lives(const struct annex_exec *e, const struct held_use *held)
{
	return annex_tensor_lives(e->space, held->use.ptr, held->serial);
}

void annex_uses_forget_freed(struct annex_exec *e)
{
	/* In reverse, since removing a use changes the numbers after it. */
	for (uint32_t i = e->n_held; i-- > 0;)
		if (e->held[i].number >= 0 && !lives(e, &e->held[i]))
			annex_log_drop(&e->now, (uint32_t)e->held[i].number);
}

void annex_uses_let_go(struct annex_exec *e)
{
	annex_uses_forget_freed(e);
	while (e->n_held) {
		const struct held_use *held = &e->held[--e->n_held];

		/* Another tensor may have its address, unless kernels in streams hold it. */
		if (e->flies || lives(e, held))
			hold(e, &held->use, false);
	}
}

static int record(struct annex_exec *e, const struct annex_exec_use *use, int64_t *number)
{
	struct tensor_info info;
	struct log_tensor t;
	int err = annex_tensor_info(e->space, use->ptr, &info);

	*number = -1;
	if (err)
		return err;
	if (!use->how || use->how & ~(uint32_t)(ANNEX_USE_READ | ANNEX_USE_WRITE))
		return annex_fail(-EINVAL, "exec: a use of %u", use->how);
	if (info.shared)
		return 0;
	t = (struct log_tensor){.serial = info.serial,
				.bytes = info.bytes,
				.ptr = info.ptr,
				.any = info.any,
				.global = info.serial < e->serial};
	*number = annex_log_tensor(&e->now, &t);
	if (*number < 0 || annex_log_use(&e->now, (uint32_t)*number, use->how))
		return annex_fail(-ENOMEM, "exec: no memory");
	return 0;
}

int annex_uses_record(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n)
{
	int64_t number;
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++)
		err = record(e, &uses[i], &number);
	return err;
}

void annex_uses_see_stay(struct annex_exec *e)
{
	for (uint32_t i = 0; i < e->now.n_tensors; i++) {
		struct log_tensor *t = &e->now.tensors[i];

		t->stays = !t->global && annex_tensor_lives(e->space, t->ptr, t->serial);
	}
}

static int too_large(const struct annex_exec *e)
{
	return annex_fail(-ENOSPC, "exec: the tensors of %s do not fit into the device tier",
			  e->now.kernels[e->now.n_kernels - 1].name);
}

uint64_t annex_uses_bytes(const struct annex_exec *e)
{
	const struct log_kernel *k = &e->now.kernels[e->now.n_kernels - 1];
	uint64_t bytes = 0;

	for (uint32_t i = k->first; i < e->now.n_uses; i++)
		bytes += e->now.tensors[e->now.uses[i].tensor].bytes;
	return bytes;
}

int annex_uses_fit(const struct annex_exec *e)
{
	return annex_uses_bytes(e) <= annex_space_budget(e->space) ? 0 : too_large(e);
}

static int take_hold(struct annex_exec *e, const struct annex_exec_use *use)
{
	struct tensor_info info;
	int err = annex_tensor_info(e->space, use->ptr, &info);

	if (err)
		return err;
	if (!array_grow(e->held, e->n_held, e->held_room))
		return annex_fail(-ENOMEM, "exec: no memory");
	err = hold(e, use, true);
	if (!err)
		e->held[e->n_held++] = (struct held_use){*use, info.serial, -1};
	return err;
}

/* Whether none of the uses reads the tensor, whose contents are then not needed. */
static bool overwrites(const struct annex_exec_use *uses, unsigned int n,
		       const struct tensor_info *t)
{
	for (unsigned int i = 0; i < n; i++)
		if (uses[i].how & ANNEX_USE_READ &&
		    (uintptr_t)uses[i].ptr - (uintptr_t)t->ptr < t->bytes)
			return false;
	return !t->shared;
}

/* Begin all moves, then wait for all of them, so that few are in flight after an error. */
static int bring(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n,
		 uint32_t most, bool made)
{
	struct want want = {.to = ANNEX_TIER_GPU, .urgent = true, .keep = true, .most = most};
	struct annex_move **moves = calloc(n + 1, sizeof(struct annex_move *));
	uint64_t since = 0;
	int err = moves ? 0 : annex_fail(-ENOMEM, "exec: no memory");

	for (unsigned int i = 0; i < n && !err; i++) {
		struct tensor_info info;

		if (annex_tensor_is_there(e->space, uses[i].ptr))
			continue;
		since = since ? since : thread_cpu(CLOCK_THREAD_CPUTIME_ID);
		err = annex_tensor_info(e->space, uses[i].ptr, &info);
		/* It will be written, so a copy below is of no use. */
		want.keep = !(uses[i].how & ANNEX_USE_WRITE);
		want.fresh = !err && !made && most && overwrites(uses, n, &info);
		if (!err)
			err = annex_move_begin(e->space, info.ptr, info.bytes, &want, &moves[i]);
	}
	if (!err && !made && most && e->policy && (!e->plan || e->strayed))
		for (unsigned int i = 0; i < n; i++)
			annex_ahead(e->space, &e->ahead, uses[i].ptr, !moves[i], &e->order);
	for (unsigned int i = 0; moves && i < n; i++) {
		KEEP_LAST_ERROR(err);
		int rc = moves[i] ? annex_uses_wait(e, moves[i]) : 0;

		err = err ? err : rc;
	}
	free(moves);
	if (since && !made)
		e->moving += thread_cpu(CLOCK_THREAD_CPUTIME_ID) - since;
	/* Avoid the page faults that detect first writes. */
	for (unsigned int i = 0; i < n && !err; i++)
		if (uses[i].how & ANNEX_USE_WRITE)
			err = annex_tensor_write(e->space, uses[i].ptr);
	return err;
}

int annex_uses_take(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n,
		    uint32_t most)
{
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++)
		err = take_hold(e, &uses[i]);
	return err ? err : bring(e, uses, n, most, false);
}

/* Whether the kernel's tensors fit, without tensors that it has allocated and freed. */
static int fit_now(const struct annex_exec *e)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < e->n_held; i++) {
		const struct held_use *held = &e->held[i];
		struct tensor_info info;

		if (annex_tensor_lives(e->space, held->use.ptr, held->serial) &&
		    !annex_tensor_info(e->space, held->use.ptr, &info) && !info.shared)
			bytes += info.bytes;
	}
	return bytes <= annex_space_budget(e->space) ? 0 : too_large(e);
}

int annex_exec_made(struct annex_exec *e, const void *ptr)
{
	const struct annex_exec_use use = {ptr, ANNEX_USE_WRITE};
	uint64_t since = annex_now(), waited = e->waited;
	int64_t number;
	int err;

	if (e->space->fork.child)
		return fork_refuse("exec");
	if (!e->runs)
		return annex_fail(-EINVAL, "exec: no kernel runs that could make a tensor");
	annex_uses_wait_from_now(e);
	err = record(e, &use, &number);
	if (!err)
		err = take_hold(e, &use);
	if (!err) {
		e->held[e->n_held - 1].number = number;
		err = fit_now(e);
	}
	if (!err)
		err = bring(e, &use, 1, UINT32_MAX, true);
	since = annex_now() - since;
	e->stall += since;
	if (!err && number >= 0 && !e->plan) {
		e->made_bytes += e->now.tensors[number].bytes;
		e->made_ns += since - (e->waited - waited);
	}
	return err;
}
