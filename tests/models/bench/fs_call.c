// SPDX-License-Identifier: MIT
/*
 * Calls of the file system: each takes its time of the processor, and its real time is counted.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "../../bench/figure.h"
#include "fs.h"

/* Real time. In a run it is that of the processor, as others may be busy; to read that takes too
 * long for what fsb_costs has. */
static uint64_t real_now(const struct fsb *b)
{
	struct timespec t;

	if (!b->work)
		return annex_now();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* The actor has a core to itself, or the first one that is idle. */
static void compute(struct fsb *b, uint64_t ns)
{
	uint64_t *core = b->idle;

	for (uint32_t i = 1; i < b->opts.cores; i++)
		core = b->idle[i] < *core ? &b->idle[i] : core;
	if (b->opts.cores && *core > b->clock)
		b->clock = *core;
	b->clock += ns;
	*core = b->clock;
}

/* The processor's time comes first. Return: when the call begins, really. */
static uint64_t begin(struct fsb *b, enum fsb_call call, uint32_t bytes)
{
	compute(b, fsb_costs[call] + fsb_copy * bytes / ANNEX_FS_BLOCK);
	return real_now(b);
}

static void end(struct fsb *b, enum fsb_call call, uint64_t began)
{
	b->calls.ns[call] += real_now(b) - began;
	b->calls.n[call]++;
}

static void check(const struct fsb *b, enum fsb_call call, int err)
{
	if (err)
		bench_fail("%s: %s: %s: %s", b->work ? b->work->name : "costs", fsb_names[call],
			   strerror(-err), annex_last_error());
}

uint32_t fsb_lookup(struct fsb *b, uint32_t parent, const char *name)
{
	struct annex_fs_attr attr;
	const uint64_t began = begin(b, FSB_LOOKUP, 0);
	int err = annex_fs_lookup(b->fs, parent, name, &attr);

	end(b, FSB_LOOKUP, began);
	check(b, FSB_LOOKUP, err);
	return attr.ino;
}

bool fsb_is_there(struct fsb *b, uint32_t parent, const char *name)
{
	struct annex_fs_attr attr;
	int err = annex_fs_lookup(b->fs, parent, name, &attr);

	if (!err)
		annex_fs_forget(b->fs, attr.ino, 1);
	else if (err != -ENOENT)
		check(b, FSB_LOOKUP, err);
	return !err;
}

uint64_t fsb_size(struct fsb *b, uint32_t ino)
{
	struct annex_fs_attr attr;
	const uint64_t began = begin(b, FSB_GETATTR, 0);
	int err = annex_fs_getattr(b->fs, ino, &attr);

	end(b, FSB_GETATTR, began);
	check(b, FSB_GETATTR, err);
	return attr.size;
}

uint32_t fsb_make(struct fsb *b, uint32_t parent, const char *name, bool is_dir)
{
	const enum fsb_call call = is_dir ? FSB_MKDIR : FSB_CREATE;
	const struct annex_fs_new what = {.mode = is_dir ? S_IFDIR | 0755 : S_IFREG | 0644};
	struct annex_fs_attr attr;
	const uint64_t began = begin(b, call, 0);
	int err = annex_fs_make(b->fs, parent, name, &what, &attr);

	end(b, call, began);
	check(b, call, err);
	return attr.ino;
}

void fsb_remove(struct fsb *b, uint32_t parent, const char *name, bool is_dir)
{
	const enum fsb_call call = is_dir ? FSB_RMDIR : FSB_UNLINK;
	const uint64_t began = begin(b, call, 0);
	int err = is_dir ? annex_fs_rmdir(b->fs, parent, name)
			 : annex_fs_unlink(b->fs, parent, name);

	end(b, call, began);
	check(b, call, err);
}

void fsb_rename(struct fsb *b, uint32_t dir, const char *name, const char *other)
{
	const uint64_t began = begin(b, FSB_RENAME, 0);
	int err = annex_fs_rename(b->fs, dir, name, dir, other, 0);

	end(b, FSB_RENAME, began);
	check(b, FSB_RENAME, err);
}

/* A file without a name ends here, so this is a part of its removal. */
void fsb_forget(struct fsb *b, uint32_t ino)
{
	const uint64_t began = real_now(b);

	annex_fs_forget(b->fs, ino, 1);
	b->calls.ns[FSB_UNLINK] += real_now(b) - began;
}

/* The bytes [@at, @at + @n) of a file: words made of its number, its version and the offset. */
static const char *pattern(struct fsb *b, const struct fsb_file *f, uint32_t number, uint64_t at,
			   uint32_t n)
{
	const uint64_t key = ((uint64_t)number << 32 | f->version) * 0x9e3779b97f4a7c15ull;
	const uint32_t words = (uint32_t)(at % 8 + n + 7) / 8;

	for (uint32_t i = 0; i < words; i++)
		b->words[i] = (key ^ (at / 8 + i)) * 0xbf58476d1ce4e5b9ull;
	return (const char *)b->words + at % 8;
}

void fsb_read(struct fsb *b, const struct fsb_file *f, uint32_t number, uint64_t at, uint32_t n)
{
	const char *want = pattern(b, f, number, at, n);
	const uint64_t began = begin(b, FSB_READ, n);
	const ssize_t got = annex_fs_read(b->fs, f->ino, at, b->buf, n);

	end(b, FSB_READ, began);
	check(b, FSB_READ, got < 0 ? (int)got : 0);
	if (got != (ssize_t)n || memcmp(b->buf, want, n) != 0)
		bench_fail("%s: file %u: read %zd of %u bytes at %llu, or others than were written",
			   b->work ? b->work->name : "costs", number, got, n,
			   (unsigned long long)at);
}

void fsb_write(struct fsb *b, struct fsb_file *f, uint32_t number, uint64_t at, uint32_t n)
{
	const char *from = pattern(b, f, number, at, n);
	const uint64_t began = begin(b, FSB_WRITE, n);
	const ssize_t done = annex_fs_write(b->fs, f->ino, at, from, n);

	end(b, FSB_WRITE, began);
	check(b, FSB_WRITE, done < 0 ? (int)done : 0);
	if (done != (ssize_t)n)
		bench_fail("no room for file %u", number);
	b->paid += n;
	f->dirty = true;
}

bool fsb_sync(struct fsb *b, uint32_t ino, bool again)
{
	const uint64_t began = again ? real_now(b) : begin(b, FSB_FSYNC, 0);
	int err = annex_fs_fsync(b->fs, ino);

	end(b, FSB_FSYNC, began);
	b->calls.n[FSB_FSYNC] -= again;
	if (err != -EAGAIN)
		check(b, FSB_FSYNC, err);
	return !err;
}

void fsb_sync_all(struct fsb *b)
{
	for (bool again = false; !fsb_sync(b, 0, again); again = true)
		;
}
