// SPDX-License-Identifier: MIT
/*
 * Files that are cut short while they are mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/hdm.h>
#include <annex/log.h>
#include <annex/mapping.h>
#include "tests/unit/hdm_rig.h"
#include "tests/unit/unit.h"

#define PAGE 4096
#define BYTES (16 * PAGE)
#define MANY 200

/* struct file - Memory with a file, which has all its blocks. */
struct file {
	int fd;
	char *at;
	struct annex_mapping *m;
};

static void file_open(struct file *f)
{
	f->fd = memfd_create("mapping", MFD_CLOEXEC);
	CU_ASSERT_FATAL(f->fd >= 0 && !fallocate(f->fd, 0, 0, BYTES));
	f->at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	CU_ASSERT_FATAL(f->at != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(annex_mapping_watch("file", f->fd, f->at, BYTES, &f->m), 0);
}

static void file_close(struct file *f)
{
	annex_mapping_end(f->m);
	munmap(f->at, BYTES);
	close(f->fd);
}

/* The signal that ends a child that does it; 0: it ended by itself, with status 0. */
static int signal_of(void (*run)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		signal(SIGBUS, SIG_DFL); /* sanitizers have a handler */
		run();
		_exit(0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFSIGNALED(status) || !WEXITSTATUS(status));
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_what_was_cut(void)
{
	struct file f;

	file_open(&f);
	if (ftruncate(f.fd, PAGE))
		_exit(1);
	_exit(annex_atomic_load(&f.at[2 * PAGE], ANNEX_RELAXED) || !annex_mapping_check(f.m));
}

static void catch_and_touch(void)
{
	for (unsigned int i = 0; i < 2; i++)
		if (annex_mapping_catch())
			_exit(1);
	touch_what_was_cut();
}

static void catch_and_touch_elsewhere(void)
{
	int fd = memfd_create("elsewhere", MFD_CLOEXEC);
	char *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (annex_mapping_catch())
		_exit(1);
	_exit(annex_atomic_load(at, ANNEX_RELAXED));
}

static void catch_and_raise(void)
{
	if (annex_mapping_catch())
		_exit(1);
	raise(SIGBUS);
}

/* The library installs a handler only on request, and only for watched mappings. */
static void signals(void)
{
	CU_ASSERT_EQUAL(signal_of(touch_what_was_cut), SIGBUS);
	CU_ASSERT_EQUAL(signal_of(catch_and_touch), 0);
	CU_ASSERT_EQUAL(signal_of(catch_and_touch_elsewhere), SIGBUS);
	CU_ASSERT_EQUAL(signal_of(catch_and_raise), SIGBUS);
}

static void on_sigbus(int sig)
{
	_exit(sig == SIGBUS ? 0 : 1);
}

static void catch_behind_another(void)
{
	struct sigaction sa = {.sa_handler = on_sigbus};

	if (sigaction(SIGBUS, &sa, NULL))
		_exit(1);
	catch_and_touch_elsewhere();
}

static void earlier_handler(void)
{
	CU_ASSERT_EQUAL(signal_of(catch_behind_another), 0);
}

static void use_what_is_left(void)
{
	struct file f;

	file_open(&f);
	f.at[0] = 1;
	f.at[3 * PAGE] = 1;
	if (annex_mapping_catch() || annex_mapping_check(f.m) || ftruncate(f.fd, 2 * PAGE))
		_exit(1);
	if (f.at[0] != 1 || annex_atomic_load(&f.at[3 * PAGE], ANNEX_RELAXED))
		_exit(2);
	memset(f.at, 2, BYTES);
	if (annex_mapping_check(f.m) != -EIO || annex_mapping_check_all() != -EIO)
		_exit(3);
	/* It stays lost when there is a file again, and when it is watched no more. */
	if (ftruncate(f.fd, BYTES) || annex_mapping_check(f.m) != -EIO)
		_exit(4);
	file_close(&f);
	file_open(&f);
	if (annex_mapping_check(f.m) || annex_mapping_check_all() != -EIO)
		_exit(5);
	file_close(&f);
}

/* A file truncated between the check of its size and the watch is detected as well. */
static void cut_before_the_watch(void)
{
	struct file f;

	file_open(&f);
	annex_mapping_end(f.m);
	if (annex_mapping_catch() || ftruncate(f.fd, PAGE) ||
	    annex_mapping_watch("file", f.fd, f.at, BYTES, &f.m) || annex_mapping_check(f.m))
		_exit(1);
	if (annex_atomic_load(&f.at[3 * PAGE], ANNEX_RELAXED) || annex_mapping_check(f.m) != -EIO)
		_exit(2);
	_exit(!strstr(annex_last_error(), "truncated"));
}

static void lost(void)
{
	CU_ASSERT_EQUAL(signal_of(use_what_is_left), 0);
	CU_ASSERT_EQUAL(signal_of(cut_before_the_watch), 0);
}

static void grow_again(void)
{
	struct file f;

	file_open(&f);
	if (ftruncate(f.fd, 8 * PAGE) || ftruncate(f.fd, BYTES))
		_exit(1);
	_exit(annex_mapping_check(f.m) != -EIO);
}

static void grown_again(void)
{
	CU_ASSERT_EQUAL(signal_of(grow_again), 0);
}

/* More than one chunk of them, of which some end. */
static void many(void)
{
	static struct file f[MANY];

	for (unsigned int i = 0; i < MANY; i++)
		file_open(&f[i]);
	for (unsigned int i = 0; i < MANY; i += 2)
		file_close(&f[i]);
	for (unsigned int i = 0; i < MANY; i += 2)
		file_open(&f[i]);
	for (unsigned int i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(annex_mapping_check(f[i].m), 0);
		file_close(&f[i]);
	}
	CU_ASSERT_EQUAL(annex_mapping_check_all(), 0);
	CU_ASSERT_EQUAL(annex_mapping_check(NULL), 0);
	annex_mapping_end(NULL);
}

/* Calls on a range that was truncated fail, also without a handler. */
static void use_range(void)
{
	struct annex_hdm_usage usage;
	struct annex_hdm_block block;
	uint64_t cursor = 0;
	struct hdm_rig r;
	void *p;

	hdm_rig_open(&r, 1 << 20, "");
	if (annex_hdm_check(r.h) || annex_hdm_alloc(r.h, 65536, 0, "a", &p) || ftruncate(r.fd, 0))
		_exit(1);
	if (annex_hdm_alloc(r.h, 65536, 0, "b", &p) != -EIO ||
	    annex_hdm_find(r.h, "a", &block) != -EIO ||
	    annex_hdm_next(r.h, &cursor, &block) != -EIO ||
	    annex_hdm_get_usage(r.h, &usage) != -EIO || annex_hdm_check(r.h) != -EIO)
		_exit(2);
	hdm_rig_close(&r);
}

static void range(void)
{
	CU_ASSERT_EQUAL(signal_of(use_range), 0);
}

/* Clean-up of a range that is lost leaves the error before it. */
static void cause_is_kept(void)
{
	const struct annex_provider *prov;
	struct hdm_rig r;
	void *p;

	hdm_rig_open(&r, 1 << 20, "");
	prov = annex_hdm_provider(r.h);
	p = prov->alloc(prov->ctx, 64 << 10, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_FATAL(!ftruncate(r.fd, 0));
	CU_ASSERT_EQUAL(annex_hdm_alloc(r.h, 0, 0, NULL, &p), -EINVAL);
	prov->free(prov->ctx, p, 64 << 10);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "there are no such pieces"));
	hdm_rig_close(&r);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "there are no such pieces"));
}

UNIT_SUITE(mapping, {"signals", signals}, {"an earlier handler", earlier_handler}, {"lost", lost},
	   {"grown again", grown_again}, {"many", many}, {"a range", range},
	   {"a cause is kept", cause_is_kept})
