/* SPDX-License-Identifier: MIT */
/*
 * Proofs of flash pages that were written and may not be on the medium yet. A group of the journal
 * that needs such pages has a proof of each: if a page is missing when the journal is read, the
 * group is void. Before a block is programmed again, a sync and another group follow.
 */
#ifndef ANNEX_HDM_SSD_PROOF_H
#define ANNEX_HDM_SSD_PROOF_H

#include "file.h"

#define SSD_PROOFS 256u

/*
 * struct ssd_proof - A proof that a flash page was programmed.
 * @turn: the turn of the program.
 * @at: the flash page.
 */
struct ssd_proof {
	uint64_t turn;
	uint32_t at;
};

/*
 * struct ssd_proofs - Proofs since a sync.
 * @all: the first proofs.
 * @n: number of proofs, also of those without room in @all.
 * @syncs: number of that sync of the file.
 */
struct ssd_proofs {
	struct ssd_proof all[SSD_PROOFS];
	uint32_t n;
	uint64_t syncs;
};

/* ssd_proofs_add() - Add a proof. ssd_proofs_count() - The number of proofs, which may exceed
 * SSD_PROOFS. */
void ssd_proofs_add(struct ssd_proofs *p, const struct ssd_file *file, const struct ssd_proof *one);
uint32_t ssd_proofs_count(const struct ssd_proofs *p, const struct ssd_file *file);

/*
 * ssd_proof_holds() - Whether the page is on the medium. Return: 1, 0; -EILSEQ (no such page); an
 * error of the file.
 */
int ssd_proof_holds(struct ssd_file *file, const struct ssd_proof *p);

#endif
