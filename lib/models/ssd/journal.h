/* SPDX-License-Identifier: MIT */
/*
 * The journal of a backing file: contents of the internal DRAM that flash does not have yet, as the
 * capacitors of such a device would save them. It is written in groups. A group is valid as a whole
 * or not at all, and only if all groups before it are valid. When half of the journal is full, a
 * group with all entries that are still needed begins the other half.
 *
 * An entry is a line of 64 bytes; or a mark that voids logical pages, in flash and in earlier
 * entries; or a proof of a page of flash, without which its group is void.
 *
 * One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_JOURNAL_H
#define ANNEX_HDM_SSD_JOURNAL_H

#include <stdint.h>
#include "file.h"
#include "proof.h"

#define SSD_LINE 64u   /* bytes of a line */
#define SSD_VOIDS 512u /* pages that one entry can mark void */
#define SSD_VOID_MARK (1ull << 63)
#define SSD_PROOF_MARK (1ull << 62)

/**
 * struct ssd_entry - An entry of a group.
 * @at: number of a line; or SSD_VOID_MARK and the number of a page, a multiple of SSD_VOIDS; or
 *	SSD_PROOF_MARK.
 * @data: bytes of a line.
 * @bits: void pages from that page on, a bit each.
 * @proof: a proof, and zeroes.
 */
struct ssd_entry {
	uint64_t at;
	union {
		unsigned char data[SSD_LINE];
		uint64_t bits[SSD_VOIDS / 64];
		struct ssd_proof proof;
	};
};

struct ssd_journal;

/*
 * ssd_journal_half() - Bytes of half a journal for @lines lines and marks of @pages pages.
 * ssd_journal_group() - Entries of a group at most.
 */
uint64_t ssd_journal_half(uint64_t lines, uint64_t pages);
uint64_t ssd_journal_group(uint64_t lines, uint64_t pages);

/*
 * ssd_journal_open() - Open the journal of a file, or create that of a fresh file. -EILSEQ
 * (damaged, or of another file), -ENOMEM, errors of reading and writing, with a line.
 */
int ssd_journal_open(struct ssd_file *file, struct ssd_journal **out);
void ssd_journal_close(struct ssd_journal *j);

/*
 * ssd_journal_replay() - Call @visit for every entry in order; an error stops this. @seq: number of
 * its group.
 * ssd_journal_last() - Sequence number of the last group. *@safe: writes with smaller numbers were
 * on the medium when it was written.
 */
int ssd_journal_replay(struct ssd_journal *j,
		       int (*visit)(void *ctx, uint64_t seq, const struct ssd_entry *e), void *ctx);
uint64_t ssd_journal_last(const struct ssd_journal *j, uint64_t *safe);

/* ssd_journal_add() - Add an entry to the next group; the caller fills in the rest. NULL: out of
 * memory. ssd_journal_drop() - Drop the entries of the next group. */
struct ssd_entry *ssd_journal_add(struct ssd_journal *j, uint64_t at);
void ssd_journal_drop(struct ssd_journal *j);

/*
 * ssd_journal_fits() - Whether the next group, and @more entries after it, fit in this half.
 * ssd_journal_append() - Write the next group; @seq must increase. With @wait, it and all earlier
 * writes to the file are on the medium on return.
 * ssd_journal_turn() - Begin the other half with the next group, which has everything that is
 * needed of this half, and close this half. @last: both halves are equally valid, and no group
 * follows.
 * Return: 0, or an error of the file. The next group is empty afterwards.
 * ssd_journal_waits() - Whether some written group may not be on the medium.
 * ssd_journal_settle() - Make proofs unnecessary, so that their pages can be programmed again.
 */
bool ssd_journal_fits(const struct ssd_journal *j, uint64_t more);
int ssd_journal_append(struct ssd_journal *j, uint64_t seq, bool wait);
int ssd_journal_turn(struct ssd_journal *j, uint64_t seq, bool last);
bool ssd_journal_waits(const struct ssd_journal *j);
int ssd_journal_settle(struct ssd_journal *j);

#endif
