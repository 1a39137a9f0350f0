// SPDX-License-Identifier: MIT
/*
 * Contexts for GPU threads, with the host in place of the GPU: setup, rejected options, and
 * recovery from lost commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/cuda.h>
#include <annex/gpu.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define DATA (1u << 20)
#define WORDS (DATA / 8)
/* Time for commands that end, on a machine that has other things to do, and for lost ones. */
#define TIMEOUT_MS 60000u
#define LOST_MS 300u

static struct annex_gpu_context *open_on(const char *uri, const struct annex_gpu_opts *opts)
{
	struct annex_gpu_context *ctx = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_gpu_open(uri, opts, annex_gpu_memory_host(), &ctx), 0);
	return ctx;
}

static struct annex_gpu_array words_of(struct annex_gpu_context *ctx)
{
	struct annex_gpu_array a;

	CU_ASSERT_EQUAL_FATAL(annex_gpu_array_init(&a, ctx, 0, 8, WORDS), 0);
	return a;
}

/* From here on commands time out after @ms. The host's own, such as a reset's, keep theirs. */
static void set_timeout(const struct annex_gpu_array *a, uint64_t ms)
{
	a->cache->timeout_ns = ms * ANNEX_NSEC_PER_MSEC;
	a->cache->patience_ns = 2 * a->cache->timeout_ns;
}

/* A file of random words, which are also the reference. */
static uint64_t *make_file(char *path, char *uri, size_t size)
{
	uint64_t *words = malloc(DATA), seed = random_seed("gpu");
	int fd;

	CU_ASSERT_FATAL(words != NULL);
	for (unsigned int i = 0; i < WORDS; i++)
		words[i] = random_next(&seed);
	unit_tmpfile(path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, words, DATA), DATA);
	close(fd);
	snprintf(uri, size, "file:%s?block=512", path);
	return words;
}

static bool file_is(const char *path, const uint64_t *words)
{
	char *found = malloc(DATA);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool same;

	CU_ASSERT_FATAL(found != NULL && fd >= 0);
	same = read(fd, found, DATA) == DATA && !memcmp(found, words, DATA);
	close(fd);
	free(found);
	return same;
}

/* Reads and writes through a small cache, and the contents of the file in the end. */
static void reference_with(const struct annex_gpu_opts *opts, const char *serve)
{
	char path[UNIT_PATH], uri[512];
	uint64_t *words = make_file(path, uri, sizeof(uri) - 20), seed = random_seed("ops");
	struct annex_gpu_context *ctx;
	struct annex_gpu_stats stats;
	struct annex_gpu_array a;
	unsigned int wrong = 0;

	strcat(uri, serve);
	ctx = open_on(uri, opts);
	CU_ASSERT_EQUAL(annex_gpu_size(ctx), DATA);
	CU_ASSERT_EQUAL(annex_gpu_line(ctx), opts->line);
	a = words_of(ctx);
	for (unsigned int k = 0; k < 300; k++) {
		uint64_t i = random_next(&seed) % WORDS, got = 0;

		if (k % 3) {
			wrong += annex_gpu_get(&a, i, &got) || got != words[i];
		} else {
			words[i] = random_next(&seed);
			wrong += annex_gpu_set(&a, i, &words[i]) != 0;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), 0);
	CU_ASSERT(file_is(path, words));
	words[WORDS - 1]++;
	CU_ASSERT_EQUAL(annex_gpu_set(&a, WORDS - 1, &words[WORDS - 1]), 0);
	CU_ASSERT_EQUAL(annex_gpu_get_stats(ctx, &stats), 0);
	CU_ASSERT(stats.reads > 0 && stats.writes > 0 && stats.evictions > 0);
	CU_ASSERT_EQUAL(stats.errors, 0);
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0); /* which flushes */
	CU_ASSERT(file_is(path, words));
	unlink(path);
	free(words);
}

static void reference(void)
{
	for (uint32_t line = 512; line <= 32768; line *= 8) {
		struct annex_gpu_opts opts = {.bytes = DATA / 8, .line = line, .depth = 32};

		reference_with(&opts, "");
		opts.direct = true;
		reference_with(&opts, "&serve=busy");
	}
}

/* Many threads, each a warp of one lane. */
#define THREADS 4
#define ADDS 2000

struct adder {
	struct annex_gpu_array a;
	uint64_t seed;
	unsigned int failed;
	uint32_t added[64];
};

static void *add(void *arg)
{
	struct adder *t = arg;

	for (unsigned int k = 0; k < ADDS; k++) {
		unsigned int i = (unsigned int)(random_next(&t->seed) % 64);

		/* One word of each of 64 lines, of which the cache holds a quarter. */
		t->failed += annex_gpu_add64(&t->a, i * 512, 1, NULL) != 0;
		t->added[i]++;
	}
	return NULL;
}

static void threads(void)
{
	struct annex_gpu_opts opts = {.bytes = 16 * 4096, .queues = 2, .depth = 8};
	struct annex_gpu_context *ctx = open_on("mem:1M", &opts);
	struct adder t[THREADS];
	struct annex_gpu_array a = words_of(ctx);

	CU_ASSERT_PTR_NOT_NULL(strstr(annex_dev_uri(annex_gpu_dev(ctx)), "serve=busy"));
	for (unsigned int i = 0; i < THREADS; i++)
		t[i] = (struct adder){.a = a, .seed = random_seed("add")};
	unit_threads(THREADS, add, t, sizeof(*t));
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(t[i].failed, 0);
	for (unsigned int i = 0; i < 64; i++) {
		uint64_t sum = 0, got = 0;

		for (unsigned int k = 0; k < THREADS; k++)
			sum += t[k].added[i];
		CU_ASSERT_EQUAL(annex_gpu_get(&a, i * 512, &got), 0);
		CU_ASSERT_EQUAL(got, sum);
	}
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
}

static void refused(void)
{
	static const struct {
		const char *uri;
		struct annex_gpu_opts opts;
		int err;
	} bad[] = {
		{"mem:1M", {.bytes = 4096}, -EINVAL}, /* one line */
		{"mem:1M", {.bytes = 0}, -EINVAL},
		{"mem:1M", {.bytes = 1ull << 48}, -EINVAL},
		{"mem:1M", {.bytes = 1 << 16, .line = 3000}, -EINVAL},
		{"mem:1M", {.bytes = 1 << 16, .line = 256}, -EINVAL},
		{"mem:1M?block=4096", {.bytes = 1 << 16, .line = 512}, -EINVAL},
		{"mem:1M", {.bytes = 1 << 23, .line = 1 << 21}, -EINVAL},
		{"mem:1M", {.bytes = 1 << 16, .size = 2 << 20}, -ERANGE},
		{"mem:1M", {.bytes = 1 << 16, .nsid = 2}, -ENXIO},
		{"mem:1M", {.bytes = 1 << 16, .depth = 1}, -EINVAL},
		{"mem:1M", {.bytes = 1 << 16, .queues = 1 << 20}, -EINVAL},
		{"mem:1M?serve=caller", {.bytes = 1 << 16}, -EINVAL},
		{"mem:1M?serve=thread", {.bytes = 1 << 16}, -EINVAL},
		{"pci:0000:00:04.0?sq=cmb", {.bytes = 1 << 16}, -EINVAL},
		{"pci:0000:00:04.0?sq=provider&cq=host", {.bytes = 1 << 16}, -EINVAL},
		{"tape:1", {.bytes = 1 << 16}, -EPROTONOSUPPORT},
		/* Rings that a proxy does not reach; that have no dma-buf; that are to lie
		 * elsewhere.
		 */
		{"mem:1M", {.bytes = 1 << 16, .direct = true, .gpu_rings = true}, -EOPNOTSUPP},
		{"pci:0000:00:04.0", {.bytes = 1 << 16, .gpu_rings = true}, -EOPNOTSUPP},
		{"pci:0000:00:04.0?sq=provider", {.bytes = 1 << 16, .gpu_rings = true}, -EINVAL},
	};
	struct annex_gpu_opts opts = {.bytes = 1 << 16, .size = 1000 * 512 - 100};
	struct annex_gpu_context *ctx = NULL;
	struct annex_gpu_array a;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = annex_gpu_open(bad[i].uri, &bad[i].opts, annex_gpu_memory_host(), &ctx);

		if (err != bad[i].err)
			printf("%u: %d, expected %d\n", i, err, bad[i].err);
		CU_ASSERT_EQUAL(err, bad[i].err);
		CU_ASSERT_PTR_NULL(ctx);
	}
	ctx = open_on("mem:1M", &opts);
	CU_ASSERT_EQUAL(annex_gpu_array_init(&a, ctx, 0, 3, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_gpu_array_init(&a, ctx, 0, 8192, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_gpu_array_init(&a, ctx, 4, 8, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_gpu_array_init(&a, ctx, 512, 4, 1000 * 128), -ERANGE);
	CU_ASSERT_EQUAL(annex_gpu_array_init(&a, ctx, 512, 4, UINT64_MAX / 2), -ERANGE);
	CU_ASSERT_EQUAL(annex_gpu_array_init(&a, ctx, 512, 4, 999 * 128), 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 512, 1000 * 512), -ERANGE);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 512, 999 * 512), 0);
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
	CU_ASSERT_EQUAL(annex_gpu_close(NULL), 0);
}

/* Several devices: each is checked, and the size is of all. */
static void several(void)
{
	static const char *const same[] = {"mem:1M"}, *const wide[] = {"mem:1M?block=4096"};
	static const char *const tape[] = {"tape:1"}, *const small[] = {"mem:64K"};
	static const struct {
		struct annex_gpu_opts opts;
		uint64_t size;
		int err;
	} open[] = {
		{{.more = same}, 2 << 20, 0},
		{{.more = same, .layout = ANNEX_REPLICA}, 1 << 20, 0},
		{{.more = small}, 128 << 10, 0},
		{{.more = wide, .size = 512}, 4096, 0},
		{{.more = same, .size = (2 << 20) + 1}, 0, -ERANGE},
		{{.more = small, .layout = ANNEX_REPLICA, .size = 65537}, 0, -ERANGE},
		{{.more = wide, .line = 512}, 0, -EINVAL},
		{{.more = tape}, 0, -EPROTONOSUPPORT},
		{{.more = same, .layout = (enum annex_layout)7}, 0, -EINVAL},
		{{.more = same, .queues = 40000}, 0, -EINVAL},
	};

	for (unsigned int i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		struct annex_gpu_opts opts = open[i].opts;
		struct annex_gpu_context *ctx = NULL;
		int err;

		opts.bytes = 1 << 16;
		opts.nmore = 1;
		err = annex_gpu_open("mem:1M", &opts, annex_gpu_memory_host(), &ctx);
		if (err != open[i].err)
			printf("%u: %d, expected %d: %s\n", i, err, open[i].err,
			       annex_last_error());
		CU_ASSERT_EQUAL(err, open[i].err);
		if (err)
			continue;
		CU_ASSERT_EQUAL(annex_gpu_size(ctx), open[i].size);
		CU_ASSERT_PTR_EQUAL(annex_gpu_dev_at(ctx, 0), annex_gpu_dev(ctx));
		CU_ASSERT_PTR_NOT_NULL(annex_gpu_dev_at(ctx, 1));
		CU_ASSERT_PTR_NULL(annex_gpu_dev_at(ctx, 2));
		CU_ASSERT_STRING_EQUAL(annex_gpu_name(ctx, 1),
				       annex_dev_uri(annex_gpu_dev_at(ctx, 1)));
		CU_ASSERT_PTR_NOT_NULL(strstr(annex_gpu_name(ctx, UINT32_MAX), " and 1 more"));
		CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
	}
}

/*
 * A memory in which the n-th thing that can fail does: the error comes back, and all that was taken
 * is given back.
 */
struct brittle {
	struct annex_gpu_memory memory;
	struct annex_provider device, pinned;
	struct annex_copier copier;
	int left;  /* until it fails */
	int taken; /* pieces of memory, and pages that are reached */
	bool lies; /* copies of the copier move nothing */
};

static bool fails(struct brittle *b)
{
	return b->left-- == 0;
}

static void *brittle_alloc(void *ctx, size_t size, size_t align)
{
	struct brittle *b = ctx;

	if (fails(b))
		return NULL;
	b->taken++;
	return annex_provider_pages()->alloc(NULL, size, align);
}

static void brittle_free(void *ctx, void *ptr, size_t size)
{
	((struct brittle *)ctx)->taken--;
	annex_provider_pages()->free(NULL, ptr, size);
}

static int brittle_copy(void *ctx, void *to, const void *from, size_t bytes)
{
	if (fails(ctx))
		return annex_gpu_memory_fail(-EIO, "test: a copy fails");
	memcpy(to, from, bytes);
	return 0;
}

static int brittle_fill(void *ctx, void *ptr, int byte, size_t bytes)
{
	if (fails(ctx))
		return annex_gpu_memory_fail(-EIO, "test: a fill fails");
	memset(ptr, byte, bytes);
	return 0;
}

static int brittle_reach(void *ctx, void *ptr, size_t bytes, bool io, void **seen)
{
	struct brittle *b = ctx;

	CU_ASSERT(bytes == 4096 && !io && !((uintptr_t)ptr % 4096));
	if (fails(b))
		return annex_gpu_memory_fail(-EIO, "test: a page cannot be reached");
	b->taken++;
	*seen = ptr;
	return 0;
}

static void brittle_unreach(void *ctx, void *ptr)
{
	(void)ptr;
	((struct brittle *)ctx)->taken--;
}

/* In the proxy's thread, so it takes no part in the counting. */
static int brittle_moves(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	struct brittle *b = ctx;

	return b->lies ? 0 : annex_gpu_memory_host()->copier->copy(NULL, moves, n);
}

static void make_brittle(struct brittle *b)
{
	memset(b, 0, sizeof(*b));
	b->device = (struct annex_provider){
		.name = "device", .alloc = brittle_alloc, .free = brittle_free, .ctx = b};
	b->pinned = b->device;
	b->copier = (struct annex_copier){.name = "test", .copy = brittle_moves, .ctx = b};
	b->memory = *annex_gpu_memory_host();
	b->memory.device = &b->device;
	b->memory.pinned = &b->pinned;
	b->memory.put = b->memory.get = brittle_copy;
	b->memory.fill = brittle_fill;
	b->memory.reach = brittle_reach;
	b->memory.unreach = brittle_unreach;
	b->memory.copier = &b->copier;
	b->memory.ctx = b;
}

static void nothing_leaks(void)
{
	static const char *const more[] = {"mem:1M"};
	struct annex_gpu_opts opts = {
		.bytes = 1 << 16, .queues = 3, .depth = 8, .more = more, .nmore = 1};
	struct annex_gpu_context *ctx = NULL;
	struct brittle b;

	make_brittle(&b);
	for (unsigned int direct = 0; direct < 2; direct++) {
		int n = 0, err = -ENOMEM;

		opts.direct = direct;
		for (; err && n < 200; n++) {
			b.left = n;
			err = annex_gpu_open("mem:1M", &opts, &b.memory, &ctx);
			CU_ASSERT(err == 0 || err == -ENOMEM || err == -EIO);
			CU_ASSERT(!err || !b.taken);
		}
		CU_ASSERT(n > 20);
		CU_ASSERT_EQUAL_FATAL(err, 0);
		b.left = -1; /* never */
		CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
		CU_ASSERT_EQUAL(b.taken, 0);
	}
	/* The way is not there; or it is, and leads nowhere. */
	b.lies = true;
	CU_ASSERT_EQUAL(annex_gpu_open("mem:1M", &opts, &b.memory, &ctx), -EIO);
	CU_ASSERT_EQUAL(b.taken, 0);
	b.memory.copier = NULL;
	CU_ASSERT_EQUAL(annex_gpu_open("mem:1M", &opts, &b.memory, &ctx), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(b.taken, 0);
}

static void inject(struct annex_gpu_context *ctx, enum annex_fault_kind kind, int opcode)
{
	struct annex_fault fault = {.kind = kind, .opcode = opcode, .count = 1};

	CU_ASSERT_EQUAL(annex_dev_inject(annex_gpu_dev(ctx), &fault), 0);
}

static void expect_error(struct annex_gpu_context *ctx, int code, uint64_t line)
{
	struct annex_gpu_error e = {0};

	CU_ASSERT_EQUAL(annex_gpu_get_error(ctx, &e), 0);
	CU_ASSERT_EQUAL(e.code, code);
	CU_ASSERT(!code || e.line == line);
}

/*
 * A memory that the host cannot touch but by the functions it has for that, as is so with a GPU:
 * its pages are there only in these, and while "kernels" run.
 */
#define BLOCKS 32

struct hidden {
	struct annex_gpu_memory memory;
	struct annex_provider device;
	struct {
		void *ptr;
		size_t size;
	} block[BLOCKS];
};

static void show(struct hidden *h, int prot)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		CU_ASSERT_FATAL(!h->block[i].ptr ||
				!mprotect(h->block[i].ptr, h->block[i].size, prot));
}

static void *hidden_alloc(void *ctx, size_t size, size_t align)
{
	void *ptr = annex_provider_pages()->alloc(NULL, size, align);
	struct hidden *h = ctx;
	unsigned int i = 0;

	while (i < BLOCKS && h->block[i].ptr)
		i++;
	CU_ASSERT_FATAL(ptr && i < BLOCKS && !(size % 4096));
	h->block[i].ptr = ptr;
	h->block[i].size = size;
	show(h, PROT_NONE);
	return ptr;
}

static void hidden_free(void *ctx, void *ptr, size_t size)
{
	struct hidden *h = ctx;
	unsigned int i = 0;

	while (i < BLOCKS && h->block[i].ptr != ptr)
		i++;
	CU_ASSERT_FATAL(i < BLOCKS && h->block[i].size == size);
	h->block[i].ptr = NULL;
	annex_provider_pages()->free(NULL, ptr, size);
}

static int hidden_copy(void *ctx, void *to, const void *from, size_t bytes)
{
	show(ctx, PROT_READ | PROT_WRITE);
	memcpy(to, from, bytes);
	show(ctx, PROT_NONE);
	return 0;
}

static int hidden_fill(void *ctx, void *ptr, int byte, size_t bytes)
{
	show(ctx, PROT_READ | PROT_WRITE);
	memset(ptr, byte, bytes);
	show(ctx, PROT_NONE);
	return 0;
}

static int hidden_flush(void *ctx, struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
			uint64_t n)
{
	int err;

	show(ctx, PROT_READ | PROT_WRITE);
	err = annex_gpu_memory_host()->flush(NULL, cache, nslots, first, n);
	show(ctx, PROT_NONE);
	return err;
}

static void host_keeps_out(void)
{
	struct annex_gpu_opts opts = {.bytes = 4 * 4096, .timeout_ms = TIMEOUT_MS};
	struct annex_gpu_context *ctx = NULL;
	struct annex_gpu_stats stats = {0};
	struct annex_gpu_array a;
	struct hidden h = {.memory = *annex_gpu_memory_host()};
	uint64_t val = 9;

	h.device = (struct annex_provider){
		.name = "hidden", .alloc = hidden_alloc, .free = hidden_free, .ctx = &h};
	h.memory.device = &h.device;
	h.memory.put = h.memory.get = hidden_copy;
	h.memory.fill = hidden_fill;
	h.memory.flush = hidden_flush;
	h.memory.copier = NULL;
	h.memory.ctx = &h;
	CU_ASSERT_EQUAL_FATAL(annex_gpu_open("mem:1M", &opts, &h.memory, &ctx), 0);
	a = words_of(ctx);
	show(&h, PROT_READ | PROT_WRITE);
	CU_ASSERT_EQUAL(annex_gpu_set(&a, 512, &val), 0);
	set_timeout(&a, LOST_MS);
	inject(ctx, ANNEX_FAULT_LOSE, ANNEX_NVM_READ);
	CU_ASSERT_EQUAL(annex_gpu_get(&a, 1024, &val), -ETIMEDOUT);
	show(&h, PROT_NONE);
	expect_error(ctx, -ETIMEDOUT, 2);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_gpu_recover(ctx), 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(annex_gpu_get_stats(ctx, &stats), 0);
	CU_ASSERT_EQUAL(stats.writes, 1);
	CU_ASSERT_EQUAL(stats.errors, 1);
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
	for (unsigned int i = 0; i < BLOCKS; i++)
		CU_ASSERT_PTR_NULL(h.block[i].ptr);
}

/* Every line in turn, so that each slot is used: none has been lost. */
static void use_all_slots(struct annex_gpu_context *ctx, uint64_t expect)
{
	struct annex_gpu_array a = words_of(ctx);

	unsigned int wrong = 0;

	for (uint64_t line = 0; line < DATA / 4096; line++) {
		uint64_t got = ~expect;

		wrong += annex_gpu_get(&a, line * 512, &got) || got != (line == 3 ? expect : 0);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/*
 * A kernel runs into a command that never completes, or a controller that fails: it ends in time
 * with an error that stays, nothing is hurt, and recovery brings everything back.
 */
static void lost(bool direct, enum annex_fault_kind kind, int opcode, int code)
{
	struct annex_gpu_opts opts = {
		.bytes = 4 * 4096, .queues = 1, .timeout_ms = TIMEOUT_MS, .direct = direct};
	struct annex_gpu_context *ctx = open_on("mem:1M", &opts);
	struct annex_gpu_array a = words_of(ctx);
	uint64_t val = 77, got = 0, start;
	int err;

	CU_ASSERT_EQUAL(annex_gpu_set(&a, 3 * 512, &val), 0); /* dirty meanwhile */
	if (kind != ANNEX_FAULT_ERROR)
		set_timeout(&a, LOST_MS);
	inject(ctx, kind, opcode);
	start = annex_now();
	if (opcode == ANNEX_NVM_READ)
		err = annex_gpu_get(&a, 9 * 512, &got);
	else
		err = annex_gpu_flush(ctx, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(err, code);
	CU_ASSERT(annex_now() - start < TIMEOUT_MS * ANNEX_NSEC_PER_MSEC / 2);
	expect_error(ctx, code, opcode == ANNEX_NVM_READ ? 9 : 3);
	CU_ASSERT_EQUAL(annex_gpu_get(&a, 100 * 512, &got), code); /* needs the device */
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), code);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "line"));
	CU_ASSERT_EQUAL(annex_gpu_recover(ctx), 0);
	expect_error(ctx, 0, 0);
	set_timeout(&a, TIMEOUT_MS);
	use_all_slots(ctx, val);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), 0);
	use_all_slots(ctx, val);
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
}

static void recovery(void)
{
	lost(false, ANNEX_FAULT_LOSE, ANNEX_NVM_READ, -ETIMEDOUT);
	lost(false, ANNEX_FAULT_LOSE, ANNEX_NVM_WRITE, -ETIMEDOUT);
	lost(false, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, -EIO);
	lost(false, ANNEX_FAULT_ERROR, ANNEX_NVM_WRITE, -EIO);
	lost(false, ANNEX_FAULT_FATAL, ANNEX_NVM_READ, -ETIMEDOUT);
	lost(true, ANNEX_FAULT_LOSE, ANNEX_NVM_READ, -ETIMEDOUT);
	lost(true, ANNEX_FAULT_LOSE, ANNEX_NVM_WRITE, -ETIMEDOUT);
	lost(true, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, -EIO);
}

/* The device's own flush, which is the host's command: refused, or lost. */
static void flush_fails(void)
{
	struct annex_gpu_opts opts = {.bytes = 4 * 4096, .queues = 1, .timeout_ms = 1000};
	struct annex_gpu_context *ctx = open_on("mem:1M", &opts);

	inject(ctx, ANNEX_FAULT_ERROR, ANNEX_NVM_FLUSH);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), -EIO);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), 0);
	inject(ctx, ANNEX_FAULT_LOSE, ANNEX_NVM_FLUSH);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_gpu_recover(ctx), 0);
	CU_ASSERT_EQUAL(annex_gpu_flush(ctx, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), 0);
}

/* A device that is gone does not come back, and says so for ever, at once. */
static void removal(void)
{
	struct annex_gpu_opts opts = {.bytes = 4 * 4096, .queues = 1, .timeout_ms = TIMEOUT_MS};
	struct annex_gpu_context *ctx = open_on("mem:1M", &opts);
	struct annex_gpu_array a = words_of(ctx);
	uint64_t val = 5, start;

	CU_ASSERT_EQUAL(annex_gpu_set(&a, 3 * 512, &val), 0);
	set_timeout(&a, LOST_MS);
	inject(ctx, ANNEX_FAULT_REMOVE, ANNEX_NVM_READ);
	CU_ASSERT_EQUAL(annex_gpu_get(&a, 9 * 512, &val), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_gpu_recover(ctx), -ENODEV);
	set_timeout(&a, TIMEOUT_MS);
	start = annex_now();
	CU_ASSERT_EQUAL(annex_gpu_get(&a, 9 * 512, &val), -ENODEV);
	CU_ASSERT(annex_now() - start < TIMEOUT_MS * ANNEX_NSEC_PER_MSEC / 2);
	CU_ASSERT_EQUAL(annex_gpu_get(&a, 3 * 512, &val), 0); /* a cached element is still read */
	CU_ASSERT_EQUAL(val, 5);
	CU_ASSERT_EQUAL(annex_gpu_recover(ctx), -ENODEV);
	CU_ASSERT_EQUAL(annex_gpu_close(ctx), -ENODEV);
}

UNIT_SUITE(gpu_host, {"against a reference", reference}, {"threads", threads}, {"refused", refused},
	   {"several devices", several}, {"nothing leaks", nothing_leaks},
	   {"the host keeps out", host_keeps_out}, {"recovery", recovery},
	   {"the device's flush fails", flush_fails}, {"removal", removal})
