// SPDX-License-Identifier: MIT
/*
 * The page table is a tree of nodes of 512 entries, as the host's: three levels above the small
 * pages, with large ones where a whole 2 MiB is mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include "core/log.h"
#include "core/mapping.h"
#include "space.h"

#define LEVEL_BITS 9u
#define FANOUT (1u << LEVEL_BITS)
#define TOP 3u        /* levels above that of the small pages; large ones are at level 1 */
#define LEAF 4ull     /* beside RV_READ and RV_WRITE; nodes' addresses have none of them */
#define PAGE_BITS 36u /* of a frame: the page of its mapping; above that the mapping */
#define ATOMIC 8u     /* bytes of the widest atomic instruction */
#define LARGE_PAGES (1u << (NDP_LARGE_SHIFT - NDP_PAGE_SHIFT))
/* 64 MiB of page table: enough for 16 TiB in large pages. */
#define NODES_MAX 16384u

void ndp_space_init(struct ndp_space *s, struct ndp_tlb *tlb, uint16_t asid)
{
	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	s->tlb = tlb;
	s->asid = asid;
}

static unsigned int slot_of(uint64_t page, unsigned int level)
{
	return page >> (level * LEVEL_BITS) & (FANOUT - 1);
}

static uint64_t *node_at(uint64_t entry)
{
	return (uint64_t *)(uintptr_t)entry;
}

static uint64_t *node_alloc(struct ndp_space *s)
{
	uint64_t *node = calloc(FANOUT, sizeof(*node));

	s->nodes += node != NULL;
	return node;
}

/* The entry for @page at @level, with the nodes above it: NULL when there is no memory for them. */
static uint64_t *entry_make(struct ndp_space *s, uint64_t page, unsigned int level)
{
	uint64_t *node = s->root ? s->root : (s->root = node_alloc(s));

	for (unsigned int l = TOP; node && l > level; l--) {
		uint64_t *entry = &node[slot_of(page, l)];

		node = *entry ? node_at(*entry) : node_alloc(s);
		*entry = (uint64_t)(uintptr_t)node;
	}
	return node ? &node[slot_of(page, level)] : NULL;
}

/* The entry that maps @page, and its level; NULL: none. */
static uint64_t *entry_find(struct ndp_space *s, uint64_t page, unsigned int *level)
{
	uint64_t *node = s->root;

	for (unsigned int l = TOP; node; l--) {
		uint64_t *entry = &node[slot_of(page, l)];

		*level = l;
		if (*entry & LEAF)
			return entry;
		node = l ? node_at(*entry) : NULL;
	}
	return NULL;
}

static uint64_t leaf_of(unsigned int mapping, uint64_t page, unsigned int prot)
{
	return ((uint64_t)mapping << PAGE_BITS | page) << NDP_PAGE_SHIFT | LEAF | prot;
}

static uint64_t pages_of(const struct ndp_mapping *m)
{
	return m->bytes >> NDP_PAGE_SHIFT;
}

/*
 * Free empty nodes on the way to pages [@first, @last], counted from the start of @node. Return:
 * whether @node is empty.
 */
static bool prune(struct ndp_space *s, uint64_t *node, unsigned int level, uint64_t first,
		  uint64_t last)
{
	uint64_t mask = (1ull << (level * LEVEL_BITS)) - 1;
	unsigned int low = slot_of(first, level), high = slot_of(last, level);

	for (unsigned int i = low; level && i <= high; i++) {
		if (!node[i] || node[i] & LEAF ||
		    !prune(s, node_at(node[i]), level - 1, i == low ? first & mask : 0,
			   i == high ? last & mask : mask))
			continue;
		free(node_at(node[i]));
		node[i] = 0;
		s->nodes--;
	}
	for (unsigned int i = 0; i < FANOUT; i++)
		if (node[i])
			return false;
	return true;
}

/* Remove the first @pages of @m, and the nodes that are not needed without it. */
static void clear(struct ndp_space *s, const struct ndp_mapping *m, uint64_t pages)
{
	uint64_t first = m->va >> NDP_PAGE_SHIFT, i = 0;

	while (i < pages) {
		unsigned int level = 0;
		uint64_t *entry = entry_find(s, first + i, &level);

		if (entry)
			*entry = 0;
		ndp_tlb_drop(s->tlb, s->asid, first + i);
		i += level ? LARGE_PAGES : 1;
	}
	if (s->root)
		prune(s, s->root, TOP, first, first + pages_of(m) - 1);
}

static int fill(struct ndp_space *s, unsigned int number)
{
	const struct ndp_mapping *m = &s->mapping[number];
	uint64_t first = m->va >> NDP_PAGE_SHIFT, i = 0;

	while (i < pages_of(m)) {
		bool large = !((first + i) % LARGE_PAGES) && pages_of(m) - i >= LARGE_PAGES;
		uint64_t *entry = s->nodes < NODES_MAX ? entry_make(s, first + i, large) : NULL;

		if (!entry) {
			int err = s->nodes < NODES_MAX ? -ENOMEM : -ENOSPC;

			clear(s, m, i);
			return err;
		}
		*entry = leaf_of(number, i, m->prot);
		i += large ? LARGE_PAGES : 1;
	}
	return 0;
}

static bool is_range(uint64_t va, uint64_t bytes)
{
	return bytes && !((va | bytes) % NDP_PAGE_SIZE) && va < 1ull << NDP_VA_BITS &&
	       bytes <= (1ull << NDP_VA_BITS) - va;
}

/* A free mapping's number, or -EEXIST, -ENOSPC. */
static int place(const struct ndp_space *s, uint64_t va, uint64_t bytes)
{
	int number = -ENOSPC;

	for (unsigned int i = 0; i < NDP_MAPPINGS; i++) {
		const struct ndp_mapping *m = &s->mapping[i];

		if (!m->bytes && number < 0)
			number = (int)i;
		if (m->bytes && va < m->va + m->bytes && m->va < va + bytes)
			return -EEXIST;
	}
	return number;
}

int ndp_space_map(struct ndp_space *s, uint64_t va, void *host, uint64_t bytes, unsigned int prot)
{
	int number;

	/* Data aligned for a kernel is aligned for the host too, or its atomics would tear. */
	if (!is_range(va, bytes) || (uintptr_t)host % ATOMIC || !prot ||
	    prot & ~(unsigned int)(RV_READ | RV_WRITE))
		return annex_fail(-EINVAL, "NDP: %#llx bytes cannot be mapped at %#llx", (ull)bytes,
				  (ull)va);
	pthread_mutex_lock(&s->lock);
	number = place(s, va, bytes);
	if (number >= 0) {
		struct ndp_mapping *m = &s->mapping[number];
		int err;

		*m = (struct ndp_mapping){va, bytes, host, prot};
		err = fill(s, (unsigned int)number);
		if (err) {
			m->bytes = 0;
			number = err;
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (number >= 0)
		return 0;
	return annex_fail(number, "NDP: %#llx bytes at %#llx: %s", (ull)bytes, (ull)va,
			  strerror(-number));
}

int ndp_space_unmap(struct ndp_space *s, uint64_t va, uint64_t bytes)
{
	int err = -ENOENT;

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = 0; bytes && i < NDP_MAPPINGS; i++) {
		struct ndp_mapping *m = &s->mapping[i];

		if (m->va != va || m->bytes != bytes)
			continue;
		clear(s, m, pages_of(m));
		m->bytes = 0;
		err = 0;
		break;
	}
	pthread_mutex_unlock(&s->lock);
	if (!err)
		return 0;
	return annex_fail(err, "NDP: %#llx bytes at %#llx are not a mapping", (ull)bytes, (ull)va);
}

void ndp_space_release(struct ndp_space *s)
{
	for (unsigned int i = 0; i < NDP_MAPPINGS; i++)
		if (s->mapping[i].bytes)
			clear(s, &s->mapping[i], pages_of(&s->mapping[i]));
	free(s->root); /* which is all there is without mappings */
	pthread_mutex_destroy(&s->lock);
}

/* The mapping that has @va, through TLB and page table; @lock is held. */
static const struct ndp_mapping *translate(struct ndp_space *s, uint64_t va)
{
	uint64_t page = va >> NDP_PAGE_SHIFT;
	unsigned int level = 0;
	const struct ndp_mapping *m;
	struct ndp_page found;
	uint64_t *entry;

	if (va >> NDP_VA_BITS)
		return NULL;
	if (!ndp_tlb_look(s->tlb, s->asid, page, &found)) {
		entry = entry_find(s, page, &level);
		if (!entry)
			return NULL;
		found = (struct ndp_page){.frame = *entry >> NDP_PAGE_SHIFT,
					  .prot = *entry & (RV_READ | RV_WRITE),
					  .large = level};
		ndp_tlb_fill(s->tlb, s->asid, page, &found);
	}
	m = &s->mapping[found.frame >> PAGE_BITS];
	return va - m->va < m->bytes ? m : NULL;
}

int ndp_space_find(struct ndp_space *s, uint64_t va, struct rv_span *span)
{
	const struct ndp_mapping *m;

	pthread_mutex_lock(&s->lock);
	m = translate(s, va);
	if (m)
		*span = (struct rv_span){m->va, m->bytes, m->host, m->prot};
	pthread_mutex_unlock(&s->lock);
	return m ? 0 : -EFAULT;
}

/* From mapping to mapping over [@va, @va + @bytes), copied to @to unless that is NULL. */
static bool pass(struct ndp_space *s, uint64_t va, uint64_t bytes, unsigned int prot, char *to)
{
	while (bytes) {
		const struct ndp_mapping *m = translate(s, va);
		uint64_t part;

		if (!m || (m->prot & prot) != prot)
			return false;
		part = m->va + m->bytes - va;
		part = part < bytes ? part : bytes;
		if (to) {
			memcpy(to, m->host + (va - m->va), part);
			to += part;
		}
		va += part;
		bytes -= part;
	}
	return true;
}

bool ndp_space_covers(struct ndp_space *s, uint64_t va, uint64_t bytes)
{
	bool all;

	pthread_mutex_lock(&s->lock);
	all = pass(s, va, bytes, 0, NULL);
	pthread_mutex_unlock(&s->lock);
	return all;
}

int ndp_space_read(struct ndp_space *s, uint64_t va, void *to, uint64_t bytes)
{
	bool all;

	pthread_mutex_lock(&s->lock);
	all = pass(s, va, bytes, RV_READ, to);
	pthread_mutex_unlock(&s->lock);
	if (!all)
		return -EFAULT;
	return ndp_space_lost(s) ? -EIO : 0;
}

bool ndp_space_lost(struct ndp_space *s)
{
	bool lost = false;

	if (!annex_mapping_any_lost())
		return false;
	pthread_mutex_lock(&s->lock);
	for (unsigned int i = 0; i < NDP_MAPPINGS && !lost; i++)
		lost = s->mapping[i].bytes &&
		       annex_mapping_lost(s->mapping[i].host, s->mapping[i].bytes);
	pthread_mutex_unlock(&s->lock);
	return lost;
}
