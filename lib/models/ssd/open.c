// SPDX-License-Identifier: MIT
/*
 * Opening a CXL-SSD: parameters of its URI, and its file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/uri.h>
#include "core/log.h"
#include "ssd.h"

#define DEFAULT_SPARE 7u
#define DEFAULT_QUEUE 64u
#define BUFFERS_A_DIE 2u /* write buffers for each die, in pages */
#define DRAM_MIN (1ull << 20)
#define UNIT_MAX 4096u

/* SkyByte's log is cleaned when it is 51 % full, ByteFS's when it is 75 % full. */
static const struct {
	const char *name;
	uint32_t clean, part;
	bool transactions;
} logs[] = {{"none", 0, 0, false}, {"skybyte", 51, 8, false}, {"bytefs", 75, 2, true}};

static int read_log(const struct annex_uri *uri, struct ssd_config *c)
{
	const char *name = annex_uri_get(uri, "log");
	unsigned int i = 0;

	while (name && i < sizeof(logs) / sizeof(logs[0]) && strcmp(name, logs[i].name))
		i++;
	if (i == sizeof(logs) / sizeof(logs[0]))
		return annex_fail(-EINVAL, "cxlssd: log=%.32s: none, skybyte or bytefs", name);
	c->clean = logs[i].clean;
	c->transactions = logs[i].transactions;
	c->log = logs[i].part ? c->dram / logs[i].part / SSD_LINE * SSD_LINE : 0;
	if (annex_uri_get(uri, "log_size") && !c->clean)
		return annex_fail(-EINVAL, "cxlssd: log_size= is of a log: log=skybyte or bytefs");
	return annex_uri_u64(uri, "log_size", 16 * SSD_LINE, 1ull << 37, &c->log);
}

static int read_durable(const struct annex_uri *uri, struct ssd_config *c)
{
	const char *name = annex_uri_get(uri, "durable");

	if (name && strcmp(name, "host") && strcmp(name, "model"))
		return annex_fail(-EINVAL, "cxlssd: durable=%.32s: host or model", name);
	c->use = name && !strcmp(name, "model") ? SSD_FILE_MODEL : SSD_FILE_DURABLE;
	return 0;
}

/* A range is mapped writable. */
static int read_readonly(const struct annex_uri *uri, bool range, struct ssd_config *c)
{
	bool readonly = false;
	int err = annex_uri_bool(uri, "readonly", &readonly);

	if (err || !readonly)
		return err;
	c->use = SSD_FILE_READONLY;
	return range || !c->path
		       ? annex_fail(-EINVAL, "cxlssd: readonly=1 is of a file, and not of a range")
		       : 0;
}

static int read_number(const struct annex_uri *uri, const char *key, uint64_t max, uint32_t *out)
{
	uint64_t n = *out;
	int err = annex_uri_u64(uri, key, 1, max, &n);

	*out = (uint32_t)n;
	return err;
}

static int read_geometry(const struct annex_uri *uri, struct ssd_geometry *g)
{
	const struct {
		const char *key;
		uint32_t *n;
	} numbers[] = {{"channels", &g->channels},
		       {"dies", &g->dies},
		       {"planes", &g->planes},
		       {"pages", &g->pages},
		       {"page", &g->page}};
	int err = 0;

	for (unsigned int i = 0; !err && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		err = read_number(uri, numbers[i].key, UINT32_MAX, numbers[i].n);
	return err;
}

static int read_times(const struct annex_uri *uri, struct ssd_config *c)
{
	const char *media = annex_uri_get(uri, "media");
	int err = ssd_media_find(media ? media : "znand", &c->media);
	uint64_t percent = 100, erase = 100;

	/* From SkyByte's artifact: index, DRAM, and an entry of the log. */
	c->look = 72;
	c->dram_ns = 46;
	c->append = 80;
	if (!err)
		err = annex_uri_u64(uri, "media_percent", 1, 10000, &percent);
	if (!err)
		err = annex_uri_u64(uri, "erase_percent", 0, 10000, &erase);
	ssd_media_slow(&c->media, percent, erase);
	if (!err)
		err = annex_uri_u64(uri, "look_ns", 0, 1000000, &c->look);
	if (!err)
		err = annex_uri_u64(uri, "dram_ns", 0, 1000000, &c->dram_ns);
	return err ? err : annex_uri_u64(uri, "append_ns", 0, 1000000, &c->append);
}

static int read_uri(const struct annex_uri *uri, bool range, struct ssd_config *c)
{
	static const char *const keys[] = {
		"window",   "format",    "size",          "media",         "channels", "dies",
		"planes",   "pages",     "page",          "spare",         "dram",     "log",
		"log_size", "unit",      "queue",         "durable",       "delay",    "look_ns",
		"dram_ns",  "append_ns", "media_percent", "erase_percent", "fetch",    "buffered",
		"readonly", NULL};
	int err = annex_uri_check_keys(uri, range ? keys : keys + 2);

	if (!err && strcmp(uri->scheme, "cxlssd"))
		err = annex_fail(-EINVAL, "\"%.32s:\" is no endpoint's: cxlssd:/path?size=1G",
				 uri->scheme);
	c->path = *uri->body ? uri->body : NULL;
	c->spare = DEFAULT_SPARE;
	c->queue = DEFAULT_QUEUE;
	c->fetch = true;
	if (!err)
		err = annex_uri_u64(uri, "size", 1, INT64_MAX / 2, &c->bytes);
	if (!err)
		err = read_geometry(uri, &c->given);
	if (!err)
		err = read_number(uri, "spare", 1000, &c->spare);
	if (!err)
		err = annex_uri_u64(uri, "dram", SSD_LINE, 1ull << 38, &c->dram);
	if (!err)
		err = read_number(uri, "unit", UNIT_MAX, &c->unit);
	if (!err)
		err = read_number(uri, "queue", 1u << 16, &c->queue);
	if (!err)
		err = annex_uri_bool(uri, "delay", &c->delay);
	if (!err)
		err = annex_uri_bool(uri, "fetch", &c->fetch);
	if (!err)
		err = annex_uri_bool(uri, "buffered", &c->buffered);
	if (!err)
		err = read_durable(uri, c);
	if (!err)
		err = read_readonly(uri, range, c);
	if (!err && !c->path && !c->bytes)
		err = annex_fail(-EINVAL, "cxlssd: in memory: say how large, as cxlssd:?size=64M");
	return err ? err : read_times(uri, c);
}

/* The shape of a new file: defaults for missing numbers, and as many blocks as needed. */
static int shape_of(const struct ssd_config *c, struct ssd_shape *out)
{
	struct ssd_geometry g = {c->given.channels ?: 8, c->given.dies ?: 1,
				 c->given.planes ?: 1,   1,
				 c->given.pages ?: 256,  c->given.page ?: 4096};
	uint64_t dram = c->dram ? c->dram : c->bytes / 64 > DRAM_MIN ? c->bytes / 64 : DRAM_MIN;
	uint64_t planes = (uint64_t)g.channels * g.dies, a_plane, blocks;

	if (__builtin_mul_overflow(planes, (uint64_t)g.planes, &planes) ||
	    __builtin_mul_overflow((uint64_t)g.pages, (uint64_t)g.page, &a_plane) ||
	    __builtin_mul_overflow(planes, a_plane, &a_plane))
		return annex_fail(-ERANGE, "cxlssd: no flash has so many planes");
	/* @a_plane: bytes of one block in each plane. */
	blocks = (c->bytes + c->bytes / 100 * c->spare + a_plane - 1) / a_plane + FLASH_FREE + 1;
	if (blocks > UINT32_MAX)
		return annex_fail(-ERANGE,
				  "cxlssd: %llu blocks a plane: more channels or larger pages",
				  (ull)blocks);
	g.blocks = (uint32_t)blocks;
	*out = (struct ssd_shape){g, c->bytes,
				  ssd_journal_half(dram / SSD_LINE, c->bytes / g.page)};
	return 0;
}

/* Parameters of the URI must match an existing file. */
static int check_given(const struct annex_cxlssd *s)
{
	const struct ssd_geometry *g = &s->file->shape.g, *given = &s->c.given;

	if ((!s->c.bytes || s->c.bytes == s->bytes) &&
	    (!given->channels || given->channels == g->channels) &&
	    (!given->dies || given->dies == g->dies) &&
	    (!given->planes || given->planes == g->planes) &&
	    (!given->pages || given->pages == g->pages) && (!given->page || given->page == g->page))
		return 0;
	return annex_fail(-EINVAL,
			  "%s: it was made with size=%llu channels=%u dies=%u planes=%u pages=%u "
			  "page=%u, and keeps them",
			  s->file->path, (ull)s->bytes, g->channels, g->dies, g->planes, g->pages,
			  g->page);
}

static int check_dram(struct annex_cxlssd *s)
{
	struct ssd_config *c = &s->c;
	const uint32_t most = s->page_bytes < UNIT_MAX ? s->page_bytes : UNIT_MAX;

	c->unit = c->unit ? c->unit : most;
	if (c->unit < SSD_LINE || c->unit > most || c->unit & (c->unit - 1))
		return annex_fail(-EINVAL, "cxlssd: unit=%u: a power of two from %u to %u", c->unit,
				  SSD_LINE, most);
	if (c->dram % SSD_LINE || c->log % SSD_LINE)
		return annex_fail(-EINVAL, "cxlssd: DRAM and its log have whole lines of %u bytes",
				  SSD_LINE);
	if (c->log > c->dram || c->dram - c->log < s->page_bytes)
		return annex_fail(-EINVAL,
				  "cxlssd: DRAM of %llu bytes with a log of %llu has no room for a "
				  "page of %u",
				  (ull)c->dram, (ull)c->log, s->page_bytes);
	if (ssd_journal_half(c->dram / SSD_LINE, ssd_pages(s)) > s->file->shape.half)
		return annex_fail(-EINVAL,
				  "%s: it was made with less DRAM, and its journal with it",
				  s->file->path);
	if (s->bytes / c->unit >= UINT32_MAX || c->dram / c->unit >= UINT32_MAX)
		return annex_fail(-ERANGE, "cxlssd: more than %u units: larger ones are needed",
				  UINT32_MAX - 1);
	return 0;
}

static int make_dram(struct annex_cxlssd *s)
{
	const struct ssd_geometry *g = &s->file->shape.g;
	const uint32_t words = (ssd_pages(s) + 63) / 64;
	bool ok = ssd_cache_init(&s->cache, s->c.dram - s->c.log, s->c.unit);

	if (ok && s->c.log)
		ok = ssd_log_init(&s->log, s->c.log, ssd_pages(s), s->page_lines);
	s->empty = calloc(words, sizeof(*s->empty));
	s->trimmed = calloc(words, sizeof(*s->trimmed));
	s->page = malloc(s->page_bytes);
	s->page2 = malloc(s->page_bytes);
	ok = ok && s->empty && s->trimmed && s->page && s->page2 &&
	     ssd_ingress_init(&s->queue, s->c.queue) &&
	     ssd_ingress_init(&s->programs, BUFFERS_A_DIE * g->channels * g->dies);
	return ok ? 0 : annex_fail(-ENOMEM, "%s: out of memory", s->file->path);
}

static int open_file(struct annex_cxlssd *s)
{
	const bool may_make = s->c.bytes && s->c.use != SSD_FILE_READONLY;
	struct ssd_shape shape = {0};
	int err = may_make ? shape_of(&s->c, &shape) : 0;

	if (!err)
		err = ssd_file_open(s->c.path, &shape, s->c.use, &s->file);
	if (err)
		return err;
	s->bytes = s->file->shape.bytes;
	s->page_bytes = s->file->shape.g.page;
	s->page_lines = s->page_bytes / SSD_LINE;
	if (!s->c.dram)
		s->c.dram = s->bytes / 64 > DRAM_MIN ? s->bytes / 64 / SSD_LINE * SSD_LINE
						     : DRAM_MIN;
	return check_given(s);
}

/* Memory of the process is not persistent, and needs no journal. */
static int open_flash(struct annex_cxlssd *s)
{
	uint64_t safe;
	int err = s->c.path ? ssd_journal_open(s->file, &s->journal) : 0;

	if (err || !s->file->fresh)
		return err ? err : ssd_mount(s);
	err = ssd_flash_open(s->file, &s->c.media, 0, NULL, &s->flash);
	if (!err && s->journal)
		ssd_flash_pass(s->flash, ssd_journal_last(s->journal, &safe));
	return err ? err : ssd_file_seal(s->file);
}

int ssd_open(const struct annex_uri *uri, bool range, struct annex_cxlssd **out)
{
	struct annex_cxlssd *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	pthread_mutex_init(&s->lock, NULL);
	err = read_uri(uri, range, &s->c);
	if (!err)
		err = open_file(s);
	if (!err)
		err = read_log(uri, &s->c);
	if (!err)
		err = check_dram(s);
	if (!err)
		err = make_dram(s);
	if (!err)
		err = open_flash(s);
	if (err) {
		ssd_close(s);
		return err;
	}
	s->c.path = NULL; /* the URI is freed */
	s->start = annex_now();
	*out = s;
	return 0;
}

int annex_cxlssd_open(const char *text, struct annex_cxlssd **out)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	int err = uri ? annex_uri_parse(text, uri) : annex_fail(-ENOMEM, "cxlssd: out of memory");

	if (!err)
		err = ssd_open(uri, false, out);
	free(uri);
	return err;
}

void ssd_close(struct annex_cxlssd *s)
{
	ssd_flash_close(s->flash);
	ssd_journal_close(s->journal);
	ssd_file_close(s->file);
	ssd_cache_free(&s->cache);
	ssd_log_free(&s->log);
	ssd_ingress_free(&s->queue);
	ssd_ingress_free(&s->programs);
	free(s->empty);
	free(s->trimmed);
	free(s->page);
	free(s->page2);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int annex_cxlssd_close(struct annex_cxlssd *s)
{
	int err = 0;

	if (!s)
		return 0;
	/* A thread of the parent may have held the lock. */
	if (ssd_file_forked(s->file)) {
		ssd_close(s);
		return 0;
	}
	pthread_mutex_lock(&s->lock);
	if (s->journal)
		err = ssd_flush(s, s->last);
	/* Make both halves equal, so that a closed file survives damage of one. */
	if (!err && s->journal && !s->file->readonly)
		err = ssd_journal_all(s, true);
	pthread_mutex_unlock(&s->lock);
	ssd_close(s);
	return err;
}

uint64_t annex_cxlssd_bytes(const struct annex_cxlssd *s)
{
	return s->bytes;
}

bool annex_cxlssd_readonly(const struct annex_cxlssd *s)
{
	return s->file->readonly;
}

uint32_t annex_cxlssd_page(const struct annex_cxlssd *s)
{
	return s->page_bytes;
}

void annex_cxlssd_get_stats(struct annex_cxlssd *s, struct annex_cxlssd_stats *out)
{
	struct ftl_stats f;

	pthread_mutex_lock(&s->lock);
	ssd_flash_get_stats(s->flash, &f);
	*out = s->stats;
	out->flash_writes = f.written;
	out->copied = f.copied;
	out->erased = f.erased;
	out->least_worn = f.least_worn;
	out->most_worn = f.most_worn;
	out->valid = f.valid;
	out->dirty = s->cache.dirty + s->log.live;
	pthread_mutex_unlock(&s->lock);
}
