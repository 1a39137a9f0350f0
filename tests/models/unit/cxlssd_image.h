/* SPDX-License-Identifier: MIT */
/*
 * Backing files of CXL-SSDs in memory of the process, and calls that must fail with a line.
 */
#ifndef ANNEX_TESTS_CXLSSD_IMAGE_H
#define ANNEX_TESTS_CXLSSD_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <annex/models/cxlssd.h>
#include "../../unit/unit.h"

#define PAGE 512u
#define PAGES 64u
#define SMALL "size=32K&page=512&channels=2&pages=4&dram=16K"

/* struct image - A backing file, and where its parts begin. @half: bytes of half its journal. */
struct image {
	int fd;
	char path[UNIT_PATH];
	uint64_t half, records, pages;
};

/* An empty file. image_locate() - Fill in where its parts are; it is closed. */
void image_new(struct image *m);
void image_locate(struct image *m);
/* Change a bit of the byte at @at. */
void image_flip(const struct image *m, uint64_t at);

/* An endpoint in a file, or in memory ("", as is meant by the URI), with parameters. */
int image_try(const char *path, const char *more, struct annex_cxlssd **out);
struct annex_cxlssd *image_open(const char *path, const char *more);

/* The calls between these two told once why they failed, in a line that has @word. */
void image_listen(void);
void image_told(const char *word);

/* Opening fails with an error, and such a line. */
void image_refuse(const char *path, const char *more, int err, const char *word);

/* Words that are nowhere else, for each @with others. */
void image_fill(unsigned char *buf, size_t n, unsigned int with);

#endif
