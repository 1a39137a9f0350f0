// SPDX-License-Identifier: MIT
/*
 * Memory of a program: private and anonymous. New code is none of it: code comes with the program.
 */
#define _GNU_SOURCE /* mremap's flags */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "call.h"

enum { PROT_ANY = PROT_READ | PROT_WRITE | PROT_EXEC | 8 /* PROT_SEM */ };
enum { MAP_KIND = 3, NOREPLACE = 0x100000 }; /* MAP_FIXED_NOREPLACE */

/* Writable memory is readable on RISC-V. */
static unsigned int prot_of(uint64_t prot)
{
	return prot & PROT_WRITE ? RV_READ | RV_WRITE : prot & PROT_READ ? RV_READ : 0;
}

static bool valid_range(uint64_t va, uint64_t bytes)
{
	return !(va % PAGE) && va <= USER_STACK_TOP && bytes <= USER_STACK_TOP - va;
}

static bool in_code(const struct user *u, uint64_t va, uint64_t bytes)
{
	return va >= (u->code_low & ~(PAGE - 1)) && va + bytes <= page_up(u->code_high);
}

/* The heap is pages that are added as it grows, and given back as it shrinks. */
int64_t call_brk(struct user *u, const uint64_t *a)
{
	uint64_t to = a[0], have = page_up(u->brk), want;

	if (to < u->brk_low || to > u->brk_low + USER_BRK_BYTES)
		return (int64_t)u->brk;
	want = page_up(to);
	if (want > have && rv_space_add(&u->space, have, want - have, RV_READ | RV_WRITE))
		return (int64_t)u->brk;
	if (want < have && rv_space_remove(&u->space, want, have - want))
		return (int64_t)u->brk;
	rv_forget(u->batch);
	u->brk = to;
	return (int64_t)to;
}

/* Where a mapping goes; negative: nowhere. */
static int64_t place(struct user *u, const uint64_t *a, uint64_t bytes)
{
	uint64_t va = a[0], flags = a[3];

	if (flags & (MAP_FIXED | NOREPLACE)) {
		if (!valid_range(va, bytes))
			return va % PAGE ? -EINVAL : -ENOMEM;
		if (flags & NOREPLACE)
			return rv_space_is_free(&u->space, va, bytes) ? (int64_t)va : -EEXIST;
		return rv_space_remove(&u->space, va, bytes) ? -ENOMEM : (int64_t)va;
	}
	va &= ~(PAGE - 1);
	if (va && valid_range(va, bytes) && rv_space_is_free(&u->space, va, bytes))
		return (int64_t)va;
	va = rv_space_free(&u->space, USER_MAP_LOW, USER_MAP_TOP, bytes);
	return va ? (int64_t)va : -ENOMEM;
}

int64_t call_mmap(struct user *u, const uint64_t *a)
{
	uint64_t bytes = page_up(a[1]), kind = a[3] & MAP_KIND;
	int64_t va;
	int err;

	if (a[5] % PAGE)
		return -EINVAL;
	if (!(a[3] & MAP_ANONYMOUS))
		return (uint32_t)a[4] < USER_FDS && u->fd[(uint32_t)a[4]].open ? -EACCES : -EBADF;
	if (!a[1] || !kind)
		return -EINVAL;
	if (a[1] > USER_STACK_TOP)
		return -ENOMEM;
	if (a[2] & PROT_EXEC)
		return -EPERM;
	va = place(u, a, bytes);
	if (va < 0)
		return va;
	err = rv_space_add(&u->space, (uint64_t)va, bytes, prot_of(a[2]));
	rv_forget(u->batch);
	return err ? err : va;
}

int64_t call_munmap(struct user *u, const uint64_t *a)
{
	int err;

	if (!a[1] || a[1] > USER_STACK_TOP || !valid_range(a[0], page_up(a[1])))
		return -EINVAL;
	err = rv_space_remove(&u->space, a[0], page_up(a[1]));
	rv_forget(u->batch);
	return err;
}

/* Pages of code stay code, whatever else they become; no others become it. */
int64_t call_mprotect(struct user *u, const uint64_t *a)
{
	uint64_t bytes = page_up(a[1]);
	int err;

	if (a[0] % PAGE || a[2] & ~(uint64_t)PROT_ANY)
		return -EINVAL;
	if (!a[1])
		return 0;
	if (a[1] > USER_STACK_TOP || !valid_range(a[0], bytes))
		return -ENOMEM;
	if (a[2] & PROT_EXEC && !in_code(u, a[0], bytes))
		return -EPERM;
	err = rv_space_protect(&u->space, a[0], bytes, prot_of(a[2]));
	rv_forget(u->batch);
	return err;
}

/* Whether all of a range is there and alike, as mremap() wants it. */
static int one_area(struct user *u, uint64_t va, uint64_t bytes, struct rv_span *s)
{
	if (rv_space_find(&u->space, va, s) || bytes > s->bytes - (va - s->va))
		return -EFAULT;
	return 0;
}

/* The bytes go to @to, where nothing is. Without any rights there are no bytes to be seen. */
static int64_t move(struct user *u, uint64_t from, uint64_t had, uint64_t to, uint64_t bytes,
		    bool leave)
{
	uint64_t n = had < bytes ? had : bytes;
	struct rv_span old, new;
	int err = rv_space_find(&u->space, from, &old);

	if (!err)
		err = rv_space_add(&u->space, to, bytes, old.prot);
	if (!err)
		err = rv_space_find(&u->space, to, &new);
	if (err)
		return err == -EEXIST ? -ENOMEM : err;
	if (old.prot)
		memcpy(new.host + (to - new.va), old.host + (from - old.va), n);
	err = leave ? rv_space_zero(&u->space, from, had) : rv_space_remove(&u->space, from, had);
	return err ? err : (int64_t)to;
}

int64_t call_mremap(struct user *u, const uint64_t *a)
{
	uint64_t from = a[0], had = page_up(a[1]), bytes = page_up(a[2]), flags = a[3], to = a[4];
	bool fixed = flags & MREMAP_FIXED, leave = flags & 4; /* MREMAP_DONTUNMAP */
	struct rv_span s;
	int64_t ret;

	if (flags & ~7ull || from % PAGE || !a[2] || a[2] > USER_STACK_TOP ||
	    a[1] > USER_STACK_TOP || !a[1] || ((fixed || leave) && !(flags & MREMAP_MAYMOVE)) ||
	    (leave && had != bytes))
		return -EINVAL;
	if (fixed && (!valid_range(to, bytes) || (to < from + had && from < to + bytes)))
		return -EINVAL;
	if (one_area(u, from, had, &s))
		return -EFAULT;
	if (fixed) {
		ret = rv_space_remove(&u->space, to, bytes);
		if (!ret)
			ret = move(u, from, had, to, bytes, leave);
	} else if (bytes <= had && !leave) {
		ret = bytes < had ? rv_space_remove(&u->space, from + bytes, had - bytes) : 0;
		ret = ret ? ret : (int64_t)from;
	} else if (!leave && valid_range(from, bytes) &&
		   !rv_space_add(&u->space, from + had, bytes - had, s.prot)) {
		ret = (int64_t)from;
	} else {
		to = rv_space_free(&u->space, USER_MAP_LOW, USER_MAP_TOP, bytes);
		ret = to && flags & MREMAP_MAYMOVE ? move(u, from, had, to, bytes, leave) : -ENOMEM;
	}
	rv_forget(u->batch);
	return ret;
}

int64_t call_msync(struct user *u, const uint64_t *a)
{
	if (a[0] % PAGE || a[2] & ~7ull || (a[2] & MS_ASYNC && a[2] & MS_SYNC))
		return -EINVAL;
	if (!a[1])
		return 0;
	if (a[1] > USER_STACK_TOP || !valid_range(a[0], page_up(a[1])))
		return -ENOMEM;
	return rv_space_covers(&u->space, a[0], page_up(a[1])) ? 0 : -ENOMEM;
}

/* All but DONTNEED are hints; pages of the image are of a file, whose bytes would come back. */
int64_t call_madvise(struct user *u, const uint64_t *a)
{
	uint64_t advice = (uint32_t)a[2], bytes = page_up(a[1]);
	bool known = advice <= MADV_DONTNEED || advice == MADV_FREE ||
		     (advice >= MADV_DONTFORK && advice <= MADV_KEEPONFORK) || advice == 20 ||
		     advice == 21; /* MADV_COLD, MADV_PAGEOUT */

	if (a[0] % PAGE || !known || advice == MADV_REMOVE || a[1] > USER_STACK_TOP ||
	    (a[1] && !valid_range(a[0], bytes)))
		return -EINVAL;
	if (!a[1])
		return 0;
	if (advice != MADV_DONTNEED)
		return rv_space_covers(&u->space, a[0], bytes) ? 0 : -ENOMEM;
	if (a[0] < u->brk_low && a[0] + bytes > u->image_low)
		return -EINVAL;
	return rv_space_zero(&u->space, a[0], bytes);
}

int64_t call_flush_icache(struct user *u, const uint64_t *a)
{
	if (a[2] & ~1ull) /* SYS_RISCV_FLUSH_ICACHE_LOCAL */
		return -EINVAL;
	user_fetch_anew(u);
	return 0;
}
