// SPDX-License-Identifier: MIT
/*
 * The table of a range, whatever other processes write into it: calls end with 0 or an errno, and
 * pieces lie inside of the range and behind the table.
 *
 * Each 8 bytes of the input are a step: what to do, and with what.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hdm/hdm.h"

#define BYTES ANNEX_HDM_MIN
#define HELD 8u
#define STEPS 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct step {
	uint8_t what, slot;
	uint16_t at;
	uint32_t value;
};

static void require(int truth)
{
	if (!truth)
		abort();
}

static void close_memory(struct annex_medium *m)
{
	munmap(m->base, m->bytes);
	close(m->fd);
	free(m);
}

static struct annex_medium *make_memory(const char *from)
{
	static const struct annex_medium_ops ops = {.close = close_memory};
	struct annex_medium *m = calloc(1, sizeof(*m));

	require(!!m);
	*m = (struct annex_medium){.ops = &ops, .bytes = BYTES, .node = -1};
	m->fd = memfd_create("fuzz", MFD_CLOEXEC);
	require(m->fd >= 0 && !ftruncate(m->fd, (off_t)BYTES));
	m->base = annex_medium_map(m->fd, BYTES, 0, MAP_SHARED);
	require(!!m->base);
	if (from)
		memcpy(m->base, from, BYTES);
	return m;
}

static void check(struct annex_hdm *h, const char *p, uint64_t bytes)
{
	uint64_t offset = (uint64_t)(p - h->m->base);

	require(offset >= h->t.g.first * h->t.g.granule && bytes <= BYTES &&
		offset <= BYTES - bytes);
}

static void walk(struct annex_hdm *h)
{
	struct annex_hdm_usage u;
	struct annex_hdm_block b;
	uint64_t cursor = 0, end = 0;

	while (annex_hdm_next(h, &cursor, &b) == 1) {
		require(b.offset >= end && memchr(b.name, '\0', sizeof(b.name)));
		check(h, h->m->base + b.offset, b.bytes);
		end = b.offset + 1;
	}
	if (!annex_hdm_get_usage(h, &u))
		require(u.table + u.used + u.free == BYTES && u.largest <= u.free);
}

/* What another process might write: a byte of the table, or a word with a check that is right. */
static void scribble(struct annex_hdm *h, const struct step *s)
{
	struct hdm_run r = {.kind = (enum hdm_kind)(s->slot % 8),
			    .at = s->at % h->t.g.granules,
			    .len = s->value & 0xffffff,
			    .index = s->value >> 24 | (s->slot & 0xf0u) << 4};
	struct hdm_table t = h->t;

	if (s->what & 8)
		h->m->base[s->at % (h->t.g.first * h->t.g.granule)] ^= (char)(s->value | 1);
	else
		require(!hdm_run_commit(&t, &r));
}

static void one(struct annex_hdm *h, void **held, const struct step *s)
{
	char name[4] = {'n', (char)('a' + s->slot % 16), '\0'};
	uint32_t bytes = s->value % (BYTES / 2);
	struct annex_hdm_block b;
	void **p = &held[s->slot % HELD];

	switch (s->what % 8) {
	case 0:
	case 1:
		if (annex_hdm_free(h, *p))
			require(*annex_last_error());
		*p = NULL;
		if (!annex_hdm_alloc(h, bytes + 1ull, s->at & (s->at - 1u) ? 0 : s->at,
				     s->what & 8 ? name : NULL, p))
			check(h, *p, bytes + 1ull);
		break;
	case 2:
		annex_hdm_free(h, h->m->base + (s->value % (BYTES + 4096)));
		break;
	case 3:
		if (!annex_hdm_find(h, name, &b)) {
			require(!strcmp(b.name, name));
			annex_hdm_free(h, annex_hdm_at(h, b.offset));
		}
		break;
	case 4:
		walk(h);
		break;
	default:
		scribble(h, s);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *image = malloc(BYTES);
	void *held[HELD] = {NULL};
	struct annex_hdm *h;
	unsigned int steps = 0;
	struct step s;
	int err;

	require(image && !hdm_open_medium(make_memory(NULL), "fuzz", NULL, false, &h));
	for (; size >= sizeof(s) && steps++ < STEPS; data += sizeof(s), size -= sizeof(s)) {
		memcpy(&s, data, sizeof(s));
		one(h, held, &s);
	}
	memcpy(image, h->m->base, BYTES);
	annex_hdm_close(h);
	/* Opening the remaining image either fails or gives a usable range. */
	err = hdm_open_medium(make_memory(image), "fuzz", NULL, false, &h);
	if (err) {
		require(*annex_last_error());
	} else {
		walk(h);
		annex_hdm_close(h);
	}
	free(image);
	return 0;
}
