// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <annex/uri.h>
#include "cli.h"
#include "device.h"
#include "error.h"
#include "mem.h"
#include "pool.h"
#include "progress.h"
#include "uri.h"

#define SPARE_LINES 64 /* beyond the data, or twice the threads: enough for each to hold some */

static const char *const layouts[] = {"stripe", "replica", NULL};

int storage_add(void *opts, const char *opt, char *uri)
{
	struct storage_opts *o = opts;

	(void)opt;
	if (o->nuris == STORAGE_DEVS)
		return err_set(-EINVAL, "more than %d devices", STORAGE_DEVS);
	o->uris[o->nuris++] = uri;
	return 0;
}

static int set_cache(void *opts, const char *opt, char *arg)
{
	return cli_size(opt, arg, 512, mem_limit(), &((struct storage_opts *)opts)->cache);
}

static int set_line(void *opts, const char *opt, char *arg)
{
	uint32_t line = 0;
	int err = cli_u32(opt, arg, 512, 1u << 20, &line);

	((struct storage_opts *)opts)->line = line;
	return err || !(line & (line - 1))
		       ? err
		       : err_set(-EINVAL, "%s %s: give a power of two", opt, arg);
}

const struct cli_option storage_device_options[] = {
	{"device", 'd', "DEVICE", 1, OPT_CALL_OF(storage_add, uri_devices),
	 "Storage to use; repeat it for several devices"},
	{0}};

const struct cli_option storage_layout_options[] = {
	{"layout", 'y', NULL, 1, OPT_CHOICE(struct storage_opts, layout, layouts),
	 "Layout of data on several devices (stripe)"},
	{0}};

const struct cli_option storage_cache_options[] = {
	{"cache", 'c', "SIZE", 2, OPT_CALL(set_cache),
	 "Size of the cache, limited to the lines that the data has (256M); its directory takes "
	 "up to 8 % more"},
	{"cache-in", 0, "RANGE", 2, OPT_TEXT_OF(struct storage_opts, cache_in, uri_ranges),
	 "Memory range for the cache, as numa:1?size=1G (ordinary memory)"},
	{"line", 'l', "SIZE", 2, OPT_CALL(set_line), "Bytes of a cache line, 512 to 1M (4096)"},
	{"threads", 't', "N", 2, OPT_U32(struct storage_opts, threads, 1, 1024),
	 "Worker threads (one per core)"},
	{"queues", 'q', "N", 2, OPT_U32(struct storage_opts, queues, 1, 65535),
	 "Queue pairs of each device (4)"},
	{"depth", 'D', "N", 2, OPT_U32(struct storage_opts, depth, 2, 65536),
	 "Entries of each queue (1024)"},
	{0}};

int storage_settle(struct storage_opts *o)
{
	o->threads_named = o->threads;
	if (!o->line)
		o->line = 4096;
	if (!o->cache)
		o->cache = STORAGE_CACHE;
	if (!o->threads)
		o->threads = pool_default_threads();
	if (o->cache < o->line)
		return err_set(-EINVAL, "--cache is smaller than one line of %u bytes", o->line);
	return 0;
}

/* Bytes that @s can hold at most; 0: its devices do not tell. */
static uint64_t most_data(const struct storage *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->ndevs; i++) {
		struct annex_ns ns;

		if (annex_dev_ns(s->devs[i], 1, &ns))
			return 0;
		sum += ns.block * ns.blocks;
	}
	return sum;
}

/* Lines that could never be used would only cost time to map. */
uint64_t storage_useful(const struct storage_opts *o, uint64_t data, uint64_t bytes)
{
	uint64_t spare = o->threads > SPARE_LINES / 2 ? 2ull * o->threads : SPARE_LINES;
	uint64_t most = (data / o->line + spare) * o->line;

	return data && bytes > most ? most : bytes;
}

/* A cache is over whole blocks; the end of a file need not be. */
static uint64_t round_up(const struct storage *s, uint64_t size)
{
	struct annex_ns ns;

	for (unsigned int i = 0; i < s->ndevs; i++)
		if (!annex_dev_ns(s->devs[i], 1, &ns))
			size = (size + ns.block - 1) / ns.block * ns.block;
	return size;
}

static int make_cache(struct storage *s, const struct storage_opts *o, uint64_t size,
		      uint64_t bytes)
{
	struct annex_cache_opts opts = {
		.bytes = storage_useful(o, size ? size : most_data(s), bytes),
		.line = o->line,
		.devs = s->devs,
		.ndevs = s->ndevs,
		.layout = o->layout ? ANNEX_REPLICA : ANNEX_STRIPE,
		.size = round_up(s, size),
		.provider = s->range ? annex_hdm_provider(s->range) : NULL,
	};
	int err = annex_cache_create(&opts, &s->cache);

	s->bytes = opts.bytes;
	return err ? err_lib(err, "cannot make the cache") : 0;
}

/* One range for all caches of a command: each open numa: URI is memory of its own. */
static struct annex_hdm *shared;
static unsigned int sharers;

static int open_range(struct storage *s, const struct storage_opts *o)
{
	int err = 0;

	if (!o->cache_in)
		return 0;
	if (!sharers)
		err = annex_hdm_open(o->cache_in, NULL, &shared);
	if (err)
		return err_lib(err, "cannot open the range %s", o->cache_in);
	sharers++;
	s->range = shared;
	s->range_uri = o->cache_in;
	return 0;
}

static void close_range_of(struct storage *s)
{
	if (s->range && !--sharers)
		annex_hdm_close(shared);
}

int storage_open(struct storage *s, const struct storage_opts *o, const char *const *uris,
		 unsigned int n, uint64_t size, uint64_t bytes)
{
	struct annex_dev_opts opts = {.queues = o->queues, .depth = o->depth};
	int err;

	memset(s, 0, sizeof(*s));
	for (unsigned int i = 0; i < n; i++) {
		err = annex_dev_open(uris[i], &opts, &s->devs[i]);
		if (err) {
			err_lib(err, "cannot open device %s", uris[i]);
			storage_close(s);
			return err;
		}
		s->ndevs++;
	}
	err = open_range(s, o);
	if (!err)
		err = make_cache(s, o, size, bytes);
	if (err)
		storage_close(s);
	return err;
}

int storage_close(struct storage *s)
{
	int err = annex_cache_destroy(s->cache);

	if (err)
		err_lib(err, "writing back to %s failed", annex_dev_uri(s->devs[0]));
	for (unsigned int i = 0; i < s->ndevs; i++)
		annex_dev_close(s->devs[i]);
	close_range_of(s);
	memset(s, 0, sizeof(*s));
	return err;
}

int storage_claim_read(struct storage *s)
{
	int err = 0;

	for (unsigned int i = 0; i < s->ndevs && !err; i++) {
		struct annex_ns ns;

		err = annex_dev_ns(s->devs[i], 1, &ns);
		if (!err)
			err = annex_dev_claim_shared(s->devs[i], 1, 0, ns.blocks);
		if (err)
			err_lib(err, "cannot read %s", annex_dev_uri(s->devs[i]));
	}
	return err;
}

/* All of [@at, @at + @len), or a line: the file is shorter than it was when it was opened. */
static int read_all(int fd, const char *path, void *buf, size_t len, uint64_t at)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys("cannot read %s", path);
		if (!n)
			return err_set(-EIO, "%s was truncated while it was read", path);
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int storage_fill(struct storage *s, const char *path, int fd, uint64_t size)
{
	uint32_t line = annex_cache_line(s->cache);
	uint64_t lines = (size + line - 1) / line;
	int err = 0;

	progress_begin("copying");
	for (uint64_t i = 0; i < lines && !err; i++) {
		uint64_t at = i * line;
		void *data;

		err = annex_cache_pin(s->cache, i, ANNEX_PIN_NEW, &data);
		if (err)
			return err_lib(err, "cannot write %s to the devices", path);
		err = read_all(fd, path, data, size - at < line ? size - at : line, at);
		annex_cache_unpin(s->cache, i, ANNEX_PIN_NEW);
		progress_update(i, lines, "lines");
	}
	if (err)
		return err;
	err = annex_cache_flush(s->cache, 0, UINT64_MAX);
	return err ? err_lib(err, "cannot write %s to the devices", path) : 0;
}

#define SAMPLES 16

/* Sixteen blocks are compared: enough to notice another file, line size or order of devices. */
static int check_image(struct storage *s, const char *path, int fd, uint64_t size)
{
	uint32_t line = annex_cache_line(s->cache);
	char want[512];

	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t at = (size / SAMPLES * i + (i + 1 == SAMPLES ? size % SAMPLES : 0)) &
			      ~511ull;
		size_t len = size - at < sizeof(want) ? size - at : sizeof(want);
		void *data;
		bool same;
		int err = read_all(fd, path, want, len, at);

		if (err)
			return err;
		err = annex_cache_pin(s->cache, at / line, 0, &data);
		if (err)
			return err_lib(err, "cannot read device %s", annex_dev_uri(s->devs[0]));
		same = !memcmp((char *)data + at % line, want, len);
		annex_cache_unpin(s->cache, at / line, 0);
		if (!same)
			return err_set(-EINVAL,
				       "the devices hold no image of %s with lines of %u bytes in "
				       "this layout: write one with annex copy",
				       path, line);
	}
	return 0;
}

static bool in_memory(const char *uri)
{
	return annex_dev_traits(uri) & ANNEX_TRAIT_VOLATILE;
}

int storage_renew(struct storage *s, const struct storage_opts *o, uint64_t size, uint64_t bytes)
{
	int err = annex_cache_destroy(s->cache);

	s->cache = NULL;
	if (err)
		return err_lib(err, "writing back to %s failed", annex_dev_uri(s->devs[0]));
	err = make_cache(s, o, size, bytes);
	if (!err)
		annex_cache_get_stats(s->cache, &s->base);
	return err;
}

int storage_check_image(const struct storage_opts *o, bool *empty)
{
	unsigned int mems = 0;
	int err = same_apart(o->uris, o->nuris);

	for (unsigned int i = 0; i < o->nuris; i++)
		mems += in_memory(o->uris[i]);
	*empty = mems;
	if (!err && mems && mems != o->nuris)
		err = err_set(-EINVAL, "mem: devices are filled from the file, others hold it "
				       "already: do not mix them");
	return err;
}

int storage_open_image(struct storage *s, const struct storage_opts *o, const char *path, int fd,
		       uint64_t size)
{
	char self[ANNEX_URI_MAX];
	const char *const own[] = {self};
	bool empty;
	int err;

	if (!o->nuris) {
		err = path_uri(self, "file", path, "readonly=1");
		if (!err)
			err = storage_open(s, o, own, 1, size, o->cache);
		if (!err)
			annex_cache_get_stats(s->cache, &s->base);
		return err;
	}
	err = storage_check_image(o, &empty);
	if (!err)
		err = storage_open(s, o, o->uris, o->nuris, size, o->cache);
	if (err)
		return err;
	err = empty ? storage_fill(s, path, fd, size) : storage_claim_read(s);
	if (!err && !empty)
		err = check_image(s, path, fd, size);
	/* A new cache: lines read so far must not count as hits later. */
	if (!err)
		err = storage_renew(s, o, size, o->cache);
	if (err)
		storage_close(s);
	return err;
}

void storage_used(const struct storage *s, struct annex_cache_stats *used)
{
	annex_cache_get_stats(s->cache, used);
	used->hits -= s->base.hits;
	used->misses -= s->base.misses;
	used->prefetches -= s->base.prefetches;
	used->evictions -= s->base.evictions;
	used->writebacks -= s->base.writebacks;
	used->bytes_read -= s->base.bytes_read;
	used->bytes_written -= s->base.bytes_written;
}

void storage_report(const struct storage *s, uint64_t asked, struct out *o)
{
	struct annex_cache_stats st;

	storage_used(s, &st);
	if (s->range)
		out_text(o, "cache_in", "cache in", s->range_uri);
	out_percent(o, "hit_rate", "hit rate", (double)st.hits / (double)(st.hits + st.misses));
	out_bytes(o, "bytes_asked", "bytes asked", asked);
	out_bytes(o, "bytes_read", "bytes read", st.bytes_read);
	out_ratio(o, "read_amplification", "read amplification",
		  (double)st.bytes_read / (double)asked, "x");
	out_count(o, "queue_depth", "queue depth reached", st.depth_max);
}
