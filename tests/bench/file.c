// SPDX-License-Identifier: MIT
/*
 * Random 4 KiB O_DIRECT reads through the proxy, against fio's io_uring engine: on the same file,
 * and on a loop device in memory, where no disk is in the way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "bench.h"

#define DEPTH 256u
#define PAGE 4096u
#define BATCH 32u
#define ROUND_MS BENCH_SIZE(2000, 100)

/* Every page carries its number in its first and last word. */
static void write_pages(const char *path, uint64_t pages)
{
	static char chunk[1 << 20] __attribute__((aligned(4096)));
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		bench_fail("cannot create %s", path);
	for (uint64_t n = 0; n < pages;) {
		for (char *p = chunk; p < chunk + sizeof(chunk); p += PAGE, n++) {
			memcpy(p, &n, 8);
			memcpy(p + PAGE - 8, &n, 8);
		}
		if (write(fd, chunk, sizeof(chunk)) != (ssize_t)sizeof(chunk))
			bench_fail("cannot write %s", path);
	}
	if (fsync(fd) || close(fd))
		bench_fail("cannot write %s", path);
}

/*
 * Thousands of reads a second. Fixed buffers and files, no clock for each command, and no list of
 * blocks that were read, as on the other side. @least: wait for so many reads of a batch.
 */
static double fio_rate(const struct bench_ctx *ctx, const char *path, unsigned int least)
{
	char file[4200], runtime[32], depth[32], batch[40], complete[48];
	char *argv[] = {"fio",
			"--name=randread",
			file,
			"--rw=randread",
			"--bs=4k",
			"--direct=1",
			"--ioengine=io_uring",
			"--fixedbufs=1",
			"--registerfiles=1",
			"--norandommap=1",
			"--randrepeat=0",
			"--gtod_reduce=1",
			depth,
			batch,
			complete,
			runtime,
			"--time_based=1",
			"--output-format=json",
			NULL};
	json_t *out;
	double iops;

	snprintf(file, sizeof(file), "--filename=%s", path);
	snprintf(depth, sizeof(depth), "--iodepth=%u", DEPTH);
	snprintf(batch, sizeof(batch), "--iodepth_batch_submit=%u", BATCH);
	snprintf(complete, sizeof(complete), "--iodepth_batch_complete_min=%u", least);
	snprintf(runtime, sizeof(runtime), "--runtime=%dms", ROUND_MS);
	out = bench_run_json(ctx->dir, argv);
	iops = bench_number(out, "jobs.read.iops");
	json_decref(out);
	return iops / 1e3;
}

/* struct reads - Those in flight, each in a buffer of its own, by their order in the queue. */
struct reads {
	struct annex_io ios[DEPTH];
	uint64_t tokens[DEPTH];
	uint64_t pages, rng;
	char *buf;
	uint64_t addr;
};

static void draw(struct reads *r, struct annex_io *io)
{
	io->slba = random_next(&r->rng) % r->pages * (PAGE / 512);
}

static void check(const struct reads *r, const struct annex_io *io, uint16_t status)
{
	const char *page = r->buf + (io->addr - r->addr);
	uint64_t n = io->slba / (PAGE / 512);

	if (status || memcmp(page, &n, 8) || memcmp(page + PAGE - 8, &n, 8))
		bench_fail("a read brought wrong data");
}

/*
 * Wait for the oldest, check it and the others that have completed, and submit all of these again,
 * behind the ones in flight. Return: how many.
 */
static unsigned int turn_over(struct reads *r, struct annex_qp *qp)
{
	struct annex_io again[DEPTH];
	struct annex_result res = {0};
	unsigned int left = 0, n = 0;

	if (annex_qp_wait(qp, r->tokens[0], &res, annex_deadline_ms(30000)))
		bench_fail("a read did not complete");
	for (unsigned int i = 0; i < DEPTH; i++) {
		if (!i || !annex_qp_collect(qp, r->tokens[i], &res)) {
			check(r, &r->ios[i], res.status);
			draw(r, &r->ios[i]);
			again[n++] = r->ios[i];
		} else {
			r->tokens[left] = r->tokens[i];
			r->ios[left++] = r->ios[i];
		}
	}
	memcpy(r->ios + left, again, n * sizeof(*again));
	if (annex_qp_submit(qp, again, n, r->tokens + left, annex_deadline_ms(1000)) != (int)n)
		bench_fail("cannot submit");
	return n;
}

/* Keep DEPTH reads in flight. */
static double proxy_rate(const char *path, uint64_t pages)
{
	struct annex_dev_opts opts = {.depth = DEPTH * 2, .queues = 1};
	static struct reads r;
	uint64_t done = 0;
	double start, end;
	struct annex_dev *dev;
	struct annex_qp *qp;
	char uri[4300];

	snprintf(uri, sizeof(uri), "file:%s?readonly=1", path);
	dev = bench_open(uri, &opts);
	r.pages = pages;
	r.rng = (uint64_t)annex_now() | 1;
	r.buf = bench_map(dev, DEPTH * PAGE, &r.addr);
	qp = annex_dev_qp_at(dev, 0);
	for (unsigned int i = 0; i < DEPTH; i++) {
		r.ios[i] = (struct annex_io){.opcode = ANNEX_NVM_READ,
					     .nsid = 1,
					     .nlb = PAGE / 512,
					     .bytes = PAGE,
					     .addr = r.addr + i * PAGE};
		draw(&r, &r.ios[i]);
	}
	start = bench_seconds();
	if (annex_qp_submit(qp, r.ios, DEPTH, r.tokens, annex_deadline_ms(1000)) != DEPTH)
		bench_fail("cannot fill the queue");
	do {
		done += turn_over(&r, qp);
		end = bench_seconds();
	} while (end - start < ROUND_MS / 1e3);
	for (unsigned int i = 0; i < DEPTH; i++)
		if (annex_qp_wait(qp, r.tokens[i], NULL, annex_deadline_ms(30000)))
			bench_fail("a read did not complete");
	bench_unmap(dev, r.buf, DEPTH * PAGE, r.addr);
	annex_dev_close(dev);
	return (double)done / (end - start) / 1e3;
}

static void compare(const struct bench_ctx *ctx, const char *path, uint64_t pages,
		    const char *where)
{
	double all[BENCH_ROUNDS], any[BENCH_ROUNDS], own[BENCH_ROUNDS], best[BENCH_ROUNDS];
	double ratio[BENCH_ROUNDS];
	char name[96];

	for (unsigned int r = 0; r < bench_rounds; r++) {
		all[r] = fio_rate(ctx, path, BATCH);
		own[r] = proxy_rate(path, pages);
		any[r] = fio_rate(ctx, path, 1);
		best[r] = all[r] > any[r] ? all[r] : any[r];
	}
	bench_ratios(ratio, own, best, bench_rounds);
	snprintf(name, sizeof(name), "fio, %s, random 4 KiB reads, depth 256, batches of 32",
		 where);
	bench_series(name, all, bench_rounds, "k/s", 0, 0);
	bench_series("the same, takes completed ones", any, bench_rounds, "k/s", 0, 0);
	bench_series("file: the same reads through queue pairs", own, bench_rounds, "k/s", 0, 0);
	snprintf(name, sizeof(name), "file: / better fio, %s", where);
	bench_series(name, ratio, bench_rounds, "x", 1.0, 0);
}

/* A loop device of a file, which goes when it is closed. Return: its descriptor, < 0: none. */
static int open_loop(const char *path, char *name, size_t len)
{
	struct loop_config config = {.info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n, fd = -1, file;

	n = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	if (control >= 0)
		close(control);
	file = open(path, O_RDWR | O_CLOEXEC);
	snprintf(name, len, "/dev/loop%d", n);
	if (n >= 0 && file >= 0)
		fd = open(name, O_RDWR | O_CLOEXEC);
	config.fd = (uint32_t)file;
	if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config)) {
		close(fd);
		fd = -1;
	}
	if (file >= 0)
		close(file);
	return fd;
}

static void in_memory(const struct bench_ctx *ctx)
{
	const uint64_t pages = BENCH_SIZE(256ull, 16ull) << 20 >> 12;
	char path[64], loop[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/annex-bench-%d.data", (int)getpid());
	write_pages(path, pages);
	fd = open_loop(path, loop, sizeof(loop));
	unlink(path);
	if (fd < 0) {
		bench_note("file: no loop device (%s): left out", strerror(errno));
		return;
	}
	compare(ctx, loop, pages, "loop device in memory");
	close(fd);
}

void bench_file(const struct bench_ctx *ctx)
{
	const uint64_t pages = BENCH_SIZE(1024ull, 16ull) << 20 >> 12;
	char path[4096];

	snprintf(path, sizeof(path), "%s/random.data", ctx->dir);
	write_pages(path, pages);
	compare(ctx, path, pages, "disk");
	unlink(path);
	in_memory(ctx);
}
