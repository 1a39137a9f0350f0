// SPDX-License-Identifier: MIT
/*
 * Data pointers: PRPs (Base 4.1.1) and SGLs (Base 4.1.2) into pieces of memory.
 *
 * Lists lie in host memory, which can change at any time: each entry is read once, and then
 * checked.
 */
#include <string.h>
#include "state.h"

#define PAGE_MASK ((uint64_t)ANNEX_NVME_PAGE - 1)
/* Descriptors read for one command: a chain of segments could be a circle. */
#define SGL_LIMIT (2 * EMU_SEGS)

struct walk {
	const struct annex_emu *emu;
	const struct emu_map *last;
	struct iovec *segs;
	unsigned int n;
	uint32_t left;
	bool far; /* of the data so far */
};

/* The range that holds all of [@addr, @addr + @len), or NULL; it may be far. */
static const struct emu_map *holds(const struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	unsigned int i = range_search(emu->maps.v, emu->maps.n, sizeof(*emu->maps.v), addr);
	const struct emu_map *m;

	if (i == emu->maps.n)
		return NULL;
	m = &emu->maps.v[i];
	return range_holds(&m->range, addr, len) ? m : NULL;
}

/* The same for memory of this process. */
const struct emu_map *annex_emu_reach(const struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	const struct emu_map *m = holds(emu, addr, len);

	return m && !m->far ? m : NULL;
}

static const struct emu_map *find(struct walk *w, uint64_t addr, uint64_t len)
{
	const struct emu_map *m = w->last;

	if (m && range_holds(&m->range, addr, len))
		return m;
	m = holds(w->emu, addr, len);
	if (m)
		w->last = m;
	return m;
}

/* Whether a list can be read. */
static bool reach(struct walk *w, uint64_t addr, uint64_t len)
{
	const struct emu_map *m = find(w, addr, len);

	return m && !m->far;
}

static uint16_t add(struct walk *w, uint64_t addr, uint32_t len)
{
	struct iovec *prev = w->n ? &w->segs[w->n - 1] : NULL;
	const struct emu_map *m = find(w, addr, len);

	/* All of it is far, or none. */
	if (!m || (prev && m->far != w->far))
		return ANNEX_SC_DATA_TRANSFER;
	w->far = m->far;
	w->left -= len;
	if (prev && (uintptr_t)prev->iov_base + prev->iov_len == addr) {
		prev->iov_len += len;
		return 0;
	}
	if (w->n == EMU_SEGS)
		return ANNEX_SC_SGL_COUNT;
	w->segs[w->n].iov_base = (void *)(uintptr_t)addr;
	w->segs[w->n++].iov_len = len;
	return 0;
}

static uint16_t add_page(struct walk *w, uint64_t addr)
{
	if (addr & PAGE_MASK)
		return ANNEX_SC_PRP_OFFSET;
	return add(w, addr, w->left < ANNEX_NVME_PAGE ? w->left : ANNEX_NVME_PAGE);
}

/* The last entry of a list page points to the next one where there is more than a page left. */
static uint16_t walk_list(struct walk *w, uint64_t list)
{
	uint16_t sc = list & 7 ? ANNEX_SC_PRP_OFFSET : 0;

	while (!sc && w->left) {
		const uint64_t *entries = (const uint64_t *)(uintptr_t)list;
		uint64_t room = (ANNEX_NVME_PAGE - (list & PAGE_MASK)) / 8;
		uint64_t want = (w->left + PAGE_MASK) / ANNEX_NVME_PAGE;
		bool more = want > room;

		if (!reach(w, list, 8 * (more ? room : want)))
			return ANNEX_SC_DATA_TRANSFER;
		for (uint64_t i = 0; !sc && i < (more ? room - 1 : want); i++)
			sc = add_page(w, annex_atomic_load(&entries[i], ANNEX_RELAXED));
		if (!more)
			break;
		list = annex_atomic_load(&entries[room - 1], ANNEX_RELAXED);
		if (!sc && list & PAGE_MASK)
			sc = ANNEX_SC_PRP_OFFSET;
	}
	return sc;
}

static uint16_t walk_prps(struct walk *w, uint64_t prp1, uint64_t prp2)
{
	uint32_t first = ANNEX_NVME_PAGE - (prp1 & PAGE_MASK);
	uint16_t sc;

	if (prp1 & 3)
		return ANNEX_SC_PRP_OFFSET;
	sc = add(w, prp1, w->left < first ? w->left : first);
	if (sc || !w->left)
		return sc;
	if (w->left <= ANNEX_NVME_PAGE)
		return add_page(w, prp2);
	return walk_list(w, prp2);
}

static uint16_t add_block(struct walk *w, const struct annex_sgl *d)
{
	if (d->len > w->left)
		return ANNEX_SC_SGL_DATA_LENGTH;
	return d->len ? add(w, d->addr, d->len) : 0;
}

static bool is_segment(const struct annex_sgl *d)
{
	return d->type == ANNEX_SGL_SEGMENT || d->type == ANNEX_SGL_LAST_SEGMENT;
}

/* One segment. @d: its descriptor; on return that of the next segment, if there is one. */
static uint16_t walk_segment(struct walk *w, struct annex_sgl *d, unsigned int *budget)
{
	bool last = d->type == ANNEX_SGL_LAST_SEGMENT;
	uint64_t addr = d->addr;
	uint32_t n = d->len / sizeof(*d);
	uint16_t sc = 0;

	if (!n || d->len % sizeof(*d) || addr & 7)
		return ANNEX_SC_SGL_SEGMENT;
	if (n > *budget)
		return ANNEX_SC_SGL_COUNT;
	*budget -= n;
	if (!reach(w, addr, d->len))
		return ANNEX_SC_DATA_TRANSFER;
	for (uint32_t i = 0; !sc && i < n; i++) {
		memcpy(d, (const void *)(uintptr_t)(addr + i * sizeof(*d)), sizeof(*d));
		__asm__ volatile("" ::: "memory");
		if (is_segment(d))
			return last || i + 1 < n ? ANNEX_SC_SGL_SEGMENT : 0;
		sc = d->type == ANNEX_SGL_DATA ? add_block(w, d) : ANNEX_SC_SGL_TYPE;
	}
	/* Only the last segment ends with data. */
	return sc || last ? sc : ANNEX_SC_SGL_SEGMENT;
}

static uint16_t walk_sgl(struct walk *w, const struct annex_sqe *sqe)
{
	unsigned int budget = SGL_LIMIT;
	struct annex_sgl d;
	bool last = false;
	uint16_t sc = 0;

	memcpy(&d, sqe->dptr, sizeof(d));
	if (d.type == ANNEX_SGL_DATA) {
		sc = add_block(w, &d);
	} else if (!is_segment(&d)) {
		return ANNEX_SC_SGL_TYPE;
	} else {
		while (!sc && !last) {
			last = d.type == ANNEX_SGL_LAST_SEGMENT;
			sc = walk_segment(w, &d, &budget);
		}
	}
	return !sc && w->left ? ANNEX_SC_SGL_DATA_LENGTH : sc;
}

/**
 * annex_emu_dptr() - Find the memory of a command's data.
 * @sqe: its flags have been checked: PRPs or SGLs, nothing else.
 * @len: bytes of data; not 0.
 * @segs: room for EMU_SEGS pieces; neighbours are merged.
 * @far: whether the memory is far; NULL: far memory is an error.
 *
 * Return: 0 or an NVMe status.
 */
uint16_t annex_emu_dptr(const struct annex_emu *emu, const struct annex_sqe *sqe, uint32_t len,
			struct iovec *segs, unsigned int *nsegs, bool *far)
{
	struct walk w = {.emu = emu, .segs = segs, .left = len};
	uint16_t sc;

	if (sqe->flags & ANNEX_SQE_PSDT_SGL)
		sc = walk_sgl(&w, sqe);
	else
		sc = walk_prps(&w, sqe->dptr[0], sqe->dptr[1]);
	*nsegs = w.n;
	if (far)
		*far = w.far;
	else if (!sc && w.far)
		sc = ANNEX_SC_DATA_TRANSFER;
	return sc;
}

/* Copy up to @len bytes between controller and host memory. Return: how many fitted. */
uint32_t annex_emu_to_host(const struct iovec *segs, unsigned int n, const void *src, uint32_t len)
{
	uint32_t done = 0;

	for (unsigned int i = 0; i < n && done < len; i++) {
		uint32_t part = len - done;

		if (part > segs[i].iov_len)
			part = (uint32_t)segs[i].iov_len;
		memcpy(segs[i].iov_base, (const char *)src + done, part);
		done += part;
	}
	return done;
}

uint32_t annex_emu_from_host(const struct iovec *segs, unsigned int n, void *dst, uint32_t len)
{
	uint32_t done = 0;

	for (unsigned int i = 0; i < n && done < len; i++) {
		uint32_t part = len - done;

		if (part > segs[i].iov_len)
			part = (uint32_t)segs[i].iov_len;
		memcpy((char *)dst + done, segs[i].iov_base, part);
		done += part;
	}
	return done;
}

/* NVM 3.2.3. */
uint16_t annex_emu_dsm_ranges(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd,
			      struct annex_dsm_range *ranges, unsigned int *n)
{
	uint32_t count = cmd->len / sizeof(*ranges);
	unsigned int nsegs, kept = 0;
	uint16_t sc = annex_emu_dptr(emu, &cmd->sqe, cmd->len, sq->segs, &nsegs, NULL);

	*n = 0;
	if (sc)
		return sc;
	annex_emu_from_host(sq->segs, nsegs, ranges, cmd->len);
	for (uint32_t i = 0; i < count; i++) {
		const struct annex_dsm_range *r = &ranges[i];

		if (r->slba > cmd->ns->blocks || r->nlb > cmd->ns->blocks - r->slba)
			return ANNEX_SC_LBA_RANGE;
	}
	/* Without the attribute the ranges are hints about access, of no use here. */
	for (uint32_t i = 0; i < count && cmd->sqe.cdw11 & ANNEX_DSM_DEALLOCATE; i++)
		if (ranges[i].nlb)
			ranges[kept++] = ranges[i];
	*n = kept;
	return 0;
}
