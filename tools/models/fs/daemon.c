// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "daemon.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[512];
static bool detached;

static void write_line(enum annex_log_level level, const char *text)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_CRIT};

	if (detached)
		syslog(priorities[level], "%s: %s", cli_name(), text);
	else
		fprintf(stderr, "%s: %s%s\n", cli_name(),
			level == ANNEX_LOG_WARNING ? "warning: " : "", text);
}

void daemon_log(enum annex_log_level level, const char *text)
{
	char line[sizeof(last)];

	snprintf(line, sizeof(line), "%s", text);
	err_plain(line, sizeof(line));
	pthread_mutex_lock(&lock);
	if (strcmp(line, last)) {
		memcpy(last, line, sizeof(last));
		write_line(level, line);
	}
	pthread_mutex_unlock(&lock);
}

static void from_library(void *ctx, enum annex_log_level level, const char *line)
{
	(void)ctx;
	if (level != ANNEX_LOG_INFO)
		daemon_log(level, line);
}

static void detach_log(void)
{
	openlog("annex", LOG_PID, LOG_DAEMON);
	detached = true;
	annex_set_log(from_library, NULL);
}

bool daemon_detached(void)
{
	return detached;
}

/* The child writes one byte when it is ready. End of file: it has exited. */
static int wait_ready(pid_t child, int fd)
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
	return err_set(-ECHILD, "the background process exited: run with --foreground "
				"to see why");
}

int daemon_fork(int *pipe)
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
	return child ? wait_ready(child, fds[0]) : 0;
}

int daemon_ready(int pipe)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || chdir("/"))
		return err_sys("cannot go to the background");
	if (write(pipe, "", 1) != 1)
		return err_sys("cannot go to the background");
	detach_log();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	close(pipe);
	return 0;
}

/* struct flusher - @lock protects @stop. */
struct flusher {
	struct annex_fs *fs;
	unsigned int seconds;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool stop;
};

/* Sleep @seconds. Return: false when the thread is to stop. */
static bool flusher_sleep(struct flusher *f)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += f->seconds;
	pthread_mutex_lock(&f->lock);
	while (!f->stop && pthread_cond_timedwait(&f->stopped, &f->lock, &until) != ETIMEDOUT)
		;
	stop = f->stop;
	pthread_mutex_unlock(&f->lock);
	return !stop;
}

static void *flusher_run(void *ctx)
{
	struct flusher *f = ctx;
	bool logged = false;

	while (flusher_sleep(f)) {
		int err = annex_fs_fsync(f->fs, 0);

		if (err && !logged)
			daemon_log(ANNEX_LOG_ERROR, annex_last_error());
		logged = err;
	}
	return NULL;
}

int flusher_start(struct annex_fs *fs, unsigned int seconds, struct flusher **out)
{
	struct flusher *f = calloc(1, sizeof(*f));
	pthread_condattr_t attr;

	if (!f)
		return err_set(-ENOMEM, "out of memory");
	f->fs = fs;
	f->seconds = seconds;
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->stopped, &attr);
	pthread_condattr_destroy(&attr);
	if (!pthread_create(&f->thread, NULL, flusher_run, f)) {
		*out = f;
		return 0;
	}
	pthread_cond_destroy(&f->stopped);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return err_set(-EAGAIN, "cannot start a thread");
}

void flusher_stop(struct flusher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->stopped);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	pthread_cond_destroy(&f->stopped);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

#define UNLIMITED (1ull << 62) /* "unlimited" in version 1 is 2^63 less a page */

/* Linux before 6.16 copies pages for write-back, so nothing waits for the pages themselves. */
static bool has_copies(void)
{
	unsigned int major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 16));
}

int reclaim_arrange(void)
{
	const unsigned long long limit = mem_limit_v1();

	if (!prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) || limit >= UNLIMITED || has_copies())
		return 0;
	return err_set(-EPERM,
		       "this control group (version 1) is limited to %llu bytes of memory, so "
		       "programs in it that write through mappings could hang forever: mount "
		       "outside of it, or with CAP_SYS_RESOURCE, or -o ro",
		       limit);
}
