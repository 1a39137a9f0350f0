// SPDX-License-Identifier: MIT
/*
 * The endpoint of the artifact of ByteFS, and a file system on it.
 */
#include <stdio.h>
#include <unistd.h>
#include <annex/log.h>
#include "../../bench/figure.h"
#include "fs.h"

#define BYTES (32ull << 30)
#define LOG (BENCH_SIZE(256ull, 1024ull) << 20) /* a quarter, scaled, is not too small */
#define CACHE (4ull << 30)                      /* of the host */
#define BESIDES (1ull << 20)                    /* of DRAM that is no log */

/* A page passes a channel in 20 us. */
static const char media[] = "read_ns = 40000\n"
			    "program_ns = 60000\n"
			    "erase_ns = 2000000\n"
			    "rate = 204800000\n";

static const struct annex_fs_link far = {
	.load = 1000, .store = 500, .read = 1000, .write = 20000, /* a write that is cached */
};

static void check(int err)
{
	if (err)
		bench_fail("%s", annex_last_error());
}

static void open_endpoint(struct fsb *b)
{
	const uint64_t log = LOG / b->opts.scale * b->opts.log / 100 / 4096 * 4096;
	const uint64_t pages = LOG / b->opts.scale * b->opts.pages / 100 / 4096 * 4096;
	FILE *f = tmpfile();
	char uri[512];

	if (!f ||
	    fprintf(f, "%ssuspend_ns = %llu\n", media, (unsigned long long)b->opts.suspend) < 0 ||
	    fflush(f))
		bench_fail("cannot write a file of times");
	snprintf(uri, sizeof(uri),
		 "cxlssd:?size=%llu&channels=16&dies=1&planes=1&pages=128&page=4096"
		 "&media=/proc/self/fd/%d&media_percent=%llu&log=bytefs&dram=%llu&log_size=%llu"
		 "&buffered=%d",
		 (unsigned long long)(BYTES / b->opts.scale / 4096 * 4096), fileno(f),
		 (unsigned long long)b->opts.media, (unsigned long long)(log + pages + BESIDES),
		 (unsigned long long)log, b->opts.buffered);
	check(annex_cxlssd_open(uri, &b->s));
	fclose(f);
}

void fsb_mount(struct fsb *b)
{
	const struct annex_fs_opts opts = {
		.cache = CACHE / b->opts.scale,
		.alpha = b->opts.alpha,
		.twice = b->opts.twice,
		.clock = &b->clock,
		.link = far,
	};

	check(annex_fs_mount(b->s, &opts, &b->fs));
}

void fsb_unmount(struct fsb *b)
{
	check(annex_fs_unmount(b->fs));
	b->fs = NULL;
}

void fsb_open(struct fsb *b)
{
	const struct annex_fs_mkfs_opts opts = {.design = b->opts.design};

	open_endpoint(b);
	check(annex_fs_mkfs(b->s, &opts));
	fsb_mount(b);
}

void fsb_settle(struct fsb *b)
{
	struct annex_cxlssd_time t = {.now = b->clock};

	check(annex_cxlssd_flush(b->s, &t));
	b->clock = t.done > b->clock ? t.done : b->clock;
}

void fsb_close(struct fsb *b)
{
	fsb_unmount(b);
	check(annex_cxlssd_close(b->s));
}
