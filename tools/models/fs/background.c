// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "background.h"
#include "journal.h"

/* A byte says that it is ready; without one it has ended. */
static int await(pid_t child, int fd)
{
	char ready;
	ssize_t n;
	int status;

	do
		n = read(fd, &ready, 1);
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n == 1)
		return 1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
	return err_set(-ECHILD, "the process in the background has ended: see what "
				"--foreground says");
}

int background_fork(int *pipe)
{
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys("cannot go to the background");
	fflush(NULL);
	child = fork();
	if (child < 0) {
		int err = err_sys("cannot go to the background");

		close(fds[0]);
		close(fds[1]);
		return err;
	}
	close(fds[child ? 1 : 0]);
	*pipe = fds[1];
	return child ? await(child, fds[0]) : 0;
}

int background_ready(int pipe)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || chdir("/"))
		return err_sys("cannot go to the background");
	if (write(pipe, "", 1) != 1)
		return err_sys("cannot go to the background");
	journal_detach();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	close(pipe);
	return 0;
}
