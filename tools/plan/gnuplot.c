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
#include <annex/clock.h>
#include "../error.h"
#include "../newfile.h"
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

/* Its first complaint, until it closes the pipe, which it does by ending; bounded. */
static int listen_to(int fd, pid_t pid, char *first, size_t size)
{
	uint64_t end = annex_now() + SECONDS * ANNEX_NSEC_PER_SEC;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t fill = 0;
	char buf[512];

	for (;;) {
		uint64_t now = annex_now();
		ssize_t n;

		if (now >= end || poll(&p, 1, (int)((end - now) / 1000000) + 1) == 0) {
			kill(pid, SIGKILL);
			return err_set(-ETIMEDOUT, "gnuplot did not end within %d s", SECONDS);
		}
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		n = (size_t)n < size - 1 - fill ? n : (ssize_t)(size - 1 - fill);
		memcpy(first + fill, buf, (size_t)n);
		fill += (size_t)n;
	}
	first[fill] = '\0';
	return 0;
}

static int run(int in, int out)
{
	char first[300] = "";
	int pipe_fd[2], status, err;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC))
		return err_sys("cannot make a pipe");
	err = spawn(in, out, pipe_fd[1], &pid);
	close(pipe_fd[1]);
	if (!err) {
		err = listen_to(pipe_fd[0], pid, first, sizeof(first));
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!err && status)
			err = err_set(-EIO, "gnuplot failed: %s", first);
	}
	close(pipe_fd[0]);
	return err;
}

int gnuplot_end(FILE *script, const char *path, bool overwrite, int err)
{
	struct newfile svg;

	if (!err && (fflush(script) || ferror(script)))
		err = err_sys("cannot write a temporary file");
	if (!err) {
		rewind(script);
		err = newfile_open(&svg, path, overwrite);
		if (!err)
			err = newfile_close(&svg, run(fileno(script), fileno(svg.f)));
	}
	fclose(script);
	return err;
}
