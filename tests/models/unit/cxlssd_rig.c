// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cxlssd_rig.h"
#include "models/ssd/file.h"
#include "../../unit/random.h"

#define SECTOR 512u

/* struct sector - Bytes that a sector had before a write that is not synced: the one numbered
 * @write. */
struct sector {
	uint64_t at, write;
	unsigned char data[SECTOR];
};

/* The disk: of the file that is open last. */
static struct {
	struct sector *before;
	size_t n, room;
	unsigned int left; /* writes until it is dead; 0: it is */
	uint64_t pages;    /* where they begin in the file */
	uint64_t writes;
	int on;
} disk;

#define ALIVE 0xffffffffu

void cxlssd_rig_doom(unsigned int writes)
{
	disk.left = writes;
}

int cxlssd_rig_dead(void)
{
	return !disk.left;
}

/* Count an error that is none of the disk's. */
static void expect(struct cxlssd_rig *r, int err)
{
	r->wrong += err && disk.left;
}

int __real_ssd_file_write(struct ssd_file *f, uint64_t at, const void *buf, size_t len);
int __wrap_ssd_file_write(struct ssd_file *f, uint64_t at, const void *buf, size_t len);
int __real_ssd_file_sync(struct ssd_file *f);
int __wrap_ssd_file_sync(struct ssd_file *f);

static void *grown(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	return p;
}

static int dies(struct ssd_file *f)
{
	if (!disk.on)
		return 0;
	if (disk.left && disk.left != ALIVE)
		disk.left--;
	if (!disk.left)
		f->failed = -EIO;
	return f->failed;
}

int __wrap_ssd_file_write(struct ssd_file *f, uint64_t at, const void *buf, size_t len)
{
	int err;

	disk.writes++;
	for (uint64_t s = at / SECTOR; disk.on && disk.left && len && s <= (at + len - 1) / SECTOR;
	     s++) {
		struct sector *b;

		if (disk.n == disk.room) {
			disk.room = disk.room ? 2 * disk.room : 64;
			disk.before = grown(disk.before, disk.room, sizeof(*b));
		}
		b = &disk.before[disk.n++];
		b->at = s * SECTOR;
		b->write = disk.writes;
		memset(b->data, 0, SECTOR);
		CU_ASSERT(pread(f->fd, b->data, SECTOR, (off_t)b->at) >= 0);
	}
	disk.pages = f->pages;
	err = __real_ssd_file_write(f, at, buf, len);
	/* The write in which the disk dies is done, or in part. */
	return err ? err : dies(f);
}

int __wrap_ssd_file_sync(struct ssd_file *f)
{
	int err = dies(f);

	if (!err)
		err = __real_ssd_file_sync(f);
	if (!err)
		disk.n = 0;
	return err;
}

/* struct loss - How a disk loses: most pages of flash and none of their records; each sector by
 * chance; or, @whole not 0, each write by chance. */
struct loss {
	bool tears;
	uint64_t whole;
	uint64_t *rng;
};

/* Sectors go back to earlier contents, one write after the other, or stay at one of these. */
static bool stays(const struct loss *l, uint64_t at, uint64_t write)
{
	uint64_t of = l->whole + write;

	if (l->tears)
		return at < disk.pages || !(random_next(l->rng) % 8);
	return random_next(l->whole ? &of : l->rng) & 1;
}

static void lose(int fd, bool tears, uint64_t *rng)
{
	const bool whole = random_next(rng) & 1;
	const struct loss loss = {tears, whole ? random_next(rng) : 0, rng};

	for (size_t i = disk.n; i--;) {
		const uint64_t at = disk.before[i].at;
		bool keeps = false;

		if (at == UINT64_MAX)
			continue;
		for (size_t k = i + 1; k-- && !keeps;) {
			struct sector *b = &disk.before[k];

			if (b->at != at)
				continue;
			keeps = stays(&loss, at, b->write);
			if (!keeps)
				CU_ASSERT_EQUAL(pwrite(fd, b->data, SECTOR, (off_t)at), SECTOR);
		}
		for (size_t k = 0; k <= i; k++)
			if (disk.before[k].at == at)
				disk.before[k].at = UINT64_MAX;
	}
	disk.n = 0;
}

static void forget_disk(void)
{
	free(disk.before);
	disk.before = NULL;
	disk.n = disk.room = 0;
	disk.on = 0;
}

void cxlssd_disk_on(unsigned int writes)
{
	disk.left = writes;
	disk.on = 1;
}

void cxlssd_disk_lose(int fd, uint64_t *rng)
{
	lose(fd, false, rng);
	forget_disk();
}

static void push(struct line *l, uint64_t store, const void *data)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 4;
		l->v = grown(l->v, l->room, sizeof(*l->v));
	}
	l->v[l->n].store = store;
	memcpy(l->v[l->n++].data, data, sizeof(l->v->data));
}

static struct version *last(const struct line *l)
{
	return &l->v[l->n - 1];
}

/* The version @i of a line is the one that lasts. */
static void settle(struct line *l, uint32_t i)
{
	l->v[0] = l->v[i];
	l->v[0].store = 0;
	l->n = 1;
}

static void settle_all(struct cxlssd_rig *r)
{
	for (uint32_t i = 0; i < r->n_lines; i++)
		settle(&r->lines[i], r->lines[i].n - 1);
	r->n_wholes = 0;
}

void cxlssd_rig_open(struct cxlssd_rig *r, const char *more)
{
	snprintf(r->uri, sizeof(r->uri), "cxlssd:%s?%s", r->path, more + (*more == '&'));
	if (!*more)
		snprintf(r->uri, sizeof(r->uri), "cxlssd:%s", r->path);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(r->uri, &r->s), 0);
}

void cxlssd_rig_make(struct cxlssd_rig *r, uint32_t pages, const char *more)
{
	const unsigned char zeroes[ANNEX_CXLSSD_LINE] = {0};
	char all[200];

	memset(r, 0, sizeof(*r));
	r->again = 32;
	r->fd = unit_memfd(0, r->path);
	snprintf(all, sizeof(all), "size=%u&page=%u%s", pages * RIG_PAGE, RIG_PAGE, more);
	disk.on = 1;
	disk.left = ALIVE;
	cxlssd_rig_open(r, all);
	r->n_lines = pages * RIG_LINES;
	r->lines = calloc(r->n_lines, sizeof(*r->lines));
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->lines);
	for (uint32_t i = 0; i < r->n_lines; i++)
		push(&r->lines[i], 0, zeroes);
}

void cxlssd_rig_free(struct cxlssd_rig *r)
{
	CU_ASSERT_EQUAL(r->wrong, 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(r->s), 0);
	close(r->fd);
	for (uint32_t i = 0; i < r->n_lines; i++)
		free(r->lines[i].v);
	free(r->lines);
	free(r->wholes);
	forget_disk();
}

static void stored(struct cxlssd_rig *r, uint64_t at, const unsigned char *buf, size_t bytes)
{
	r->stores++;
	while (bytes) {
		struct line *l = &r->lines[at / ANNEX_CXLSSD_LINE];
		size_t from = at % ANNEX_CXLSSD_LINE, n = ANNEX_CXLSSD_LINE - from;
		unsigned char data[ANNEX_CXLSSD_LINE];

		n = bytes < n ? bytes : n;
		memcpy(data, last(l)->data, sizeof(data));
		memcpy(data + from, buf, n);
		push(l, r->stores, data);
		at += n;
		buf += n;
		bytes -= n;
	}
}

/* The store that was counted last is whole, or not there. */
static void whole(struct cxlssd_rig *r, uint64_t at, size_t bytes)
{
	if (r->n_wholes == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		r->wholes = grown(r->wholes, r->room, sizeof(*r->wholes));
	}
	r->wholes[r->n_wholes++] = (struct whole){
		.store = r->stores,
		.first = (uint32_t)(at / ANNEX_CXLSSD_LINE),
		.last = (uint32_t)((at + bytes - 1) / ANNEX_CXLSSD_LINE),
	};
}

void cxlssd_rig_write(struct cxlssd_rig *r, uint64_t at, const void *buf, size_t bytes)
{
	expect(r, annex_cxlssd_write(r->s, at, buf, bytes, NULL));
	stored(r, at, buf, bytes);
}

void cxlssd_rig_blocks(struct cxlssd_rig *r, uint32_t page, const void *buf)
{
	const uint64_t at = (uint64_t)page * RIG_PAGE;

	expect(r, annex_cxlssd_write_blocks(r->s, at, buf, RIG_PAGE, NULL));
	stored(r, at, buf, RIG_PAGE);
	whole(r, at, RIG_PAGE);
}

void cxlssd_rig_trim(struct cxlssd_rig *r, uint32_t page, uint32_t n)
{
	const unsigned char zeroes[RIG_PAGE] = {0};

	expect(r, annex_cxlssd_trim(r->s, (uint64_t)page * RIG_PAGE, (uint64_t)n * RIG_PAGE, NULL));
	for (uint32_t i = 0; i < n; i++)
		stored(r, (uint64_t)(page + i) * RIG_PAGE, zeroes, RIG_PAGE);
}

static void compare(struct cxlssd_rig *r, uint64_t at, const unsigned char *buf, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++, at++)
		r->wrong += buf[i] !=
			    last(&r->lines[at / ANNEX_CXLSSD_LINE])->data[at % ANNEX_CXLSSD_LINE];
}

void cxlssd_rig_read(struct cxlssd_rig *r, uint64_t at, size_t bytes)
{
	unsigned char buf[4 * RIG_PAGE];

	expect(r, annex_cxlssd_read(r->s, at, buf, bytes, NULL));
	compare(r, at, buf, bytes);
}

void cxlssd_rig_read_block(struct cxlssd_rig *r, uint32_t page)
{
	unsigned char buf[RIG_PAGE];

	expect(r, annex_cxlssd_read_blocks(r->s, (uint64_t)page * RIG_PAGE, buf, RIG_PAGE, NULL));
	compare(r, (uint64_t)page * RIG_PAGE, buf, RIG_PAGE);
}

void cxlssd_rig_fence(struct cxlssd_rig *r)
{
	expect(r, annex_cxlssd_fence(r->s, NULL));
	if (!disk.left)
		return;
	r->wrong += annex_cxlssd_unfenced(r->s, NULL, 0) != 0;
	settle_all(r);
}

void cxlssd_rig_flush(struct cxlssd_rig *r)
{
	struct annex_cxlssd_stats stats;

	expect(r, annex_cxlssd_flush(r->s, NULL));
	if (!disk.left)
		return;
	annex_cxlssd_get_stats(r->s, &stats);
	r->wrong += stats.dirty != 0;
	settle_all(r);
}

void cxlssd_rig_commit(struct cxlssd_rig *r, uint64_t at, const void *buf, size_t bytes, bool wait)
{
	struct annex_cxlssd_tx *tx;

	r->wrong += annex_cxlssd_begin(r->s, &tx) != 0;
	/* In two parts, the second first. */
	r->wrong += annex_cxlssd_tx_write(tx, at + bytes / 2, (const char *)buf + bytes / 2,
					  bytes - bytes / 2) != 0;
	r->wrong += annex_cxlssd_tx_write(tx, at, buf, bytes / 2) != 0;
	cxlssd_rig_read(r, at, bytes);
	expect(r, (wait ? annex_cxlssd_commit : annex_cxlssd_commit_ordered)(tx, NULL));
	stored(r, at, buf, bytes);
	whole(r, at, bytes);
	r->wholes[r->n_wholes - 1].ordered = true;
	if (disk.left && wait)
		settle_all(r);
}

void cxlssd_rig_step(struct cxlssd_rig *r, uint64_t *rng)
{
	const uint64_t bytes = (uint64_t)r->n_lines * ANNEX_CXLSSD_LINE;
	const uint32_t page = (uint32_t)(random_next(rng) % (r->n_lines / RIG_LINES));
	const uint64_t at = random_next(rng) % bytes;
	unsigned char buf[RIG_PAGE];
	size_t n = 1 + random_next(rng) % (random_next(rng) % 4 ? 64 : 300);

	n = n < bytes - at ? n : bytes - at;
	random_fill(rng, buf, 8);
	for (size_t i = 8; i < sizeof(buf); i++)
		buf[i] = (unsigned char)(buf[i - 8] + 1);
	switch (random_next(rng) % 32) {
	case 0:
		cxlssd_rig_fence(r);
		break;
	case 1:
		cxlssd_rig_trim(r, page, 1);
		break;
	case 2 ... 3:
		cxlssd_rig_blocks(r, page, buf);
		break;
	case 4:
		cxlssd_rig_read_block(r, page);
		break;
	case 5:
		expect(r, n % 2 ? annex_cxlssd_prefetch(r->s, at, n, NULL)
				: annex_cxlssd_release(r->s, at / RIG_PAGE * RIG_PAGE, RIG_PAGE,
						       NULL));
		break;
	case 6:
		if (!(random_next(rng) % 8))
			cxlssd_rig_flush(r);
		break;
	case 7 ... 16:
		cxlssd_rig_read(r, at, n);
		break;
	case 17 ... 24:
		cxlssd_rig_write(r, at / 64 * 64, buf, 64);
		break;
	case 25 ... 27:
		if (strstr(r->uri, "log=bytefs"))
			cxlssd_rig_commit(r, at, buf, n, random_next(rng) & 1);
		break;
	default:
		cxlssd_rig_write(r, at, buf, n);
	}
}

/* The version that a line has after a cut: the newest one that is equal. */
static uint32_t find(struct cxlssd_rig *r, const struct line *l, const unsigned char *data)
{
	for (uint32_t i = l->n; i--;)
		if (!memcmp(l->v[i].data, data, sizeof(l->v[i].data)))
			return i;
	r->wrong++;
	return 0;
}

/* Whether a line has what a store gave it, and nothing else that it had. */
static bool is_new(const struct line *l, uint32_t found, uint64_t store)
{
	for (uint32_t i = 0; i < found; i++)
		if (!memcmp(l->v[i].data, l->v[found].data, sizeof(l->v[i].data)))
			return false;
	return l->v[found].store == store;
}

/* If a line has the bytes of an atomic store, no line of that store has older bytes. */
static void check_whole(struct cxlssd_rig *r, const struct whole *w, const uint32_t *found)
{
	bool there = false;

	for (uint32_t i = w->first; i <= w->last; i++)
		there |= is_new(&r->lines[i], found[i], w->store);
	for (uint32_t i = w->first; i <= w->last; i++)
		r->wrong += there && r->lines[i].v[found[i]].store < w->store;
}

/* If a line has what an ordered store gave it, each has what stores up to that one gave it. */
static void check_order(struct cxlssd_rig *r, const struct whole *w, const uint32_t *found)
{
	bool there = false;

	for (uint32_t i = w->first; i <= w->last; i++)
		there |= is_new(&r->lines[i], found[i], w->store);
	for (uint32_t i = 0; there && w->ordered && i < r->n_lines; i++)
		r->wrong += found[i] + 1 < r->lines[i].n &&
			    r->lines[i].v[found[i] + 1].store <= w->store;
}

static void compare_cut(struct cxlssd_rig *r)
{
	uint32_t *found = calloc(r->n_lines, sizeof(*found));

	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	for (uint32_t i = 0; i < r->n_lines; i++) {
		unsigned char buf[ANNEX_CXLSSD_LINE];

		expect(r,
		       annex_cxlssd_read(r->s, (uint64_t)i * sizeof(buf), buf, sizeof(buf), NULL));
		found[i] = find(r, &r->lines[i], buf);
	}
	for (uint32_t i = 0; i < r->n_wholes; i++)
		check_whole(r, &r->wholes[i], found);
	for (uint32_t i = 0; i < r->n_wholes; i++)
		check_order(r, &r->wholes[i], found);
	for (uint32_t i = 0; i < r->n_lines; i++)
		settle(&r->lines[i], found[i]);
	r->n_wholes = 0;
	free(found);
}

void cxlssd_rig_cut(struct cxlssd_rig *r, const uint64_t *lines, size_t n, uint64_t *rng,
		    const char *more)
{
	expect(r, annex_cxlssd_cut(r->s, lines, n));
	if (rng)
		lose(r->fd, r->tears, rng);
	disk.n = 0;
	disk.left = ALIVE;
	/* And while it is opened. */
	while (rng && random_next(rng) % 64 < r->again) {
		disk.left = 1 + (unsigned int)(random_next(rng) % 20);
		snprintf(r->uri, sizeof(r->uri), "cxlssd:%s?%s", r->path, more);
		if (!annex_cxlssd_open(r->uri, &r->s))
			annex_cxlssd_cut(r->s, NULL, 0);
		lose(r->fd, r->tears, rng);
		disk.left = ALIVE;
	}
	cxlssd_rig_open(r, more);
	compare_cut(r);
	disk.n = 0;
}

void cxlssd_rig_restart(struct cxlssd_rig *r, const char *more)
{
	expect(r, annex_cxlssd_close(r->s));
	cxlssd_rig_open(r, more);
	settle_all(r);
	for (uint32_t page = 0; page < r->n_lines / RIG_LINES; page++)
		cxlssd_rig_read_block(r, page);
}
