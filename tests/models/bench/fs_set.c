// SPDX-License-Identifier: MIT
/*
 * Filesets: files in a tree of directories, and knowledge about them. A file that was looked up is
 * known from then on, as by the kernel's cache of names.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../bench/figure.h"
#include "fs.h"

#define LEVELS 32u
#define BATCH 4096u /* files between two write backs, when a fileset is made */

/* splitmix64. */
uint64_t fsb_random(struct fsb *b)
{
	uint64_t z = b->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* In (0, 1]. */
static double uniform(struct fsb *b)
{
	return (double)((fsb_random(b) >> 11) + 1) / 9007199254740992.0;
}

/* Of shape 1.5: an exponential number, and half the square of a normal one. */
static uint64_t gamma_size(struct fsb *b, uint64_t mean)
{
	const double normal = sqrt(-2 * log(uniform(b))) * cos(2 * M_PI * uniform(b));
	const double g = -log(uniform(b)) + normal * normal / 2;
	const double size = (double)mean * g / 1.5;

	return size < 1 ? 1 : (uint64_t)size;
}

void fsb_name(uint32_t number, char name[16])
{
	snprintf(name, 16, "%08u", number);
}

static void *array(size_t n, size_t size)
{
	void *at = calloc(n, size);

	if (!at)
		bench_fail("out of memory");
	return at;
}

/* Directories, those nearest to the root first. Return: the number of the first one that has
 * files. */
static uint32_t plan_dirs(struct fsb_set *set, uint32_t width)
{
	uint32_t counts[LEVELS], levels = 0, n = set->n, first = 0;

	do {
		n = (n + width - 1) / width;
		counts[levels++] = n;
		set->n_dirs += n;
	} while (n > 1);
	set->dirs = array(set->n_dirs, sizeof(*set->dirs));
	for (uint32_t i = levels - 1; i--;) {
		const uint32_t above = first;

		first += counts[i + 1];
		for (uint32_t k = 0; k < counts[i]; k++)
			set->dirs[first + k].parent = above + k / width;
	}
	return first;
}

static void plan(struct fsb *b)
{
	const struct fsb_work *w = b->work;
	const uint32_t scale = (uint32_t)b->opts.scale;
	const uint32_t width = w->scales_width && w->width > scale ? w->width / scale : w->width;
	struct fsb_set *set = &b->set;
	uint32_t first;

	*set = (struct fsb_set){.n = w->n / scale, .are_dirs = w->are_dirs};
	if (!set->n)
		bench_fail("scale %u leaves no file", scale);
	first = plan_dirs(set, width);
	set->files = array(set->n, sizeof(*set->files));
	for (uint32_t i = 0; i < set->n; i++) {
		set->files[i].dir = first + i / width;
		set->files[i].plan = w->gamma ? gamma_size(b, w->size) : w->size;
	}
}

void fsb_appear(struct fsb *b, uint32_t number, uint32_t ino)
{
	struct fsb_file *f = &b->set.files[number];

	f->ino = ino;
	f->version++;
	f->there = true;
}

void fsb_vanish(struct fsb *b, uint32_t number)
{
	struct fsb_file *f = &b->set.files[number];

	f->ino = 0;
	f->there = f->dirty = false;
}

uint32_t fsb_pick(struct fsb *b, bool there)
{
	struct fsb_set *set = &b->set;

	for (uint32_t i = 0; i < set->n; i++) {
		const uint32_t number = (set->next[there] + i) % set->n;

		if (set->files[number].there != there || set->files[number].busy)
			continue;
		set->next[there] = number + 1;
		return number;
	}
	bench_fail("%s: no file is left to %s", b->work->name, there ? "open" : "make");
}

static void make_file(struct fsb *b, uint32_t number)
{
	struct fsb_file *f = &b->set.files[number];
	char name[16];

	fsb_name(number, name);
	fsb_appear(b, number, fsb_make(b, b->set.dirs[f->dir].ino, name, b->set.are_dirs));
	for (uint64_t at = 0; !b->set.are_dirs && at < f->plan; at += FSB_IO)
		fsb_write(b, f, number, at, f->plan - at < FSB_IO ? f->plan - at : FSB_IO);
	f->size = f->plan;
}

/* Numbers of files by chance. */
static uint32_t *shuffled(struct fsb *b)
{
	uint32_t *order = array(b->set.n, sizeof(*order));

	for (uint32_t i = 0; i < b->set.n; i++) {
		const uint32_t at = (uint32_t)(fsb_random(b) % (i + 1));

		order[i] = order[at];
		order[at] = i;
	}
	return order;
}

void fsb_set_make(struct fsb *b)
{
	struct fsb_set *set = &b->set;
	uint32_t there, *order;
	char name[16];

	plan(b);
	there = (uint32_t)((uint64_t)set->n * b->work->there / 100);
	for (uint32_t i = 0; i < set->n_dirs; i++) {
		fsb_name(i, name);
		set->dirs[i].ino = fsb_make(
			b, i ? set->dirs[set->dirs[i].parent].ino : ANNEX_FS_ROOT, name, true);
	}
	order = shuffled(b);
	for (uint32_t i = 0; i < there; i++) {
		make_file(b, order[i]);
		if (i % BATCH == BATCH - 1)
			fsb_sync_all(b);
	}
	free(order);
	if (b->work->has_log)
		b->log.ino = fsb_make(b, ANNEX_FS_ROOT, "log", false);
}

void fsb_set_free(struct fsb *b)
{
	free(b->set.dirs);
	free(b->set.files);
}

void fsb_set_forget(struct fsb *b)
{
	for (uint32_t i = 0; i < b->set.n_dirs; i++)
		b->set.dirs[i].ino = 0;
	for (uint32_t i = 0; i < b->set.n; i++)
		b->set.files[i].ino = 0;
	b->log.ino = 0;
}

bool fsb_find(struct fsb *b, uint32_t number)
{
	struct fsb_file *f = &b->set.files[number];
	struct fsb_dir *d = &b->set.dirs[f->dir];
	char name[16];

	if (f->ino)
		return true;
	if (d->ino) {
		fsb_name(number, name);
		f->ino = fsb_lookup(b, d->ino, name);
		return false;
	}
	while (d->parent != d - b->set.dirs && !b->set.dirs[d->parent].ino)
		d = &b->set.dirs[d->parent];
	fsb_name((uint32_t)(d - b->set.dirs), name);
	d->ino = fsb_lookup(b, d == b->set.dirs ? ANNEX_FS_ROOT : b->set.dirs[d->parent].ino, name);
	return false;
}

static void verify_file(struct fsb *b, const struct fsb_file *f, uint32_t number)
{
	if (fsb_size(b, f->ino) != f->size)
		bench_fail("%s: file %u has another size", b->work->name, number);
	for (uint64_t at = 0; at < f->size; at += FSB_IO)
		fsb_read(b, f, number, at, f->size - at < FSB_IO ? f->size - at : FSB_IO);
}

/* After a new mount: names that should be there are, with their bytes, and no others. */
void fsb_set_verify(struct fsb *b)
{
	const struct fsb_set *set = &b->set;
	char name[16];

	for (uint32_t i = 0; i < set->n; i++) {
		const struct fsb_file *f = &set->files[i];

		if (f->there) {
			while (!fsb_find(b, i))
				;
			if (!set->are_dirs)
				verify_file(b, f, i);
			fsb_forget(b, f->ino);
		} else if (set->dirs[f->dir].ino) {
			fsb_name(i, name);
			if (fsb_is_there(b, set->dirs[f->dir].ino, name))
				bench_fail("%s: file %u is there still", b->work->name, i);
		}
	}
	if (b->work->has_log) {
		b->log.ino = fsb_lookup(b, ANNEX_FS_ROOT, "log");
		verify_file(b, &b->log, FSB_LOG);
	}
}
