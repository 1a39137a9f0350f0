/* SPDX-License-Identifier: MIT */
/*
 * The journal of a backing file: what the internal DRAM holds and flash does not have yet, as the
 * capacitors of such a device would save it. It is written in groups; a group is there as a whole
 * or not at all, and so are those behind it. When half of it is full, all that is still needed
 * begins the other half.
 *
 * An entry is a line of 64 bytes; or marks logical pages void: nothing that flash or earlier
 * entries hold of them counts; or is the proof of a page of flash, without which its group does not
 * count.
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
 * struct ssd_entry - One of a group.
 * @at: the number of a line; or SSD_VOID_MARK and the number of a page, a multiple of SSD_VOIDS; or
 * SSD_PROOF_MARK.
 * @data: its bytes; or a bit for each page from there on; or a proof, and zeroes.
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
 * ssd_journal_half() - Bytes that half a journal needs for @lines lines and for marks on @pages
 * pages, of which a group has no more than ssd_journal_group() entries.
 */
uint64_t ssd_journal_half(uint64_t lines, uint64_t pages);
uint64_t ssd_journal_group(uint64_t lines, uint64_t pages);

/*
 * ssd_journal_open() - The journal of a file; a fresh one is made. -EILSEQ (damaged, or of another
 * file), -ENOMEM, errors of reading and writing, with a line.
 */
int ssd_journal_open(struct ssd_file *file, struct ssd_journal **out);
void ssd_journal_close(struct ssd_journal *j);

/*
 * ssd_journal_replay() - Show every entry, in the order in which they came. @visit returns an error
 * to stop. @seq: of its group.
 * ssd_journal_last() - Sequence number of the last group. *@safe: when it was written, all that had
 * a smaller one than this was on the medium.
 */
int ssd_journal_replay(struct ssd_journal *j,
		       int (*visit)(void *ctx, uint64_t seq, const struct ssd_entry *e), void *ctx);
uint64_t ssd_journal_last(const struct ssd_journal *j, uint64_t *safe);

/* ssd_journal_add() - Put an entry into the next group, of which its owner fills in the rest.
 * NULL: out of memory. ssd_journal_drop() - Forget the entries that were put there. */
struct ssd_entry *ssd_journal_add(struct ssd_journal *j, uint64_t at);
void ssd_journal_drop(struct ssd_journal *j);

/*
 * ssd_journal_fits() - Whether the group fits into this half, and @more entries after it.
 * ssd_journal_append() - Write it; @seq is larger than any before. With @wait, it is on the medium
 * when this returns, and so is all that was written to the file before.
 * ssd_journal_turn() - Begin the other half with it: it holds all that is needed of this half,
 * which is closed. @last: this half has the same and stays as good: no group follows in either.
 * Return: 0, or an error of the file. The group is empty then.
 * ssd_journal_waits() - Whether a group was written that need not be on the medium.
 * ssd_journal_settle() - No proof is needed any more: what it is of may be programmed again.
 */
bool ssd_journal_fits(const struct ssd_journal *j, uint64_t more);
int ssd_journal_append(struct ssd_journal *j, uint64_t seq, bool wait);
int ssd_journal_turn(struct ssd_journal *j, uint64_t seq, bool last);
bool ssd_journal_waits(const struct ssd_journal *j);
int ssd_journal_settle(struct ssd_journal *j);

#endif
