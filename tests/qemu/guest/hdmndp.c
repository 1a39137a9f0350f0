// SPDX-License-Identifier: MIT
/*
 * Calls by plain stores from a guest to a device outside, on data in CXL memory:
 *
 *	hdmndp run URI		kernels on random data, compared with this processor's
 *	hdmndp apart URI	two processes: neither reaches memory of the other
 *	hdmndp loop URI		calls until the device is gone; says "running", then "gone"
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/kernels.h>
#include "tests/unit/random.h"
#include "ndp/kernels/kernels.h"

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

struct sum_args {
	uint64_t a, b, c, n, piece;
};

/* A kernel by its number, with the arguments that it takes. */
static int run_by(struct side *s, uint32_t id)
{
	const struct sum_args args = {(uintptr_t)s->a, (uintptr_t)s->b, (uintptr_t)s->c, N, 32};

	return annex_m2_run(s->m2, id, s->c, (uint64_t)N * 4 / 32 * 32, &args, sizeof(args), NULL);
}

static uint32_t load_sum(struct side *s, struct annex_m2_kernel **kernel)
{
	const struct k_image *elf = &k_image[K_vadd_i32];

	if (annex_m2_load(s->m2, s->hdm, elf->elf, (size_t)(elf->end - elf->elf), kernel))
		die("load");
	return (*kernel)->id;
}

/* A client that has nothing mapped, in this process, where the addresses are the same. */
static int without_memory(const char *uri, const void *image)
{
	const struct annex_m2_opts opts = {.timeout_ms = TIMEOUT_MS};
	const struct annex_m2_needs needs = {.scratchpad = 64, .nx = 32, .nf = 32, .nv = 32};
	struct annex_m2 *other;
	uint32_t id;
	int err;

	if (annex_m2_open(uri, &opts, &other))
		die("another client");
	err = annex_m2_register(other, image, &needs, &id);
	annex_m2_close(other);
	return err;
}

static int tell(bool right, const char *what)
{
	if (!right)
		puts(what);
	return right ? 0 : 1;
}

/* In the child: it has a kernel, tells its number, and still has it when the other has tried. */
static int second(struct side *s, int to, int from)
{
	struct annex_m2_kernel *kernel;
	uint32_t id = load_sum(s, &kernel);
	char go;

	if (run_by(s, id) || write(to, &id, sizeof(id)) != sizeof(id) || read(from, &go, 1) != 1 ||
	    run_by(s, id))
		die("the second");
	annex_m2_unload(s->m2, kernel);
	close_side(s);
	return 0;
}

static int apart(const char *uri)
{
	struct annex_m2_kernel *kernel;
	int to[2], from[2], status, bad;
	uint32_t mine, theirs;
	struct side s;
	pid_t pid;

	if (pipe(to) || pipe(from))
		return 1;
	pid = fork();
	open_side(&s, uri);
	fill(&s, (uint64_t)getpid());
	if (!pid)
		exit(second(&s, from[1], to[0]));
	if (read(from[0], &theirs, sizeof(theirs)) != sizeof(theirs))
		return 1;
	mine = load_sum(&s, &kernel);
	bad = tell(!run_by(&s, mine), "its own kernel does not run");
	bad |= tell(run_by(&s, theirs) == -ENOENT, "the other's kernel runs");
	bad |= tell(annex_m2_unregister(s.m2, theirs) == -ENOENT, "it is taken away");
	bad |= tell(without_memory(uri, kernel->image) == -EFAULT,
		    "a process without mappings reaches memory");
	bad |= tell(annex_m2_shootdown(s.m2, 1, s.a) == -EPERM, "it shoots down translations");
	bad |= tell(write(to[1], "g", 1) == 1 && waitpid(pid, &status, 0) == pid && !status,
		    "the other does not run any more");
	annex_m2_unload(s.m2, kernel);
	close_side(&s);
	return bad;
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
