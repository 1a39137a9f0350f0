// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "csr.h"
#include "idmap.h"

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Where @id is, or where it would be put: linear probing in a table at most half full. */
static uint64_t probe(const struct idmap *m, uint64_t id)
{
	uint64_t s = mix(id) & (m->slots - 1);

	while (m->slot[s] && m->ids[m->slot[s] - 1] != id)
		s = (s + 1) & (m->slots - 1);
	return s;
}

static int grow(struct idmap *m)
{
	uint64_t room = m->room ? m->room * 2 : 512;
	uint64_t *ids = realloc(m->ids, room * sizeof(*ids));
	uint32_t *slot;

	if (ids)
		m->ids = ids;
	slot = calloc(room * 2, sizeof(*slot));
	if (!ids || !slot) {
		free(slot);
		return err_set(-ENOMEM, "no memory for %llu vertices", (ull)room);
	}
	free(m->slot);
	m->slot = slot;
	m->room = room;
	m->slots = room * 2;
	for (uint64_t i = 0; i < m->count; i++)
		m->slot[probe(m, m->ids[i])] = (uint32_t)i + 1;
	return 0;
}

int idmap_add(struct idmap *m, uint64_t id, uint32_t *number)
{
	uint64_t s;
	int err;

	if (m->count == m->room) {
		err = grow(m);
		if (err)
			return err;
	}
	s = probe(m, id);
	if (!m->slot[s]) {
		if (m->count == CSR_MAX_VERTICES)
			return err_set(-E2BIG, "more vertices than 32 bits number");
		m->ids[m->count++] = id;
		m->slot[s] = (uint32_t)m->count;
	}
	*number = m->slot[s] - 1;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int idmap_sort(struct idmap *m, uint32_t **rank)
{
	uint64_t *sorted = malloc((m->count + 1) * sizeof(*sorted));
	uint32_t *r = malloc((m->count + 1) * sizeof(*r));

	if (!sorted || !r) {
		free(sorted);
		free(r);
		return err_set(-ENOMEM, "no memory for %llu vertices", (ull)m->count);
	}
	if (m->count) {
		memcpy(sorted, m->ids, m->count * sizeof(*sorted));
		qsort(sorted, m->count, sizeof(*sorted), ascending);
	}
	for (uint64_t i = 0; i < m->count; i++)
		r[m->slot[probe(m, sorted[i])] - 1] = (uint32_t)i;
	free(m->ids);
	m->ids = sorted;
	/* The slots speak of the old numbers, so they end here. */
	free(m->slot);
	m->slot = NULL;
	m->room = m->slots = 0;
	*rank = r;
	return 0;
}

void idmap_free(struct idmap *m)
{
	free(m->ids);
	free(m->slot);
	memset(m, 0, sizeof(*m));
}
