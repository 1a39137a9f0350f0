// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "error.h"
#include "input.h"
#include "progress.h"

FILE *input_file(const char *path)
{
	/* O_NONBLOCK: a pipe must not keep us waiting before it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool known = fd >= 0 && !fstat(fd, &st);
	FILE *f = known && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;

	if (known && S_ISDIR(st.st_mode))
		err_set(-EISDIR, "cannot read %s: %s", path, strerror(EISDIR));
	else if (known && !S_ISREG(st.st_mode))
		err_set(-EINVAL, "%s is not a regular file", path);
	else if (!f)
		err_sys("cannot open %s", path);
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

void input_await(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISFIFO(st.st_mode))
		progress_now("waiting for another program to write to %s", path);
}

FILE *input_stream(const char *path)
{
	FILE *f;

	if (!strcmp(path, "-"))
		return stdin;
	input_await(path);
	f = fopen(path, "re");
	if (!f)
		err_sys("cannot open %s", path);
	return f;
}

static int grow(char **line, size_t *room)
{
	size_t more = *room * 2 + 128;
	char *p = realloc(*line, more);

	if (!p)
		return err_set(-ENOMEM, "no memory for a line of %zu bytes", more);
	*line = p;
	*room = more;
	return 0;
}

int input_line(FILE *f, const char *path, char **line, size_t *room)
{
	size_t n = 0;
	int ch = 0;

	while (ch != '\n' && (ch = getc_unlocked(f)) != EOF) {
		if (n == INPUT_LINE)
			return err_set(-E2BIG, "%s has a line of more than %u bytes", path,
				       INPUT_LINE);
		if (n + 1 >= *room && grow(line, room))
			return -ENOMEM;
		(*line)[n++] = (char)ch;
	}
	if (ferror(f))
		return err_sys("cannot read %s", path);
	if (n)
		(*line)[n] = '\0';
	return n > 0;
}
