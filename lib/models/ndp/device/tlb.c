// SPDX-License-Identifier: MIT
/*
 * The DRAM-TLB. An entry's place is a hash of its page and address space, so that a lookup is one
 * access to memory for each size of page; a new entry overwrites the old one.
 */
#include <pthread.h>
#include <stdlib.h>
#include "tlb.h"

#define ENTRIES (1u << 16) /* 1 MiB: reaches 256 MiB in small pages, 128 GiB in large ones */
#define VALID (1ull << 63)
#define LARGE (1ull << 62)
#define ASID_SHIFT 40u /* above a page's number: 47 bits less 12 */
#define LARGE_PAGES (1u << (NDP_LARGE_SHIFT - NDP_PAGE_SHIFT))

struct entry {
	uint64_t tag;   /* VALID, LARGE, address space, virtual page */
	uint64_t frame; /* physical page; permissions in the low bits */
};
_Static_assert(sizeof(struct entry) == 16, "M2NDP section III-H");

struct ndp_tlb {
	pthread_mutex_t lock;
	uint64_t hits, misses;
	struct entry entry[ENTRIES];
};

struct ndp_tlb *ndp_tlb_create(void)
{
	struct ndp_tlb *tlb = calloc(1, sizeof(*tlb));

	if (tlb)
		pthread_mutex_init(&tlb->lock, NULL);
	return tlb;
}

void ndp_tlb_destroy(struct ndp_tlb *tlb)
{
	if (!tlb)
		return;
	pthread_mutex_destroy(&tlb->lock);
	free(tlb);
}

static uint64_t tag_of(uint16_t asid, uint64_t page, bool large)
{
	if (large)
		page &= ~(uint64_t)(LARGE_PAGES - 1);
	return VALID | (large ? LARGE : 0) | (uint64_t)asid << ASID_SHIFT | page;
}

static struct entry *place(struct ndp_tlb *tlb, uint64_t tag)
{
	/* Large pages differ above bit 9 only; the multiplication carries that to the top. */
	return &tlb->entry[tag * 0x9e3779b97f4a7c15ull >> 48];
}

static bool look(struct ndp_tlb *tlb, uint64_t tag, bool large, struct ndp_page *out)
{
	const struct entry *e = place(tlb, tag);

	if (e->tag != tag)
		return false;
	*out = (struct ndp_page){.frame = e->frame >> NDP_PAGE_SHIFT,
				 .prot = (unsigned int)(e->frame & (NDP_PAGE_SIZE - 1)),
				 .large = large};
	return true;
}

bool ndp_tlb_look(struct ndp_tlb *tlb, uint16_t asid, uint64_t page, struct ndp_page *out)
{
	bool hit;

	pthread_mutex_lock(&tlb->lock);
	hit = look(tlb, tag_of(asid, page, true), true, out) ||
	      look(tlb, tag_of(asid, page, false), false, out);
	tlb->hits += hit;
	tlb->misses += !hit;
	pthread_mutex_unlock(&tlb->lock);
	return hit;
}

void ndp_tlb_fill(struct ndp_tlb *tlb, uint16_t asid, uint64_t page, const struct ndp_page *in)
{
	uint64_t tag = tag_of(asid, page, in->large);
	struct entry *e = place(tlb, tag);

	pthread_mutex_lock(&tlb->lock);
	*e = (struct entry){tag, in->frame << NDP_PAGE_SHIFT | in->prot};
	pthread_mutex_unlock(&tlb->lock);
}

void ndp_tlb_drop(struct ndp_tlb *tlb, uint16_t asid, uint64_t page)
{
	pthread_mutex_lock(&tlb->lock);
	for (unsigned int large = 0; large < 2; large++) {
		uint64_t tag = tag_of(asid, page, large);
		struct entry *e = place(tlb, tag);

		if (e->tag == tag)
			*e = (struct entry){0};
	}
	pthread_mutex_unlock(&tlb->lock);
}

void ndp_tlb_count(struct ndp_tlb *tlb, uint64_t *hits, uint64_t *misses)
{
	pthread_mutex_lock(&tlb->lock);
	*hits = tlb->hits;
	*misses = tlb->misses;
	pthread_mutex_unlock(&tlb->lock);
}
