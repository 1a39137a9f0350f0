// SPDX-License-Identifier: MIT
/*
 * Devices, caches and contexts for GPUs across fork(): a child that uses, closes or leaves its
 * copies is refused, and its parent never notices.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/array.h>
#include <annex/cuda.h>
#include <annex/device.h>
#include <annex/gpu.h>
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define BYTES (4u << 20)
#define ELEMENTS 4096u

extern char **environ;

struct fixture {
	struct annex_dev *dev;
	struct annex_cache *cache;
	struct annex_array array;
	char *buf;
	uint64_t addr, token; /* of a read in flight */
	struct annex_gpu_context *ctx;
	struct annex_gpu_array words;
};

static struct annex_io read_into(const struct fixture *f)
{
	return (struct annex_io){
		.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 8, .bytes = 4096, .addr = f->addr};
}

static void begin(struct fixture *f, const char *uri)
{
	struct annex_dev_opts opts = {.timeout_ms = 5000};
	struct annex_io io;
	struct annex_cache_opts cache = {.bytes = 64 << 10, .devs = &f->dev, .ndevs = 1};

	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, &opts, &f->dev), 0);
	f->buf = aligned_alloc(4096, 4096);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->buf);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(f->dev, f->buf, 4096, &f->addr), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cache_create(&cache, &f->cache), 0);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&f->array, f->cache, 0, 8, ELEMENTS), 0);
	for (uint64_t i = 0; i < ELEMENTS; i++)
		CU_ASSERT_EQUAL_FATAL(annex_array_set(&f->array, i, &i), 0);
	io = read_into(f);
	CU_ASSERT_EQUAL_FATAL(annex_qp_submit(annex_dev_qp(f->dev), &io, 1, &f->token, 0), 1);
}

/* The first element, past the cache. */
static int read_one(struct fixture *f)
{
	struct annex_io io = read_into(f);

	return annex_dev_io(f->dev, &io, 1, NULL);
}

static bool all_right(struct fixture *f)
{
	for (uint64_t i = 0, got; i < ELEMENTS; i++)
		if (annex_array_get(&f->array, i, &got) || got != i)
			return false;
	return true;
}

static void end(struct fixture *f)
{
	CU_ASSERT_EQUAL(
		annex_qp_wait(annex_dev_qp(f->dev), f->token, NULL, annex_deadline_ms(5000)), 0);
	CU_ASSERT(all_right(f));
	CU_ASSERT_EQUAL(annex_cache_flush(f->cache, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(read_one(f), 0);
	CU_ASSERT_EQUAL(annex_cache_destroy(f->cache), 0);
	CU_ASSERT_EQUAL(annex_dev_unmap(f->dev, f->addr, 4096), 0);
	CU_ASSERT_EQUAL(annex_dev_close(f->dev), 0);
	free(f->buf);
}

/* The read may have completed before fork(). Return: as use(). */
static int in_flight(struct fixture *f)
{
	struct annex_qp *qp = annex_dev_qp(f->dev);
	int rc = annex_qp_poll(qp, f->token, NULL);

	return rc && (rc != -ECHILD ||
		      annex_qp_wait(qp, f->token, NULL, annex_deadline_ms(100)) != -ECHILD);
}

/* Return: how many calls were not refused as they should be. */
static int use(struct fixture *f)
{
	struct annex_fault fault = {.kind = ANNEX_FAULT_LOSE, .count = 1};
	struct annex_range range = {0, 4096};
	struct annex_io io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 8, .bytes = 4096};
	struct annex_qp *qp = annex_dev_qp(f->dev);
	uint64_t x = 1, token;
	void *p;

	return in_flight(f) + (read_one(f) != -ECHILD) +
	       (annex_array_get(&f->array, 1, &x) != -ECHILD) +
	       !strstr(annex_last_error(), "before fork()") +
	       (annex_array_set(&f->array, 1, &x) != -ECHILD) +
	       (annex_cache_pin(f->cache, 0, 0, &p) != -ECHILD) +
	       (annex_cache_flush(f->cache, 0, UINT64_MAX) != -ECHILD) +
	       (annex_cache_prefetch(f->cache, &range, 1) != -ECHILD) +
	       (annex_dev_map(f->dev, f->buf, 4096, &x) != -ECHILD) +
	       (annex_dev_unmap(f->dev, f->addr, 4096) != -ECHILD) +
	       (annex_dev_alloc(f->dev, ANNEX_PLACE_PROVIDER, 4096, &p, &x) != -ECHILD) +
	       (annex_dev_claim(f->dev, 1, 0, 1) != -ECHILD) +
	       (annex_dev_inject(f->dev, &fault) != -ECHILD) +
	       (annex_qp_submit(qp, &io, 1, &token, annex_deadline_ms(100)) != -ECHILD);
}

static int give_back(struct fixture *f)
{
	return (annex_cache_destroy(f->cache) != 0) + (annex_dev_close(f->dev) != 0);
}

static int use_and_give_back(struct fixture *f)
{
	int wrong = use(f);

	return wrong + give_back(f);
}

/* A device of its own, on the same file, is the child's to use. */
static int open_again(struct fixture *f)
{
	struct annex_dev *dev;
	int err = annex_dev_open(annex_dev_uri(f->dev), NULL, &dev);

	return err || annex_dev_close(dev) || use(f);
}

static void in_child(struct fixture *f, int (*act)(struct fixture *f))
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(act ? act(f) : 0);
	CU_ASSERT_FATAL(pid > 0);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

static void children_of(const char *uri)
{
	static int (*const acts[])(struct fixture *) = {NULL, use, give_back, use_and_give_back,
							open_again};
	const bool kept = annex_dev_traits(uri) & ANNEX_TRAIT_PATH;
	struct fixture f;

	for (unsigned int i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (acts[i] == open_again && !kept)
			continue;
		begin(&f, uri);
		in_child(&f, acts[i]);
		in_child(&f, acts[i]);
		end(&f);
	}
}

static void children(void)
{
	static const char *const words[] = {"", "&serve=thread", "&serve=alone", "&direct=0"};
	char path[UNIT_PATH], uri[512];

	children_of("mem:4M");
	children_of("mem:4M?serve=thread");
	unit_tmpfile(path);
	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(uri, sizeof(uri), "file:%s?size=4M%s", path, words[i]);
		children_of(uri);
	}
	unlink(path);
}

static void served(void)
{
	struct serve_rig r;
	char uri[128];

	serve_rig_open(&r, "mem:8M", "", 0);
	CU_ASSERT_EQUAL_FATAL(serve_rig_add(&r, "a", BYTES, getuid(), 0, 0), 0);
	children_of(serve_rig_uri(&r, "a", uri));
	serve_rig_close(&r);
}

#define GPU_LINES 64u /* of which a context holds 16, all dirty */

static void gpu_begin(struct fixture *f, const char *uri, bool direct)
{
	const struct annex_gpu_opts opts = {
		.bytes = 16 * 4096, .queues = 1, .timeout_ms = 5000, .direct = direct};
	uint64_t x;

	CU_ASSERT_EQUAL_FATAL(annex_gpu_open(uri, &opts, annex_gpu_memory_host(), &f->ctx), 0);
	CU_ASSERT_EQUAL_FATAL(annex_gpu_array_init(&f->words, f->ctx, 0, 8, GPU_LINES * 512), 0);
	for (uint64_t line = 0; line < GPU_LINES; line++) {
		x = line + 1;
		CU_ASSERT_EQUAL_FATAL(annex_gpu_set(&f->words, line * 512, &x), 0);
	}
}

static void gpu_end(struct fixture *f)
{
	unsigned int wrong = 0;

	for (uint64_t line = 0, x; line < GPU_LINES; line++)
		wrong += annex_gpu_get(&f->words, line * 512, &x) || x != line + 1;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(f->ctx, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(annex_gpu_close(f->ctx), 0);
}

/* Return: how many calls were not refused as they should be. */
static int gpu_use(struct fixture *f)
{
	struct annex_fault fault = {.kind = ANNEX_FAULT_LOSE, .count = 1};
	struct annex_gpu_array array;
	struct annex_gpu_error error;
	struct annex_gpu_stats stats;
	uint64_t x = 0;

	/* The first line was evicted long ago. */
	return (annex_gpu_get(&f->words, 0, &x) != -ECHILD) +
	       (annex_gpu_set(&f->words, 0, &x) != -ECHILD) +
	       (annex_gpu_flush(f->ctx, 0, UINT64_MAX) != -ECHILD) +
	       (annex_gpu_get_error(f->ctx, &error) != -ECHILD) +
	       (annex_gpu_get_stats(f->ctx, &stats) != -ECHILD) +
	       (annex_gpu_recover(f->ctx) != -ECHILD) +
	       (annex_gpu_array_init(&array, f->ctx, 0, 8, 1) != -ECHILD) +
	       (annex_dev_inject(annex_gpu_dev(f->ctx), &fault) != -ECHILD) +
	       (annex_gpu_get(&f->words, 0, &x) != -ECHILD);
}

static int gpu_give_back(struct fixture *f)
{
	return annex_gpu_close(f->ctx) != 0;
}

static int gpu_use_and_give_back(struct fixture *f)
{
	int wrong = gpu_use(f);

	return wrong + gpu_give_back(f);
}

static void gpu_contexts(void)
{
	static int (*const acts[])(struct fixture *) = {NULL, gpu_use, gpu_give_back,
							gpu_use_and_give_back};
	char path[UNIT_PATH], uri[512];
	struct fixture f;

	unit_tmpfile(path);
	for (unsigned int i = 0; i < 4 * sizeof(acts) / sizeof(acts[0]); i++) {
		snprintf(uri, sizeof(uri), "file:%s?size=256K", path);
		gpu_begin(&f, i & 1 ? uri : "mem:256K", i & 2);
		in_child(&f, acts[i / 4]);
		gpu_end(&f);
	}
	unlink(path);
}

/* These children share their parent's memory until they are another program. */
static void programs(void)
{
	char *argv[] = {(char *)"true", NULL};
	char path[UNIT_PATH], uri[512];
	struct fixture f;
	int status = 0;
	pid_t pid;

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=4M", path);
	begin(&f, uri);
	CU_ASSERT_EQUAL_FATAL(posix_spawnp(&pid, "true", NULL, NULL, argv, environ), 0);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	pid = vfork();
	if (!pid) {
		execvp("true", argv);
		_exit(1);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	end(&f);
	unlink(path);
}

UNIT_SUITE(forks, {"children use, close and leave", children},
	   {"children of a served device", served},
	   {"children of a context for a GPU", gpu_contexts}, {"other programs", programs})
