// SPDX-License-Identifier: MIT
/*
 * Futexes with one hart: nobody is ever woken, and who waits is woken by nobody.
 */
#include <errno.h>
#include "call.h"

enum { WAIT, WAKE, FD, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET = 9, WAKE_BITSET };
enum { PRIVATE = 128, REALTIME = 256 };

static int word_at(const struct user *u, uint64_t va, uint32_t *word)
{
	return va % sizeof(*word) ? -EINVAL : rv_space_read(&u->space, va, word, sizeof(*word));
}

/* WAIT's time is from now on, WAIT_BITSET's is a time of its clock. */
static int64_t wait_for(struct user *u, const uint64_t *a, bool bitset)
{
	uint64_t at = UINT64_MAX, now = user_now(CLOCK_MONOTONIC);
	uint32_t word;
	int err;

	if (a[3]) {
		uint64_t from = !bitset ? 0 : a[1] & REALTIME ? user_now(CLOCK_REALTIME) : now;

		err = user_timespec(u, a[3], &at);
		if (err)
			return err;
		at = at < from ? now : now + (at - from);
	}
	if (bitset && !(uint32_t)a[5])
		return -EINVAL;
	err = word_at(u, a[0], &word);
	if (err || word != (uint32_t)a[2])
		return err ? err : -EAGAIN;
	err = user_sleep(u, at);
	return err ? err : -ETIMEDOUT;
}

static int32_t sign12(uint32_t value)
{
	return (int32_t)(value << 20) >> 20;
}

/* The second word changes, whoever would be woken by it. */
static int64_t wake_op(struct user *u, uint64_t va, uint32_t how)
{
	uint32_t op = how >> 28 & 7, old, next;
	int32_t by = sign12(how >> 12);
	int err = word_at(u, va, &old);

	if (err)
		return err;
	if (how >> 31)
		by = (int32_t)(1u << (by & 31));
	switch (op) {
	case 0:
		next = (uint32_t)by;
		break;
	case 1:
		next = old + (uint32_t)by;
		break;
	case 2:
		next = old | (uint32_t)by;
		break;
	case 3:
		next = old & ~(uint32_t)by;
		break;
	case 4:
		next = old ^ (uint32_t)by;
		break;
	default:
		return -ENOSYS;
	}
	err = rv_space_write(&u->space, va, &next, sizeof(next));
	if (err)
		return err;
	return (how >> 24 & 15) > 5 ? -ENOSYS : 0;
}

int64_t call_futex(struct user *u, const uint64_t *a)
{
	uint32_t op = (uint32_t)a[1] & ~(uint32_t)(PRIVATE | REALTIME), word;
	int err;

	if (a[1] & REALTIME && op != WAIT && op != WAIT_BITSET)
		return -ENOSYS;
	if (a[0] % sizeof(word))
		return op <= WAKE_BITSET ? -EINVAL : -ENOSYS;
	switch (op) {
	case WAIT:
	case WAIT_BITSET:
		return wait_for(u, a, op == WAIT_BITSET);
	case WAKE:
		return 0;
	case WAKE_BITSET:
		return (uint32_t)a[5] ? 0 : -EINVAL;
	case REQUEUE:
	case CMP_REQUEUE:
		if ((int32_t)a[2] < 0 || (int32_t)a[3] < 0 || a[4] % sizeof(word))
			return -EINVAL;
		if (op == REQUEUE)
			return 0;
		err = word_at(u, a[0], &word);
		return err ? err : word == (uint32_t)a[5] ? 0 : -EAGAIN;
	case WAKE_OP:
		return wake_op(u, a[4], (uint32_t)a[5]);
	default:
		return -ENOSYS;
	}
}
