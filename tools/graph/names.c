// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../error.h"
#include "names.h"

static uint64_t hash(const char *s, size_t len)
{
	uint64_t h = len;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static uint32_t probe(const struct names *n, const char *name, size_t len)
{
	uint32_t s = (uint32_t)hash(name, len) & (n->slots - 1);

	for (; n->slot[s]; s = (s + 1) & (n->slots - 1)) {
		const char *have = n->text + n->at[n->slot[s] - 1];

		if (!strncmp(have, name, len) && !have[len])
			break;
	}
	return s;
}

static bool grow_numbers(struct names *n)
{
	uint32_t room = n->room ? n->room * 2 : 512;
	size_t *at = realloc(n->at, room * sizeof(*at));
	uint32_t *slot;

	if (!at)
		return false;
	n->at = at;
	slot = calloc(room, 2 * sizeof(*slot));
	if (!slot)
		return false;
	free(n->slot);
	n->slot = slot;
	n->room = room;
	n->slots = room * 2;
	for (uint32_t i = 0; i < n->count; i++)
		n->slot[probe(n, names_get(n, i), strlen(names_get(n, i)))] = i + 1;
	return true;
}

static bool grow_text(struct names *n, size_t len)
{
	size_t room = n->text_room * 2 + len + 1;
	char *text = realloc(n->text, room);

	if (!text)
		return false;
	n->text = text;
	n->text_room = room;
	return true;
}

int names_add(struct names *n, const char *name, size_t len, uint32_t *number)
{
	uint32_t s;

	if ((n->count == n->room && (n->room > UINT32_MAX / 4 || !grow_numbers(n))) ||
	    (n->text_room - n->text_len <= len && !grow_text(n, len)))
		return err_set(-ENOMEM, "no memory for %u names", n->count);
	s = probe(n, name, len);
	if (!n->slot[s]) {
		n->at[n->count] = n->text_len;
		memcpy(n->text + n->text_len, name, len);
		n->text[n->text_len + len] = '\0';
		n->text_len += len + 1;
		n->slot[s] = ++n->count;
	}
	*number = n->slot[s] - 1;
	return 0;
}

const char *names_get(const struct names *n, uint32_t number)
{
	return n->text + n->at[number];
}

void names_free(struct names *n)
{
	free(n->text);
	free(n->at);
	free(n->slot);
	memset(n, 0, sizeof(*n));
}
