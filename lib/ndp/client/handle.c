// SPDX-License-Identifier: MIT
/*
 * The handle of a device: its options, region and information.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/log.h"
#include "m2.h"

#define DEFAULT_STRIDE 64u
#define DEFAULT_SLOTS 16u
#define DEFAULT_TIMEOUT_MS 30000u
#define DELAY_MAX 1000000000u

static int check_opts(struct annex_m2 *m2)
{
	struct annex_m2_opts *o = &m2->opts;

	o->stride = o->stride ? o->stride : DEFAULT_STRIDE;
	o->timeout_ms = o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS;
	o->slots = o->slots ? o->slots : DEFAULT_SLOTS;
	if (o->mem_ns > DELAY_MAX)
		return annex_fail(-EINVAL, "M2func: a latency of more than a second");
	m2->layout = (struct m2_layout){.stride = o->stride, .slots = o->slots};
	if (!annex_m2_layout_right(&m2->layout))
		return annex_fail(-EINVAL,
				  "M2func: stride %u, %u slots: a power of two from %u to %u, and "
				  "up to %u",
				  o->stride, o->slots, ANNEX_M2_STRIDE_MIN, ANNEX_M2_STRIDE_MAX,
				  ANNEX_M2_SLOTS_MAX);
	return 0;
}

/* Make a page that fork() clears, so that calls detect a child without a system call. */
static int make_mine(struct annex_m2 *m2)
{
	void *page = mmap(NULL, ANNEX_M2_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		return annex_fail(-ENOMEM, "M2func: out of memory");
	m2->mine = page;
	if (madvise(page, ANNEX_M2_PAGE, MADV_WIPEONFORK))
		return annex_fail(-errno, "M2func: MADV_WIPEONFORK: %m");
	*m2->mine = 1;
	return 0;
}

static int make_slots(struct annex_m2 *m2)
{
	size_t bytes = m2->opts.slots * sizeof(*m2->slot);

	m2->slot = aligned_alloc(M2_LINE, bytes);
	if (!m2->slot)
		return annex_fail(-ENOMEM, "M2func: out of memory");
	memset(m2->slot, 0, bytes);
	return 0;
}

int annex_m2_create(const struct annex_m2_opts *opts, struct annex_m2 **out)
{
	struct annex_m2 *m2 = calloc(1, sizeof(*m2));
	int err;

	if (!m2)
		return annex_fail(-ENOMEM, "M2func: out of memory");
	if (opts)
		m2->opts = *opts;
	m2->bell = BELL_NONE;
	err = check_opts(m2);
	if (!err)
		err = make_mine(m2);
	if (!err)
		err = make_slots(m2);
	if (err) {
		annex_m2_free(m2);
		return err;
	}
	*out = m2;
	return 0;
}

int annex_m2_attach_region(struct annex_m2 *m2, char *region)
{
	struct annex_m2_head *head = &m2->head;

	memcpy(head, region, sizeof(*head));
	m2->layout.kernels = head->kernels;
	if (head->magic != ANNEX_M2_MAGIC || head->stride != m2->layout.stride ||
	    head->slots != m2->layout.slots || head->bytes != m2_bytes(&m2->layout))
		return annex_fail(-EPROTO, "M2func: the region is not as it was agreed on");
	if (head->version != ANNEX_M2_VERSION)
		return annex_fail(-EPROTONOSUPPORT,
				  "M2func: the device speaks version %u, this library %u",
				  head->version, ANNEX_M2_VERSION);
	m2->region = region;
	m2->doors = (struct annex_m2_doors *)(void *)(region + m2_doors_at(&m2->layout));
	return 0;
}

void annex_m2_free(struct annex_m2 *m2)
{
	annex_bell_close(&m2->bell);
	if (m2->mine)
		munmap(m2->mine, ANNEX_M2_PAGE);
	free(m2->slot);
	free(m2);
}

void annex_m2_close(struct annex_m2 *m2)
{
	if (!m2)
		return;
	m2->link->close(m2);
	annex_m2_free(m2);
}

void annex_m2_get_info(const struct annex_m2 *m2, struct annex_m2_info *info)
{
	const struct annex_m2_head *h = &m2->head;

	*info = (struct annex_m2_info){
		.version = h->version,
		.stride = h->stride,
		.slots = h->slots,
		.asid = h->asid,
		.units = h->units,
		.subcores = h->subcores,
		.threads = h->threads,
		.vlen = h->vlen,
		.piece = h->piece,
		.scratchpad = h->scratchpad,
		.running = h->running,
		.waiting = h->waiting,
		.kernels = h->kernels,
		.args = m2_args_most(m2),
		.coherent = h->coherent,
	};
}

static int whole_pages(struct annex_hdm *hdm, char **addr, uint64_t *bytes)
{
	struct annex_hdm_info info;
	uint64_t offset;

	annex_hdm_get_info(hdm, &info);
	if (!*addr) {
		*addr = info.base;
		*bytes = *bytes ? *bytes : info.bytes;
	}
	offset = (uint64_t)(*addr - (char *)info.base);
	if (offset > info.bytes || !*bytes || *bytes > info.bytes - offset)
		return annex_fail(-EINVAL, "M2func: %llu bytes at %p are not in the range",
				  (ull)*bytes, (void *)*addr);
	if ((offset | *bytes) % ANNEX_M2_PAGE)
		return annex_fail(-EINVAL, "M2func: %llu bytes at %p are no whole pages",
				  (ull)*bytes, (void *)*addr);
	return 0;
}

int annex_m2_map(struct annex_m2 *m2, struct annex_hdm *hdm, void *addr, uint64_t bytes,
		 unsigned int prot)
{
	char *at = addr;
	int err = m2_usable(m2);

	if (!err)
		err = whole_pages(hdm, &at, &bytes);
	if (!err && (!prot || prot & ~(ANNEX_M2_READ | ANNEX_M2_WRITE)))
		err = annex_fail(-EINVAL, "M2func: no such protection: %#x", prot);
	if (!err)
		err = annex_hdm_check(hdm);
	return err ? err : m2->link->map(m2, hdm, at, bytes, prot);
}

int annex_m2_unmap(struct annex_m2 *m2, void *addr, uint64_t bytes)
{
	int err = m2_usable(m2);

	return err ? err : m2->link->unmap(m2, (uintptr_t)addr, bytes);
}
