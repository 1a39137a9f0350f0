// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "gnuplot.h"

#define SECONDS "60"

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

/* Run gnuplot, whose input, output and complaints are @files, and wait for it. */
static int run(FILE *const files[3], int *status)
{
	char *const argv[] = {(char *)"timeout", (char *)"-sKILL",  (char *)"--foreground",
			      (char *)SECONDS,   (char *)"gnuplot", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all;
	pid_t pid;
	int err;

	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, fileno(files[i]), i);
	posix_spawnattr_init(&attr);
	sigemptyset(&all);
	posix_spawnattr_setsigmask(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	errno = err;
	if (err)
		return err_sys("cannot run gnuplot");
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* gnuplot does not notice a full disk: its plot goes to a temporary file, and has to be whole. */
static int keep(FILE *drawn, struct newfile *svg)
{
	char buf[4096] = "";
	size_t n;

	if (fseek(drawn, -16, SEEK_END) || !fread(buf, 1, 16, drawn) || !strstr(buf, "</svg>"))
		return err_set(-EIO, "the plot is cut short: is TMPDIR full?");
	rewind(drawn);
	while ((n = fread(buf, 1, sizeof(buf), drawn)))
		if (fwrite(buf, 1, n, svg->f) != n)
			return err_sys("cannot write %s", svg->path);
	return 0;
}

int gnuplot_end(FILE *script, struct newfile *svg)
{
	FILE *drawn = tmpfile(), *complaints = tmpfile();
	char first[300] = "";
	int err, status = 0;

	if (!drawn || !complaints || fflush(script) || ferror(script)) {
		err = err_sys("cannot write a temporary file");
	} else {
		rewind(script);
		err = run((FILE *const[]){script, drawn, complaints}, &status);
	}
	if (!err && status) {
		rewind(complaints);
		first[fread(first, 1, sizeof(first) - 1, complaints)] = '\0';
		err = (WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + SIGKILL)
			      ? err_set(-ETIMEDOUT, "gnuplot did not end within " SECONDS " s")
			      : err_set(-EIO, "gnuplot failed: %s", first);
	}
	if (!err)
		err = keep(drawn, svg);
	fclose(script);
	if (drawn)
		fclose(drawn);
	if (complaints)
		fclose(complaints);
	return err;
}
