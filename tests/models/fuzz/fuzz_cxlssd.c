// SPDX-License-Identifier: MIT
/*
 * Any backing file of a CXL-SSD: it is refused with a line, or it is an endpoint that keeps its
 * promises from then on, over power cuts too. Only damaged pages may be read as damaged.
 *
 * The first byte chooses a file and a DRAM. Each 8 bytes after it are a step: changes to the file,
 * with checksums repaired or not; then, from the first call on, calls of the endpoint.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/models/cxlssd.h>
#include <annex/log.h>
#include "core/crc32c.h"
#include "../../fuzz/input.h"

#define PAGE 512u
#define PAGES 16u
#define LINE ANNEX_CXLSSD_LINE
#define BYTES_MAX (1u << 16)
#define FILE_BYTES (80u << 10)
#define STEPS 64u
#define IMAGES 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const drams[] = {"dram=2K&unit=512", "dram=2K&unit=64",
				    "dram=2K&log=skybyte&log_size=1K",
				    "dram=2K&log=bytefs&log_size=1K"};

struct step {
	uint8_t what, slot;
	uint16_t at;
	int32_t value;
};

/* As they are in a file: lib/models/ssd/file.c, flash.c, journal.c. */
struct header {
	uint64_t magic;
	uint32_t words[8];
	uint64_t bytes, half, salt;
	uint32_t zero, crc;
};

struct record {
	uint64_t since, turn;
	uint32_t page, worn, sum, crc;
};

struct group {
	uint64_t words[6];
	uint32_t closed, chain, behind, crc;
};

enum { ENTRY = 72 };

/* struct image - A file; it is as long as @bytes. The rest is of the file that it was made from. */
struct image {
	unsigned char data[FILE_BYTES];
	size_t bytes;
	uint64_t half, records, pages;
	uint32_t n;
};

/* struct model - An endpoint, and bytes that it must have where @known is set. */
struct model {
	struct annex_cxlssd *s;
	char uri[160];
	int fd;
	uint64_t bytes;
	uint32_t page;
	unsigned char data[BYTES_MAX];
	bool known[BYTES_MAX / LINE];
};

static void require(int truth)
{
	if (!truth)
		abort();
}

static int new_file(char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* A file that has been in use: @kind times as much. */
static void make_image(struct image *m, unsigned int kind)
{
	char path[64], uri[160], buf[PAGE];
	struct annex_cxlssd *s;
	int fd = new_file(path);
	const struct header *h = (const struct header *)m->data;
	ssize_t n;

	snprintf(uri, sizeof(uri),
		 "cxlssd:%s?size=8K&page=512&channels=2&pages=4&durable=model&dram=2K&unit=128",
		 path);
	require(!annex_cxlssd_open(uri, &s));
	for (unsigned int i = 0; i < kind * 40; i++) {
		memset(buf, (int)i, sizeof(buf));
		require(!annex_cxlssd_write(s, i * 5 % (PAGES * PAGE / LINE) * LINE, buf, LINE,
					    NULL));
		if (i % 5 == 2)
			require(!annex_cxlssd_write_blocks(s, i * 3 % PAGES * PAGE, buf, PAGE,
							   NULL));
		if (i % 17 == 9)
			require(!annex_cxlssd_trim(s, i % PAGES * PAGE, PAGE, NULL));
		if (i % 7 == 3)
			require(!annex_cxlssd_fence(s, NULL));
	}
	require(!(kind ? annex_cxlssd_cut(s, NULL, 0) : annex_cxlssd_close(s)));
	n = pread(fd, m->data, FILE_BYTES, 0);
	require(n > 0 && n < (ssize_t)FILE_BYTES);
	close(fd);
	m->bytes = (size_t)n;
	m->half = h->half;
	m->records = 4096 + 2 * h->half;
	m->n = h->words[1] * h->words[2] * h->words[3] * h->words[4] * h->words[5];
	m->pages = m->records + (m->n * sizeof(struct record) + 4095) / 4096 * 4096;
	require(m->pages + (uint64_t)m->n * PAGE == m->bytes);
}

static void seal_header(struct image *m)
{
	struct header *h = (struct header *)m->data;
	uint64_t words[8];

	memcpy(words, h, sizeof(words));
	h->crc = annex_crc32c(words, 8, h->zero);
}

static struct record *record_of(struct image *m, uint32_t i)
{
	return (struct record *)(m->data + m->records) + i;
}

static void seal_record(struct image *m, uint32_t i)
{
	struct record *r = record_of(m, i);
	const uint64_t words[] = {r->since, r->turn, r->page | (uint64_t)r->worn << 32, i};

	r->crc = annex_crc32c(words, 4, r->sum);
}

/* The group @i of a half; the last one, if there are less. */
static struct group *group_of(struct image *m, unsigned int half, unsigned int i)
{
	const uint64_t end = 4096 + (half + 1) * m->half;
	uint64_t at = 4096 + half * m->half;
	struct group *g = (struct group *)(m->data + at);
	const uint64_t magic = g->words[0];

	for (; i && g->words[5] < m->half; i--) {
		at += sizeof(*g) + g->words[5] * ENTRY;
		if (at + sizeof(*g) > end || ((struct group *)(m->data + at))->words[0] != magic)
			break;
		g = (struct group *)(m->data + at);
	}
	return g;
}

static void seal_group(struct image *m, struct group *g, bool entries)
{
	const uint64_t room = (uint64_t)(m->data + FILE_BYTES - (unsigned char *)(g + 1));
	const unsigned char *e = (const unsigned char *)(g + 1);
	uint64_t words[9];

	if (entries && g->words[5] <= room / ENTRY) {
		g->chain = 0;
		for (uint64_t i = 0; i < g->words[5]; i++, e += ENTRY) {
			memcpy(words, e, sizeof(words));
			g->chain = annex_crc32c(words, 9, g->chain);
		}
	}
	memcpy(words, g, 56);
	g->crc = annex_crc32c(words, 7, g->behind);
}

static void change_group(struct image *m, const struct step *s)
{
	struct group *g = group_of(m, s->slot & 1, s->slot >> 1 & 15);
	unsigned char *e = (unsigned char *)(g + 1);
	const int64_t value = s->value;
	uint64_t old;

	if (s->what & 16) {
		if (s->at % 8 < 6)
			g->words[s->at % 8] = s->what & 32 ? g->words[s->at % 8] + (uint64_t)value
							   : (uint64_t)value;
		else
			*(s->at % 8 == 6 ? &g->closed : &g->behind) = (uint32_t)value;
	} else if (g->words[5] && g->words[5] < m->half / ENTRY) {
		e += s->at % g->words[5] * ENTRY;
		memcpy(&old, e, 8);
		old = s->what & 32 ? old ^ 1ull << (62 + (s->value & 1)) : (uint64_t)value;
		memcpy(e + (s->what & 64 ? 8 + s->at / 256 % 2 * 8 : 0), &old, 8);
	}
	seal_group(m, g, !(s->what & 128));
}

static void change_record(struct image *m, const struct step *s)
{
	const uint32_t i = s->at % m->n, from = (uint32_t)s->value % m->n;
	struct record *r = record_of(m, i);
	const int64_t value = s->value;

	switch (s->slot % 8) {
	case 0:
		r->since = (uint64_t)value;
		break;
	case 1:
		r->turn = (uint64_t)value;
		break;
	case 2:
		r->page = (uint32_t)value;
		break;
	case 3:
		r->worn = (uint32_t)value;
		break;
	case 4:
		r->sum = (uint32_t)value;
		break;
	case 5:
		r->since = r->turn;
		break;
	case 6:
		memset(r, 0, sizeof(*r));
		return;
	default:
		/* As if it had been programmed there. */
		*r = *record_of(m, from);
		r->turn += s->slot >> 4;
		memcpy(m->data + m->pages + i * PAGE, m->data + m->pages + from * PAGE, PAGE);
	}
	seal_record(m, i);
}

static void change(struct image *m, const struct step *s)
{
	struct header *h = (struct header *)m->data;
	unsigned char *at = m->data + s->at % m->bytes;

	switch (s->what % 8) {
	case 0:
		*at ^= (unsigned char)(1u << s->slot % 8);
		break;
	case 1:
		if (s->slot % 16 < 8)
			h->words[s->slot % 8] = (uint32_t)s->value;
		else
			(&h->bytes)[s->slot % 2] = (uint64_t)(int64_t)s->value;
		seal_header(m);
		break;
	case 2:
	case 3:
		change_record(m, s);
		break;
	case 4:
	case 5:
		change_group(m, s);
		break;
	case 6:
		/* A sector that was lost, or that came from elsewhere. */
		at = m->data + s->at % ((m->bytes + 511) / 512) * 512;
		if (s->slot & 1)
			memset(at, 0, 512);
		else
			memcpy(at, m->data + (uint32_t)s->value % ((m->bytes + 511) / 512) * 512,
			       512);
		break;
	default:
		m->bytes = 1 + (uint32_t)s->value % FILE_BYTES;
		break;
	}
}

/* The model must match the read bytes; contents of a page that reads as damaged are unknown. */
static void read_line(struct model *m, uint64_t line, bool first)
{
	unsigned char buf[LINE];
	int err = annex_cxlssd_read(m->s, line * LINE, buf, LINE, NULL);

	require(!err || err == -EIO);
	if (first && !err)
		memcpy(m->data + line * LINE, buf, LINE);
	if (first)
		m->known[line] = !err;
	require(!m->known[line] || (!err && !memcmp(buf, m->data + line * LINE, LINE)));
}

static void read_all(struct model *m, bool first)
{
	for (uint64_t line = 0; line < m->bytes / LINE; line++)
		read_line(m, line, first);
}

/* Lines that are stored to a damaged page may be lost with it. */
static bool is_known(const struct model *m, uint64_t page)
{
	const uint64_t lines = m->page / LINE;

	for (uint64_t i = 0; i < lines; i++)
		if (!m->known[page * lines + i])
			return false;
	return true;
}

static void store(struct model *m, const struct step *s)
{
	const uint64_t line = s->at % (m->bytes / LINE), page = line * LINE / m->page;
	unsigned char buf[LINE];
	int err;

	memset(buf, s->value, LINE);
	err = annex_cxlssd_write(m->s, line * LINE, buf, LINE, NULL);
	if (!is_known(m, page)) {
		require(!err || err == -EIO);
		return;
	}
	require(!err);
	memcpy(m->data + line * LINE, buf, LINE);
}

static void store_blocks(struct model *m, const struct step *s, bool trims)
{
	const uint64_t at = s->at % (m->bytes / m->page) * m->page;
	static unsigned char buf[65536];

	memset(buf, trims ? 0 : s->value, m->page);
	require(!(trims ? annex_cxlssd_trim(m->s, at, m->page, NULL)
			: annex_cxlssd_write_blocks(m->s, at, buf, m->page, NULL)));
	memcpy(m->data + at, buf, m->page);
	memset(m->known + at / LINE, true, m->page / LINE);
}

static void commit(struct model *m, const struct step *s)
{
	const uint64_t line = s->at % (m->bytes / LINE);
	unsigned char buf[LINE];
	struct annex_cxlssd_tx *tx;

	memset(buf, s->value, LINE);
	if (annex_cxlssd_begin(m->s, &tx))
		return;
	require(!annex_cxlssd_tx_write(tx, line * LINE, buf, LINE));
	require(!(s->value & 1 ? annex_cxlssd_commit : annex_cxlssd_commit_ordered)(tx, NULL));
	if (is_known(m, line * LINE / m->page))
		memcpy(m->data + line * LINE, buf, LINE);
}

/* All that was fenced is there again, by another DRAM. */
static void reopen(struct model *m, const struct step *s)
{
	char path[64];

	if (s->value & 1) {
		require(!annex_cxlssd_fence(m->s, NULL));
		require(!annex_cxlssd_cut(m->s, NULL, 0));
	} else {
		require(!annex_cxlssd_close(m->s));
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	snprintf(m->uri, sizeof(m->uri), "cxlssd:%s?durable=model&%s", path, drams[s->slot % 4]);
	require(!annex_cxlssd_open(m->uri, &m->s));
	read_all(m, false);
}

static void call(struct model *m, const struct step *s)
{
	switch (s->what % 8) {
	case 0:
	case 1:
		store(m, s);
		break;
	case 2:
		store_blocks(m, s, false);
		break;
	case 3:
		store_blocks(m, s, true);
		break;
	case 4:
		require(!annex_cxlssd_fence(m->s, NULL));
		break;
	case 5:
		require(!annex_cxlssd_flush(m->s, NULL));
		break;
	case 6:
		commit(m, s);
		break;
	default:
		reopen(m, s);
		break;
	}
}

static void use(struct model *m, struct input *in, uint8_t dram)
{
	const struct step last = {.slot = dram, .value = in->left & 1};
	struct step s;

	m->bytes = annex_cxlssd_bytes(m->s);
	m->page = annex_cxlssd_page(m->s);
	require(m->bytes && m->bytes <= BYTES_MAX && m->page >= 512);
	read_all(m, true);
	read_all(m, false);
	for (unsigned int i = 0; in->left >= sizeof(s) && i < STEPS; i++) {
		take(in, &s, sizeof(s));
		call(m, &s);
	}
	read_all(m, false);
	reopen(m, &last);
	require(!annex_cxlssd_close(m->s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image images[IMAGES], now;
	static struct model m;
	struct input in = {data, size};
	const uint8_t first = (uint8_t)take_number(&in, 1);
	struct step s = {0};
	char path[64];

	if (!images[0].bytes)
		for (unsigned int i = 0; i < IMAGES; i++)
			make_image(&images[i], i);
	now = images[first % IMAGES];
	for (unsigned int i = 0; in.left >= sizeof(s) && i < STEPS; i++) {
		take(&in, &s, sizeof(s));
		if (s.what == 0xff)
			break;
		change(&now, &s);
	}
	memset(&m, 0, sizeof(m));
	m.fd = new_file(path);
	require(write(m.fd, now.data, now.bytes) == (ssize_t)now.bytes);
	snprintf(m.uri, sizeof(m.uri), "cxlssd:%s?durable=model&%s", path,
		 drams[first / IMAGES % 4]);
	if (annex_cxlssd_open(m.uri, &m.s))
		require(*annex_last_error());
	else
		use(&m, &in, first >> 6);
	close(m.fd);
	return 0;
}
