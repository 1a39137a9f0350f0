// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "../error.h"
#include "gnuplot.h"

#define SECONDS 60

extern char **environ;

int gnuplot_check(const char *path, bool overwrite)
{
	const char *dirs = getenv("PATH");
	int err = newfile_check(path, overwrite);

	if (err)
		return err;
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");
		char file[4096];
		int n = snprintf(file, sizeof(file), "%.*s/gnuplot", (int)len, dirs);

		if (n > 0 && (size_t)n < sizeof(file) && !access(file, X_OK))
			return 0;
		dirs += len + (dirs[len] == ':');
	}
	return err_set(-ENOENT, "--plot needs gnuplot: install it (in Debian, gnuplot-nox)");
}

FILE *gnuplot_begin(unsigned int width, unsigned int height)
{
	FILE *f = tmpfile();

	if (!f) {
		err_sys("cannot make a temporary file: set TMPDIR");
		return NULL;
	}
	fprintf(f,
		"set terminal svg size %u,%u background rgb 'white' noenhanced\n"
		"set grid\nset key outside bottom center horizontal\n",
		width, height);
	return f;
}

/* The child reads @in, writes @out, and complains to @complain. */
static int spawn(int in, int out, int complain, pid_t *pid)
{
	char *const argv[] = {(char *)"gnuplot", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all;
	int err;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complain, STDERR_FILENO);
	posix_spawnattr_init(&attr);
	sigemptyset(&all);
	posix_spawnattr_setsigmask(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	errno = err;
	return err ? err_sys("cannot run gnuplot") : 0;
}

/* struct child - What it draws goes to @svg, what it complains of to @first, as far as it fits. */
struct child {
	pid_t pid;
	struct pollfd pipes[2]; /* its output, its complaints; -1 once it has closed one */
	struct newfile *svg;
	char first[300];
	size_t fill;
};

enum { DRAWS, COMPLAINS };

/* gnuplot does not look at whether it can write: what it draws passes here, where one does. */
static int take(struct child *c, unsigned int which)
{
	char buf[4096];
	ssize_t n = read(c->pipes[which].fd, buf, sizeof(buf));
	size_t room = sizeof(c->first) - 1 - c->fill;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		c->pipes[which].fd = -1;
	} else if (which == COMPLAINS) {
		room = (size_t)n < room ? (size_t)n : room;
		memcpy(c->first + c->fill, buf, room);
		c->fill += room;
	} else if (fwrite(buf, 1, (size_t)n, c->svg->f) != (size_t)n) {
		return err_sys("cannot write %s", c->svg->path);
	}
	return 0;
}

/* Until it closes both pipes, which it does by ending; bounded. */
static int listen_to(struct child *c)
{
	uint64_t end = annex_now() + SECONDS * ANNEX_NSEC_PER_SEC;
	int err = 0;

	while (!err && (c->pipes[DRAWS].fd >= 0 || c->pipes[COMPLAINS].fd >= 0)) {
		uint64_t now = annex_now();
		int n = now < end ? poll(c->pipes, 2, (int)((end - now) / 1000000) + 1) : 0;

		if (!n)
			err = err_set(-ETIMEDOUT, "gnuplot did not end within %d s", SECONDS);
		for (unsigned int i = 0; i < 2 && n > 0 && !err; i++)
			if (c->pipes[i].fd >= 0 && c->pipes[i].revents)
				err = take(c, i);
	}
	return err;
}

static int wait_for(struct child *c, int err)
{
	int status = 0;

	if (err)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return !err && status ? err_set(-EIO, "gnuplot failed: %s", c->first) : err;
}

static int run(int in, struct newfile *svg)
{
	struct child c = {.svg = svg};
	int draws[2], complains[2], err;

	if (pipe2(draws, O_CLOEXEC))
		return err_sys("cannot make a pipe");
	if (pipe2(complains, O_CLOEXEC)) {
		close(draws[0]);
		close(draws[1]);
		return err_sys("cannot make a pipe");
	}
	c.pipes[DRAWS] = (struct pollfd){.fd = draws[0], .events = POLLIN};
	c.pipes[COMPLAINS] = (struct pollfd){.fd = complains[0], .events = POLLIN};
	err = spawn(in, draws[1], complains[1], &c.pid);
	close(draws[1]);
	close(complains[1]);
	if (!err)
		err = wait_for(&c, listen_to(&c));
	close(draws[0]);
	close(complains[0]);
	return err;
}

int gnuplot_end(FILE *script, struct newfile *svg)
{
	int err;

	if (fflush(script) || ferror(script)) {
		err = err_sys("cannot write a temporary file");
	} else {
		rewind(script);
		err = run(fileno(script), svg);
	}
	fclose(script);
	return err;
}
