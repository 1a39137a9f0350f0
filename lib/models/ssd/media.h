/* SPDX-License-Identifier: MIT */
/*
 * Operation times of the flash of a CXL-SSD.
 */
#ifndef ANNEX_HDM_SSD_MEDIA_H
#define ANNEX_HDM_SSD_MEDIA_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct ssd_media - Times of a kind of flash, in nanoseconds.
 * @read: from the cells of a page to its plane's register.
 * @program: from the register to the cells.
 * @erase: of a block.
 * @rate: bytes a second of a channel, between register and controller.
 * @suspend: to suspend a program or an erase for a read; 0: a read waits for its end.
 */
struct ssd_media {
	uint64_t read, program, erase;
	uint64_t rate;
	uint64_t suspend;
};

/*
 * ssd_media_at() - Names of known kinds, from index 0 to the first NULL. *@out: times. *@source:
 * where they come from; @source may be NULL.
 */
const char *ssd_media_at(unsigned int i, struct ssd_media *out, const char **source);

/*
 * ssd_media_find() - Find times by name, or by a file if the name has a "/". The file has a line
 * KEY = NUMBER for each of read_ns, program_ns, erase_ns and rate (bytes a second); it may have
 * a line for suspend_ns (0), empty lines, and comments after #.
 *
 * Return: 0; -EINVAL (no such kind, bad line, missing or repeated key, number out of range),
 * -ENOENT and others of open(), -E2BIG, with a line.
 */
int ssd_media_find(const char *name, struct ssd_media *out);

/* ssd_media_slow() - Scale all times to @percent, and the time of an erase to @erase percent of
 * that. */
void ssd_media_slow(struct ssd_media *m, uint64_t percent, uint64_t erase);

/* ssd_media_parse() - Parse the text of such a file. @path: its name, for error lines. */
int ssd_media_parse(const char *path, const char *text, size_t len, struct ssd_media *out);

#endif
