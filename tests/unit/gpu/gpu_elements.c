// SPDX-License-Identifier: MIT
/*
 * Elements of arrays on storage, read and changed by many warps at once.
 */
#include <errno.h>
#include <string.h>
#include "gpu_rig.h"
#include "tests/unit/unit.h"

#define SHARE (UNIT_SANITIZED ? 4u : 1u)
#define SIZES (UNIT_SANITIZED ? 8u : 2u) /* an element is so many times as large as the last */

/* What a kernel works on: each of @threads threads does @rounds things. */
struct work {
	struct gpu_rig rig;
	struct annex_gpu_array a;
	unsigned int threads;
	unsigned int rounds;
	uint32_t elem;
	uint64_t seed;
};

static void setup(struct work *w, const struct gpu_shape *shape, uint32_t elem, unsigned int warps,
		  const char *test)
{
	memset(w, 0, sizeof(*w));
	gpu_rig_open(&w->rig, shape, test);
	w->a = gpu_rig_array(&w->rig, elem);
	w->elem = elem;
	w->threads = warps * ANNEX_WARP_LANES;
	w->rounds = (shape->slots > 2 ? 16 : 4) / SHARE; /* each round waits for a slot */
	w->seed = random_next(&w->rig.random);
}

/* Lanes together, near each other, or anywhere. */
static uint64_t choose(const struct work *w, unsigned int thread, unsigned int round,
		       uint64_t *random)
{
	uint64_t start = w->seed + thread / ANNEX_WARP_LANES * 977 + round * 131071ull;

	switch (random_next(&start) % 3) {
	case 0:
		return (start + thread % ANNEX_WARP_LANES) % w->a.count;
	case 1:
		return (start + random_next(random) % 64) % w->a.count;
	default:
		return random_next(random) % w->a.count;
	}
}

static void read_all(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread;
	char found[64];

	for (unsigned int r = 0; r < w->rounds; r++) {
		uint64_t i = choose(w, thread, r, &random);
		int err = annex_gpu_get(&w->a, i, found);

		gpu_rig_note(&w->rig, err, !memcmp(found, w->rig.expect + i * w->elem, w->elem));
	}
}

static void read_shape(const struct gpu_shape *shape, uint32_t elem)
{
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, shape, elem, 12, "get");
	gpu_rig_run(&w.rig, 12, read_all, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT(s.misses > 0 && s.reads > 0 && s.errors == 0 && s.writes == 0);
	CU_ASSERT(s.reads <= (uint64_t)w.threads * w.rounds);
	gpu_rig_check(&w.rig);
	gpu_rig_close(&w.rig, 0);
}

static void get_test(void)
{
	static const struct gpu_shape small = {.bytes = 1 << 20, .slots = 24};
	static const struct gpu_shape tiny = {.bytes = 256 << 10, .slots = 2, .line = 512};
	static const struct gpu_shape shallow = {.bytes = 1 << 20, .slots = 64, .depth = 3};
	static const struct gpu_shape roomy = {.bytes = 512 << 10, .slots = 128};
	static const struct gpu_shape direct = {.bytes = 1 << 20, .slots = 24, .direct = true};
	/* The last line is a part. */
	static const struct gpu_shape odd = {.bytes = (64 << 10) + 512, .slots = 5, .line = 8192};

	for (uint32_t elem = 1; elem <= 64; elem *= SIZES)
		read_shape(&small, elem);
	read_shape(&tiny, 8);
	read_shape(&shallow, 8);
	read_shape(&roomy, 4);
	read_shape(&direct, 8);
	read_shape(&odd, 8);
}

/* Lanes that want one line at once make one probe and one read. */
static void one_line(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t i = thread % ANNEX_WARP_LANES, found = 0;
	int err = annex_gpu_get(&w->a, i, &found);

	gpu_rig_note(&w->rig, err, !memcmp(&found, w->rig.expect + i * 8, 8));
}

static void coalesce_test(void)
{
	static const struct gpu_shape shape = {.bytes = 1 << 20, .slots = 16};
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, &shape, 8, 20, "coalesce");
	gpu_rig_run(&w.rig, 20, one_line, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.reads, 1);
	CU_ASSERT_EQUAL(s.bytes_read, 4096);
	gpu_rig_check(&w.rig);
	gpu_rig_close(&w.rig, 0);
}

/* One of a thread's own elements: of a warp's threads adjacent, or anywhere. */
static uint64_t choose_own(const struct work *w, unsigned int thread, unsigned int round,
			   uint64_t *random)
{
	uint64_t common = w->seed + thread / ANNEX_WARP_LANES + round * 131071ull;
	uint64_t row = random_next(round % 2 ? &common : random) % (w->a.count / w->threads);

	return row * w->threads + thread;
}

/* Every thread changes its own elements, and reads back its last write. */
static void write_own(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread, val[8], found[8] = {0};

	for (unsigned int r = 0; r < w->rounds; r++) {
		uint64_t i = choose_own(w, thread, r, &random);
		char *expect = w->rig.expect + i * w->elem;
		int err;

		for (unsigned int k = 0; k < 8; k++)
			val[k] = random_next(&random);
		err = annex_gpu_set(&w->a, i, val);
		if (!err)
			memcpy(expect, val, w->elem);
		i = choose_own(w, thread, r + 1, &random);
		if (!err)
			err = annex_gpu_get(&w->a, i, found);
		gpu_rig_note(&w->rig, err, !memcmp(found, w->rig.expect + i * w->elem, w->elem));
	}
}

static void write_shape(const struct gpu_shape *shape, uint32_t elem)
{
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, shape, elem, 12, "set");
	gpu_rig_run(&w.rig, 12, write_own, &w);
	gpu_rig_check(&w.rig);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT(s.writes > 0 && s.errors == 0);
	gpu_rig_close(&w.rig, 0);
}

static void set_test(void)
{
	static const struct gpu_shape small = {.bytes = 1 << 20, .slots = 24};
	static const struct gpu_shape tiny = {.bytes = 256 << 10, .slots = 2, .line = 512};
	static const struct gpu_shape shallow = {.bytes = 1 << 20, .slots = 64, .depth = 3};
	static const struct gpu_shape direct = {.bytes = 1 << 20, .slots = 24, .direct = true};
	static const struct gpu_shape odd = {.bytes = (64 << 10) + 512, .slots = 5, .line = 8192};

	for (uint32_t elem = 1; elem <= 64; elem *= SIZES)
		write_shape(&small, elem);
	write_shape(&tiny, 8);
	write_shape(&shallow, 8);
	write_shape(&direct, 8);
	write_shape(&odd, 8);
}

/* The last line of the data is a part. */
static void devices_test(void)
{
	for (uint32_t devs = 2; devs <= 3; devs++) {
		struct gpu_shape shape = {.bytes = (512 << 10) + 4096,
					  .slots = 24,
					  .line = 8192,
					  .devs = devs,
					  .layout = ANNEX_STRIPE};

		read_shape(&shape, 8);
		write_shape(&shape, 8);
		shape.layout = ANNEX_REPLICA;
		read_shape(&shape, 8);
		write_shape(&shape, 8);
		/* One command at a time on each device. */
		shape.depth = 2;
		shape.queues = 1;
		write_shape(&shape, 8);
		shape.layout = ANNEX_STRIPE;
		write_shape(&shape, 8);
		shape.direct = true;
		write_shape(&shape, 8);
	}
}

/* Replicas take turns in reads, and each gets all writes. */
static void spread_test(void)
{
	static const struct gpu_shape shape = {
		.bytes = 1 << 20, .slots = 256, .devs = 3, .layout = ANNEX_REPLICA};
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, &shape, 8, 12, "spread");
	gpu_rig_run(&w.rig, 12, write_own, &w);
	gpu_rig_check(&w.rig);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.bytes_written, s.writes * 3 * 4096);
	for (uint32_t i = 0; i < 3; i++) {
		const struct annex_gpu_dev *d = &w.rig.cache->devs[i];
		uint64_t reads = 0;

		for (uint32_t q = 0; q < d->nqueues; q++)
			reads += w.rig.cache->queues[d->first + q].qp->sq_ticket;
		reads -= s.writes;
		/* A turn passes without a read when another warp reads the line already. */
		CU_ASSERT(reads >= s.reads / 6 && reads <= s.reads / 2);
	}
	gpu_rig_close(&w.rig, 0);
}

/* Additions by all threads to few elements: none gets lost. */
static void add_all(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread;

	for (unsigned int r = 0; r < w->rounds; r++) {
		uint64_t i = random_next(&random) % 5 * (w->a.count / 5), old64 = 0;
		uint32_t old32 = 0;
		int err;

		if (w->elem == 4)
			err = annex_gpu_add32(&w->a, i, thread + 1, &old32);
		else
			err = annex_gpu_add64(&w->a, i, thread + 1, &old64);
		gpu_rig_note(&w->rig, err, true);
		annex_atomic_add((uint64_t *)(void *)(w->rig.back + i / (w->a.count / 5) * 8),
				 (uint64_t)thread + 1, ANNEX_RELAXED);
	}
}

static void add_shape(const struct gpu_shape *shape, uint32_t elem)
{
	uint64_t sums[5];
	struct work w;

	setup(&w, shape, elem, 12, "add");
	memset(w.rig.back, 0, sizeof(sums));
	gpu_rig_run(&w.rig, 12, add_all, &w);
	memcpy(sums, w.rig.back, sizeof(sums));
	for (unsigned int k = 0; k < 5; k++) {
		char *at = w.rig.expect + k * (w.a.count / 5) * elem;
		uint64_t v = 0;

		memcpy(&v, at, elem);
		v += sums[k];
		memcpy(at, &v, elem);
	}
	gpu_rig_check(&w.rig);
	gpu_rig_close(&w.rig, 0);
}

static void add_test(void)
{
	static const struct gpu_shape small = {.bytes = 256 << 10, .slots = 3};

	add_shape(&small, 4);
	add_shape(&small, 8);
}

/* Arrays of two contexts, of unlike shape, in one call: lanes are in either, and change it. */
static void use_both(void *arg, unsigned int thread)
{
	struct work *both = arg;
	uint64_t random = both->seed + thread;

	for (unsigned int r = 0; r < both->rounds; r++) {
		struct work *w = &both[random_next(&random) % 2];
		uint64_t i = choose(w, thread, r, &random), old = 0;
		int err = annex_gpu_add64(&w->a, i, thread + 1, &old);

		gpu_rig_note(&w->rig, err, true);
		annex_atomic_add((uint64_t *)(void *)(w->rig.expect + i * 8), (uint64_t)thread + 1,
				 ANNEX_RELAXED);
	}
}

static void two_test(void)
{
	static const struct gpu_shape shapes[] = {
		{.bytes = 256 << 10, .slots = 24},
		{.bytes = 64 << 10, .slots = 6, .line = 512, .queues = 1},
	};
	struct work both[2];

	for (unsigned int i = 0; i < 2; i++)
		setup(&both[i], &shapes[i], 8, 12, "two");
	gpu_rig_run(&both[0].rig, 12, use_both, both);
	for (unsigned int i = 0; i < 2; i++) {
		gpu_rig_check(&both[i].rig);
		gpu_rig_close(&both[i].rig, 0);
	}
}

/* An index out of bounds is an error of the caller alone. */
static void bounds(void *arg, unsigned int thread)
{
	struct work *w = arg;
	struct annex_gpu_ticket ticket;
	struct annex_gpu_span span;
	uint64_t i = thread % 2 ? w->a.count + thread : thread, val = 0;
	int expect = thread % 2 ? -ERANGE : 0, err;

	gpu_rig_note(&w->rig, 0, annex_gpu_get(&w->a, i, &val) == expect);
	gpu_rig_note(&w->rig, 0, annex_gpu_prefetch(&w->a, i) == expect);
	gpu_rig_note(&w->rig, 0, annex_gpu_add64(&w->a, i, 0, &val) == expect);
	gpu_rig_note(&w->rig, 0, annex_gpu_add32(&w->a, i, 0, NULL) == -EINVAL);
	gpu_rig_note(&w->rig, 0, annex_gpu_start(&w->a, i, &ticket) == expect);
	gpu_rig_note(&w->rig, 0, annex_gpu_finish(&w->a, &ticket, &val) == expect);
	err = annex_gpu_span(&w->a, UINT32_MAX, i, 0, 0, &span);
	gpu_rig_note(&w->rig, 0, err == expect);
	annex_gpu_span_end(&w->a, &span);
	if (expect)
		gpu_rig_note(&w->rig, 0, annex_gpu_set(&w->a, i, &val) == expect);
}

static void bounds_test(void)
{
	static const struct gpu_shape small = {.bytes = 64 << 10, .slots = 4};
	struct work w;

	setup(&w, &small, 8, 3, "bounds");
	gpu_rig_run(&w.rig, 3, bounds, &w);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).code, 0);
	gpu_rig_check(&w.rig);
	gpu_rig_close(&w.rig, 0);
}

UNIT_SUITE(gpu_elements, {"get, of all sizes, from small caches", get_test},
	   {"lanes and warps share a read", coalesce_test}, {"set, and read back", set_test},
	   {"several devices", devices_test}, {"replicas share the reads", spread_test},
	   {"atomic additions", add_test}, {"two caches in a warp", two_test},
	   {"indices out of bounds", bounds_test})
