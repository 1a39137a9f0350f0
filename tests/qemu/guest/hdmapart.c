// SPDX-License-Identifier: MIT
/*
 * Two processes with uncached memory of a range, for hdmapart.sh: hdmapart ADDRESS. The second one,
 * hdmapart ADDRESS FD OFFSET, is a program of its own that has inherited the first one's file; it
 * says where its pieces are, and waits to be killed. Reports to file 3.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include "hdm.h"

#define PART (2 * MIB)
#define MINE (4 * PAGE)
#define WORD 0x4d324e4450ull

static const char *address;

static long try_map(int fd, uint64_t offset)
{
	void *at = map_at(fd, offset, PAGE);
	long err = at ? 0 : -errno;

	if (at)
		munmap(at, PAGE);
	return err;
}

static int join(void)
{
	struct annex_ioc_hdm_range args = {.size = sizeof(args), .uc = PART};
	int fd = open_hdm(address);
	long err = call(fd, ANNEX_IOC_HDM_RANGE, &args);

	if (err)
		die("%s: range: %s", address, strerror((int)-err));
	return fd;
}

static long take(int fd, uint64_t bytes, uint64_t *offset)
{
	struct annex_ioc_hdm_m2func args = {.size = sizeof(args), .bytes = bytes};
	long err = call(fd, ANNEX_IOC_HDM_M2FUNC, &args);

	*offset = args.offset;
	return err;
}

/* The second process. */
static int stranger(int inherited, uint64_t theirs)
{
	uint64_t own, other, *piece;
	int fd = join();

	expect(-EACCES, try_map(inherited, theirs),
	       "a process that inherits a file does not have its pieces");
	expect(-EACCES, try_map(fd, theirs), "nor does one with a file of its own");
	expect(0, take(fd, PAGE, &own), "it has a piece of its own");
	piece = map_at(fd, own, PAGE);
	expect(0, piece ? (long)*piece : -errno, "which is zeroed");
	expect(0, take(inherited, PART / 2 - PAGE, &other),
	       "and one by the file that it inherited");
	expect(0, try_map(inherited, other), "which is its own as well");
	printf("%llu %llu %u\n", (unsigned long long)own, (unsigned long long)other, failures);
	fflush(stdout);
	pause();
	return 0;
}

/* Its program, with @fd open; what it says comes out of *@says. */
static pid_t begin(int fd, uint64_t offset, FILE **says)
{
	char number[16], at[24];
	int pipes[2];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", fd);
	snprintf(at, sizeof(at), "%llu", (unsigned long long)offset);
	if (pipe2(pipes, O_CLOEXEC))
		die("pipe: %m");
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		fcntl(fd, F_SETFD, 0);
		execl("/proc/self/exe", "hdmapart", address, number, at, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	*says = fdopen(pipes[0], "r");
	return pid;
}

int main(int argc, char **argv)
{
	unsigned long long own = 0, other = 0;
	uint64_t mine, more, *piece;
	unsigned int failed = 1;
	FILE *says;
	pid_t pid;
	int fd;

	if (argc != 2 && argc != 4)
		die("usage: hdmapart ADDRESS");
	address = argv[1];
	if (argc == 4)
		return stranger(atoi(argv[2]), strtoull(argv[3], NULL, 10));
	fd = join();
	expect(0, take(fd, MINE, &mine), "a piece");
	piece = map_at(fd, mine, MINE);
	if (!piece)
		die("mmap: %m");
	*piece = WORD;
	pid = begin(fd, mine, &says);
	expect(3, fscanf(says, "%llu %llu %u", &own, &other, &failed),
	       "another process says what it has");
	failures += failed;
	expect(-EACCES, try_map(fd, own), "a piece of its own file is not to be had here");
	expect(-EACCES, try_map(fd, other), "nor one that it took by a file of both");
	expect(true, *piece == WORD, "what was stored here is as it was");
	expect(-ENOSPC, take(fd, PART / 2 - MINE, &more), "what it has nobody else has");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	expect(0, take(fd, PART / 2 - MINE, &more), "until it is killed");
	piece = map_at(fd, more, PAGE);
	expect(0, piece ? (long)*piece : -errno, "nothing of it is left in there");
	return failures > 0;
}
