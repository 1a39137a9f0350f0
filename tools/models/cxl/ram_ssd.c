// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "ram.h"
#include "work.h"

#define REST_NS 10000000u /* idle time before the program begins */

static int open_endpoint(const struct board *m, uint64_t bytes, struct annex_cxlssd **out)
{
	char uri[512];
	int err;

	snprintf(uri, sizeof(uri),
		 "cxlssd:?durable=model&size=%" PRIu64
		 "&media=%s&media_percent=%u&erase_percent=%u&dram=%" PRIu64
		 "&unit=%u&fetch=%d&queue=%u&channels=%u&dies=%u&pages=%u&spare=%u&look_ns=%" PRIu64
		 "&dram_ns=%" PRIu64 "&append_ns=%" PRIu64 "&log=%s",
		 bytes, m->media, m->media_percent, m->erase_percent, m->dram, m->unit,
		 m->ssd_fetch, m->queue, m->channels, m->dies, m->block_pages, m->spare, m->look_ns,
		 m->dram_ns, m->append_ns, m->log ? "skybyte" : "none");
	if (m->log)
		snprintf(uri + strlen(uri), sizeof(uri) - strlen(uri), "&log_size=%" PRIu64,
			 m->log_bytes);
	err = annex_cxlssd_open(uri, out);
	return err ? err_lib(err, "%s", uri) : 0;
}

/* Write all pages once in random order, which spreads rows of equal length over dies. */
static int fill(struct annex_cxlssd *s, const char *data, uint64_t bytes, uint64_t seed,
		struct annex_cxlssd_time *t)
{
	const uint64_t n = bytes / RAM_PAGE;
	uint64_t *pages = malloc(n * sizeof(*pages));
	int err = 0;

	if (!pages)
		return err_set(-ENOMEM, "out of memory");
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t j = annex_random(&seed) % (i + 1);

		pages[i] = pages[j];
		pages[j] = i * RAM_PAGE;
	}
	for (uint64_t i = 0; !err && i < n; i++) {
		t->now = t->done;
		err = annex_cxlssd_write_blocks(s, pages[i], data + pages[i], RAM_PAGE, t);
	}
	free(pages);
	return err ? err_lib(err, "the endpoint") : 0;
}

/* Fill the DRAM with dirty pages of other data; a log has just been cleaned. */
static int fill_dram(struct annex_cxlssd *s, uint64_t from, uint64_t pages, bool log,
		     struct annex_cxlssd_time *t)
{
	char line[RAM_LINE];
	int err = 0;

	for (uint64_t at = from; !err && at < from + pages * RAM_PAGE; at += RAM_PAGE) {
		t->now = t->done;
		err = annex_cxlssd_read(s, at, line, RAM_LINE, t);
		t->now = t->done;
		if (!err)
			err = annex_cxlssd_write(s, at, line, RAM_LINE, t);
	}
	t->now = t->done;
	if (!err && log)
		err = annex_cxlssd_flush(s, t);
	return err ? err_lib(err, "the endpoint") : 0;
}

int ram_ssd_open(const struct board *m, const char *data, uint64_t bytes, uint64_t others,
		 struct ram_ssd *out)
{
	struct annex_cxlssd_time t = {.done = 0};
	int err = open_endpoint(m, bytes + others * RAM_PAGE, &out->s);

	if (err)
		return err;
	err = fill(out->s, data, bytes, m->seed, &t);
	if (!err && others)
		err = fill_dram(out->s, bytes, others, m->log, &t);
	if (err) {
		annex_cxlssd_close(out->s);
		return err;
	}
	out->bytes = bytes;
	out->others = others;
	out->base = t.done + REST_NS;
	annex_cxlssd_get_stats(out->s, &out->before);
	return 0;
}

int ram_ssd_alone(struct ram_ssd *d)
{
	int err = 0;

	if (d->others)
		err = annex_cxlssd_trim(d->s, d->bytes, d->others * RAM_PAGE, NULL);
	return err ? err_lib(err, "other data of the endpoint") : 0;
}

int ram_ssd_settle(struct ram_ssd *d)
{
	int err = annex_cxlssd_flush(d->s, NULL);

	return err ? err_lib(err, "the final flush") : 0;
}

void ram_ssd_stats(const struct ram_ssd *d, struct ram_stats *out)
{
	const struct annex_cxlssd_stats *b = &d->before;
	struct annex_cxlssd_stats s;

	annex_cxlssd_get_stats(d->s, &s);
	*out = (struct ram_stats){
		.reads = s.reads + s.writes - b->reads - b->writes,
		.hits = s.hits - b->hits,
		.late = s.late - b->late,
		.flash_reads = s.flash_reads - b->flash_reads,
		.flash_writes = s.flash_writes - b->flash_writes,
		.copied = s.copied - b->copied,
	};
}
