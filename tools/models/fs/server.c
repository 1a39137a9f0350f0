// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "daemon.h"
#include "image.h"
#include "ops.h"
#include "server.h"

#define KICK_NS 10000000

/*
 * struct server - A mount.
 * @stop: signals that end it, and SIGUSR1, which ends the thread that waits for them.
 * @main: the thread of server_run().
 * @left: posted when server_run() answers no more requests.
 * @detached: the directory is unmounted; files may still be open.
 */
struct server {
	struct fuse_session *se;
	const char *dir;
	sigset_t stop;
	pthread_t main;
	sem_t left;
	bool detached;
};

/*
 * The kernel does the work of capabilities in @without. It drops cached pages only after a
 * synchronous direct write: after an asynchronous one, pages that were read meanwhile stay stale.
 * The daemon cannot drop them without the risk of a hang (docs/models/benchmarks-fs.md).
 */
static void init(void *ctx, struct fuse_conn_info *conn)
{
	const unsigned int without = FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_ATOMIC_O_TRUNC |
				     FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE |
				     FUSE_CAP_ASYNC_DIO;
	const unsigned int with = FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_PARALLEL_DIROPS |
				  FUSE_CAP_CACHE_SYMLINKS;

	(void)ctx;
	conn->want = (conn->want & ~without) | (conn->capable & with);
	conn->time_gran = 1;
}

static const struct fuse_lowlevel_ops ops = {
	.init = init,
	.lookup = ops_lookup,
	.forget = ops_forget,
	.forget_multi = ops_forget_multi,
	.getattr = ops_getattr,
	.setattr = ops_setattr,
	.readlink = ops_readlink,
	.statfs = ops_statfs,
	.mknod = ops_mknod,
	.mkdir = ops_mkdir,
	.create = ops_create,
#ifdef OPS_HAS_TMPFILE
	.tmpfile = ops_tmpfile,
#endif
	.symlink = ops_symlink,
	.link = ops_link,
	.unlink = ops_unlink,
	.rmdir = ops_rmdir,
	.rename = ops_rename,
	.open = ops_open,
	.read = ops_read,
	.write = ops_write,
	.fsync = ops_fsync,
	.fallocate = ops_fallocate,
	.lseek = ops_lseek,
	.readdir = ops_readdir,
	.readdirplus = ops_readdirplus,
	.fsyncdir = ops_fsync,
	.setxattr = ops_setxattr,
	.getxattr = ops_getxattr,
	.listxattr = ops_listxattr,
	.removexattr = ops_removexattr,
};

/* Redirect messages of libfuse and fusermount3 to an anonymous file. */
static int capture(int *memory)
{
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	*memory = memfd_create("annex-stderr", MFD_CLOEXEC);
	if (saved >= 0 && *memory >= 0)
		dup2(*memory, STDERR_FILENO);
	return saved;
}

/* The first line of the file, without the name of the program. */
static const char *captured(int saved, int memory, char *line, size_t size)
{
	ssize_t n = memory < 0 ? 0 : pread(memory, line, size - 1, 0);
	char *words;

	if (saved >= 0)
		dup2(saved, STDERR_FILENO);
	close(saved);
	close(memory);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	words = strstr(line, ": ");
	return *line && words ? words + 2 : *line ? line : "libfuse gives no reason";
}

static void from_libfuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[256];

	if (level > FUSE_LOG_WARNING)
		return;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	/* An unmount during a read of a request is no error. */
	if (strstr(line, strerror(ECONNABORTED)))
		return;
	daemon_log(level < FUSE_LOG_WARNING ? ANNEX_LOG_ERROR : ANNEX_LOG_WARNING, line);
}

/* Escape commas and backslashes: an unescaped comma ends an option. */
static char *own_options(const char *source)
{
	static const char first[] = "default_permissions,subtype=" MOUNTS_TYPE ",fsname=";
	char *text = malloc(sizeof(first) + 2 * strlen(source)), *to;

	if (!text)
		return NULL;
	to = stpcpy(text, first);
	for (; *source; source++) {
		if (*source == ',' || *source == '\\')
			*to++ = '\\';
		*to++ = *source;
	}
	*to = '\0';
	return text;
}

static int add_args(struct fuse_args *args, const struct server_opts *o)
{
	char *own = own_options(o->source);
	int err = !own || fuse_opt_add_arg(args, "annex") || fuse_opt_add_arg(args, "-o") ||
		  fuse_opt_add_arg(args, own);

	if (!err && *o->options)
		err = fuse_opt_add_arg(args, "-o") || fuse_opt_add_arg(args, o->options);
	free(own);
	return err ? err_set(-ENOMEM, "out of memory") : 0;
}

/* Later threads inherit the mask. */
static void block_signals(struct server *s)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};

	sigemptyset(&s->stop);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		sigaddset(&s->stop, stops[i]);
	pthread_sigmask(SIG_BLOCK, &s->stop, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int connect(struct server *s, const struct server_opts *o, struct annex_fs *fs)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char line[512];
	const char *why;
	int saved, memory, failed, err = add_args(&args, o);

	if (err)
		return err;
	saved = capture(&memory);
	s->se = fuse_session_new(&args, &ops, sizeof(ops), fs);
	failed = !s->se || fuse_session_mount(s->se, o->dir);
	why = captured(saved, memory, line, sizeof(line));
	fuse_opt_free_args(&args);
	fuse_set_log_func(from_libfuse);
	return failed ? err_set(-EINVAL, "cannot mount on %s: %s", o->dir, why) : 0;
}

int server_open(const struct server_opts *o, struct annex_fs *fs, struct server **out)
{
	struct server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return err_set(-ENOMEM, "out of memory");
	s->dir = o->dir;
	s->main = pthread_self();
	sem_init(&s->left, 0, 0);
	block_signals(s);
	err = connect(s, o, fs);
	if (!err) {
		*out = s;
		return 0;
	}
	if (s->se)
		fuse_session_destroy(s->se);
	free(s);
	return err;
}

static int run_fusermount(const char *how, const char *dir)
{
	const char *argv[] = {"fusermount3", "-q", how, "--", dir, NULL};
	int status;
	pid_t child;

	if (posix_spawnp(&child, argv[0], NULL, NULL, (char **)(uintptr_t)argv, environ))
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status ? -1 : 0;
}

/* Programs keep their open files and can still write to them. */
static void detach(struct server *s)
{
	bool busy = umount2(s->dir, UMOUNT_NOFOLLOW) && run_fusermount("-u", s->dir);

	s->detached = !busy || !umount2(s->dir, UMOUNT_NOFOLLOW | MNT_DETACH) ||
		      !run_fusermount("-uz", s->dir);
	if (busy)
		daemon_log(ANNEX_LOG_WARNING, "programs have files open: the mount ends when they "
					      "close them, or on a second signal");
}

static void ignore(int sig)
{
	(void)sig;
}

/* libfuse checks for the exit flag when a signal interrupts its wait. */
static void interrupt_main(struct server *s)
{
	const struct sigaction sa = {.sa_handler = ignore};
	struct timespec until;

	sigaction(SIGUSR2, &sa, NULL);
	do {
		pthread_kill(s->main, SIGUSR2);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += KICK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (sem_timedwait(&s->left, &until));
}

/* The first signal unmounts, which ends the loop once all files are closed. */
static void *watch(void *ctx)
{
	struct server *s = ctx;
	int sig;

	sigwait(&s->stop, &sig);
	if (!sem_trywait(&s->left))
		return NULL;
	detach(s);
	sigwait(&s->stop, &sig);
	if (!sem_trywait(&s->left))
		return NULL;
	fuse_session_exit(s->se);
	interrupt_main(s);
	return NULL;
}

static int answer(struct server *s)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err;

	if (!config)
		return err_set(-ENOMEM, "out of memory");
	err = fuse_session_loop_mt(s->se, config);
	fuse_loop_cfg_destroy(config);
	return err < 0 && err != -ECONNABORTED
		       ? err_set(err, "%s: cannot answer the kernel: %s", s->dir, strerror(-err))
		       : 0;
}

int server_run(struct server *s)
{
	pthread_t watcher;
	int err = pthread_create(&watcher, NULL, watch, s);

	if (err)
		return err_set(-err, "cannot start a thread: %s", strerror(err));
	err = answer(s);
	sem_post(&s->left);
	pthread_kill(watcher, SIGUSR1);
	pthread_join(watcher, NULL);
	return err;
}

/*
 * Keep libfuse from unmounting the directory again, which may have another mount by now. libfuse
 * does not unmount when poll() reports an error for its file, as a pipe without a reader does.
 */
static int forget_mount(struct server *s)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	close(fds[0]);
	dup2(fds[1], fuse_session_fd(s->se));
	close(fds[1]);
	return 0;
}

void server_close(struct server *s)
{
	if (!s->detached || !forget_mount(s))
		fuse_session_unmount(s->se);
	fuse_session_destroy(s->se);
	sem_destroy(&s->left);
	free(s);
}
