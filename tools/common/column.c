// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cleanup.h"
#include "column.h"
#include "error.h"

#define BUFFER (64u << 10)

const char *const column_types[] = {"f64", "f32", "i64", "i32", "u64", "u32", NULL};

uint32_t column_size(enum column_type type)
{
	return type == COLUMN_F32 || type == COLUMN_I32 || type == COLUMN_U32 ? 4 : 8;
}

int column_create(struct column_file *f, const char *path)
{
	int err;

	memset(f, 0, sizeof(*f));
	if (!access(path, F_OK))
		return err_set(-EEXIST, "%s already exists: remove it, or choose another name",
			       path);
	err = tempfile_open(&f->file, path);
	if (err)
		return err;
	f->buf = malloc(BUFFER);
	if (f->buf)
		return 0;
	tempfile_close(&f->file);
	return err_set(-ENOMEM, "out of memory");
}

static int drain(struct column_file *f)
{
	for (uint32_t done = 0; done < f->fill;) {
		ssize_t n = write(f->file.fd, f->buf + done, f->fill - done);

		if (n < 0 && errno != EINTR)
			return err_sys("cannot write %s", f->file.path);
		done += n > 0 ? (uint32_t)n : 0;
	}
	f->fill = 0;
	return 0;
}

int column_put(struct column_file *f, const void *data, uint32_t len)
{
	const char *p = data;

	while (len) {
		uint32_t n = BUFFER - f->fill < len ? BUFFER - f->fill : len;

		memcpy(f->buf + f->fill, p, n);
		f->fill += n;
		p += n;
		len -= n;
		if (f->fill == BUFFER && drain(f))
			return -EIO;
	}
	return 0;
}

int column_close(struct column_file *f, int err)
{
	int copy;

	if (!f->file.path)
		return err;
	if (!err)
		err = drain(f);
	/* Some file systems tell of a write that failed when a file is closed, and only then. */
	copy = err ? -1 : dup(f->file.fd);
	if (!err && (copy < 0 || close(copy)))
		err = err_sys("cannot write %s", f->file.path);
	cleanup_hold();
	if (!err)
		err = tempfile_name(&f->file, false);
	if (!err && f->temporary)
		err = cleanup_add(f->file.path);
	cleanup_release();
	tempfile_close(&f->file);
	free(f->buf);
	memset(f, 0, sizeof(*f));
	return err;
}
