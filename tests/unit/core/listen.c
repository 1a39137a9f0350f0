// SPDX-License-Identifier: MIT
/*
 * The names of servers' sockets: which processes can take one, and how other users can interfere.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "core/packet.h"
#include "tests/unit/unit.h"

#define NOBODY 65534u
#define AT_ONCE 8u
#define ROUNDS 20u
#define SOON (3 * ANNEX_NSEC_PER_SEC)

/* struct place - A directory, a name for a socket in it, and its lock's. */
struct place {
	char dir[32], name[64], lock[80];
};

static void make(struct place *p)
{
	strcpy(p->dir, "/tmp/annex-test.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(p->dir));
	CU_ASSERT_EQUAL(chmod(p->dir, 0755), 0);
	snprintf(p->name, sizeof(p->name), "%s/s", p->dir);
	snprintf(p->lock, sizeof(p->lock), "%s.lock", p->name);
}

static unsigned int entries(const struct place *p)
{
	DIR *dir = opendir(p->dir);
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2; /* . and .. */
}

/* A killed server leaves its name. */
static void leave_dead(const struct place *p)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, p->name);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
}

/* A server starts, soon, and leaves nothing. */
static int start(const struct place *p)
{
	uint64_t since = annex_now();
	struct packet_name name;
	int err = annex_packet_listen(p->name, 0600, &name);

	if (err)
		return err;
	CU_ASSERT(annex_now() - since < SOON);
	CU_ASSERT_EQUAL(entries(p), 1);
	annex_packet_unlisten(&name);
	CU_ASSERT_EQUAL(entries(p), 0);
	return 0;
}

static void nothing_is_left(void)
{
	struct place p;

	make(&p);
	CU_ASSERT_EQUAL(start(&p), 0);
	leave_dead(&p);
	CU_ASSERT_EQUAL(start(&p), 0);
	/* A server that is killed while it starts leaves its lock. */
	close(open(p.lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	leave_dead(&p);
	CU_ASSERT_EQUAL(start(&p), 0);
	CU_ASSERT_EQUAL(rmdir(p.dir), 0);
}

/* Another user, if this is root, keeps the directory locked until killed. */
static void keep_directory(const struct place *p, int out)
{
	int fd;

	if (!getuid() && setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX) || write(out, "l", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void directory_is_locked(void)
{
	struct place p;
	int pipes[2];
	pid_t child;
	char byte;

	make(&p);
	CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
	child = fork();
	if (!child)
		keep_directory(&p, pipes[1]);
	close(pipes[1]);
	CU_ASSERT_EQUAL(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	CU_ASSERT_EQUAL(start(&p), 0);
	leave_dead(&p);
	CU_ASSERT_EQUAL(start(&p), 0);
	CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
	CU_ASSERT_EQUAL(rmdir(p.dir), 0);
}

static void refused(const struct place *p)
{
	struct stat st;

	CU_ASSERT_EQUAL(start(p), -EPERM);
	CU_ASSERT(strstr(annex_last_error(), p->lock) != NULL);
	CU_ASSERT(lstat(p->name, &st) && errno == ENOENT);
	CU_ASSERT_EQUAL(unlink(p->lock), 0);
}

/* A lock file of another user, which may lock it, is neither followed, waited for, nor trusted. */
static void lock_of_others(void)
{
	char target[64];
	struct place p;
	int fd;

	make(&p);
	snprintf(target, sizeof(target), "%s/target", p.dir);
	CU_ASSERT_EQUAL(symlink(target, p.lock), 0);
	refused(&p);
	CU_ASSERT_EQUAL(access(target, F_OK), -1);
	CU_ASSERT_EQUAL(mkfifo(p.lock, 0600), 0);
	refused(&p);
	fd = open(p.lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CU_ASSERT_EQUAL(fchmod(fd, 0644), 0);
	refused(&p);
	close(fd);
	if (!getuid()) {
		fd = open(p.lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		CU_ASSERT_EQUAL(fchown(fd, NOBODY, NOBODY), 0);
		CU_ASSERT_EQUAL(flock(fd, LOCK_EX), 0);
		refused(&p);
		close(fd);
	}
	CU_ASSERT_EQUAL(start(&p), 0);
	CU_ASSERT_EQUAL(rmdir(p.dir), 0);
}

/* A child listens until all have tried. */
static void try_and_tell(const struct place *p, int gate, int end, int out)
{
	struct packet_name name;
	char byte;
	int err;

	if (read(gate, &byte, 1))
		_exit(1);
	err = annex_packet_listen(p->name, 0600, &name);
	if (write(out, &err, sizeof(err)) != sizeof(err))
		_exit(1);
	err = read(end, &byte, 1) != 0;
	annex_packet_unlisten(&name);
	_exit(err);
}

static void several_start(const struct place *p)
{
	int gate[2], end[2], told[2], err, others = 0, won = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(gate) | pipe(end) | pipe(told), 0);
	for (unsigned int i = 0; i < AT_ONCE; i++) {
		if (fork())
			continue;
		close(gate[1]);
		close(end[1]);
		try_and_tell(p, gate[0], end[0], told[1]);
	}
	close(gate[0]);
	close(gate[1]);
	close(end[0]);
	for (unsigned int i = 0; i < AT_ONCE; i++) {
		CU_ASSERT_EQUAL_FATAL(read(told[0], &err, sizeof(err)), sizeof(err));
		won += !err;
		others += err == -EADDRINUSE;
	}
	CU_ASSERT_EQUAL(won, 1);
	CU_ASSERT_EQUAL(others, (int)AT_ONCE - 1);
	CU_ASSERT_EQUAL(entries(p), 1);
	close(end[1]);
	for (unsigned int i = 0; i < AT_ONCE; i++)
		CU_ASSERT(wait(&err) > 0 && !err);
	close(told[0]);
	close(told[1]);
	CU_ASSERT_EQUAL(entries(p), 0);
}

/* Several find the name of a dead one at once: one has it. */
static void several_at_once(void)
{
	struct place p;

	make(&p);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		leave_dead(&p);
		several_start(&p);
	}
	CU_ASSERT_EQUAL(rmdir(p.dir), 0);
}

UNIT_SUITE(listen, {"nothing is left", nothing_is_left},
	   {"the directory is locked", directory_is_locked}, {"a lock of others", lock_of_others},
	   {"several at once", several_at_once})
