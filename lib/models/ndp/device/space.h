/* SPDX-License-Identifier: MIT */
/*
 * The address space of a client's kernels: mappings of host memory, found through a page table of
 * their own with pages of 4 KiB and 2 MiB. A physical page is the number of a mapping and a page of
 * it.
 *
 * Mappings come and go whole, and each lies in one piece in the host's memory, so a unit that has
 * translated one page of it may keep all of it as one span.
 */
#ifndef ANNEX_NDP_DEVICE_SPACE_H
#define ANNEX_NDP_DEVICE_SPACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "models/ndp/harts/rv.h"
#include "tlb.h"

#define NDP_MAPPINGS 1024u
#define NDP_VA_BITS 47u

struct ndp_mapping {
	uint64_t va;
	uint64_t bytes; /* 0: none */
	char *host;
	unsigned int prot;
};

/**
 * struct ndp_space - The address space of a client.
 * @lock: protects all members. The TLB's lock nests inside, so that fills of the TLB are valid.
 */
struct ndp_space {
	pthread_mutex_t lock;
	struct ndp_tlb *tlb;
	uint16_t asid;
	uint64_t *root;
	unsigned int nodes;
	struct ndp_mapping mapping[NDP_MAPPINGS];
};

void ndp_space_init(struct ndp_space *s, struct ndp_tlb *tlb, uint16_t asid);
void ndp_space_release(struct ndp_space *s);

/*
 * ndp_space_map() - -EEXIST: something is there; -EINVAL: not whole pages, beyond 47 bits, or @host
 * is no multiple of 8;
 * -ENOSPC: too many mappings, or too large ones; -ENOMEM.
 * ndp_space_unmap() - -ENOENT: not mapped like that. Spans that units have are theirs to forget.
 */
int ndp_space_map(struct ndp_space *s, uint64_t va, void *host, uint64_t bytes, unsigned int prot);
int ndp_space_unmap(struct ndp_space *s, uint64_t va, uint64_t bytes);

/* ndp_space_find() - The mapping that has @va; -EFAULT. */
int ndp_space_find(struct ndp_space *s, uint64_t va, struct rv_span *span);

/* ndp_space_covers() - Whether all of it is mapped. */
bool ndp_space_covers(struct ndp_space *s, uint64_t va, uint64_t bytes);

/* ndp_space_read() - Copy out; -EFAULT: not all of it may be read; -EIO: some of it is lost. */
int ndp_space_read(struct ndp_space *s, uint64_t va, void *to, uint64_t bytes);

/* ndp_space_lost() - Whether memory that is mapped was taken away (annex/mapping.h). */
bool ndp_space_lost(struct ndp_space *s);

#endif
