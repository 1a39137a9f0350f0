// SPDX-License-Identifier: MIT
/*
 * Random 4 KiB O_DIRECT reads through the proxy, against fio's io_uring engine on the same file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "bench.h"
#include "spawn.h"

#define DEPTH 256u
#define PAGE 4096u
#define FILE_MB 1024u
#define PAGES (FILE_MB * 256u)
#define ROUND_S 4
#define ROUNDS 3

/* Every page carries its number in its first and last word. */
static void write_file(const char *path)
{
	static char chunk[1 << 20] __attribute__((aligned(4096)));
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		bench_fail("cannot create %s", path);
	for (uint64_t n = 0; n < PAGES;) {
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

static double fio_rate(const struct bench_ctx *ctx, const char *path)
{
	char file[4200], runtime[32];
	char *argv[] = {"fio",
			"--name=randread",
			file,
			"--rw=randread",
			"--bs=4k",
			"--direct=1",
			"--ioengine=io_uring",
			"--iodepth=256",
			runtime,
			"--time_based=1",
			"--output-format=json",
			NULL};
	json_t *out;
	double iops;

	snprintf(file, sizeof(file), "--filename=%s", path);
	snprintf(runtime, sizeof(runtime), "--runtime=%d", ROUND_S);
	out = bench_run_json(ctx->dir, argv);
	iops = bench_number(out, "jobs.read.iops");
	json_decref(out);
	return iops;
}

/* Keep DEPTH reads in flight: as one completes, its buffer is checked and sent again. */
static double proxy_rate(const char *path)
{
	struct annex_dev_opts opts = {.depth = DEPTH * 2, .queues = 1};
	static struct annex_io ios[DEPTH];
	uint64_t tokens[DEPTH], addr, rng = (uint64_t)annex_now() | 1, done = 0;
	double start, end;
	struct annex_dev *dev;
	struct annex_qp *qp;
	char uri[4300], *buf;

	snprintf(uri, sizeof(uri), "file:%s?readonly=1", path);
	dev = bench_open(uri, &opts);
	buf = bench_map(dev, DEPTH * PAGE, &addr);
	qp = annex_dev_qp_at(dev, 0);
	for (unsigned int i = 0; i < DEPTH; i++)
		ios[i] = (struct annex_io){.opcode = ANNEX_NVM_READ,
					   .nsid = 1,
					   .nlb = PAGE / 512,
					   .slba = random_next(&rng) % PAGES * (PAGE / 512),
					   .bytes = PAGE,
					   .addr = addr + i * PAGE};
	start = bench_seconds();
	if (annex_qp_submit(qp, ios, DEPTH, tokens, annex_deadline_ms(1000)) != DEPTH)
		bench_fail("cannot fill the queue");
	do {
		/* Wait for the oldest, then take what else has come, and send a batch anew. */
		for (unsigned int i = 0; i < DEPTH;) {
			struct annex_result res = {0};
			unsigned int first = i;

			if (annex_qp_wait(qp, tokens[i], &res, annex_deadline_ms(30000)))
				bench_fail("a read did not complete");
			do {
				uint64_t n = ios[i].slba / (PAGE / 512);

				if (res.status || memcmp(buf + i * PAGE, &n, 8) ||
				    memcmp(buf + (i + 1) * PAGE - 8, &n, 8))
					bench_fail("a read brought wrong data");
				ios[i].slba = random_next(&rng) % PAGES * (PAGE / 512);
				i++;
			} while (i < DEPTH && i - first < 32 &&
				 !annex_qp_collect(qp, tokens[i], &res));
			if (annex_qp_submit(qp, ios + first, i - first, tokens + first,
					    annex_deadline_ms(1000)) != (int)(i - first))
				bench_fail("cannot submit");
			done += i - first;
		}
		end = bench_seconds();
	} while (end - start < ROUND_S);
	for (unsigned int i = 0; i < DEPTH; i++)
		if (annex_qp_wait(qp, tokens[i], NULL, annex_deadline_ms(30000)))
			bench_fail("a read did not complete");
	bench_unmap(dev, buf, DEPTH * PAGE, addr);
	annex_dev_close(dev);
	return (double)done / (end - start);
}

void bench_file(const struct bench_ctx *ctx)
{
	double fio[ROUNDS], own[ROUNDS], a, b;
	char path[4096];

	snprintf(path, sizeof(path), "%s/random.data", ctx->dir);
	write_file(path);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		fio[r] = fio_rate(ctx, path);
		own[r] = proxy_rate(path);
	}
	unlink(path);
	a = bench_median(fio, ROUNDS);
	b = bench_median(own, ROUNDS);
	bench_figure("fio io_uring, random 4 KiB O_DIRECT reads, depth 256", a / 1e3, "k/s", 0, 0);
	bench_figure("file: the same reads through queue pairs", b / 1e3, "k/s", 0, 0);
	bench_figure("file: / fio", b / a, "x", 0.9, 0);
}
