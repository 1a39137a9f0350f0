// SPDX-License-Identifier: MIT
/*
 * The queue pairs on mem: devices, against io_uring NOPs; many threads against few; wake-up.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <liburing.h>
#include "tests/unit/random.h"
#include "bench.h"

#define BATCH 32u
#define BLOCK 512u
#define BLOCKS (64u * (1024 * 1024 / BLOCK)) /* of each device */
#define ROUND_S BENCH_SIZE(0.5, 0.01)
#define CHECK_EVERY 64u /* batches between looks at the clock */
#define WAKES 201u

/* Every block carries its number in its first and last word. */
static void stamp(struct annex_dev *dev)
{
	uint32_t chunk = 1024;
	uint64_t addr;
	char *buf = bench_map(dev, chunk * BLOCK, &addr);

	for (uint64_t b = 0; b < BLOCKS; b += chunk) {
		struct annex_io io = {
			.opcode = ANNEX_NVM_WRITE,
			.nsid = 1,
			.slba = b,
			.nlb = chunk,
			.bytes = chunk * BLOCK,
			.addr = addr,
		};

		for (uint64_t i = 0; i < chunk; i++) {
			uint64_t n = b + i;

			memcpy(buf + i * BLOCK, &n, 8);
			memcpy(buf + i * BLOCK + BLOCK - 8, &n, 8);
		}
		if (annex_dev_io(dev, &io, 1, NULL))
			bench_fail("%s", annex_last_error());
	}
	bench_unmap(dev, buf, chunk * BLOCK, addr);
}

/* Older kernels know fewer flags; take the ones that make a ring of one thread fastest. */
static void open_ring(struct io_uring *ring)
{
	static const unsigned int flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		0,
	};

	for (unsigned int i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!io_uring_queue_init(BATCH * 2, ring, flags[i]))
			return;
	bench_fail("io_uring is not available");
}

static double nop_rate(void)
{
	struct io_uring ring;
	double start, end;
	uint64_t n = 0;

	open_ring(&ring);
	start = bench_seconds();
	do {
		for (unsigned int k = 0; k < CHECK_EVERY; k++) {
			struct io_uring_cqe *cqe;
			unsigned int head, got = 0;

			for (unsigned int i = 0; i < BATCH; i++)
				io_uring_prep_nop(io_uring_get_sqe(&ring));
			io_uring_submit_and_wait(&ring, BATCH);
			io_uring_for_each_cqe(&ring, head, cqe) got++;
			io_uring_cq_advance(&ring, got);
			n += got;
		}
		end = bench_seconds();
	} while (end - start < ROUND_S);
	io_uring_queue_exit(&ring);
	return (double)n / (end - start) / 1e6;
}

/* Read BATCH random blocks and check their data. */
static void read_batch(struct annex_qp *qp, struct annex_io *ios, char *buf, uint64_t *rng)
{
	uint64_t tokens[BATCH], deadline = annex_deadline_ms(30000);
	unsigned int sent = 0, taken = 0;

	for (unsigned int i = 0; i < BATCH; i++)
		ios[i].slba = random_next(rng) % BLOCKS;
	while (taken < BATCH) {
		int got = 0;

		if (sent < BATCH)
			got = annex_qp_submit(qp, ios + sent, BATCH - sent, tokens + sent,
					      deadline);
		if (got < 0)
			bench_fail("submit: %s", strerror(-got));
		/* From the last, so that the thread sleeps once. */
		sent += (unsigned int)got;
		for (unsigned int k = sent; k-- > taken;) {
			struct annex_result res;
			uint64_t first, last;

			if (annex_qp_wait(qp, tokens[k], &res, deadline) || res.status)
				bench_fail("a read failed");
			memcpy(&first, buf + k * BLOCK, 8);
			memcpy(&last, buf + (k + 1) * BLOCK - 8, 8);
			if (first != ios[k].slba || last != first)
				bench_fail("a read brought wrong data");
		}
		taken = sent;
	}
}

struct worker {
	struct annex_dev *dev;
	pthread_t thread;
	char *buf;
	uint64_t addr;
	uint64_t seed;
	uint64_t done;
	uint32_t *ready;
	uint32_t *stop;
};

static void *worker(void *arg)
{
	struct worker *w = arg;
	struct annex_qp *qp = annex_dev_qp(w->dev);
	struct annex_io ios[BATCH];

	for (unsigned int i = 0; i < BATCH; i++)
		ios[i] = (struct annex_io){.opcode = ANNEX_NVM_READ,
					   .nsid = 1,
					   .nlb = 1,
					   .bytes = BLOCK,
					   .addr = w->addr + i * BLOCK};
	annex_atomic_add(w->ready, 1, ANNEX_RELAXED);
	while (!annex_atomic_load(w->stop, ANNEX_RELAXED)) {
		read_batch(qp, ios, w->buf, &w->seed);
		annex_atomic_store(&w->done, w->done + BATCH, ANNEX_RELAXED);
	}
	return NULL;
}

static uint64_t done_by(const struct worker *workers, unsigned int n)
{
	uint64_t done = 0;

	for (unsigned int i = 0; i < n; i++)
		done += annex_atomic_load(&workers[i].done, ANNEX_RELAXED);
	return done;
}

/* Million commands a second of @n threads, each with batches of its own. */
static double read_rate(struct annex_dev *dev, unsigned int n, char *buf, uint64_t addr)
{
	static struct worker workers[256];
	struct timespec round = {0, (long)(ROUND_S * 1e9)};
	uint32_t stop = 0, ready = 0;
	uint64_t done;
	double start;

	for (unsigned int i = 0; i < n; i++) {
		workers[i] = (struct worker){
			.dev = dev,
			.buf = buf + i * BATCH * BLOCK,
			.addr = addr + i * BATCH * BLOCK,
			.seed = i + 1,
			.ready = &ready,
			.stop = &stop,
		};
		if (pthread_create(&workers[i].thread, NULL, worker, &workers[i]))
			bench_fail("cannot create a thread");
	}
	while (annex_atomic_load(&ready, ANNEX_RELAXED) < n)
		annex_qp_backoff(20);
	start = bench_seconds();
	done = done_by(workers, n);
	nanosleep(&round, NULL); /* the length of the measurement */
	done = done_by(workers, n) - done;
	start = bench_seconds() - start;
	annex_atomic_store(&stop, 1, ANNEX_RELAXED);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	return (double)done / start / 1e6;
}

/* From a command into an idle controller with a thread of its own, to its completion. */
static double wake_us(void)
{
	struct annex_dev *dev = bench_open("mem:1M?serve=thread", NULL);
	struct timespec idle = {0, 2000000};
	const unsigned int wakes = BENCH_SIZE(WAKES, 3);
	double us[WAKES];
	uint64_t addr;
	char *buf = bench_map(dev, 4096, &addr);
	struct annex_io io = {
		.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 1, .bytes = BLOCK, .addr = addr};

	for (unsigned int i = 0; i < wakes; i++) {
		double start;

		nanosleep(&idle, NULL); /* the idle time that is measured */
		start = bench_seconds();
		if (annex_dev_io(dev, &io, 1, NULL))
			bench_fail("%s", annex_last_error());
		us[i] = (bench_seconds() - start) * 1e6;
	}
	bench_unmap(dev, buf, 4096, addr);
	annex_dev_close(dev);
	return bench_median(us, wakes);
}

/* struct side - A device that is measured. */
struct side {
	struct annex_dev *dev;
	uint64_t addr;
};

static struct side open_side(const char *uri, const struct annex_dev_opts *opts, void *buf,
			     size_t len)
{
	struct side s = {.dev = bench_open(uri, opts)};

	if (annex_dev_map(s.dev, buf, len, &s.addr))
		bench_fail("%s", annex_last_error());
	stamp(s.dev);
	return s;
}

static void close_side(const struct side *s, size_t len)
{
	if (annex_dev_unmap(s->dev, s->addr, len))
		bench_fail("%s", annex_last_error());
	annex_dev_close(s->dev);
}

void bench_queue(const struct bench_ctx *ctx)
{
	const struct annex_provider *p = annex_provider_huge();
	const struct annex_dev_opts own = {.queues = 64, .depth = 256}; /* BaM has 128 */
	size_t len = 256ul * BATCH * BLOCK;
	double nop[BENCH_ROUNDS], one[BENCH_ROUNDS], two[BENCH_ROUNDS], served[BENCH_ROUNDS];
	double few[BENCH_ROUNDS], many[BENCH_ROUNDS], set[BENCH_ROUNDS], ratio[BENCH_ROUNDS];
	struct side usual, other, thread;
	char *buf = p->alloc(p->ctx, len, 4096);

	(void)ctx;
	if (!buf)
		bench_fail("no %zu bytes of memory", len);
	memset(buf, 0, len);
	usual = open_side("mem:64M", NULL, buf, len);
	other = open_side("mem:64M", &own, buf, len);
	thread = open_side("mem:64M?serve=thread", NULL, buf, len);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		nop[r] = nop_rate();
		one[r] = read_rate(usual.dev, 1, buf, usual.addr);
		served[r] = read_rate(thread.dev, 1, buf, thread.addr);
		two[r] = read_rate(usual.dev, 2, buf, usual.addr);
		many[r] = read_rate(usual.dev, 256, buf, usual.addr);
		few[r] = read_rate(other.dev, 2, buf, other.addr);
		set[r] = read_rate(other.dev, 256, buf, other.addr);
	}
	bench_ratios(ratio, one, nop, bench_rounds);
	bench_series("io_uring NOPs, batches of 32", nop, bench_rounds, "M/s", 0, 0);
	bench_series("mem: random 512 B reads, batches of 32, 1 thread", one, bench_rounds, "M/s",
		     0, 0);
	bench_series("mem: reads with data / io_uring NOPs", ratio, bench_rounds, "x", 0.8, 0);
	bench_series("mem: the same, the controller a thread of its own", served, bench_rounds,
		     "M/s", 0, 0);
	bench_ratios(ratio, many, two, bench_rounds);
	bench_series("mem: the same from 2 threads", two, bench_rounds, "M/s", 0, 0);
	bench_series("mem: the same from 256 threads", many, bench_rounds, "M/s", 0, 0);
	bench_series("mem: 256 threads / 2 threads", ratio, bench_rounds, "x", 0.7, 0);
	bench_ratios(ratio, set, few, bench_rounds);
	bench_series("mem: 2 threads on 64 queue pairs of 256 entries", few, bench_rounds, "M/s", 0,
		     0);
	bench_series("mem: 256 threads on these", set, bench_rounds, "M/s", 0, 0);
	bench_series("mem: 256 threads / 2 threads on these", ratio, bench_rounds, "x", 0, 0);
	close_side(&thread, len);
	close_side(&other, len);
	close_side(&usual, len);
	p->free(p->ctx, buf, len);
	bench_figure("idle controller thread: submit to completion, median", wake_us(), "us", 100,
		     1);
}
