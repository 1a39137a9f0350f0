// SPDX-License-Identifier: MIT
/*
 * Calls by plain stores from a guest to a device outside, on data in CXL memory:
 *
 *	hdmndp run URI		kernels on random data, compared with this processor's
 *	hdmndp apart URI	two processes: neither reaches what is the other's
 *	hdmndp loop URI		calls until the device is gone; says "running", then "gone"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/kernels.h>
#include "core/random.h"

#define N 100000u /* no multiple of what a unit takes */
#define TIMEOUT_MS 20000

struct side {
	struct annex_hdm *hdm;
	struct annex_m2 *m2;
	struct annex_kernels *kernels;
	int32_t *a, *b, *c;
	uint8_t *bits;
};

static void die(const char *what)
{
	printf("%s: %s\n", what, annex_last_error());
	exit(1);
}

static void *piece(struct side *s, size_t bytes)
{
	void *at;

	if (annex_hdm_alloc(s->hdm, bytes, 0, NULL, &at))
		die("memory");
	return at;
}

static void open_side(struct side *s, const char *uri)
{
	const struct annex_m2_opts opts = {.timeout_ms = TIMEOUT_MS};

	if (annex_hdm_open(uri, NULL, &s->hdm))
		die("range");
	if (annex_m2_open(uri, &opts, &s->m2))
		die("device");
	if (annex_m2_map(s->m2, s->hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE))
		die("map");
	if (annex_kernels_open(s->m2, s->hdm, &s->kernels))
		die("kernels");
	s->a = piece(s, N * 4);
	s->b = piece(s, N * 4);
	s->c = piece(s, N * 4);
	s->bits = piece(s, ANNEX_NDP_BITMAP(N));
}

static void close_side(struct side *s)
{
	annex_kernels_close(s->kernels);
	annex_m2_close(s->m2);
	annex_hdm_close(s->hdm);
}

static void fill(struct side *s, uint64_t seed)
{
	for (unsigned int i = 0; i < N; i++) {
		s->a[i] = (int32_t)random_next(&seed);
		s->b[i] = (int32_t)random_next(&seed);
	}
}

static int compute(struct side *s, int64_t *sum)
{
	int err = annex_ndp_add_i32(s->kernels, s->a, s->b, s->c, N);

	if (!err)
		err = annex_ndp_filter_i32(s->kernels, s->c, N, 0, 1 << 30, s->bits);
	return err ? err : annex_ndp_sum_i32(s->kernels, s->c, N, sum);
}

static bool is_right(const struct side *s, int64_t sum)
{
	for (unsigned int i = 0; i < N; i++) {
		int32_t c = (int32_t)((uint32_t)s->a[i] + (uint32_t)s->b[i]);

		if (s->c[i] != c || (s->bits[i / 8] >> i % 8 & 1) != (c >= 0 && c <= 1 << 30)) {
			printf("row %u: %d\n", i, s->c[i]);
			return false;
		}
		sum -= c;
	}
	return !sum;
}

static int run(const char *uri)
{
	struct side s;

	open_side(&s, uri);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		int64_t sum;

		fill(&s, seed + (uint64_t)getpid());
		if (compute(&s, &sum))
			die("kernels");
		if (!is_right(&s, sum))
			return 1;
	}
	close_side(&s);
	return 0;
}

/* The child's kernel is known to the child alone, and so is memory that only it has mapped. */
static int apart(const char *uri)
{
	int to[2], from[2], status;
	struct side s;
	uint64_t theirs[2];
	int64_t sum;
	pid_t pid;
	char go;

	if (pipe(to) || pipe(from))
		return 1;
	pid = fork();
	open_side(&s, uri);
	fill(&s, (uint64_t)getpid());
	if (compute(&s, &sum) || !is_right(&s, sum))
		die(pid ? "the first" : "the second");
	if (!pid) {
		struct annex_m2_info info;

		annex_m2_get_info(s.m2, &info);
		theirs[0] = info.asid;
		theirs[1] = (uintptr_t)s.a;
		if (write(from[1], theirs, sizeof(theirs)) != sizeof(theirs) ||
		    read(to[0], &go, 1) != 1)
			return 1;
		if (compute(&s, &sum) || !is_right(&s, sum))
			die("the second, afterwards");
		close_side(&s);
		exit(0);
	}
	if (read(from[0], theirs, sizeof(theirs)) != sizeof(theirs))
		return 1;
	for (uint32_t id = 1; id < 256; id++)
		if (!annex_m2_run(s.m2, id, s.a, 32, NULL, 0, NULL)) {
			printf("kernel %u without arguments: nobody's here\n", id);
			return 1;
		}
	if (annex_m2_shootdown(s.m2, (uint32_t)theirs[0], s.a) != -EPERM) {
		puts("it may shoot down translations");
		return 1;
	}
	if (annex_m2_unmap(s.m2, (void *)(UINT64_C(1) << 40), 4096) != -ENOENT) {
		puts("it unmaps what it has not mapped");
		return 1;
	}
	if (write(to[1], "g", 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	close_side(&s);
	return 0;
}

static int loop(const char *uri)
{
	struct side s;
	int64_t sum;
	int err;

	open_side(&s, uri);
	fill(&s, 1);
	err = compute(&s, &sum);
	puts("running");
	fflush(stdout);
	while (!err)
		err = compute(&s, &sum);
	puts(err == -ENODEV ? "gone" : annex_last_error());
	annex_m2_close(s.m2);
	annex_hdm_close(s.hdm);
	return err != -ENODEV;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "apart"))
		return apart(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "loop"))
		return loop(argv[2]);
	fputs("hdmndp: usage: hdmndp run|apart|loop URI\n", stderr);
	return 2;
}
