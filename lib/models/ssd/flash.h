/* SPDX-License-Identifier: MIT */
/*
 * Logical pages of a CXL-SSD on flash: a translation layer, pages of a backing file that it says
 * where to put, and the time that this takes. Beside each flash page lies a record of the logical
 * page whose copy it is; the newest copies are found by reading all records when the file is
 * opened. Erasing a block writes nothing: its pages are stale, and it is known by its wear when it
 * has been programmed again.
 *
 * Times are nanoseconds of the clock that the caller keeps. One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_FLASH_H
#define ANNEX_HDM_SSD_FLASH_H

#include <stdbool.h>
#include <stdint.h>
#include "file.h"
#include "ftl.h"
#include "media.h"

struct ssd_flash;
struct ssd_proofs;

/*
 * ssd_flash_open() - The flash of a file. Pages that were programmed before the turn @safe are on
 * the medium; later ones are read, to find those that a power cut has torn. Copies of a logical
 * page that are older than its turn in @empty count no more; it is NULL for a fresh file.
 * Return: 0; -EILSEQ (its records are damaged, or contradict themselves); -ENOMEM; errors of the
 * file.
 */
int ssd_flash_open(struct ssd_file *file, const struct ssd_media *media, uint64_t safe,
		   const uint64_t *empty, struct ssd_flash **out);
void ssd_flash_close(struct ssd_flash *fl);

/*
 * Programs of pages, and groups of the journal, are numbered in the order in which they come.
 * ssd_flash_turn() - A new number. ssd_flash_pass() - Later ones are larger than @turn.
 * ssd_flash_since() - The number of the store that a logical page holds; 0: it holds none. This is
 * known until ssd_flash_settle(), when the journal has been replayed.
 */
uint64_t ssd_flash_turn(struct ssd_flash *fl);
void ssd_flash_pass(struct ssd_flash *fl, uint64_t turn);
uint64_t ssd_flash_since(const struct ssd_flash *fl, uint32_t page);
void ssd_flash_settle(struct ssd_flash *fl);

/*
 * ssd_flash_read() - Read @wanted bytes of a page to their place in @buf, which has room for all of
 * it, and may get more; a page that holds nothing is all zeroes, and takes no time. *@done: when
 * they have come. *@damaged: not all bytes of the page are those that were stored.
 * Return: 0; errors of the file.
 */
int ssd_flash_read(struct ssd_flash *fl, uint32_t page, char *buf, uint32_t from, uint32_t wanted,
		   uint64_t now, uint64_t *done, bool *damaged);

/* ssd_flash_expect() - Up to SSD_EXPECTED pages that will be read soon: the host's kernel may fetch
 * them from its disk. It takes no time of the model. */
#define SSD_EXPECTED 512u
void ssd_flash_expect(struct ssd_flash *fl, uint32_t page, uint32_t n);

/*
 * ssd_flash_write() - Program a page with new bytes; garbage may be collected before. *@done: when
 * it has been programmed. @damaged: whoever reads it will be told so.
 * Return: 0, or an error of the file: the page holds what it held.
 */
int ssd_flash_write(struct ssd_flash *fl, uint32_t page, const void *buf, bool damaged,
		    uint64_t now, uint64_t *done);

/* ssd_flash_proofs() - Of pages that were written and need not be on the medium. */
const struct ssd_proofs *ssd_flash_proofs(const struct ssd_flash *fl);

/* ssd_flash_trim() - A page holds nothing. Something else has to say so when the file is opened. */
void ssd_flash_trim(struct ssd_flash *fl, uint32_t page);

/*
 * ssd_flash_collects() - Whether a write at @now would collect garbage first.
 * ssd_flash_collected() - When the last collection will have been over.
 */
bool ssd_flash_collects(struct ssd_flash *fl, uint64_t now);
uint64_t ssd_flash_collected(const struct ssd_flash *fl);

void ssd_flash_get_stats(const struct ssd_flash *fl, struct ftl_stats *out);

#endif
