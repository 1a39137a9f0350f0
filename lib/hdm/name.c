// SPDX-License-Identifier: MIT
/*
 * Names of runs.
 */
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "table.h"

#define WORDS (sizeof(struct hdm_slot) / sizeof(uint64_t))
#define RUN_WORD 1
#define CHECK_WORD 2
#define NAME_WORD 3

static uint64_t *slot_at(const struct hdm_table *t, uint32_t index)
{
	return (uint64_t *)(void *)(t->m->base + t->g.names_at) + index * WORDS;
}

static uint64_t slot_check(const struct hdm_slot *slot, uint32_t index)
{
	uint64_t words[WORDS], z = index;

	memcpy(words, slot, sizeof(words));
	for (unsigned int i = 0; i < WORDS; i++) {
		if (i == CHECK_WORD)
			continue;
		z = (z ^ words[i]) * 0x9e3779b97f4a7c15ull;
		z ^= z >> 32;
	}
	return z;
}

static void copy_slot(const struct hdm_table *t, uint32_t index, struct hdm_slot *out)
{
	uint64_t words[WORDS];

	/* Relaxed, once each: the lock of the range orders them with their writer. */
	for (unsigned int i = 0; i < WORDS; i++)
		words[i] = annex_atomic_load(slot_at(t, index) + i, ANNEX_RELAXED);
	memcpy(out, words, sizeof(*out));
}

/* Whether the slot is in use; *@r is the run that it names then. */
static int in_use(const struct hdm_table *t, uint32_t index, uint64_t run, struct hdm_run *r)
{
	int err;

	if (run < t->g.first || run >= t->g.granules)
		return 0;
	err = hdm_run_at(t, (uint32_t)run, r);
	return err ? err : r->kind == HDM_NAMED && r->index == index;
}

int hdm_name_test(const char *name)
{
	size_t len = strnlen(name, ANNEX_HDM_NAME);

	if (len == ANNEX_HDM_NAME)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return -EINVAL;
	return len ? 0 : -EINVAL;
}

/* Whether there is nothing behind the NUL, which hdm_name_find() relies on. */
static bool is_padded(const char *name)
{
	for (size_t i = strnlen(name, ANNEX_HDM_NAME); i < ANNEX_HDM_NAME; i++)
		if (name[i])
			return false;
	return true;
}

int hdm_name_read(const struct hdm_table *t, const struct hdm_run *r, struct hdm_slot *slot)
{
	copy_slot(t, r->index, slot);
	if (slot->check != slot_check(slot, r->index) || slot->run != r->at ||
	    hdm_name_test(slot->name) || !is_padded(slot->name) ||
	    slot->bytes > r->len * t->g.granule)
		return annex_fail(-EILSEQ, "%s: the name of granule %u is damaged", t->uri, r->at);
	return 0;
}

int hdm_name_find(const struct hdm_table *t, const char *name, struct hdm_run *r,
		  struct hdm_slot *slot)
{
	char padded[sizeof(uint64_t)] = "";
	uint64_t begin;

	memcpy(padded, name, strnlen(name, sizeof(padded)));
	memcpy(&begin, padded, sizeof(begin));
	for (uint32_t i = 0; i < t->g.names; i++) {
		int used;

		/* Relaxed, as copy_slot(); one load a slot, since this memory may be far away. */
		if (annex_atomic_load(slot_at(t, i) + NAME_WORD, ANNEX_RELAXED) != begin)
			continue;
		copy_slot(t, i, slot);
		if (strncmp(slot->name, name, ANNEX_HDM_NAME))
			continue;
		used = in_use(t, i, slot->run, r);
		if (used)
			return used < 0 ? used : hdm_name_read(t, r, slot);
	}
	return -ENOENT;
}

int hdm_name_put(struct hdm_table *t, const char *name, uint64_t bytes, uint32_t run,
		 uint32_t *index)
{
	struct hdm_slot slot = {.bytes = bytes, .run = run};
	uint64_t words[WORDS];
	struct hdm_run r;
	uint32_t i;
	int used = 1;

	for (i = *index; i < t->g.names; i++) {
		/* Relaxed, as copy_slot(). */
		used = in_use(t, i, annex_atomic_load(slot_at(t, i) + RUN_WORD, ANNEX_RELAXED), &r);
		if (used <= 0)
			break;
	}
	if (used)
		return used < 0 ? used
				: annex_fail(-EMFILE, "%s: there are %u names already", t->uri,
					     t->g.names);
	strncpy(slot.name, name, sizeof(slot.name) - 1);
	slot.check = slot_check(&slot, i);
	memcpy(words, &slot, sizeof(words));
	/* Relaxed: no word of the table says yet that the slot is in use. */
	for (unsigned int w = 0; w < WORDS; w++)
		annex_atomic_store(slot_at(t, i) + w, words[w], ANNEX_RELAXED);
	*index = i;
	return hdm_persist(t->m, slot_at(t, i), sizeof(slot));
}

int hdm_name_check(const struct hdm_table *t, const struct hdm_run *r)
{
	struct hdm_slot slot, found;
	struct hdm_run first;
	int err = hdm_name_read(t, r, &slot);

	if (!err)
		err = hdm_name_find(t, slot.name, &first, &found);
	if (!err && first.at != r->at)
		err = annex_fail(-EILSEQ, "%s: two pieces are called %s", t->uri, slot.name);
	return err;
}
