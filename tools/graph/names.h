/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names interned as dense numbers, in the order of first appearance.
 */
#ifndef TOOLS_GRAPH_NAMES_H
#define TOOLS_GRAPH_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names {
	char *text; /* all names with their NULs */
	size_t text_len, text_room;
	size_t *at; /* where in @text name N begins */
	uint32_t count, room;
	uint32_t *slot; /* 1 + number, 0: empty */
	uint32_t slots;
};

/* names_add() - The number of the @len bytes at @name, a new one if need be. 0 or -ENOMEM. */
int names_add(struct names *n, const char *name, size_t len, uint32_t *number);

const char *names_get(const struct names *n, uint32_t number);
void names_free(struct names *n);

#endif
