/* SPDX-License-Identifier: MIT */
/*
 * Logical pages of a CXL-SSD on flash: a translation layer, the pages of a backing file, and their
 * timing. Each flash page has a record that names its logical page; opening the file reads all
 * records to find the newest copies. Erasing a block writes nothing to the file: its pages are
 * stale, and the wear in the records of later programs tells of the erase.
 *
 * Times are nanoseconds of the caller's clock. One thread at a time.
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
 * ssd_flash_open() - Open the flash of a file. Pages that were programmed before the turn @safe are
 * on the medium; later pages are read, to find pages torn by a power cut. Copies of a logical page
 * older than its turn in @empty are void; @empty is NULL for a fresh file.
 * Return: 0; -EILSEQ (damaged or contradictory records); -ENOMEM; errors of the file.
 */
int ssd_flash_open(struct ssd_file *file, const struct ssd_media *media, uint64_t safe,
		   const uint64_t *empty, struct ssd_flash **out);
void ssd_flash_close(struct ssd_flash *fl);

/*
 * A turn is the number of a page's program or a journal's group, in order.
 * ssd_flash_turn() - Take a new turn.
 * ssd_flash_pass() - Make later turns larger than @turn.
 * ssd_flash_since() - The turn of the store that a logical page holds; 0: none. Valid until
 * ssd_flash_settle().
 * ssd_flash_settle() - The journal has been replayed.
 */
uint64_t ssd_flash_turn(struct ssd_flash *fl);
void ssd_flash_pass(struct ssd_flash *fl, uint64_t turn);
uint64_t ssd_flash_since(const struct ssd_flash *fl, uint32_t page);
void ssd_flash_settle(struct ssd_flash *fl);

/*
 * ssd_flash_read() - Read @wanted bytes of a page to their place in @buf, which has room for the
 * page and may get more bytes. An empty page reads as zeroes in no time. *@done: time of arrival.
 * *@damaged: some bytes of the page are not the stored ones.
 * Return: 0; errors of the file.
 */
int ssd_flash_read(struct ssd_flash *fl, uint32_t page, char *buf, uint32_t from, uint32_t wanted,
		   uint64_t now, uint64_t *done, bool *damaged);

/*
 * ssd_flash_expect() - Announce up to SSD_EXPECTED pages to read soon, so that the host's kernel
 * can prefetch them. This takes no time in the model.
 */
#define SSD_EXPECTED 512u
void ssd_flash_expect(struct ssd_flash *fl, uint32_t page, uint32_t n);

/*
 * ssd_flash_write() - Program a page with new bytes, after garbage collection if needed. *@done:
 * time of completion. @damaged: mark the page as damaged for later reads.
 * Return: 0, or an error of the file: the page keeps its old bytes.
 */
int ssd_flash_write(struct ssd_flash *fl, uint32_t page, const void *buf, bool damaged,
		    uint64_t now, uint64_t *done);

/* ssd_flash_proofs() - Proofs of written pages that may not be on the medium. */
const struct ssd_proofs *ssd_flash_proofs(const struct ssd_flash *fl);

/* ssd_flash_trim() - Empty a page. The caller must record this for the next opening of the file. */
void ssd_flash_trim(struct ssd_flash *fl, uint32_t page);

/*
 * ssd_flash_collects() - Whether a write at @now would collect garbage first.
 * ssd_flash_collected() - End of the last collection.
 */
bool ssd_flash_collects(struct ssd_flash *fl, uint64_t now);
uint64_t ssd_flash_collected(const struct ssd_flash *fl);

void ssd_flash_get_stats(const struct ssd_flash *fl, struct ftl_stats *out);

#endif
