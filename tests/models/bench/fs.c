// SPDX-License-Identifier: MIT
/*
 * Personalities of filebench on the file system, in virtual time:
 *
 *	fs WORKLOAD [OPTION=VALUE]...	play one, and print its times as JSON
 *	fs costs [OPTION=VALUE]...	measure real times of calls, likewise
 *
 * design=bytefs|ext4-like, scale=, log=PERCENT, pages=PERCENT, media=PERCENT, suspend=NANOSECONDS,
 * alpha=, twice=0|1, buffered=0|1, flush=MILLISECONDS, each=0|1, cores=, seed=: struct fsb_opts.
 */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <annex/log.h>
#include "../../bench/figure.h"
#include "fs.h"

static const char *const designs[ANNEX_FS_DESIGNS] = {"bytefs", "ext4-like"};

static const char *const classes[ANNEX_FS_CLASSES] = {"inode",     "map",     "bitmap",
						      "directory", "journal", "data"};

static void read_option(struct fsb_opts *o, const char *text)
{
	const char *value = strchr(text, '=');
	const size_t len = value ? (size_t)(value - text) : 0;
	uint64_t n = value ? strtoull(++value, NULL, 0) : 0;
	unsigned int design = 0;

	if (!value)
		bench_fail("%s: no OPTION=VALUE", text);
	while (design < ANNEX_FS_DESIGNS && strcmp(value, designs[design]))
		design++;
	if (!strncmp(text, "design", len) && design < ANNEX_FS_DESIGNS)
		o->design = design;
	else if (!strncmp(text, "scale", len) && n)
		o->scale = n;
	else if (!strncmp(text, "log", len) && n)
		o->log = n;
	else if (!strncmp(text, "media", len) && n)
		o->media = n;
	else if (!strncmp(text, "pages", len))
		o->pages = n;
	else if (!strncmp(text, "suspend", len))
		o->suspend = n;
	else if (!strncmp(text, "cores", len) && n <= FSB_CORES)
		o->cores = (uint32_t)n;
	else if (!strncmp(text, "alpha", len) && n)
		o->alpha = (uint32_t)n;
	else if (!strncmp(text, "twice", len))
		o->twice = n;
	else if (!strncmp(text, "buffered", len))
		o->buffered = n;
	else if (!strncmp(text, "each", len))
		o->each = n;
	else if (!strncmp(text, "flush", len) && n)
		o->flush = n * 1000000;
	else if (!strncmp(text, "seed", len))
		o->seed = n;
	else
		bench_fail("%s: no such option", text);
}

/* struct state - Counters. @clock: of the actors. */
struct state {
	struct annex_fs_stats fs;
	struct annex_cxlssd_stats s;
	uint64_t clock;
};

/* struct played - Before the run; when all actors have ended; when all was written back; when flash
 * has all; when the file system was given back, too. */
struct played {
	struct state was, driven, now, flushed, closed;
};

static void count(struct fsb *b, struct state *out)
{
	if (b->fs)
		annex_fs_get_stats(b->fs, &out->fs);
	annex_cxlssd_get_stats(b->s, &out->s);
	out->clock = b->clock;
}

static uint64_t pages(const struct annex_cxlssd_stats *s)
{
	return s->flash_writes + s->copied;
}

static json_t *traffic(uint64_t now[ANNEX_FS_CLASSES][2], uint64_t was[ANNEX_FS_CLASSES][2])
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < ANNEX_FS_CLASSES; i++)
		json_object_set_new(all, classes[i],
				    json_pack("[I, I]", (json_int_t)(now[i][0] - was[i][0]),
					      (json_int_t)(now[i][1] - was[i][1])));
	return all;
}

static json_t *calls(const struct fsb *b)
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < FSB_CALLS; i++)
		if (b->calls.n[i])
			json_object_set_new(all, fsb_names[i],
					    json_pack("{s:I, s:I}", "calls",
						      (json_int_t)b->calls.n[i], "real_ns",
						      (json_int_t)b->calls.ns[i]));
	return all;
}

static void print(struct fsb *b, struct played *p)
{
	const struct annex_cxlssd_stats *was = &p->was.s, *now = &p->now.s;
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{"files", b->set.n},
		{"operations", b->ops},
		{"bytes", b->paid},
		{"time_ns", p->now.clock - p->was.clock},
		{"sync_ns", p->now.clock - p->driven.clock},
		{"flash_pages", pages(&p->flushed.s) - pages(was)},
		{"flash_pages_before_flush", pages(now) - pages(was)},
		{"flash_pages_closed", pages(&p->closed.s) - pages(was)},
		{"copied", p->flushed.s.copied - was->copied},
		{"flash_reads", now->flash_reads - was->flash_reads},
		{"cleaned", now->cleaned - was->cleaned},
		{"coalesced", now->coalesced - was->coalesced},
		{"commits", p->now.fs.commits - p->was.fs.commits},
	};
	json_t *all = json_pack("{s:s, s:s}", "workload", b->work->name, "design",
				designs[b->opts.design]);

	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_set_new(all, counts[i].name, json_integer((json_int_t)counts[i].n));
	json_object_set_new(all, "calls", calls(b));
	json_object_set_new(all, "read", traffic(p->now.fs.read, p->was.fs.read));
	json_object_set_new(all, "written", traffic(p->now.fs.written, p->was.fs.written));
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

/* The caches are lost. */
static void unmount(struct fsb *b)
{
	fsb_unmount(b);
	fsb_set_forget(b);
	fsb_settle(b);
}

static void prepare(struct fsb *b)
{
	fsb_open(b);
	fsb_set_make(b);
	fsb_sync_all(b);
	if (b->work->cold) {
		unmount(b);
		fsb_mount(b);
	} else {
		fsb_settle(b);
	}
	memset(&b->calls, 0, sizeof(b->calls));
	b->paid = 0;
}

static void play(struct fsb *b)
{
	static struct played p;

	prepare(b);
	count(b, &p.was);
	fsb_drive(b);
	count(b, &p.driven);
	fsb_sync_all(b);
	count(b, &p.now);
	fsb_settle(b);
	count(b, &p.flushed);
	unmount(b);
	count(b, &p.closed);
	print(b, &p);
	fsb_mount(b);
	fsb_set_verify(b);
	fsb_set_free(b);
}

int main(int argc, char **argv)
{
	struct fsb b = {.opts = {.log = 100, .media = 100, .alpha = 50}};
	const struct fsb_work *w = fsb_works;

	/* Memory that is freed is not given back, and need not be had again. */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	bench_form();
	b.opts.scale = BENCH_SIZE(32, 512);
	b.opts.buffered = b.opts.each = true;
	b.opts.flush = 5000000000;
	for (int i = 2; i < argc; i++)
		read_option(&b.opts, argv[i]);
	while (argc > 1 && w->name && strcmp(w->name, argv[1]))
		w++;
	if (argc < 2 || (!w->name && strcmp(argv[1], "costs")))
		bench_fail("usage: %s WORKLOAD|costs [OPTION=VALUE]...", argv[0]);
	b.random = b.opts.seed;
	b.words = malloc(FSB_IO + 16);
	b.buf = malloc(FSB_IO);
	if (!b.words || !b.buf)
		bench_fail("out of memory");
	if (w->name) {
		b.work = w;
		play(&b);
	} else {
		b.opts.scale = 256;
		fsb_open(&b);
		fsb_measure_costs(&b);
	}
	fsb_close(&b);
	free(b.words);
	free(b.buf);
	return 0;
}
