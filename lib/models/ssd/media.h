/* SPDX-License-Identifier: MIT */
/*
 * Times that the flash of a CXL-SSD takes for each of the things it does.
 */
#ifndef ANNEX_HDM_SSD_MEDIA_H
#define ANNEX_HDM_SSD_MEDIA_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct ssd_media - Times of a kind of flash, in nanoseconds.
 * @read: from a page's cells into its plane's register. @program: the other way.
 * @erase: a block.
 * @suspend: until a program or an erase has made way for a read; 0: a read waits for its end.
 * @rate: bytes a second of a channel, between register and controller.
 */
struct ssd_media {
	uint64_t read, program, erase;
	uint64_t rate;
	uint64_t suspend;
};

/* ssd_media_at() - Name of each kind that is known, from 0 up to the first NULL; *@out: its times.
 * @source: of them; it may be NULL. */
const char *ssd_media_at(unsigned int i, struct ssd_media *out, const char **source);

/*
 * ssd_media_find() - Times by a name; a name with a "/" is that of a file. Such a file has a line
 * KEY = NUMBER for each of read_ns, program_ns, erase_ns and rate (bytes a second); it may have
 * one for suspend_ns (0), empty lines, and comments after #.
 *
 * Return: 0; -EINVAL (no such kind; a line that is none, a key that is missing or comes twice, a
 * number that no flash has), -ENOENT and others of open(), -E2BIG, with a line.
 */
int ssd_media_find(const char *name, struct ssd_media *out);

/* ssd_media_slow() - All its times are @percent of what they were, and that of an erase @erase
 * percent of that. */
void ssd_media_slow(struct ssd_media *m, uint64_t percent, uint64_t erase);

/* ssd_media_parse() - The text of such a file. @path: for the line that says what is wrong. */
int ssd_media_parse(const char *path, const char *text, size_t len, struct ssd_media *out);

#endif
