/* SPDX-License-Identifier: MIT */
/*
 * Pages of flash that the host wrote and that need not be on the medium yet. A group of the journal
 * that needs them has a proof of each: when it is read, they are there, or it counts no more. Such
 * a group is followed by one that was written after a sync, before a block is programmed again.
 */
#ifndef ANNEX_HDM_SSD_PROOF_H
#define ANNEX_HDM_SSD_PROOF_H

#include "file.h"

#define SSD_PROOFS 256u

/* struct ssd_proof - The flash page @at was programmed in a turn. */
struct ssd_proof {
	uint64_t turn;
	uint32_t at;
};

/* struct ssd_proofs - @all: the first ones of @n since the sync number @syncs of the file. */
struct ssd_proofs {
	struct ssd_proof all[SSD_PROOFS];
	uint32_t n;
	uint64_t syncs;
};

/* ssd_proofs_add() - One more. ssd_proofs_count() - How many there are; there may be no room for
 * all. */
void ssd_proofs_add(struct ssd_proofs *p, const struct ssd_file *file, const struct ssd_proof *one);
uint32_t ssd_proofs_count(const struct ssd_proofs *p, const struct ssd_file *file);

/*
 * ssd_proof_holds() - Whether the page is on the medium. Return: 1, 0; -EILSEQ (there is no such
 * page); an error of the file.
 */
int ssd_proof_holds(struct ssd_file *file, const struct ssd_proof *p);

#endif
