/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data to be learnt: bytes of a text, in sequences that begin anywhere in it.
 */
#ifndef TOOLS_TRAIN_TEXT_H
#define TOOLS_TRAIN_TEXT_H

#include <stdint.h>

/* Licences, which every Debian machine has. */
#define TEXT_DEFAULT "/usr/share/common-licenses"

struct text {
	char *bytes;
	uint64_t n;
};

/*
 * text_open() - Read a file, or all files of a directory by their names; at least @least bytes.
 * 0 or -errno with the line set.
 */
int text_open(struct text *t, const char *path, uint64_t least);
void text_close(struct text *t);

/*
 * text_batch() - @batch sequences of @context bytes for one iteration, and the byte that follows
 * each. The same @seed and @step give the same ones.
 */
void text_batch(const struct text *t, uint64_t seed, uint32_t step, uint32_t batch,
		uint32_t context, uint8_t *tokens, uint8_t *next);

#endif
