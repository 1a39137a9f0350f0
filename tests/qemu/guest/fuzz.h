/* SPDX-License-Identifier: MIT */
/*
 * For programs that make random calls (fuzz.c, hdmfuzz.c): numbers to try, threads that draw calls
 * from a table, and owners, one after the other, that may end in any way but must not hang.
 */
#ifndef TESTS_QEMU_FUZZ_H
#define TESTS_QEMU_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uapi/annex.h>
#include "tests/unit/random.h"

#define PAGE 4096ull
#define STUCK_S 90 /* longer than any call, which a reset may be in */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void idle(uint64_t ms)
{
	poll(NULL, 0, (int)ms);
}

static uint64_t draw(uint64_t *state, uint64_t n)
{
	return random_next(state) % n;
}

/* One time in @n. */
static bool rarely(uint64_t *state, uint64_t n)
{
	return !draw(state, n);
}

static uint64_t odd(uint64_t *state)
{
	static const uint64_t edges[] = {0,
					 1,
					 2,
					 511,
					 4095,
					 4096,
					 4097,
					 0xffff,
					 0x10000,
					 0x7fffffff,
					 0x80000000,
					 0xffffffff,
					 1ull << 32,
					 0x7ffffffff000,
					 0x800000000000,
					 ~0ull - 4095,
					 ~0ull};

	switch (draw(state, 3)) {
	case 0:
		return draw(state, 64);
	case 1:
		return edges[draw(state, sizeof(edges) / sizeof(edges[0]))];
	default:
		return draw(state, ~0ull) >> draw(state, 64);
	}
}

/* @usual, but now and then something else. */
static uint64_t maybe(uint64_t *state, uint64_t usual)
{
	return rarely(state, 30) ? odd(state) : usual;
}

#define TALLIES 64u
#define LONGER 6

/* Calls of all owners by number: how many were made, and how many of them succeeded. */
static struct tally {
	unsigned long made, good;
} * tally;

/*
 * struct depth - Calls that all owners together must make, or the test has not reached far enough.
 * @number: of the call
 * @made: so many calls
 * @good: so many that succeed, however many fail beside them
 */
struct depth {
	const char *name;
	unsigned int number;
	unsigned long made, good;
};

/* Relaxed: they are read when all owners have ended. */
static long count_call(unsigned int number, long got)
{
	struct tally *t = &tally[number % TALLIES];

	__atomic_fetch_add(&t->made, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->good, got == 0, __ATOMIC_RELAXED);
	return got;
}

static bool is_reached(const struct depth *depth)
{
	const struct tally *t = &tally[depth->number % TALLIES];

	return t->made >= depth->made && t->good >= depth->good;
}

static bool is_deep(const struct depth *depth)
{
	while (depth->name && is_reached(depth))
		depth++;
	return !depth->name;
}

static void tell_depths(const struct depth *depth)
{
	for (; depth->name; depth++) {
		const struct tally *t = &tally[depth->number % TALLIES];

		dprintf(3, "# %s: %lu of %lu went well%s\n", depth->name, t->good, t->made,
			is_reached(depth) ? "" : ": too few");
	}
}

#define THREADS 4u
#define VIEWS 8u

/*
 * struct fuzzer - A thread that makes random calls.
 * @state: its random numbers
 * @region: memory that it may map
 * @pipes: pipes that hold pages
 * @views: its mappings of files
 * @segs: room for the segments of a mapping
 */
struct fuzzer {
	uint64_t state;
	char *region;
	int pipes[2];
	struct {
		char *at;
		size_t bytes;
		uint64_t offset;
	} views[VIEWS];
	struct annex_ioc_seg segs[64];
};

/* struct action - @permille: how often it is drawn. A table ends with one without @run. */
struct action {
	unsigned int permille;
	void (*run)(struct fuzzer *f);
};

static struct fuzzer fuzzers[THREADS];
static pthread_t threads[THREADS];
static const struct action *actions;
static double deadline;
/* A guess, not to be relied on: all threads count without order. */
static volatile unsigned long done;

static uint32_t size_of(struct fuzzer *f, unsigned long request)
{
	return (uint32_t)(rarely(&f->state, 60) ? odd(&f->state) : _IOC_SIZE(request));
}

static long call(struct fuzzer *f, int fd, unsigned long request, void *args)
{
	if (rarely(&f->state, 200))
		args = (void *)odd(&f->state);
	return count_call(_IOC_NR(request), ioctl(fd, request, args));
}

static unsigned int some_view(struct fuzzer *f)
{
	return (unsigned int)draw(&f->state, VIEWS);
}

static void drop_view(struct fuzzer *f, unsigned int i)
{
	if (f->views[i].at)
		munmap(f->views[i].at, f->views[i].bytes);
	f->views[i].at = NULL;
}

/* Map a file in the place of view @i; one page where @bytes is odd or more than @most. */
static void map_view(struct fuzzer *f, unsigned int i, int fd, uint64_t offset, size_t bytes,
		     size_t most, int prot)
{
	char *at;

	drop_view(f, i);
	if (bytes % PAGE || !bytes || bytes > most)
		bytes = PAGE;
	at = mmap(NULL, bytes, prot, rarely(&f->state, 50) ? MAP_PRIVATE : MAP_SHARED, fd,
		  (off_t)offset);
	if (at == MAP_FAILED)
		return;
	f->views[i].at = at;
	f->views[i].bytes = bytes;
	f->views[i].offset = offset;
}

/* To another address, perhaps; or as if it were larger. */
static void move_view(struct fuzzer *f, unsigned int i)
{
	size_t more = rarely(&f->state, 2) ? PAGE : 0;
	void *moved;

	if (!f->views[i].at)
		return;
	moved = mremap(f->views[i].at, f->views[i].bytes, f->views[i].bytes + more, MREMAP_MAYMOVE);
	if (moved != MAP_FAILED)
		f->views[i].at = moved;
}

static void step(struct fuzzer *f)
{
	uint64_t n = draw(&f->state, 1000);
	const struct action *a = actions;

	for (; a->run && n >= a->permille; a++)
		n -= a->permille;
	if (a->run)
		a->run(f);
	done++;
}

/* The child shares the files, but has none of the views. */
static void do_fork(struct fuzzer *f)
{
	unsigned int steps = (unsigned int)draw(&f->state, 30);

	if (fork())
		return;
	memset(f->views, 0, sizeof(f->views));
	while (steps--)
		step(f);
	idle(draw(&f->state, 100));
	_exit(0);
}

static void *fuzz(void *arg)
{
	while (now() < deadline)
		step(arg);
	return NULL;
}

static void start_fuzzers(const struct action *table)
{
	actions = table;
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fuzz, &fuzzers[i]);
}

/* They end at the deadline. @early: return after @ms, while they are at it. */
static void end_fuzzers(bool early, uint64_t ms)
{
	if (early)
		idle(ms);
	for (unsigned int i = 0; !early && i < THREADS; i++)
		pthread_join(threads[i], NULL);
	dprintf(3, "# %lu steps\n", done);
}

/* Open a device's file; retry for @seconds while another process has it. Return: -1 if none. */
static int get_file(const char *address, int flags, double seconds)
{
	double end = now() + seconds;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/annex/%s", address);
	while ((fd = open(path, flags | O_CLOEXEC)) < 0) {
		if (now() > end ||
		    (errno != EBUSY && errno != ENOENT && errno != ENODEV && errno != ENXIO)) {
			if (seconds > 0)
				dprintf(3, "# %s: %s\n", path, strerror(errno));
			return -1;
		}
		idle(2);
	}
	return fd;
}

/* Return: whether an owner ended within STUCK_S, by itself or by SIGKILL. */
static bool await(pid_t pid)
{
	double end = now() + STUCK_S;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (now() > end) {
			dprintf(3, "# owner %d is stuck\n", pid);
			return false;
		}
		idle(2);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		; /* children that it left */
	if ((WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) ||
	    (WIFEXITED(status) && WEXITSTATUS(status))) {
		dprintf(3, "# owner %d ended with status 0x%x\n", pid, status);
		return false;
	}
	return true;
}

static volatile sig_atomic_t enough;

static void has_enough(int sig)
{
	(void)sig;
	enough = 1;
}

/*
 * Run one owner after the other for @seconds and until they have made enough calls, at most LONGER
 * times as long, or until SIGTERM: few calls succeed while a device is taken away, so @depths do
 * not count then. Each owner has a seed of its own, drawn from @seed. NULL: 1, or a new one where
 * tests have their long form. @depths ends with an entry without a name. Return: the exit status.
 */
static int owners(const char *seconds, const char *seed, int (*owner)(uint64_t seed),
		  const struct depth *depths)
{
	double duration = strtod(seconds, NULL), end = now() + duration;
	double last = end + (LONGER - 1) * duration;
	const char *longer = getenv("LONG");
	uint64_t fresh = longer && *longer == '1' ? (uint64_t)(now() * 1e9) : 1;
	uint64_t state = seed ? strtoull(seed, NULL, 0) : fresh;
	bool ok = true;

	tally = mmap(NULL, TALLIES * sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 3;
	dprintf(3, "# seed %llu\n", (unsigned long long)state);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, has_enough);
	while (ok && !enough && (now() < end || (now() < last && !is_deep(depths)))) {
		uint64_t own = draw(&state, ~0ull) | 1;
		pid_t pid = fork();

		if (!pid)
			_exit(owner(own));
		ok = await(pid);
	}
	tell_depths(depths);
	return ok && (is_deep(depths) || enough) ? 0 : 1;
}

#endif
