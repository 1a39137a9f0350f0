/* SPDX-License-Identifier: MIT */
/*
 * For programs that make random calls (fuzz.c, hdmfuzz.c): numbers to try, files that come and go,
 * and owners, one after the other, which may exit in any way but not hang.
 */
#ifndef TESTS_QEMU_FUZZ_H
#define TESTS_QEMU_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
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

/* Calls by their number: how many were made, and how many of them went well; of all owners. */
static struct tally {
	unsigned long made, good;
} * tally;

/*
 * struct depth - Calls that owners must make together, or the module's depths are not seen: @least
 * calls of that @number, and so many of a hundred go well.
 */
struct depth {
	const char *name;
	unsigned int number;
	unsigned long least, percent;
};

/* Relaxed: they are read when all owners have ended. */
static long count_call(unsigned int number, long got)
{
	struct tally *t = &tally[number % TALLIES];

	__atomic_fetch_add(&t->made, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->good, got == 0, __ATOMIC_RELAXED);
	return got;
}

static bool is_made(const struct depth *depth)
{
	while (depth->name && tally[depth->number % TALLIES].made >= depth->least)
		depth++;
	return !depth->name;
}

static bool is_deep(const struct depth *depth)
{
	bool deep = true;

	for (; depth->name; depth++) {
		const struct tally *t = &tally[depth->number % TALLIES];
		bool ok = t->made >= depth->least && t->good * 100 >= t->made * depth->percent;

		dprintf(3, "# %s: %lu of %lu went well%s\n", depth->name, t->good, t->made,
			ok ? "" : ": too few");
		deep = deep && ok;
	}
	return deep;
}

/* Open a device's file once previous owners and the driver allow it, within @seconds, or -1. */
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

/* Wait for it as long as it can take. Whether it ended as it may. */
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
 * Owners for so long and until they have made enough calls, at most LONGER times as long, or until
 * SIGTERM; each with a seed of its own, drawn from @seed. NULL: 1, or where tests have their long
 * form, a new one. @depths ends with one without a name; while a device is taken away,
 * until SIGTERM, few calls go well. The exit status.
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
	while (ok && !enough && (now() < end || (now() < last && !is_made(depths)))) {
		uint64_t own = draw(&state, ~0ull) | 1;
		pid_t pid = fork();

		if (!pid)
			_exit(owner(own));
		ok = await(pid);
	}
	return ok && (is_deep(depths) || enough) ? 0 : 1;
}

#endif
