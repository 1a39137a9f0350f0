// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/crc32c.h"
#include "core/log.h"
#include "journal.h"

#define MAGIC 0x6c6e72756f6a2d61ull /* "a-journl" */
#define CHUNK 512u                  /* entries read at a time */

/*
 * struct group - The head of a group; its entries follow.
 * @magic: MAGIC and the file's salt, which user data cannot imitate.
 * @epoch: epoch of this half.
 * @index: number in this half, from 0.
 * @safe: as in ssd_journal_last().
 * @behind: number of previous groups that may not have been on the medium.
 * @closed: this half is the older one; there are no entries.
 * @chain: checksum of the entries.
 * @crc: CRC-32C of the members above.
 */
struct group {
	uint64_t magic, epoch, index, seq, safe, n;
	uint32_t closed, chain, behind, crc;
};

_Static_assert(sizeof(struct group) == 64 && sizeof(struct ssd_entry) == 72, "as files have them");

/*
 * struct ssd_journal - An open journal.
 * @now: the current half.
 * @epoch: its epoch.
 * @at: place of the next group.
 * @index: number of the next group.
 * @seq: sequence number of the last group.
 * @safe: @safe of the last group.
 * @behind: @behind of the last group.
 * @syncs: syncs of the file before the last group.
 * @proves: the last group, or one of the @behind groups, has proofs.
 * @entries: entries of the next group, after 64 bytes for its head.
 * @n: number of these entries.
 * @room: entries that @entries has memory for.
 * @proofs: some entries are proofs.
 */
struct ssd_journal {
	struct ssd_file *file;
	unsigned int now;
	uint64_t epoch, at, index, seq, safe, syncs;
	uint32_t behind;
	bool proves, proofs;
	char *buf;
	uint64_t n, room;
};

static uint64_t marks(uint64_t pages)
{
	return (pages + SSD_VOIDS - 1) / SSD_VOIDS;
}

uint64_t ssd_journal_group(uint64_t lines, uint64_t pages)
{
	return lines / 4 + marks(pages) + 64;
}

/* All entries, a group, and the group of a power cut. */
uint64_t ssd_journal_half(uint64_t lines, uint64_t pages)
{
	uint64_t entries = lines + marks(pages) + 2 * ssd_journal_group(lines, pages);
	uint64_t bytes = entries * sizeof(struct ssd_entry) + 8 * sizeof(struct group);

	return (bytes + SSD_FILE_BLOCK - 1) / SSD_FILE_BLOCK * SSD_FILE_BLOCK;
}

static uint64_t half_at(const struct ssd_journal *j, unsigned int half)
{
	return j->file->journal + half * j->file->shape.half;
}

static uint32_t head_crc(const struct group *g)
{
	uint64_t words[7];

	memcpy(words, g, sizeof(words));
	return annex_crc32c(words, 7, g->behind);
}

static uint32_t chain(uint32_t crc, const struct ssd_entry *e)
{
	uint64_t words[9];

	memcpy(words, e, sizeof(words));
	return annex_crc32c(words, 9, crc);
}

static bool is_head(const struct ssd_journal *j, const struct group *g, uint64_t left)
{
	return g->magic == (MAGIC ^ j->file->salt) && g->crc == head_crc(g) && left >= sizeof(*g) &&
	       g->n <= (left - sizeof(*g)) / sizeof(struct ssd_entry) && g->safe <= g->seq &&
	       g->seq < SSD_TURN_MAX && g->epoch < UINT64_MAX && g->behind <= g->index;
}

static uint64_t group_bytes(const struct group *g)
{
	return sizeof(*g) + g->n * sizeof(struct ssd_entry);
}

/* Visit the entries of the group at @at. Return: 1: they are valid; 0: invalid; or an error. */
static int walk(struct ssd_journal *j, const struct group *g, uint64_t at,
		int (*visit)(void *ctx, uint64_t seq, const struct ssd_entry *e), void *ctx)
{
	struct ssd_entry *some = malloc(CHUNK * sizeof(*some));
	uint32_t crc = 0;
	int err = some ? 0 : annex_fail(-ENOMEM, "%s: out of memory", j->file->path);

	at += sizeof(*g);
	for (uint64_t left = g->n; !err && left;) {
		uint64_t n = left < CHUNK ? left : CHUNK;

		err = ssd_file_read(j->file, at, some, n * sizeof(*some));
		for (uint64_t i = 0; !err && i < n; i++) {
			crc = chain(crc, &some[i]);
			if (visit)
				err = visit(ctx, g->seq, &some[i]);
		}
		at += n * sizeof(*some);
		left -= n;
	}
	free(some);
	return err ? err : crc == g->chain;
}

/*
 * Read the group at *@at of a half. Return: 1, and advance *@at, if it is valid with that number.
 */
static int next_group(struct ssd_journal *j, unsigned int half, uint64_t epoch, uint64_t index,
		      uint64_t *at, struct group *g)
{
	uint64_t left = j->file->shape.half - *at;
	int is;

	if (left < sizeof(*g))
		return 0;
	is = ssd_file_read(j->file, half_at(j, half) + *at, g, sizeof(*g));
	if (is)
		return is;
	if (!is_head(j, g, left) || g->index != index || (index && g->epoch != epoch))
		return 0;
	is = walk(j, g, half_at(j, half) + *at, NULL, NULL);
	if (is == 1)
		*at += group_bytes(g);
	return is;
}

static int damaged(const struct ssd_journal *j)
{
	return annex_fail(-EILSEQ, "%s: its journal is damaged: the last fenced stores are unknown",
			  j->file->path);
}

/* A power cut can tear a group, but not one before a group that was written after a sync: look for
 * the head of such a group. */
static int check_tail(struct ssd_journal *j)
{
	const uint64_t magic = MAGIC ^ j->file->salt, end = j->file->shape.half;
	char *some = malloc(SSD_FILE_BLOCK + sizeof(struct group));
	int err = some ? 0 : annex_fail(-ENOMEM, "%s: out of memory", j->file->path);

	for (uint64_t at = j->at; !err && at < end; at += SSD_FILE_BLOCK) {
		uint64_t n = end - at < SSD_FILE_BLOCK + sizeof(struct group)
				     ? end - at
				     : SSD_FILE_BLOCK + sizeof(struct group);

		err = ssd_file_read(j->file, half_at(j, j->now) + at, some, n);
		for (uint64_t i = 0; !err && i + sizeof(struct group) <= n; i += 8) {
			struct group g;

			memcpy(&g, some + i, sizeof(g));
			if (g.magic == magic && is_head(j, &g, end - at - i) &&
			    g.epoch == j->epoch && g.index - g.behind > j->index)
				err = damaged(j);
		}
	}
	free(some);
	return err;
}

/* Read the groups of a half. *@closed: the other half is newer. */
static int read_half(struct ssd_journal *j, unsigned int half, bool *closed)
{
	struct group g;
	int is;

	j->now = half;
	j->at = j->index = 0;
	*closed = false;
	while ((is = next_group(j, half, j->epoch, j->index, &j->at, &g)) == 1) {
		*closed = g.closed;
		j->epoch = g.epoch;
		j->seq = g.seq;
		j->safe = g.safe;
		j->behind = g.behind;
		j->index++;
	}
	return is;
}

static int prove(void *ctx, uint64_t seq, const struct ssd_entry *e)
{
	struct ssd_journal *j = ctx;
	int holds;

	(void)seq;
	if (e->at != SSD_PROOF_MARK)
		return 0;
	j->proves = true;
	holds = ssd_proof_holds(j->file, &e->proof);
	return holds == 1 ? 0 : holds ? holds : -ENODATA;
}

/* Overwrite a group with a missing page, which must stay void when the page is programmed again. */
static int forget(struct ssd_journal *j)
{
	const struct group none = {0};
	int err = ssd_file_write(j->file, half_at(j, j->now) + j->at, &none, sizeof(none));

	return err ? err : ssd_file_sync(j->file);
}

/* Of the groups that were not on the medium when the last one was written, keep those before the
 * first group with a missing page. */
static int prove_last(struct ssd_journal *j)
{
	const uint64_t end = j->index, behind = j->behind;
	struct group g;
	int is = 1;

	j->at = j->index = 0;
	while (is == 1 && j->index < end) {
		uint64_t at = j->at;

		is = next_group(j, j->now, j->epoch, j->index, &at, &g);
		if (is == 1 && j->index + behind + 1 >= end)
			is = walk(j, &g, half_at(j, j->now) + j->at, prove, j);
		if (is == -ENODATA)
			return forget(j);
		if (is != 1)
			break;
		j->at = at;
		j->seq = g.seq;
		j->safe = g.safe;
		j->index++;
	}
	return is == 1 ? 0 : is ? is : damaged(j);
}

/* Find the newer half by the epochs; 0: no epoch. */
static int choose_half(struct ssd_journal *j, unsigned int *newer)
{
	uint64_t epochs[2] = {0, 0};

	for (unsigned int half = 0; half < 2; half++) {
		struct group g;
		uint64_t at = 0;
		int is = next_group(j, half, 0, 0, &at, &g);

		if (is < 0)
			return is;
		epochs[half] = is ? g.epoch : 0;
	}
	if (epochs[0] == epochs[1])
		return damaged(j);
	*newer = epochs[1] > epochs[0];
	return 0;
}

static int load(struct ssd_journal *j)
{
	unsigned int newer = 0;
	bool closed = false;
	int err = choose_half(j, &newer);

	if (!err)
		err = read_half(j, newer, &closed);
	if (!err && closed)
		err = damaged(j);
	if (!err)
		err = check_tail(j);
	return err ? err : prove_last(j);
}

int ssd_journal_open(struct ssd_file *file, struct ssd_journal **out)
{
	struct ssd_journal *j = calloc(1, sizeof(*j));
	int err;

	if (!j)
		return annex_fail(-ENOMEM, "%s: out of memory", file->path);
	j->file = file;
	if (file->fresh) {
		j->now = 1;
		err = ssd_journal_turn(j, 1, false);
	} else {
		err = load(j);
	}
	if (err) {
		ssd_journal_close(j);
		return err;
	}
	*out = j;
	return 0;
}

void ssd_journal_close(struct ssd_journal *j)
{
	if (!j)
		return;
	free(j->buf);
	free(j);
}

int ssd_journal_replay(struct ssd_journal *j,
		       int (*visit)(void *ctx, uint64_t seq, const struct ssd_entry *e), void *ctx)
{
	struct group g;
	int is = 1;

	for (uint64_t at = 0; is == 1 && at < j->at; at += group_bytes(&g)) {
		is = ssd_file_read(j->file, half_at(j, j->now) + at, &g, sizeof(g));
		if (!is)
			is = walk(j, &g, half_at(j, j->now) + at, visit, ctx);
	}
	return is == 1 ? 0 : is ? is : damaged(j);
}

uint64_t ssd_journal_last(const struct ssd_journal *j, uint64_t *safe)
{
	*safe = j->safe;
	return j->seq;
}

static struct ssd_entry *entry_of(const struct ssd_journal *j, uint64_t i)
{
	return (struct ssd_entry *)(j->buf + sizeof(struct group)) + i;
}

struct ssd_entry *ssd_journal_add(struct ssd_journal *j, uint64_t at)
{
	struct ssd_entry *e;

	if (j->n == j->room) {
		uint64_t room = j->room ? 2 * j->room : 64;
		char *buf = realloc(j->buf, sizeof(struct group) + room * sizeof(*e));

		if (!buf) {
			annex_fail(-ENOMEM, "%s: out of memory", j->file->path);
			return NULL;
		}
		j->buf = buf;
		j->room = room;
	}
	e = entry_of(j, j->n++);
	e->at = at;
	j->proofs |= at == SSD_PROOF_MARK;
	return e;
}

void ssd_journal_drop(struct ssd_journal *j)
{
	j->n = 0;
	j->proofs = false;
}

/* Reserve room at the end of a half for the group that closes it. */
bool ssd_journal_fits(const struct ssd_journal *j, uint64_t more)
{
	uint64_t left = j->file->shape.half - j->at;

	return left >= 2 * sizeof(struct group) &&
	       j->n + more <= (left - 2 * sizeof(struct group)) / sizeof(struct ssd_entry);
}

static int write_group(struct ssd_journal *j, struct group *g)
{
	g->magic = MAGIC ^ j->file->salt;
	g->n = j->n;
	for (uint64_t i = 0; i < j->n; i++)
		g->chain = chain(g->chain, entry_of(j, i));
	g->crc = head_crc(g);
	j->n = 0;
	if (!j->buf)
		return ssd_file_write(j->file, half_at(j, j->now) + j->at, g, sizeof(*g));
	memcpy(j->buf, g, sizeof(*g));
	return ssd_file_write(j->file, half_at(j, j->now) + j->at, j->buf, group_bytes(g));
}

/* Everything written before the last sync is on the medium. */
static int append(struct ssd_journal *j, struct group *g, bool wait)
{
	const uint64_t syncs = j->file->syncs;
	int err;

	if (!ssd_journal_fits(j, 0)) {
		ssd_journal_drop(j);
		return annex_fail(-ENOSPC, "%s: a group that is too large", j->file->path);
	}
	g->epoch = j->epoch;
	g->index = j->index;
	j->proves = j->proofs || (g->behind && j->proves);
	err = write_group(j, g);
	j->proofs = false;
	if (!err && (wait || !j->file->durable))
		err = ssd_file_sync(j->file);
	if (err)
		return err;
	j->syncs = syncs;
	j->behind = g->behind;
	j->safe = g->safe;
	j->seq = g->seq;
	j->at += group_bytes(g);
	j->index++;
	return 0;
}

bool ssd_journal_waits(const struct ssd_journal *j)
{
	return j->file->syncs == j->syncs;
}

int ssd_journal_append(struct ssd_journal *j, uint64_t seq, bool wait)
{
	struct group g = {.seq = seq, .safe = j->seq};

	if (ssd_journal_waits(j)) {
		g.safe = j->safe;
		g.behind = j->behind + 1;
	}
	return append(j, &g, wait);
}

int ssd_journal_settle(struct ssd_journal *j)
{
	struct group g = {.seq = j->seq, .safe = j->safe};
	int err;

	if (!j->proves)
		return 0;
	err = ssd_file_sync(j->file);
	return err ? err : append(j, &g, true);
}

/* If a half is closed and the other one is missing, the other one is damaged. */
static int close_half(struct ssd_journal *j, unsigned int half, uint64_t at, uint64_t index)
{
	struct group g = {.magic = MAGIC ^ j->file->salt,
			  .epoch = j->epoch - 1,
			  .index = index,
			  .seq = j->seq,
			  .safe = j->safe,
			  .closed = 1};

	g.crc = head_crc(&g);
	return ssd_file_write(j->file, half_at(j, half) + at, &g, sizeof(g));
}

int ssd_journal_turn(struct ssd_journal *j, uint64_t seq, bool last)
{
	const unsigned int older = j->now;
	const uint64_t at = j->at, index = j->index;
	struct group g = {.seq = seq, .safe = seq};
	/* Entries of the older half that this half lacks must be in flash before. */
	int err = ssd_file_sync(j->file);

	j->now = !older;
	j->at = j->index = 0;
	j->epoch++;
	if (!err)
		err = ssd_journal_fits(j, 0)
			      ? 0
			      : annex_fail(-ENOSPC, "%s: a group that is too large", j->file->path);
	if (!err)
		err = append(j, &g, true);
	ssd_journal_drop(j);
	/* The first epoch has no older one. */
	return err || last || j->epoch == 1 ? err : close_half(j, older, at, index);
}
