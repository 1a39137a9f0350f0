// SPDX-License-Identifier: MIT
/*
 * Rings in GPU memory that a drive reaches by a dma-buf. The GPU is this process: its memory comes
 * from udmabuf, and only while GPU threads run can the process load or store it. So whatever the
 * library does with it by itself, other than by the GPU's own copies, ends the program.
 *
 *   rings work URI DEPTH LINE   data goes to the drive and back, also after resets
 *   rings late URI MS           the same while commands come too late, which others see to
 *   rings refused URI           settings that cannot be met
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/cuda.h>
#include <annex/gpu.h>
#include <annex/log.h>
#include "die.h"
#include "tests/unit/random.h"

#define DATA (1u << 20)
#define WORDS (DATA / 8)
#define THREADS 4u
#define OWN (WORDS / THREADS) /* words of each thread */
#define OPS 250u              /* with ALL=1: ALL_OPS */
#define ALL_OPS 1500u
#define RESETS 3
#define BLOCKS 32u
#define LATE_LIMIT_MS 40000u

/* struct far - GPU memory: where the library has it, and where the test looks at it. */
static struct {
	char *ptr, *seen;
	size_t bytes;
} far[BLOCKS];

static int fills = -1; /* until one fails */
static uint64_t seed;
static uint64_t expect[WORDS];

static void *far_alloc(void *ctx, size_t size, size_t align)
{
	const struct annex_provider *udmabuf = annex_provider_udmabuf();
	unsigned int i = 0;

	(void)ctx;
	while (i < BLOCKS && far[i].ptr)
		i++;
	if (i == BLOCKS)
		die("more than %u pieces of GPU memory", BLOCKS);
	far[i].ptr = udmabuf->alloc(udmabuf->ctx, size, align);
	if (!far[i].ptr)
		return NULL;
	/* Of length 0: the same pages once more. */
	far[i].seen = mremap(far[i].ptr, 0, size, MREMAP_MAYMOVE);
	far[i].bytes = size;
	if (far[i].seen == MAP_FAILED || mprotect(far[i].ptr, size, PROT_NONE))
		die("mapping GPU memory twice: %s", strerror(errno));
	return far[i].ptr;
}

static void far_free(void *ctx, void *ptr, size_t size)
{
	const struct annex_provider *udmabuf = annex_provider_udmabuf();
	unsigned int i = 0;

	(void)ctx;
	while (i < BLOCKS && far[i].ptr != ptr)
		i++;
	if (i == BLOCKS)
		die("memory is freed that is none");
	munmap(far[i].seen, size);
	udmabuf->free(udmabuf->ctx, ptr, size);
	far[i].ptr = NULL;
}

static int far_dmabuf(void *ctx, void *ptr, uint64_t *offset)
{
	(void)ctx;
	return annex_provider_udmabuf()->dmabuf(NULL, ptr, offset);
}

static int no_dmabuf(void *ctx, void *ptr, uint64_t *offset)
{
	(void)ctx;
	(void)ptr;
	*offset = 0;
	return annex_gpu_memory_fail(-EOPNOTSUPP, "rings: this GPU makes no dma-buf");
}

/* Where the copies of a GPU go. */
static void *seen(const void *ptr)
{
	const char *at = ptr;

	for (unsigned int i = 0; i < BLOCKS; i++)
		if (far[i].ptr && at >= far[i].ptr && at < far[i].ptr + far[i].bytes)
			return far[i].seen + (at - far[i].ptr);
	die("a copy of memory that is not GPU memory");
}

static int far_put(void *ctx, void *to, const void *from, size_t bytes)
{
	(void)ctx;
	memcpy(seen(to), from, bytes);
	return 0;
}

static int far_get(void *ctx, void *to, const void *from, size_t bytes)
{
	(void)ctx;
	memcpy(to, seen(from), bytes);
	return 0;
}

static int far_fill(void *ctx, void *ptr, int byte, size_t bytes)
{
	(void)ctx;
	if (!fills--)
		return annex_gpu_memory_fail(-EIO, "rings: a fill fails");
	memset(seen(ptr), byte, bytes);
	return 0;
}

/* A kernel begins, or ends. */
static void protect(int prot)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (far[i].ptr && mprotect(far[i].ptr, far[i].bytes, prot))
			die("mprotect: %s", strerror(errno));
}

static int far_flush(void *ctx, struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
		     uint64_t n)
{
	int err;

	(void)ctx;
	protect(PROT_READ | PROT_WRITE);
	err = annex_gpu_memory_host()->flush(NULL, cache, nslots, first, n);
	protect(PROT_NONE);
	return err;
}

static struct annex_provider device = {
	.name = "far", .alloc = far_alloc, .free = far_free, .dmabuf = far_dmabuf};

static struct annex_gpu_memory *gpu(void)
{
	static struct annex_gpu_memory memory;

	memory = *annex_gpu_memory_host();
	memory.name = "far";
	memory.device = &device;
	memory.put = far_put;
	memory.get = far_get;
	memory.fill = far_fill;
	memory.flush = far_flush;
	memory.copier = NULL;
	return &memory;
}

/* The kernel looks at the memory for the process: it has no way there. */
static void check_far(const void *ptr)
{
	int fds[2];

	if (pipe(fds) || write(fds[1], ptr, 1) != -1 || errno != EFAULT)
		die("the process can load GPU memory");
	close(fds[0]);
	close(fds[1]);
}

/* struct thread - One of the GPU, a warp of one lane, with words of its own. */
struct thread {
	struct annex_gpu_array a;
	unsigned int number;
	uint64_t seed;
	bool fill; /* set all words, rather than read and set some */
	uint64_t wrong;
	int err;
};

static void set(struct thread *t, uint64_t i)
{
	uint64_t val = random_next(&t->seed);

	t->err = annex_gpu_set(&t->a, i, &val);
	if (!t->err)
		expect[i] = val;
}

static void *work_on(void *arg)
{
	struct thread *t = arg;
	const char *all = getenv("ALL");
	uint64_t ops = all && *all == '1' ? ALL_OPS : OPS;
	uint64_t first = (uint64_t)t->number * OWN, n = t->fill ? OWN : ops;

	for (uint64_t k = 0; k < n && !t->err; k++) {
		uint64_t i = first + (t->fill ? k : random_next(&t->seed) % OWN), got = 0;

		if (t->fill || random_next(&t->seed) % 2) {
			set(t, i);
		} else {
			t->err = annex_gpu_get(&t->a, i, &got);
			t->wrong += !t->err && got != expect[i];
		}
	}
	return NULL;
}

/* Return: 0, or the error that the first thread had. */
static int kernel(struct annex_gpu_context *ctx, bool fill)
{
	struct thread t[THREADS];
	pthread_t thread[THREADS];
	struct annex_gpu_array a;
	int err = annex_gpu_array_init(&a, ctx, 0, 8, WORDS);

	if (err)
		die("%s", annex_last_error());
	protect(PROT_READ | PROT_WRITE);
	for (unsigned int i = 0; i < THREADS; i++) {
		t[i] = (struct thread){
			.a = a, .number = i, .seed = random_next(&seed), .fill = fill};
		if (pthread_create(&thread[i], NULL, work_on, &t[i]))
			die("no thread");
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		if (t[i].wrong)
			die("thread %u read %llu words that are wrong", i,
			    (unsigned long long)t[i].wrong);
		err = err ? err : t[i].err;
	}
	protect(PROT_NONE);
	return err;
}

static struct annex_gpu_context *open_far(const char *uri, const struct annex_gpu_opts *opts)
{
	struct annex_gpu_context *ctx;

	if (annex_gpu_open(uri, opts, gpu(), &ctx))
		die("%s", annex_last_error());
	check_far(far[0].ptr);
	return ctx;
}

static void must(int err)
{
	if (err)
		die("%s: %s", strerror(-err), annex_last_error());
}

static void all_freed(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (far[i].ptr)
			die("GPU memory is left");
}

/* All is on the medium: a context with its rings in host memory finds it there. */
static void close_and_compare(struct annex_gpu_context *ctx, const char *uri)
{
	/* Short, since without an IOMMU a ring lies in one page. */
	struct annex_gpu_opts opts = {.bytes = DATA / 4, .depth = 64, .size = DATA};
	struct annex_gpu_array a;
	uint64_t wrong = 0, got;

	must(annex_gpu_close(ctx));
	all_freed();
	must(annex_gpu_open(uri, &opts, annex_gpu_memory_host(), &ctx));
	must(annex_gpu_array_init(&a, ctx, 0, 8, WORDS));
	for (uint64_t i = 0; i < WORDS; i++) {
		must(annex_gpu_get(&a, i, &got));
		wrong += got != expect[i];
	}
	must(annex_gpu_close(ctx));
	if (wrong)
		die("%llu words are wrong in the end", (unsigned long long)wrong);
}

/* Resets leave rings at any place of any turn. */
static int work(const char *uri, uint32_t depth, uint32_t line)
{
	struct annex_gpu_opts opts = {.bytes = DATA / 8,
				      .line = line,
				      .queues = 3,
				      .depth = depth,
				      .size = DATA,
				      .timeout_ms = 20000,
				      .direct = true,
				      .gpu_rings = true};
	struct annex_gpu_context *ctx = open_far(uri, &opts);
	struct annex_gpu_stats stats;

	must(kernel(ctx, true));
	for (int i = 0; i < RESETS; i++) {
		must(kernel(ctx, false));
		must(annex_gpu_recover(ctx));
	}
	must(kernel(ctx, false));
	must(annex_gpu_get_stats(ctx, &stats));
	if (!stats.reads || !stats.writes || !stats.evictions || stats.errors)
		die("%llu reads, %llu writes, %llu evictions, %llu errors",
		    (unsigned long long)stats.reads, (unsigned long long)stats.writes,
		    (unsigned long long)stats.evictions, (unsigned long long)stats.errors);
	close_and_compare(ctx, uri);
	return 0;
}

/* Go on until the disk got stuck, and until it is no more. */
static int late(const char *uri, uint32_t timeout_ms)
{
	struct annex_gpu_opts opts = {.bytes = DATA / 8,
				      .depth = 16,
				      .size = DATA,
				      .timeout_ms = timeout_ms,
				      .direct = true,
				      .gpu_rings = true};
	struct annex_gpu_context *ctx = open_far(uri, &opts);
	uint64_t limit = annex_deadline_ms(LATE_LIMIT_MS);
	unsigned int resets = 0;
	int err;

	must(kernel(ctx, true));
	printf("working\n");
	fflush(stdout);
	do {
		struct annex_gpu_error e;

		if (annex_now() >= limit)
			die("%u resets, and no end", resets);
		err = kernel(ctx, false);
		if (!err)
			continue;
		must(annex_gpu_get_error(ctx, &e));
		if (err != -ETIMEDOUT || e.code != err)
			die("error %d, and in the record %d", err, e.code);
		must(annex_gpu_recover(ctx));
		resets++;
	} while (err || !resets);
	printf("recovered %u\n", resets);
	fflush(stdout);
	close_and_compare(ctx, uri);
	return 0;
}

/* Each fill fails once, that of each ring among them: all is given back. */
static void fail_fills(const char *uri)
{
	struct annex_gpu_opts opts = {
		.bytes = DATA / 8, .depth = 64, .queues = 3, .direct = true, .gpu_rings = true};
	struct annex_gpu_context *ctx;
	int n = 0, err = -EIO;

	for (; err; n++) {
		fills = n;
		err = annex_gpu_open(uri, &opts, gpu(), &ctx);
		if (err && (err != -EIO || !strstr(annex_last_error(), "a fill fails")))
			die("fill %d: %d: %s", n, err, annex_last_error());
		if (err)
			all_freed();
	}
	fills = -1;
	must(annex_gpu_close(ctx));
	if (n < 4)
		die("only %d fills", n - 1);
}

static int refused(const char *uri)
{
	static const struct annex_provider none = {
		.name = "far", .alloc = far_alloc, .free = far_free};
	static const struct annex_provider unable = {
		.name = "far", .alloc = far_alloc, .free = far_free, .dmabuf = no_dmabuf};
	const struct {
		const char *more;
		const struct annex_provider *device;
		bool direct;
		int err;
		const char *words;
	} cases[] = {
		{"", &none, true, -EOPNOTSUPP, "no dma-bufs"},
		{"", &unable, true, -EOPNOTSUPP, "makes no dma-buf"},
		{"", &device, false, -EINVAL, "direct"},
		{"?sq=provider", &device, true, -EINVAL, "its own memory"},
		{"?cq=cmb", &device, true, -EINVAL, "its own memory"},
	};
	struct annex_gpu_memory *memory = gpu();

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct annex_gpu_opts opts = {
			.bytes = DATA / 8, .direct = cases[i].direct, .gpu_rings = true};
		struct annex_gpu_context *ctx;
		char with[64];
		int err;

		snprintf(with, sizeof(with), "%s%s", uri, cases[i].more);
		memory->device = cases[i].device;
		err = annex_gpu_open(with, &opts, memory, &ctx);
		if (err != cases[i].err || !strstr(annex_last_error(), cases[i].words))
			die("case %u: %d: %s", i, err, annex_last_error());
		all_freed();
	}
	fail_fills(uri);
	return 0;
}

int main(int argc, char **argv)
{
	seed = random_seed("rings");
	putchar('\n');
	if (argc == 5 && !strcmp(argv[1], "work"))
		return work(argv[2], (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]));
	if (argc == 4 && !strcmp(argv[1], "late"))
		return late(argv[2], (uint32_t)atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "refused"))
		return refused(argv[2]);
	die("usage: rings work URI DEPTH LINE | late URI MS | refused URI");
}
