// SPDX-License-Identifier: MIT
/*
 * Unified memory whose storage fails, fills up, or is killed with its process.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "migrate/store.h"
#include "tests/unit/mem_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* Their runtimes do not bear threads in a forked child. */
static const unsigned int kills = UNIT_SANITIZED ? 0 : 12;

#define STORE (4 * MIB)
#define TENSORS 12u

static void make_dir(char *dir, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, size, "%s/annex-mem.XXXXXX", tmp ? tmp : "/tmp");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
}

static unsigned int files_in(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* A killed process has its file locked until the kernel has ended its I/O. */
static void open_on(struct mem_rig *r, const char *uri, struct annex_space_opts opts)
{
	uint64_t limit = annex_deadline_ms(WAIT_MS);
	int err;

	memset(r, 0, sizeof(*r));
	do
		err = annex_store_open(uri, NULL, &r->stores[0]);
	while (err == -EBUSY && annex_now() < limit);
	CU_ASSERT_EQUAL_FATAL(err, 0);
	opts.stores = r->stores;
	opts.n_stores = 1;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r->space), 0);
}

/* Moves back and forth for ever; each is told through @fd. */
static void live_until_killed(const char *uri, uint64_t state, int fd)
{
	char *p[TENSORS];
	struct mem_rig r;

	open_on(&r, uri, (struct annex_space_opts){.device = MIB, .host = MIB / 4});
	for (unsigned int i = 0; i < TENSORS; i++) {
		p[i] = mem_filled(&r, "mortal", 200000, i);
	}
	for (;;) {
		char *t = p[random_next(&state) % TENSORS];

		if (random_next(&state) % 2)
			annex_prefetch(r.space, t, 200000, 0, NULL);
		else
			annex_pre_evict(r.space, t, 200000, ANNEX_TIER_SSD, NULL);
		t[random_next(&state) % 200000] = 1;
		if (write(fd, "m", 1) != 1)
			_exit(1);
	}
}

/* Killed when it has told of @moves. */
static void kill_one(const char *uri, uint64_t seed, unsigned int moves)
{
	int told[2], status = 0;
	char said;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(told), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(told[0]);
		alarm(60);
		live_until_killed(uri, seed, told[1]);
	}
	close(told[1]);
	while (moves && read(told[0], &said, 1) == 1)
		moves--;
	CU_ASSERT_EQUAL(moves, 0);
	kill(pid, SIGKILL);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* No other process has the pipe: it had no children. */
	while (read(told[0], &said, 1) == 1)
		;
	close(told[0]);
}

/* Every page of the storage can be allocated, written and read. */
static void all_is_free(const char *uri)
{
	struct mem_rig r;
	char *p;

	open_on(&r, uri, (struct annex_space_opts){.device = STORE + MIB});
	p = mem_filled(&r, "all", STORE, 77);
	mem_evict(&r, p, STORE, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(mem_stats(&r).stored, STORE);
	mem_fetch(&r, p, STORE);
	for (uint64_t i = 0; i < STORE; i += 512)
		if (p[i] != 77)
			CU_FAIL("other data came back than was stored");
	mem_rig_close(&r);
}

static void killed_at_any_moment(void)
{
	uint64_t state = random_seed("killed at any moment");
	unsigned int files;
	char dir[200], uri[400], path[300];

	make_dir(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/store", dir);
	snprintf(uri, sizeof(uri), "file:%s?size=%llu", path, STORE);
	all_is_free(uri);
	files = files_in(dir);
	for (unsigned int i = 0; i < kills; i++) {
		kill_one(uri, random_next(&state), (unsigned int)(random_next(&state) % 300 + 1));
		all_is_free(uri);
		CU_ASSERT_EQUAL(files_in(dir), files);
	}
	unlink(path);
	rmdir(dir);
}

/* It does not fit: the move says so and names it, and all of it can be read. @mounted: or NULL. */
static void fills(const char *uri, const char *mounted)
{
	/* One after the other: writes in flight together could all be written in part. */
	struct annex_store_opts narrow = {.depth = 1};
	struct annex_space_opts opts = {.device = 4 * MIB, .size = 8 * MIB, .n_stores = 1};
	uint64_t bytes = 3 * MIB;
	struct mem_rig r = {0};
	uint8_t *p;

	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, &narrow, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	/* It is there for as long as the file is open, and no longer if this is killed. */
	if (mounted)
		CU_ASSERT_EQUAL(umount2(mounted, MNT_DETACH), 0);
	p = mem_alloc(&r, "too much", bytes);
	for (uint64_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(i >> 12);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, bytes, ANNEX_TIER_SSD), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "too much"));
	for (uint64_t i = 0; i < bytes; i += 512)
		if (p[i] != (uint8_t)(i >> 12))
			CU_FAIL("a full disk loses data");
	/* Of what the disk has given, nothing is lost: it takes as much again. */
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	p = mem_filled(&r, "little", MIB / 4, 3);
	mem_evict(&r, p, MIB / 4, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(p[MIB / 4 - 1], 3);
	mem_rig_close(&r);
}

/*
 * The first of its writes fails, as its blocks have gone to others that began later. What leaves
 * next reuses the blocks of the others. @host: it leaves from the host's memory.
 */
static void no_room_for_the_first(bool host)
{
	struct mem_rig r;
	char *p;

	open_on(&r,
		"mem:8M?fault=error,op=write,status=0x81,lba=0,blocks=1024,count=0"
		"&fault=error,op=write,status=0x81,lba=6144,blocks=10240,count=0",
		(struct annex_space_opts){.device = 4 * MIB, .host = 4 * MIB, .size = 8 * MIB});
	p = mem_filled(&r, "too much", 3 * MIB, 1);
	if (host)
		mem_evict(&r, p, 3 * MIB, ANNEX_TIER_HOST);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, 3 * MIB, ANNEX_TIER_SSD), -ENOSPC);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	for (unsigned int i = 0; i < 4; i++) {
		p = mem_filled(&r, "little", MIB, (int)i);
		if (host)
			mem_evict(&r, p, MIB, ANNEX_TIER_HOST);
		mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
		CU_ASSERT_EQUAL(p[MIB - 1], (char)i);
		CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	}
	mem_rig_close(&r);
}

static void first_write_finds_no_room(void)
{
	no_room_for_the_first(false);
	no_room_for_the_first(true);
}

/* A file system of a megabyte, with a file that says it has eight. */
static void disk_that_fills(void)
{
	char dir[200], uri[400], path[300];

	make_dir(dir, sizeof(dir));
	if (mount("annex", dir, "tmpfs", 0, "size=1m")) {
		/* Not for this user: a device that says so. */
		fills("mem:8M?fault=error,op=write,status=0x81,lba=2048,blocks=16384,count=0",
		      NULL);
	} else {
		snprintf(path, sizeof(path), "%s/store", dir);
		snprintf(uri, sizeof(uri), "file:%s?size=8M&direct=0", path);
		fills(uri, dir);
	}
	rmdir(dir);
}

/*
 * Of many tensors that leave at once, some in one command, one cannot: it is the only one that is
 * complained of.
 */
static void one_of_many(const char *op, unsigned int bad_in)
{
	struct annex_store_opts narrow = {.depth = 1};
	struct annex_space_opts opts = {.device = 4 * MIB, .n_stores = 1};
	struct annex_move *m[40];
	unsigned int failed = 0;
	struct mem_rig r = {0};
	char uri[200], name[16], *p[40];

	/* The 13th page, which the 13th tensor gets: locations are given out in order. */
	snprintf(uri, sizeof(uri), "mem:4M?fault=error,op=%s,lba=96,blocks=8,count=0", op);
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, &narrow, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	for (unsigned int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "number %u.", i);
		p[i] = mem_filled(&r, name, 4096, i);
	}
	for (unsigned int way = 0; way < 2; way++) {
		for (unsigned int i = 0; i < 40; i++)
			CU_ASSERT_EQUAL_FATAL(
				way ? annex_prefetch(r.space, p[i], 4096, 0, &m[i])
				    : annex_pre_evict(r.space, p[i], 4096, ANNEX_TIER_SSD, &m[i]),
				0);
		for (unsigned int i = 0; i < 40; i++) {
			if (!annex_move_wait(m[i], WAIT_MS))
				continue;
			CU_ASSERT_EQUAL(way, bad_in);
			CU_ASSERT_EQUAL(i, 12);
			CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "number 12."));
			failed++;
		}
	}
	CU_ASSERT_EQUAL(failed, 1);
	for (unsigned int i = 0; i < 40; i++)
		if (i != 12 || !bad_in)
			CU_ASSERT_EQUAL(p[i][4095], (char)i);
	mem_rig_close(&r);
}

static void errors_name_the_tensor(void)
{
	one_of_many("write", 0);
	one_of_many("read", 1);
}

/*
 * Some completions are lost, and some commands fail: no data is lost. All tensors fit, so that none
 * of them is evicted for others.
 */
static void stumbling_storage(void)
{
	struct annex_store_opts hasty = {.timeout_ms = 300};
	struct annex_space_opts opts = {.device = 4 * MIB, .n_stores = 1, .checksum = true};
	uint64_t state = random_seed("stumbling storage");
	struct mem_rig r = {0};
	uint64_t bytes = 3 * MIB;
	uint8_t *p, *plain = malloc(bytes);

	CU_ASSERT_EQUAL_FATAL(
		annex_store_open("mem:16M?fault=lose,op=write,after=3&fault=lose,op=read,after=5"
				 "&fault=error,op=write,after=9,count=3&fault=error,op=read,"
				 "after=11,count=2",
				 &hasty, &r.stores[0]),
		0);
	opts.stores = r.stores;
	opts.size = 8 * MIB;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	p = mem_alloc(&r, "stumbling", bytes);
	random_fill(&state, plain, bytes);
	for (uint64_t at = 0; at < bytes; at += MIB / 4) {
		struct annex_move *m;

		memcpy(p + at, plain + at, MIB / 4);
		/* An error of a write leaves it where it was; the next one goes. */
		for (unsigned int tries = 0; tries < 5; tries++) {
			CU_ASSERT_EQUAL_FATAL(
				annex_pre_evict(r.space, p + at, MIB / 4, ANNEX_TIER_SSD, &m), 0);
			if (!annex_move_wait(m, WAIT_MS))
				break;
		}
		for (unsigned int tries = 0; tries < 5; tries++) {
			CU_ASSERT_EQUAL_FATAL(annex_prefetch(r.space, p + at, MIB / 4, 0, &m), 0);
			if (!annex_move_wait(m, WAIT_MS))
				break;
		}
		CU_ASSERT_EQUAL(memcmp(p + at, plain + at, MIB / 4), 0);
	}
	CU_ASSERT_EQUAL(memcmp(p, plain, bytes), 0);
	free(plain);
	mem_rig_close(&r);
}

/* A small tensor in the place of another is an error when its page cannot be read. */
static void small_ones_need_their_page(void)
{
	char *first, *second;
	void *again = NULL;
	struct mem_rig r;

	open_on(&r, "mem:8M?fault=error,op=read,count=0", (struct annex_space_opts){.device = MIB});
	first = mem_alloc(&r, "first", 64);
	second = mem_alloc(&r, "second", 64);
	memset(first, 1, 64);
	memset(second, 2, 64);
	CU_ASSERT_EQUAL(annex_free(r.space, first), 0);
	mem_evict(&r, second, 64, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_alloc(r.space, "again", 64, &again), -EIO);
	CU_ASSERT_PTR_NULL(again);
	/* The next one does not try the same page. */
	CU_ASSERT_EQUAL(annex_alloc(r.space, "again", 64, &again), 0);
	mem_rig_close(&r);
}

/* A megabyte of the storage cannot be written. Evictions for page faults go elsewhere. */
static void part_of_the_disk_fails(void)
{
	const uint64_t bytes = 24 * MIB;
	struct mem_rig r;
	char *p;

	open_on(&r, "mem:32M?fault=error,op=write,status=0x280,lba=20000,blocks=2048,count=0",
		(struct annex_space_opts){.device = 2 * MIB});
	p = mem_alloc(&r, "larger than memory", bytes);
	for (unsigned int round = 1; round < 4; round++)
		for (uint64_t at = 0; at < bytes; at += 4096)
			if (p[at]++ != (char)(round - 1))
				CU_FAIL("a page has other contents");
	mem_rig_close(&r);
}

/* Of two storage devices one vanishes. Pages with a copy on it are still in the device tier. */
static void copies_on_a_lost_device(void)
{
	const struct annex_fault vanish = {.kind = ANNEX_FAULT_REMOVE, .opcode = -1, .count = 1};
	struct mem_rig r;
	char *p, *other;

	mem_rig_open(&r, "mem:8M", (struct annex_space_opts){.device = 4 * MIB});
	p = mem_filled(&r, "copied", MIB, 1);
	other = mem_filled(&r, "other", MIB, 2);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	mem_fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(annex_dev_inject(r.stores[0]->dev, &vanish), 0);
	CU_ASSERT_EQUAL(mem_try_evict(&r, other, MIB, ANNEX_TIER_SSD), -ENODEV);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD + 1);
	mem_fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(p[MIB - 1], 1);
	mem_rig_close(&r);
}

UNIT_SUITE(mem_faults, {"killed at any moment", killed_at_any_moment},
	   {"a disk that fills", disk_that_fills},
	   {"the first write finds no room", first_write_finds_no_room},
	   {"errors name the tensor", errors_name_the_tensor},
	   {"small ones need their page", small_ones_need_their_page},
	   {"a part of the disk fails", part_of_the_disk_fails},
	   {"copies on a lost device", copies_on_a_lost_device},
	   {"stumbling storage", stumbling_storage})
