/* SPDX-License-Identifier: MIT */
/*
 * A walk through the outer levels of a JSON text, where jansson reads one value at a time: a tree
 * of a whole trace takes a dozen times the memory of its text, and most of the time to read it.
 */
#ifndef ANNEX_PLAN_TRACE_WALK_H
#define ANNEX_PLAN_TRACE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <jansson.h>

/*
 * struct walk - The text, of which @at bytes are behind. Functions return 0 or -EINVAL (-ENOMEM),
 * with the line and column in annex_last_error().
 */
struct walk {
	const char *text;
	size_t len, at;
};

/* annex_walk_enter() - Pass the '{' or '[' that begins an object or an array. */
int annex_walk_enter(struct walk *w, char open);

/*
 * annex_walk_more() - Whether there is another member or element (1), or the end, @close, which is
 * passed (0). *@first is true before the first one.
 */
int annex_walk_more(struct walk *w, char close, bool *first);

/* annex_walk_value() - Pass any value; the caller drops the reference. */
int annex_walk_value(struct walk *w, json_t **value);

/* annex_walk_key() - Pass the key of a member and its colon; likewise. */
int annex_walk_key(struct walk *w, json_t **key);

/* annex_walk_end() - Whether nothing follows. */
int annex_walk_end(struct walk *w);

/*
 * annex_walk_load() - All of a file, to be freed; -E2BIG when it has more than @max bytes, of which
 * a file that tells its size is not read at all.
 */
int annex_walk_load(FILE *f, size_t max, char **text, size_t *len);

#endif
