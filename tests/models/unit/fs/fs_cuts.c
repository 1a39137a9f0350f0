// SPDX-License-Identifier: MIT
/*
 * Pairs of operations, with a power cut in each write to the disk below: the file system must
 * be in a state that its promises allow, and have no fault.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/models/unit/cxlssd_rig.h"
#include "fs_cuts.h"
#include "fs_model.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LOG "&dram=1M&log=bytefs"
#define MOST 3u /* operations before a cut */

static struct {
	uint64_t states, wrong;
} cuts;

/* struct disk - A file in memory, and the file system in it. */
struct disk {
	int fd;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
};

/* struct trial - Operations on copies of the file @first. */
struct trial {
	enum annex_fs_design design;
	int first;
	const struct fs_cuts_op *ops[MOST];
	unsigned int n;
};

static void attach(struct disk *d, const char *more)
{
	char uri[128];

	snprintf(uri, sizeof(uri), "cxlssd:/proc/self/fd/%d?%s", d->fd, more);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open(uri, &d->s), 0);
}

static void detach(struct disk *d)
{
	CU_ASSERT_EQUAL(annex_fs_unmount(d->fs), 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(d->s), 0);
	d->fs = NULL;
}

/* The tree that each pair finds. */
static int make_first(enum annex_fs_design design)
{
	const struct annex_fs_mkfs_opts opts = {.design = design};
	struct disk d = {.fd = unit_memfd(0, NULL)};

	attach(&d, design == ANNEX_FS_BYTEFS ? "size=8M&durable=model" LOG
					     : "size=6M&durable=model" LOG);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(d.s, &opts), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(d.s, NULL, &d.fs), 0);
	CU_ASSERT_EQUAL(fs_cuts_make(d.fs, 1, "f", S_IFREG | 0644), 0);
	CU_ASSERT_EQUAL(fs_cuts_make(d.fs, 1, "d", S_IFDIR | 0755), 0);
	CU_ASSERT_EQUAL(fs_cuts_make(d.fs, 1, "e", S_IFDIR | 0755), 0);
	CU_ASSERT_EQUAL(fs_cuts_make(d.fs, fs_cuts_find(d.fs, "d"), "g", S_IFREG | 0644), 0);
	CU_ASSERT_EQUAL(fs_cuts_write(d.fs, "f", 0, 12000, 8), 0);
	CU_ASSERT_EQUAL(fs_cuts_write(d.fs, "d/g", 0, 100, 9), 0);
	detach(&d);
	return d.fd;
}

static struct disk copy_of(int first, const char *more)
{
	struct disk d = {.fd = unit_memfd(0, NULL)};
	struct stat st;
	char *all;

	CU_ASSERT_FATAL(!fstat(first, &st) && !ftruncate(d.fd, st.st_size));
	all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, first, 0);
	CU_ASSERT_FATAL(all != MAP_FAILED);
	/* Holes stay holes. */
	for (off_t at = 0, end; (at = lseek(first, at, SEEK_DATA)) >= 0; at = end) {
		end = lseek(first, at, SEEK_HOLE);
		CU_ASSERT_EQUAL(pwrite(d.fd, all + at, (size_t)(end - at), at), end - at);
	}
	munmap(all, (size_t)st.st_size);
	attach(&d, more);
	return d;
}

static void mount_on(struct disk *d)
{
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(d->s, NULL, &d->fs), 0);
}

/* A state that is allowed: the first @n operations, without the writes of @dropped. @grown: the
 * same, and f has zeroes behind its end. */
static void expected(const struct trial *t, unsigned int n, unsigned int dropped,
		     struct fs_cuts_state *out, struct fs_cuts_state *grown)
{
	struct disk d = copy_of(t->first, "durable=model" LOG);
	struct annex_fs_attr a = {.size = 20000};
	uint32_t f;

	mount_on(&d);
	for (unsigned int i = 0; i < n; i++)
		if (!(dropped >> i & 1))
			t->ops[i]->run(d.fs);
	fs_cuts_look(d.fs, out);
	f = fs_cuts_find(d.fs, "f");
	if (f)
		annex_fs_setattr(d.fs, f, &a, ANNEX_FS_SET_SIZE);
	fs_cuts_look(d.fs, grown);
	detach(&d);
	close(d.fd);
}

/* Whether the write @i of @n operations may not be there: nothing after it touched its file. */
static bool may_drop(const struct trial *t, unsigned int n, unsigned int i)
{
	if (!t->ops[i]->writes)
		return false;
	for (unsigned int k = i + 1; k < n; k++)
		if (t->ops[k]->touches & t->ops[i]->touches && !t->ops[k]->writes)
			return false;
	return true;
}

/* Of two writes to a file not the later one alone. */
static bool is_order(const struct trial *t, unsigned int n, unsigned int dropped)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = i + 1; k < n; k++)
			if (dropped >> i & 1 && !(dropped >> k & 1) && t->ops[k]->writes &&
			    t->ops[i]->touches == t->ops[k]->touches)
				return false;
	return true;
}

static bool may_be(const struct trial *t, unsigned int n, unsigned int dropped)
{
	bool may = true;

	for (unsigned int i = 0; i < n; i++)
		may &= !(dropped >> i & 1) || may_drop(t, n, i);
	return may;
}

static bool same_text(const struct fs_cuts_state *a, const struct fs_cuts_state *b)
{
	return a->n == b->n && !memcmp(a->text, b->text, a->n);
}

static bool same_block(const struct fs_cuts_block *got, const struct fs_cuts_block *want)
{
	return got->which == want->which && got->n <= want->n &&
	       !memcmp(got->data, want->data, got->n);
}

/* Blocks of @got that @of has count no more. */
static void strike(struct fs_cuts_state *got, const struct fs_cuts_state *of)
{
	for (unsigned int i = 0; i < got->n_blocks; i++)
		for (unsigned int k = 0; k < of->n_blocks; k++)
			if (same_block(&got->blocks[i], &of->blocks[k]))
				got->blocks[i].n = 0;
}

static bool same_data(const struct fs_cuts_state *a, const struct fs_cuts_state *b)
{
	for (unsigned int i = 0; i < a->n_blocks && i < b->n_blocks; i++)
		if (!same_block(&a->blocks[i], &b->blocks[i]))
			return false;
	return a->n_blocks == b->n_blocks;
}

/* The number of the @done returned operations that an fsync has made durable. */
static unsigned int promised(const struct trial *t, unsigned int done)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < done; i++)
		if (t->ops[i] == &fs_cuts_ops[FS_CUTS_OPS - 1])
			n = i + 1;
	return n;
}

/* BYTEFS: some operations, all that were promised, and perhaps one of which the disk has had a
 * part: it is old or new. */
static bool is_bytefs(const struct trial *t, unsigned int done, const struct fs_cuts_state *got)
{
	static struct fs_cuts_state want, grown;

	for (unsigned int n = promised(t, done); n <= t->n && n <= done + 1; n++) {
		for (unsigned int dropped = 0; dropped < 1u << n; dropped++) {
			if (!may_be(t, n, dropped) || !is_order(t, n, dropped))
				continue;
			expected(t, n, dropped, &want, &grown);
			if (same_text(&want, got) && same_data(&want, got))
				return true;
		}
	}
	return false;
}

/*
 * EXT4_LIKE: names and attributes are those after some operations, all up to the last fsync that
 * has returned; each block of data is that of one of the states that there were. A block whose end
 * was cut off may have zeroes there before the cut lasts.
 */
static bool is_ext4(const struct trial *t, unsigned int done, const struct fs_cuts_state *got)
{
	static struct fs_cuts_state want, grown, left;
	const unsigned int first = promised(t, done);
	bool same = false;

	left = *got;
	for (unsigned int n = 0; n <= t->n && n <= done + 1; n++) {
		for (unsigned int dropped = 0; dropped < 1u << n; dropped++) {
			if (!may_be(t, n, dropped))
				continue;
			expected(t, n, dropped, &want, &grown);
			same |= n >= first && is_order(t, n, dropped) && same_text(&want, got);
			strike(&left, &want);
			strike(&left, &grown);
		}
	}
	for (unsigned int i = 0; i < left.n_blocks; i++)
		same &= !left.blocks[i].n;
	return same;
}

static void tell(void *ctx, const char *what)
{
	(void)ctx;
	puts(what);
}

static void check(struct disk *d)
{
	struct annex_fs_report report;

	CU_ASSERT_EQUAL(annex_fs_check(d->s, tell, NULL, &report), 0);
	cuts.wrong += report.problems != 0;
}

/* After a cut the check finds nothing wrong, before and after a mount, which ends unfinished
 * operations. */
static void look_at(struct disk *d, struct fs_cuts_state *got)
{
	attach(d, "durable=model" LOG);
	check(d);
	mount_on(d);
	fs_cuts_look(d->fs, got);
	CU_ASSERT_EQUAL(annex_fs_unmount(d->fs), 0);
	check(d);
	CU_ASSERT_EQUAL(annex_cxlssd_close(d->s), 0);
}

/* The disk dies in its write @writes. Return: whether it did before all had ended. */
static bool cut(const struct trial *t, unsigned int writes, uint64_t *rng)
{
	struct disk d = copy_of(t->first, "durable=host" LOG);
	static struct fs_cuts_state got;
	unsigned int done = 0;
	bool dead;

	mount_on(&d);
	cxlssd_disk_on(writes);
	while (done < t->n && !cxlssd_rig_dead()) {
		t->ops[done]->run(d.fs);
		done += !cxlssd_rig_dead();
	}
	dead = cxlssd_rig_dead();
	cxlssd_rig_doom(0);
	annex_fs_unmount(d.fs);
	annex_cxlssd_cut(d.s, NULL, 0);
	cxlssd_disk_lose(d.fd, rng);
	look_at(&d, &got);
	close(d.fd);
	cuts.states++;
	if (!(t->design == ANNEX_FS_BYTEFS ? is_bytefs : is_ext4)(t, done, &got) && !cuts.wrong++) {
		for (unsigned int i = 0; i < t->n; i++)
			printf("%s, ", t->ops[i]->name);
		printf("write %u, %u done:\n%s", writes, done, got.text);
	}
	return dead;
}

static void try(const struct trial *t, uint64_t *rng)
{
	unsigned int writes = 1;

	while (cut(t, writes, rng))
		writes++;
}

/* Without ANNEX_PAIRS one pair of some. EXT4_LIKE has written nothing before an fsync. */
static void pairs(enum annex_fs_design design, unsigned int skip)
{
	uint64_t rng = random_seed("fs cuts");
	const bool blocks = design == ANNEX_FS_EXT4_LIKE;
	struct trial t = {.design = design, .first = make_first(design), .n = 2 + blocks};

	cuts.states = cuts.wrong = 0;
	t.ops[2] = &fs_cuts_ops[FS_CUTS_OPS - 1];
	for (unsigned int i = 0; i < FS_CUTS_OPS * FS_CUTS_OPS; i += skip) {
		t.ops[0] = &fs_cuts_ops[i / FS_CUTS_OPS];
		t.ops[1] = &fs_cuts_ops[i % FS_CUTS_OPS];
		try(&t, &rng);
	}
	printf("%llu states ", (unsigned long long)cuts.states);
	CU_ASSERT(cuts.states > (UNIT_SANITIZED ? 40 : 100));
	CU_ASSERT_EQUAL(cuts.wrong, 0);
	close(t.first);
}

static void of_bytefs(void)
{
	pairs(ANNEX_FS_BYTEFS, getenv("ANNEX_PAIRS") ? 1 : UNIT_SANITIZED ? 17 : 7);
}

static void of_ext4_like(void)
{
	pairs(ANNEX_FS_EXT4_LIKE, getenv("ANNEX_PAIRS") ? 1 : UNIT_SANITIZED ? 89 : 43);
}

/* Three operations, chosen by chance: ANNEX_TRIPLES of them. */
static void triples(void)
{
	const char *given = getenv("ANNEX_TRIPLES");
	const unsigned int n = given            ? (unsigned int)strtoul(given, NULL, 0)
			       : UNIT_SANITIZED ? 6
						: 15;
	struct trial t = {.first = make_first(ANNEX_FS_BYTEFS), .n = 3};
	uint64_t rng = random_seed("fs triples");

	cuts.states = cuts.wrong = 0;
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < 3; k++)
			t.ops[k] = &fs_cuts_ops[random_next(&rng) % FS_CUTS_OPS];
		try(&t, &rng);
	}
	printf("%llu states ", (unsigned long long)cuts.states);
	CU_ASSERT_EQUAL(cuts.wrong, 0);
	close(t.first);
}

/* The next blocks that are taken are the first ones of the device. */
static void wrap(struct annex_fs *fs)
{
	struct annex_fs_stats stats;
	uint32_t h;

	CU_ASSERT_EQUAL(fs_cuts_make(fs, 1, "h", S_IFREG | 0644), 0);
	h = fs_cuts_find(fs, "h");
	annex_fs_get_stats(fs, &stats);
	CU_ASSERT_EQUAL(annex_fs_fallocate(fs, h, 0, (stats.free_blocks - 16) * ANNEX_FS_BLOCK, 0),
			0);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, 1, "h"), 0);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
}

/* A file is cut off, and its blocks are wanted by another one before that lasts: a crash finds what
 * it had, or nothing. Return: whether the disk died. */
static bool cut_reuse(int first, unsigned int writes, uint64_t *rng)
{
	struct annex_fs_attr none = {.mode = 0600};
	struct disk d = copy_of(first, "durable=host" LOG);
	static struct fs_cuts_state want, got;
	uint32_t f;
	bool dead;

	mount_on(&d);
	wrap(d.fs);
	fs_cuts_look(d.fs, &want);
	f = fs_cuts_find(d.fs, "f");
	cxlssd_disk_on(writes);
	annex_fs_setattr(d.fs, f, &none, ANNEX_FS_SET_SIZE);
	fs_cuts_make(d.fs, 1, "n", S_IFREG | 0644);
	for (unsigned int i = 0; i < 5; i++)
		fs_cuts_write(d.fs, "n", i * 16384, 16384, 50);
	/* They go to the device with this. */
	annex_fs_setattr(d.fs, fs_cuts_find(d.fs, "n"), &none, ANNEX_FS_SET_MODE);
	dead = cxlssd_rig_dead();
	cxlssd_rig_doom(0);
	annex_fs_unmount(d.fs);
	annex_cxlssd_cut(d.s, NULL, 0);
	cxlssd_disk_lose(d.fd, rng);
	look_at(&d, &got);
	close(d.fd);
	for (unsigned int i = 0; i < got.n_blocks; i++)
		for (unsigned int k = 0; k < want.n_blocks; k++)
			cuts.wrong += got.blocks[i].which == want.blocks[k].which &&
				      !same_block(&got.blocks[i], &want.blocks[k]);
	return dead;
}

static void reuse(void)
{
	const int first = make_first(ANNEX_FS_BYTEFS);
	uint64_t rng = random_seed("fs reuse");

	cuts.wrong = 0;
	for (unsigned int i = 0; i < 10; i++)
		for (unsigned int writes = 1; cut_reuse(first, writes, &rng); writes++)
			;
	CU_ASSERT_EQUAL(cuts.wrong, 0);
	close(first);
}

#define ALIVE 1000000000u /* writes */

/* The power is cut after an fsync of all: all of it is there, and nothing that had gone. */
static void cut_model(struct fs_model *m, struct disk *d, uint64_t *rng)
{
	CU_ASSERT_EQUAL(annex_fs_fsync(m->fs, 0), 0);
	cxlssd_rig_doom(0);
	fs_model_lose(m);
	annex_cxlssd_cut(d->s, NULL, 0);
	cxlssd_disk_lose(d->fd, rng);
	attach(d, "durable=host" LOG);
	fs_model_find(m, d->s);
	fs_model_compare(m);
	cxlssd_disk_on(ALIVE);
}

static void beside_a_model(void)
{
	const char *given = getenv("ANNEX_OPERATIONS");
	const uint32_t n = given ? (uint32_t)strtoul(given, NULL, 0) : 2000;
	uint64_t rng = random_seed("fs model cuts");
	const struct annex_fs_opts opts = {.through = true};
	static struct fs_model m;

	for (unsigned int k = 0; k < 2 * ANNEX_FS_DESIGNS; k++) {
		struct disk d = {.fd = unit_memfd(0, NULL)};

		attach(&d, k % 2 ? "size=6M&durable=host" LOG : "size=64M&durable=host" LOG);
		fs_model_open(&m, d.s, (enum annex_fs_design)(k / 2), k % 2 ? &opts : NULL);
		cxlssd_disk_on(ALIVE);
		for (uint32_t i = 0; i < n; i++) {
			fs_model_step(&m, &rng);
			if (random_next(&rng) % 150 == 0)
				cut_model(&m, &d, &rng);
		}
		fs_model_close(&m);
		CU_ASSERT_EQUAL(m.wrong, 0);
		cxlssd_disk_lose(d.fd, &rng);
		CU_ASSERT_EQUAL(annex_cxlssd_close(d.s), 0);
		close(d.fd);
	}
}

UNIT_SUITE(fs_cuts, {"pairs, bytefs", of_bytefs}, {"pairs, ext4-like", of_ext4_like},
	   {"triples", triples}, {"blocks that were given back", reuse},
	   {"beside a model", beside_a_model})
