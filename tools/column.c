// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
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

static int create(struct column_file *f, const char *path)
{
	memset(f, 0, sizeof(*f));
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (f->fd < 0 && errno == EEXIST)
		return err_set(-EEXIST, "%s is there already: remove it, or choose another name",
			       path);
	if (f->fd < 0)
		return err_sys("cannot create %s", path);
	f->path = strdup(path);
	f->buf = malloc(BUFFER);
	if (f->path && f->buf && !cleanup_add(path))
		return 0;
	close(f->fd);
	unlink(path);
	free(f->path);
	free(f->buf);
	memset(f, 0, sizeof(*f));
	return err_set(-ENOMEM, "out of memory");
}

int column_create(struct column_file *f, const char *path)
{
	int err;

	cleanup_hold();
	err = create(f, path);
	cleanup_release();
	return err;
}

static int drain(struct column_file *f)
{
	for (uint32_t done = 0; done < f->fill;) {
		ssize_t n = write(f->fd, f->buf + done, f->fill - done);

		if (n < 0 && errno != EINTR)
			return err_sys("cannot write %s", f->path);
		done += n > 0 ? (uint32_t)n : 0;
	}
	f->fill = 0;
	return 0;
}

int column_put(struct column_file *f, const void *data, uint32_t len)
{
	const char *p = data;

	f->bytes += len;
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
	static const char zeroes[4096];

	if (!f->path)
		return err;
	if (!err && !f->unpadded)
		err = column_put(f, zeroes, (4096 - f->bytes % 4096) % 4096);
	if (!err)
		err = drain(f);
	if (close(f->fd) && !err)
		err = err_sys("cannot write %s", f->path);
	if (err)
		cleanup_remove(f->path);
	else if (!f->temporary)
		cleanup_forget(f->path);
	free(f->path);
	free(f->buf);
	memset(f, 0, sizeof(*f));
	return err;
}
