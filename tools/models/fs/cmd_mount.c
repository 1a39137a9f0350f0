// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex fs mount: mount a file system by FUSE.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "daemon.h"
#include "image.h"
#include "server.h"
#include "totals.h"

#define COMMIT 5u /* seconds, as in other file systems */
#define CACHE_MAX (1ull << 40)

struct mount_opts {
	const char *args[2]; /* the device and the directory */
	unsigned int n_args;
	char options[PATH_MAX];
	struct annex_fs_opts fs;
	uint32_t commit;
	bool foreground, report, json;
};

static int add_options(void *opts, const char *opt, char *arg)
{
	struct mount_opts *o = opts;
	const size_t n = strlen(o->options);

	if (n + strlen(arg) + 2 > sizeof(o->options))
		return err_set(-E2BIG, "%s: too many options", opt);
	if (!*arg)
		return err_set(-EINVAL, "%s: name options, as %s ro,allow_other", opt, opt);
	if (n)
		strcat(o->options, ",");
	strcat(o->options, arg);
	return 0;
}

static const struct cli_option options[] = {
	{"options", 'o', "OPTION,...", 1, OPT_CALL(add_options),
	 "Options of mount(8) and mount.fuse3(8), as ro, allow_other"},
	{"foreground", 'f', NULL, 1, OPT_FLAG(struct mount_opts, foreground),
	 "Run in the foreground until unmounted"},
	{"cache", 0, "SIZE", 1, OPT_SIZE(struct mount_opts, fs.cache, 2 << 20, CACHE_MAX),
	 "Host memory for written pages (64M)"},
	{"alpha", 0, "N", 1, OPT_U32(struct mount_opts, fs.alpha, 1, 100),
	 "Write a page as a block when more than N percent of it changed, else line by line (50)"},
	{"commit", 0, "SECONDS", 1, OPT_U32(struct mount_opts, commit, 1, 86400),
	 "Interval of commits of changes without fsync (5)"},
	{"report", 0, NULL, 1, OPT_FLAG(struct mount_opts, report),
	 "With --foreground: print traffic by interface at the end"},
	CLI_JSON(struct mount_opts, json),
	{0}};

/* Of ro and rw, the last one counts. */
static bool read_only(const char *list)
{
	bool ro = false;

	for (const char *at = list; *at; at += strcspn(at, ",")) {
		at += strspn(at, ",");
		if (!strncmp(at, "ro", 2) && (!at[2] || at[2] == ','))
			ro = true;
		if (!strncmp(at, "rw", 2) && (!at[2] || at[2] == ','))
			ro = false;
	}
	return ro;
}

/* Check the mount point before the device is opened. *@real: the directory without links. */
static int check_directory(const char *dir, char **real)
{
	struct stat st;

	*real = NULL;
	if (stat(dir, &st) && errno == ENOTCONN)
		return err_set(-ENOTCONN,
			       "%s: the process of a mount there is gone: fusermount3 -u -z %s",
			       dir, dir);
	*real = realpath(dir, NULL);
	if (!*real || stat(*real, &st))
		return err_sys("%s", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "%s: not a directory", dir);
	if (mounts_at(*real))
		return err_set(-EBUSY, "%s: something is mounted there already: umount %s", dir,
			       dir);
	return 0;
}

static int check_fuse(void)
{
	int fd;

	if (!server_open)
		return err_set(-EOPNOTSUPP, "this annex was built without libfuse: apt-get install "
					    "libfuse3-dev, then make");
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return err_set(-EACCES,
			       "this user cannot open /dev/fuse: chmod 666 /dev/fuse, as root");
	if (fd < 0)
		return err_sys("cannot open /dev/fuse, modprobe fuse creates it");
	close(fd);
	return 0;
}

static int serve(const struct mount_opts *o, const char *dir, struct image *i, int pipe)
{
	char *source = realpath(i->path, NULL);
	const struct server_opts opts = {source, dir, o->options};
	struct flusher *f = NULL;
	struct server *s;
	int err = source ? server_open(&opts, i->fs, &s) : err_sys("%s", i->path);

	free(source);
	if (err)
		return err;
	if (pipe >= 0)
		err = daemon_ready(pipe);
	if (!err && !o->fs.read_only)
		err = flusher_start(i->fs, o->commit ? o->commit : COMMIT, &f);
	if (!err)
		err = server_run(s);
	flusher_stop(f);
	server_close(s);
	return err;
}

static int mount_and_serve(const struct mount_opts *o, const char *dir, int pipe)
{
	struct traffic traffic;
	struct image i;
	int err = image_open(&i, o->args[0], o->fs.read_only);

	if (err)
		return err;
	err = image_mount(&i, &o->fs);
	if (!err) {
		traffic_begin(&traffic, &i);
		err = serve(o, dir, &i, pipe);
		traffic_end(&traffic, &i);
		err = image_unmount(&i, err);
	}
	if (!err && o->report)
		err = traffic_report(&traffic, &i, o->json);
	return image_close(&i, err);
}

/* A process in the background has no terminal, so its error goes to the log. */
static int run(const struct mount_opts *o, const char *dir)
{
	int pipe = -1, err = o->foreground ? 0 : daemon_fork(&pipe);

	if (err)
		return err > 0 ? 0 : err;
	err = mount_and_serve(o, dir, pipe);
	if (err && daemon_detached())
		daemon_log(ANNEX_LOG_ERROR, err_text());
	return err;
}

static const char doc[] =
	"Mount a file system on a directory. The command returns once it is mounted, and a process "
	"serves it in the background until fusermount3 -u, umount or SIGTERM. The process then "
	"waits until programs have closed its files, and writes back. A second SIGTERM does not "
	"wait for programs. Errors of the write-back go to syslog; with --foreground they are the "
	"exit status. SSD is the path of its file, or a URI; -o ro only reads it; with delay=1 in "
	"the URI the device is as slow as its model."
	"\vWritten data is durable after fsync(2), or at once with O_SYNC and O_DSYNC. Changes of\n"
	"names and attributes are durable after the next fsync of any file or directory, or after\n"
	"--commit seconds. A loss of power before that keeps a call whole or not at all, and only\n"
	"with all calls before it. With the design bytefs the death of the process undoes no "
	"call;\n"
	"with ext4-like it acts as a loss of power. fusermount3 -u -z clears the directory of a\n"
	"process that was killed.\n\n"
	"io_submit(2) with O_DIRECT runs one command at a time: programs that need more in flight\n"
	"use several threads, or io_uring(7). Access control lists are not supported, and\n"
	"O_TMPFILE needs libfuse 3.17. Reads do not change access times. Times range from 1677\n"
	"to 2262.\n\n"
	"No other program may write to the file of a mounted SSD. If one truncates or\n"
	"overwrites the file, the next fsync or commit fails with EIO and ends the mount. A\n"
	"command waits up to ten seconds for a process that is unmounting the SSD.\n\n"
	"In a memory control group of version 1 with a limit, mount needs CAP_SYS_RESOURCE or\n"
	"-o ro: otherwise the process could wait for its own write-back (PR_SET_IO_FLUSHER,\n"
	"prctl(2)).\n\n"
	"Examples:\n"
	"  annex fs mount disk /mnt\n"
	"  annex fs mount -o ro,allow_other disk /mnt\n"
	"  annex fs mount 'cxlssd:/data/disk?media=nand&delay=1' /mnt --cache 1G\n"
	"  fusermount3 -u /mnt";

int fs_mount(int argc, char **argv)
{
	static const struct cli_line line = {
		options, "SSD DIR", doc, CLI_ARGS(struct mount_opts, args, n_args, 2),
		.none = "name the file of the CXL-SSD and the directory"};
	struct mount_opts *o = calloc(1, sizeof(*o));
	char *dir = NULL;
	int err = o ? cli_parse(&line, argc, argv, o) : err_set(-ENOMEM, "out of memory");

	if (!err && o->n_args < 2)
		err = err_set(-EINVAL, "name the directory too, as annex fs mount %s /mnt",
			      o->args[0]);
	if (!err && (o->report || o->json) && !o->foreground)
		err = err_set(-EINVAL, "--report and --json need --foreground");
	if (!err && o->json && !o->report)
		err = err_set(-EINVAL, "--json needs --report");
	if (!err)
		err = check_fuse();
	if (!err)
		err = check_directory(o->args[1], &dir);
	if (!err) {
		o->fs.read_only = read_only(o->options);
		err = o->fs.read_only ? 0 : reclaim_arrange();
	}
	if (!err) {
		/* The kernel caches pages that it reads. */
		o->fs.through = true;
		err = run(o, dir);
	}
	free(dir);
	free(o);
	return err;
}
