// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "error.h"
#include "npy.h"

#define HEADER_MAX 4096 /* bytes; numpy writes 128 */

bool npy_is(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".npy");
}

/* The text after 'key': in the header's dictionary, or NULL. */
static const char *value_of(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, " ");
	if (*at++ != ':')
		return NULL;
	return at + strspn(at, " ");
}

static int take_type(const char *path, const char *descr, struct npy *out)
{
	static const char *const names[] = {
		[COLUMN_F64] = "'<f8'", [COLUMN_F32] = "'<f4'", [COLUMN_I64] = "'<i8'",
		[COLUMN_I32] = "'<i4'", [COLUMN_U64] = "'<u8'", [COLUMN_U32] = "'<u4'",
	};

	for (int t = 0; descr && column_types[t]; t++)
		if (!strncmp(descr, names[t], 5)) {
			out->type = (enum column_type)t;
			return 0;
		}
	return err_set(-EINVAL,
		       "%s: elements of type %.16s: float, int and uint of 4 or 8 bytes are read, "
		       "in the order of this machine",
		       path, descr ? descr : "?");
}

/* A tuple: (), (3,), (3, 4). */
static int take_shape(const char *path, const char *at, struct npy *out)
{
	out->dims = 0;
	out->count = 1;
	if (!at || *at++ != '(')
		return err_set(-EINVAL, "%s: the header of this .npy file has no shape", path);
	for (; *at != ')'; out->dims++) {
		char *end;
		ull n;

		errno = 0;
		n = strtoull(at, &end, 10);
		if (end == at || *at == '-' || errno ||
		    __builtin_mul_overflow(out->count, (uint64_t)n, &out->count))
			return err_set(-EINVAL, "%s: the shape in its header is damaged", path);
		at = end + strspn(end, ", ");
	}
	return 0;
}

static int take_header(const char *path, int fd, struct npy *out)
{
	unsigned char fixed[12] = {0};
	char text[HEADER_MAX + 1] = {0};
	ssize_t got = pread(fd, fixed, sizeof(fixed), 0);
	uint32_t at = fixed[6] == 1 ? 10 : 12, len = fixed[8] | (uint32_t)fixed[9] << 8;
	int err;

	if (got < 0)
		return err_sys("cannot read %s", path);
	if (got < 12 || memcmp(fixed, "\x93NUMPY", 6) || fixed[6] < 1 || fixed[6] > 3)
		return err_set(-EINVAL, "%s is no .npy file", path);
	if (at == 12)
		len |= (uint32_t)fixed[10] << 16 | (uint32_t)fixed[11] << 24;
	if (len > HEADER_MAX)
		return err_set(-EINVAL, "%s: a header of %u bytes: at most %d are read", path, len,
			       HEADER_MAX);
	if (pread(fd, text, len, at) != (ssize_t)len)
		return err_set(-EINVAL, "%s ends in its header", path);
	out->first = at + len;
	err = take_type(path, value_of(text, "'descr'"), out);
	if (!err && out->first % column_size(out->type))
		err = err_set(-EINVAL, "%s: a header of %u bytes: elements of %u are not aligned",
			      path, at + len, column_size(out->type));
	return err ? err : take_shape(path, value_of(text, "'shape'"), out);
}

int npy_read(const char *path, struct npy *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	struct stat st;
	uint64_t bytes;

	if (fd < 0)
		return err_sys("cannot open %s", path);
	err = fstat(fd, &st) ? err_sys("cannot examine %s", path) : take_header(path, fd, out);
	close(fd);
	if (err)
		return err;
	if (__builtin_mul_overflow(out->count, (uint64_t)column_size(out->type), &bytes) ||
	    __builtin_add_overflow(bytes, out->first, &bytes) || (uint64_t)st.st_size < bytes)
		return err_set(-EINVAL, "%s is truncated: it has %lld bytes", path,
			       (long long)st.st_size);
	return 0;
}
