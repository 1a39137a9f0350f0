// SPDX-License-Identifier: MIT
/*
 * Two processes with uncached memory of a range, for hdmapart.sh: hdmapart ADDRESS. The second one,
 * hdmapart ADDRESS FD PIECE OFFSET, is a program of its own that has inherited the first one's file
 * and piece; it says where its pieces are, and waits to be killed. Reports to file 3.
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

static long take(int fd, uint64_t bytes, struct annex_ioc_hdm_piece *piece)
{
	*piece = (struct annex_ioc_hdm_piece){.size = sizeof(*piece), .bytes = bytes};
	return call(fd, ANNEX_IOC_HDM_PIECE, piece);
}

/* The second process. */
static int stranger(int inherited, int theirs, uint64_t offset)
{
	struct annex_ioc_hdm_piece own, other;
	uint64_t *piece;
	int fd = join();

	expect(-EACCES, try_map(theirs, 0), "a process that inherits a piece cannot map it");
	expect(-EACCES, try_map(inherited, offset), "nor by the device's file");
	expect(-EACCES, try_map(fd, offset), "nor by a file of its own");
	expect(0, take(fd, PAGE, &own), "it has a piece of its own");
	piece = map_at(own.fd, 0, PAGE);
	expect(0, piece ? (long)*piece : -errno, "which is zeroed");
	expect(0, take(inherited, PART / 2 - PAGE, &other),
	       "and one by the file that it inherited");
	expect(0, try_map(other.fd, 0), "which is its own as well");
	printf("%llu %llu %u\n", (unsigned long long)own.offset, (unsigned long long)other.offset,
	       failures);
	fflush(stdout);
	pause();
	return 0;
}

/* Its program, with both files open; its output is *@says. */
static pid_t begin(int fd, const struct annex_ioc_hdm_piece *piece, FILE **says)
{
	char number[16], theirs[16], at[24];
	int pipes[2];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", fd);
	snprintf(theirs, sizeof(theirs), "%d", piece->fd);
	snprintf(at, sizeof(at), "%llu", (unsigned long long)piece->offset);
	if (pipe2(pipes, O_CLOEXEC))
		die("pipe: %m");
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		fcntl(fd, F_SETFD, 0);
		fcntl(piece->fd, F_SETFD, 0);
		execl("/proc/self/exe", "hdmapart", address, number, theirs, at, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	*says = fdopen(pipes[0], "r");
	return pid;
}

int main(int argc, char **argv)
{
	unsigned long long own = 0, other = 0;
	struct annex_ioc_hdm_piece mine, more;
	uint64_t *piece;
	unsigned int failed = 1;
	FILE *says;
	pid_t pid;
	int fd;

	if (argc != 2 && argc != 5)
		die("usage: hdmapart ADDRESS");
	address = argv[1];
	if (argc == 5)
		return stranger(atoi(argv[2]), atoi(argv[3]), strtoull(argv[4], NULL, 10));
	fd = join();
	expect(0, take(fd, MINE, &mine), "a piece");
	piece = map_at(mine.fd, 0, MINE);
	if (!piece)
		die("mmap: %m");
	*piece = WORD;
	pid = begin(fd, &mine, &says);
	expect(3, fscanf(says, "%llu %llu %u", &own, &other, &failed),
	       "another process lists its pieces");
	failures += failed;
	expect(-EACCES, try_map(fd, own), "a piece of its own file is not to be had here");
	expect(-EACCES, try_map(fd, other), "nor one that it took by a file of both");
	expect(true, *piece == WORD, "data stored here is unchanged");
	expect(-ENOSPC, take(fd, PART / 2 - MINE, &more), "its pieces are not given to another");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	expect(0, take(fd, PART / 2 - MINE, &more), "until it is killed");
	piece = map_at(more.fd, 0, PAGE);
	expect(0, piece ? (long)*piece : -errno, "nothing of it is left in there");
	close(more.fd);
	expect(-EMFILE, take(fd, PART / 2 - MINE, &mine), "a mapping keeps a piece");
	munmap(piece, PAGE);
	expect(0, take(fd, PART / 2 - MINE, &mine), "the last one gone, it is free");
	close(fd);
	expect(0, try_map(mine.fd, 0), "a piece outlives the file that it was made by");
	return failures > 0;
}
