// SPDX-License-Identifier: MIT
/*
 * Transactions: their lines become a group of the journal and then go to the log.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "ssd.h"

#define FIRST 64u /* lines of the first allocation */

/*
 * struct annex_cxlssd_tx - A transaction.
 * @lines: lines that it stores.
 * @most: lines at most.
 * @bytes: stored bytes of each line, a bit each; the commit reads the others.
 */
struct annex_cxlssd_tx {
	struct annex_cxlssd *s;
	struct ssd_log lines;
	uint64_t *bytes;
	uint32_t most;
};

/* Grow to room for @n lines. */
static bool make_room(struct annex_cxlssd_tx *tx, uint32_t n)
{
	uint64_t *bytes = reallocarray(tx->bytes, n, sizeof(*bytes));
	struct ssd_log more = {0};
	bool again;

	tx->bytes = bytes ? bytes : tx->bytes;
	if (!bytes || !ssd_log_init(&more, (uint64_t)n * SSD_LINE, 0, 0)) {
		ssd_log_free(&more);
		return false;
	}
	for (uint32_t i = 0; i < tx->lines.n; i++)
		memcpy(ssd_log_put(&more, tx->lines.lines[i], &again), ssd_log_data(&tx->lines, i),
		       SSD_LINE);
	memset(bytes + tx->lines.room, 0, (n - tx->lines.room) * sizeof(*bytes));
	ssd_log_free(&tx->lines);
	tx->lines = more;
	return true;
}

int annex_cxlssd_begin(struct annex_cxlssd *s, struct annex_cxlssd_tx **out)
{
	struct annex_cxlssd_tx *tx;

	if (!s->c.transactions)
		return annex_fail(-EOPNOTSUPP, "cxlssd: transactions need log=bytefs");
	tx = calloc(1, sizeof(*tx));
	if (tx) {
		tx->s = s;
		/* A transaction must fit in the log and in half the journal. */
		tx->most = (uint32_t)((s->c.log < s->c.dram / 2 ? s->c.log : s->c.dram / 2) / 2 /
				      SSD_LINE);
	}
	if (!tx || !make_room(tx, tx->most < FIRST ? tx->most : FIRST)) {
		annex_cxlssd_abort(tx);
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	}
	*out = tx;
	return 0;
}

void annex_cxlssd_abort(struct annex_cxlssd_tx *tx)
{
	if (!tx)
		return;
	ssd_log_free(&tx->lines);
	free(tx->bytes);
	free(tx);
}

static uint32_t new_lines(const struct annex_cxlssd_tx *tx, uint64_t at, uint64_t bytes)
{
	uint32_t n = 0;

	for (uint64_t line = at / SSD_LINE; bytes && line <= (at + bytes - 1) / SSD_LINE; line++)
		n += ssd_log_find(&tx->lines, line) == SSD_NO_ENTRY;
	return n;
}

static void store(struct annex_cxlssd_tx *tx, uint64_t at, const char *buf, uint32_t bytes)
{
	const uint64_t mask = bytes == 64 ? UINT64_MAX : ((1ull << bytes) - 1) << at % SSD_LINE;
	uint32_t entry = ssd_log_find(&tx->lines, at / SSD_LINE);
	bool again;

	if (entry == SSD_NO_ENTRY) {
		ssd_log_put(&tx->lines, at / SSD_LINE, &again);
		entry = tx->lines.n - 1;
	}
	memcpy(ssd_log_data(&tx->lines, entry) + at % SSD_LINE, buf, bytes);
	tx->bytes[entry] |= mask;
}

int annex_cxlssd_tx_write(struct annex_cxlssd_tx *tx, uint64_t at, const void *buf, size_t bytes)
{
	const char *from = buf;
	uint32_t n, room = tx->lines.room;
	int err = ssd_check(tx->s, at, bytes);

	if (err)
		return err;
	n = bytes / SSD_LINE > tx->most ? tx->most : new_lines(tx, at, bytes);
	if (bytes / SSD_LINE > tx->most || n > tx->most - tx->lines.n)
		return annex_fail(-E2BIG, "cxlssd: a transaction has %llu bytes at most",
				  (ull)tx->most * SSD_LINE);
	while (room < tx->lines.n + n)
		room = room > tx->most / 2 ? tx->most : room * 2;
	if (room > tx->lines.room && !make_room(tx, room))
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	while (bytes) {
		const uint64_t left = SSD_LINE - at % SSD_LINE;

		n = (uint32_t)(bytes < left ? bytes : left);
		store(tx, at, from, n);
		at += n;
		from += n;
		bytes -= n;
	}
	return 0;
}

int annex_cxlssd_tx_write_blocks(struct annex_cxlssd_tx *tx, uint64_t at, const void *buf,
				 size_t bytes)
{
	if (at % tx->s->page_bytes || bytes % tx->s->page_bytes)
		return annex_fail(-EINVAL, "cxlssd: %zu bytes at %llu are no whole pages of %u",
				  bytes, (ull)at, tx->s->page_bytes);
	return annex_cxlssd_tx_write(tx, at, buf, bytes);
}

/* Read the missing bytes of partly stored lines. */
static int complete(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < tx->lines.n; i++) {
		char was[SSD_LINE], *data = ssd_log_data(&tx->lines, i);

		if (tx->bytes[i] == UINT64_MAX)
			continue;
		err = ssd_load(tx->s, tx->lines.lines[i] * SSD_LINE, was, SSD_LINE, t);
		for (uint32_t k = 0; !err && k < SSD_LINE; k++)
			if (!(tx->bytes[i] >> k & 1))
				data[k] = was[k];
	}
	return err;
}

static int add_all(struct annex_cxlssd_tx *tx)
{
	for (uint32_t i = 0; i < tx->lines.n; i++) {
		struct ssd_entry *e = ssd_journal_add(tx->s->journal, tx->lines.lines[i]);

		if (!e)
			return -ENOMEM;
		memcpy(e->data, ssd_log_data(&tx->lines, i), SSD_LINE);
	}
	return 0;
}

/* Add proofs of earlier pages that may not be on the medium to the group. */
static int add_proofs(struct annex_cxlssd *s)
{
	const struct ssd_proofs *p = ssd_flash_proofs(s->flash);
	const uint32_t n = ssd_proofs_count(p, s->file);

	if (n > SSD_PROOFS || !s->file->durable)
		return ssd_file_sync(s->file);
	for (uint32_t i = 0; i < n; i++) {
		struct ssd_entry *e = ssd_journal_add(s->journal, SSD_PROOF_MARK);

		if (!e)
			return -ENOMEM;
		memset(e->bits, 0, sizeof(e->bits));
		e->proof = p->all[i];
	}
	return s->file->failed;
}

/* Write the group, which makes the transaction and everything before it durable. */
static int write_group(struct annex_cxlssd_tx *tx, bool wait)
{
	struct annex_cxlssd *s = tx->s;
	int err = add_proofs(s);

	if (!err)
		err = ssd_add_loose(s);
	if (!err)
		err = add_all(tx);
	if (!err && !ssd_journal_fits(s->journal, ssd_group(s))) {
		err = ssd_journal_all(s, false);
		if (!err)
			err = add_all(tx);
	}
	if (!err)
		err = ssd_journal_append(s->journal, ssd_flash_turn(s->flash), wait);
	if (err)
		ssd_journal_drop(s->journal);
	else
		ssd_make_firm(s);
	return err;
}

static int commit(struct annex_cxlssd_tx *tx, bool wait, struct annex_cxlssd_time *t)
{
	struct annex_cxlssd *s = tx->s;
	int err = ssd_check_change(s);

	if (!err)
		err = complete(tx, t);
	/* Nothing may fail once it is durable: make room in the log first. */
	if (!err)
		err = ssd_make_log_room(s, tx->lines.n, t);
	/* Earlier stores must be durable no later. */
	if (!err)
		err = s->journal ? write_group(tx, wait) : ssd_fence(s);
	for (uint32_t i = 0; !err && i < tx->lines.n; i++)
		ssd_store_logged(s, tx->lines.lines[i], ssd_log_data(&tx->lines, i), t);
	if (!err)
		ssd_log_firm(&s->log);
	return err;
}

static int end(struct annex_cxlssd_tx *tx, bool wait, struct annex_cxlssd_time *t)
{
	struct annex_cxlssd *s = tx->s;
	struct annex_cxlssd_time own;
	int err;

	t = ssd_enter(s, t, &own);
	if (tx->lines.n)
		err = commit(tx, wait, t);
	else
		err = wait ? ssd_fence(s) : s->file->failed;
	err = ssd_leave(s, t, &own, t->done, err);
	annex_cxlssd_abort(tx);
	return err;
}

int annex_cxlssd_commit(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t)
{
	return end(tx, true, t);
}

int annex_cxlssd_commit_ordered(struct annex_cxlssd_tx *tx, struct annex_cxlssd_time *t)
{
	return end(tx, false, t);
}

bool annex_cxlssd_waits(struct annex_cxlssd *s)
{
	bool waits;

	pthread_mutex_lock(&s->lock);
	waits = s->journal && ssd_journal_waits(s->journal);
	pthread_mutex_unlock(&s->lock);
	return waits;
}
