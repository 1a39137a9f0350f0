// SPDX-License-Identifier: MIT
/*
 * Kernels that run later than they are launched, in a stream of the host's frames, where an access
 * to an absent tensor ends this process.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <annex/cuda.h>
#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "gpu/stream.h"
#include "tests/unit/mem_rig.h"
#include "migrate/request.h"
#include "migrate/space.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define READ ANNEX_USE_READ
#define CHANGE (ANNEX_USE_READ | ANNEX_USE_WRITE)

/* A space of a GPU whose part is @device, with a stream and a planner that is in an iteration. */
struct bench {
	struct mem_rig rig;
	struct gpu_stream *stream;
	struct annex_exec *exec;
};

static void bench_open(struct bench *b, uint64_t device, const char *policy,
		       const struct annex_frames *frames)
{
	struct annex_space_opts opts = {
		.device = device, .host = 16 * MIB, .size = 64 * MIB, .frames = frames};
	const struct annex_exec_opts exec = {.policy = policy};

	mem_rig_open(&b->rig, "mem:32M", opts);
	CU_ASSERT_EQUAL_FATAL(gpu_stream_open(&b->stream), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(b->rig.space, &exec, &b->exec), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_begin(b->exec), 0);
}

static void bench_close(struct bench *b)
{
	annex_exec_destroy(b->exec);
	gpu_stream_close(b->stream);
	mem_rig_close(&b->rig);
}

static const struct annex_frames *host(void)
{
	return annex_gpu_memory_host()->frames;
}

/* Add one to each word. */
static void count_up(void *arg)
{
	uint64_t *words = arg;

	for (uint64_t i = 0; i < MIB / sizeof(*words); i++)
		words[i]++;
}

static int launch(struct bench *b, const char *name, void *p, void (*run)(void *arg))
{
	const struct annex_exec_use use = {p, CHANGE};
	int err = annex_exec_before_on(b->exec, b->stream, name, &use, 1);

	if (!err)
		err = gpu_stream_put(b->stream, run, p);
	return err ? err : annex_exec_after(b->exec);
}

/* When a job waits for room, the stream goes on. */
static void *open_when_wanted(void *arg)
{
	struct bench *b = arg;
	struct annex_space *s = b->rig.space;
	uint64_t limit = annex_deadline_ms(WAIT_MS);
	bool waits = false;

	while (!waits && annex_now() < limit) {
		pthread_mutex_lock(&s->lock);
		waits = s->waiting.head;
		pthread_mutex_unlock(&s->lock);
		sched_yield();
	}
	gpu_stream_hold(b->stream, false);
	return NULL;
}

/* Two kernels fit at once: the third waits until one has run, and finds its tensor's room then. */
static void launched_ahead(void)
{
	pthread_t opener;
	struct bench b;
	uint64_t *p[3];

	bench_open(&b, 2 * MIB, "none", host());
	for (unsigned int i = 0; i < 3; i++)
		p[i] = mem_alloc(&b.rig, "p", MIB);
	gpu_stream_hold(b.stream, true);
	CU_ASSERT_EQUAL(launch(&b, "first", p[0], count_up), 0);
	CU_ASSERT_EQUAL(launch(&b, "second", p[1], count_up), 0);
	CU_ASSERT_EQUAL(launch(&b, "second again", p[1], count_up), 0);
	CU_ASSERT_EQUAL(mem_try_evict(&b.rig, p[0], MIB, ANNEX_TIER_HOST), -EBUSY);
	/* It is not the program's to let go. */
	CU_ASSERT_EQUAL(annex_let_go(b.rig.space, p[0]), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&opener, NULL, open_when_wanted, &b), 0);
	CU_ASSERT_EQUAL(launch(&b, "third", p[2], count_up), 0);
	pthread_join(opener, NULL);
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
	CU_ASSERT_EQUAL(mem_stats(&b.rig).over, 0);
	CU_ASSERT(mem_stats(&b.rig).out >= MIB);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(annex_hold(b.rig.space, p[i]), 0);
		mem_fetch(&b.rig, p[i], MIB);
		CU_ASSERT(p[i][0] == 1 + (i == 1) && p[i][MIB / 8 - 1] == 1 + (i == 1));
		CU_ASSERT_EQUAL(annex_let_go(b.rig.space, p[i]), 0);
	}
	bench_close(&b);
}

/* Neither memory nor address of a freed tensor is reused before its kernels have ended. */
static void freed_in_flight(void)
{
	struct bench b;
	void *p, *q;

	bench_open(&b, 4 * MIB, "none", host());
	CU_ASSERT_EQUAL_FATAL(annex_alloc_uninit(b.rig.space, "p", MIB, &p), 0);
	gpu_stream_hold(b.stream, true);
	CU_ASSERT_EQUAL(launch(&b, "one", p, count_up), 0);
	CU_ASSERT_EQUAL(launch(&b, "two", p, count_up), 0);
	CU_ASSERT_EQUAL(annex_free(b.rig.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(b.rig.space, p), -EINVAL);
	CU_ASSERT_EQUAL(mem_stats(&b.rig).device, MIB);
	CU_ASSERT_EQUAL_FATAL(annex_alloc_uninit(b.rig.space, "q", MIB, &q), 0);
	CU_ASSERT(p != q);
	CU_ASSERT_EQUAL(launch(&b, "three", q, count_up), 0);
	gpu_stream_hold(b.stream, false);
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
	CU_ASSERT_EQUAL(annex_free(b.rig.space, q), 0);
	/* Then they are kept for the next. */
	CU_ASSERT_EQUAL(mem_stats(&b.rig).kept, 2 * MIB);
	mem_wait_empty(&b.rig);
	bench_close(&b);
}

static struct annex_move *leave_patiently(struct bench *b, void *p)
{
	const struct want want = {.to = ANNEX_TIER_HOST, .most = UINT32_MAX, .patient = true};
	struct annex_move *m = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_move_begin(b->rig.space, p, MIB, &want, &m), 0);
	CU_ASSERT_EQUAL(b->rig.space->promised, MIB / ANNEX_MEM_PAGE);
	return m;
}

/* As plans have it: a tensor leaves behind the kernel, unless another one uses it by then. */
static void leaves_behind_the_kernel(void)
{
	struct annex_mem_page page;
	struct annex_move *m;
	struct bench b;
	void *p;

	bench_open(&b, 4 * MIB, "none", host());
	p = mem_alloc(&b.rig, "p", MIB);
	gpu_stream_hold(b.stream, true);
	CU_ASSERT_EQUAL(launch(&b, "one", p, count_up), 0);
	m = leave_patiently(&b, p);
	CU_ASSERT_EQUAL(launch(&b, "two", p, count_up), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -EBUSY);
	CU_ASSERT_EQUAL(b.rig.space->promised, 0);
	m = leave_patiently(&b, p);
	gpu_stream_hold(b.stream, false);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	CU_ASSERT_EQUAL(annex_mem_lookup(b.rig.space, p, &page), 0);
	CU_ASSERT(page.below && !page.device);
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
	CU_ASSERT_EQUAL(b.rig.space->promised, 0);
	bench_close(&b);
}

/* A kernel that is not launched yet holds a tensor that a plan evicts: another one is evicted for
 * the kernel's other tensors. */
static void evicted_before_the_launch(void)
{
	struct annex_mem_page page;
	struct annex_move *m;
	struct bench b;
	void *p[3];

	bench_open(&b, 2 * MIB, "none", host());
	for (unsigned int i = 0; i < 3; i++) {
		p[i] = mem_alloc(&b.rig, "p", MIB);
		CU_ASSERT_EQUAL(launch(&b, "one", p[i], count_up), 0);
	}
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
	CU_ASSERT_EQUAL(annex_tensor_fly(b.rig.space, p[1], true, true), 0);
	m = leave_patiently(&b, p[1]);
	mem_fetch(&b.rig, p[0], MIB);
	CU_ASSERT_EQUAL(annex_mem_lookup(b.rig.space, p[2], &page), 0);
	CU_ASSERT(page.below && !page.device);
	CU_ASSERT_EQUAL(annex_tensor_fly(b.rig.space, p[1], false, true), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	bench_close(&b);
}

static uint64_t took;

static void take_long(void *arg)
{
	uint64_t since = annex_now();

	for (unsigned int i = 0; i < 8; i++)
		count_up(arg);
	took = annex_now() - since;
}

/* However early the next one is launched. */
static void time_is_the_streams(void)
{
	struct annex_trace *trace;
	struct bench b;
	void *p;

	bench_open(&b, 4 * MIB, "none", host());
	p = mem_alloc(&b.rig, "p", MIB);
	gpu_stream_hold(b.stream, true);
	CU_ASSERT_EQUAL(launch(&b, "long", p, take_long), 0);
	CU_ASSERT_EQUAL(launch(&b, "next", p, count_up), 0);
	gpu_stream_hold(b.stream, false);
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_trace(b.exec, &trace), 0);
	CU_ASSERT_EQUAL_FATAL(trace->n_kernels, 2);
	CU_ASSERT(trace->kernels[0].ns >= took);
	annex_trace_free(trace);
	bench_close(&b);
}

/* A GPU whose marks fail: from number @good on they are not made, or their kernels have failed. */
struct failing_gpu {
	struct annex_frames frames;
	uint32_t good, marks;
	bool kernels;
};

static int failing_mark(void *ctx, void *stream, void **mark)
{
	struct failing_gpu *gpu = ctx;

	if (gpu->marks++ >= gpu->good)
		return annex_gpu_memory_fail(-ENOMEM, "failing GPU: no mark");
	return host()->mark(NULL, stream, mark);
}

static int failing_await(void *ctx, void *mark)
{
	struct failing_gpu *gpu = ctx;
	int err = host()->await(NULL, mark);

	return gpu->kernels ? annex_gpu_memory_fail(-EIO, "failing GPU: a kernel") : err;
}

static void failing_marks(void)
{
	struct failing_gpu gpu = {.frames = *host()};
	struct bench b;
	void *p;

	gpu.frames.mark = failing_mark;
	gpu.frames.await = failing_await;
	gpu.frames.ctx = &gpu;
	bench_open(&b, 2 * MIB, "none", &gpu.frames);
	p = mem_alloc(&b.rig, "p", MIB);
	/* Two are made before, one is moved behind the tensors' arrival: nothing is launched. */
	for (gpu.good = 0; gpu.good < 3; gpu.good++) {
		gpu.marks = 0;
		CU_ASSERT_EQUAL(launch(&b, "none", p, count_up), -ENOMEM);
		mem_fetch(&b.rig, p, MIB);
		mem_evict(&b.rig, p, MIB, ANNEX_TIER_HOST);
	}
	gpu.good = UINT32_MAX;
	gpu.kernels = true;
	CU_ASSERT_EQUAL(launch(&b, "bad", p, count_up), 0);
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), -EIO);
	gpu.kernels = false;
	CU_ASSERT_EQUAL(annex_exec_begin(b.exec), 0);
	CU_ASSERT_EQUAL(launch(&b, "good", p, count_up), 0);
	CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
	bench_close(&b);
}

static void no_stream(void)
{
	const struct annex_exec_use use = {&use, READ};
	struct bench b;
	void *p;

	bench_open(&b, 2 * MIB, "none", NULL);
	p = mem_alloc(&b.rig, "p", MIB);
	CU_ASSERT_EQUAL(launch(&b, "k", p, count_up), -EOPNOTSUPP);
	bench_close(&b);
	bench_open(&b, 2 * MIB, "none", host());
	p = mem_alloc(&b.rig, "p", MIB);
	CU_ASSERT_EQUAL(annex_exec_before_on(b.exec, b.stream, "k", &use, 1), -EINVAL);
	/* Without a stream the program is the kernel. */
	CU_ASSERT_EQUAL(annex_exec_before_on(b.exec, NULL, "k", NULL, 0), 0);
	CU_ASSERT_EQUAL(annex_exec_before_on(b.exec, NULL, "k", NULL, 0), -EINVAL);
	CU_ASSERT_EQUAL(annex_exec_made(b.exec, p), 0);
	count_up(p);
	/* It is launched, and the planner is given up before its end is seen. */
	bench_close(&b);
}

#define TENSORS 24u
#define WORDS (MIB / 4 / 8)
#define KERNELS 60u
#define ITERATIONS (UNIT_SANITIZED ? 8u : 20u)

/* One kernel: to = to * 3 + from, and what @kind says of @to. */
struct call {
	uint64_t *to;
	const uint64_t *from;
	bool fresh;
};

static void compute(void *arg)
{
	const struct call *c = arg;

	for (uint64_t i = 0; i < WORDS; i++)
		c->to[i] = (c->fresh ? 1 : c->to[i] * 3) + c->from[i] + i;
}

/* The same kernels in each iteration, on tensors of three times the GPU's part, and one that each
 * makes and frees. */
static void program(struct bench *b, uint64_t seed, struct call *calls, uint64_t **p,
		    uint64_t **plain)
{
	uint64_t state = seed;

	for (unsigned int k = 0; k < KERNELS; k++) {
		unsigned int to = (unsigned int)(random_next(&state) % TENSORS);
		unsigned int from = (unsigned int)(random_next(&state) % TENSORS);
		bool fresh = to != from && random_next(&state) % 4 == 0;
		const struct annex_exec_use uses[] = {{p[to], fresh ? ANNEX_USE_WRITE : CHANGE},
						      {p[from], READ}};
		struct call other = {plain[to], plain[from], fresh}, into = {NULL, p[from], true};
		void *made;

		compute(&other);
		calls[2 * k] = (struct call){p[to], p[from], fresh};
		CU_ASSERT_EQUAL(annex_exec_before_on(b->exec, b->stream, "k", uses, 2), 0);
		CU_ASSERT_EQUAL_FATAL(annex_alloc_uninit(b->rig.space, "made", WORDS * 8, &made),
				      0);
		CU_ASSERT_EQUAL(annex_exec_made(b->exec, made), 0);
		into.to = made;
		calls[2 * k + 1] = into;
		CU_ASSERT_EQUAL(gpu_stream_put(b->stream, compute, &calls[2 * k + 1]), 0);
		CU_ASSERT_EQUAL(gpu_stream_put(b->stream, compute, &calls[2 * k]), 0);
		if (random_next(&state) % 2)
			CU_ASSERT_EQUAL(annex_free(b->rig.space, made), 0);
		CU_ASSERT_EQUAL(annex_exec_after(b->exec), 0);
		/* It may have gone. */
		annex_free(b->rig.space, made);
	}
}

static void by_policy(const char *policy, uint64_t seed)
{
	struct call *calls = calloc(2 * KERNELS, sizeof(*calls));
	uint64_t *p[TENSORS], *plain[TENSORS];
	struct annex_exec_stats st;
	bool planned = false;
	struct bench b;

	bench_open(&b, TENSORS * WORDS * 8 / 3, policy, host());
	for (unsigned int i = 0; i < TENSORS; i++) {
		p[i] = mem_alloc(&b.rig, "p", WORDS * 8);
		plain[i] = calloc(WORDS, 8);
	}
	for (unsigned int i = 0; i < ITERATIONS; i++) {
		program(&b, seed, calls, p, plain);
		CU_ASSERT_EQUAL(annex_exec_end(b.exec), 0);
		annex_exec_get_stats(b.exec, &st);
		planned |= st.planned;
		CU_ASSERT_EQUAL(annex_exec_begin(b.exec), 0);
	}
	CU_ASSERT_EQUAL(planned, strcmp(policy, "none") != 0);
	CU_ASSERT_EQUAL(mem_stats(&b.rig).over, 0);
	CU_ASSERT(mem_stats(&b.rig).out > 0);
	for (unsigned int i = 0; i < TENSORS; i++) {
		CU_ASSERT_EQUAL(annex_hold(b.rig.space, p[i]), 0);
		mem_fetch(&b.rig, p[i], WORDS * 8);
		CU_ASSERT_EQUAL(memcmp(p[i], plain[i], WORDS * 8), 0);
		CU_ASSERT_EQUAL(annex_let_go(b.rig.space, p[i]), 0);
		CU_ASSERT_EQUAL(annex_free(b.rig.space, p[i]), 0);
		free(plain[i]);
	}
	annex_exec_end(b.exec);
	mem_wait_empty(&b.rig);
	CU_ASSERT_EQUAL(b.rig.space->promised, 0);
	CU_ASSERT_EQUAL(b.rig.space->launched, 0);
	bench_close(&b);
	free(calls);
}

static void as_plain_memory(void)
{
	uint64_t state = random_seed("streams beside plain memory");

	by_policy("none", random_next(&state));
	by_policy("annex", random_next(&state));
	by_policy("g10", random_next(&state));
	by_policy("uvm", random_next(&state));
}

UNIT_SUITE(exec_stream, {"launched ahead", launched_ahead}, {"freed in flight", freed_in_flight},
	   {"leaves behind the kernel", leaves_behind_the_kernel},
	   {"evicted before the launch", evicted_before_the_launch},
	   {"time is the stream's", time_is_the_streams}, {"failing marks", failing_marks},
	   {"no stream", no_stream}, {"as plain memory", as_plain_memory})
