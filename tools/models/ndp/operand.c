// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/detail/random.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "operand.h"

#define PAGE (2ull << 20) /* as in the paper */
#define ALIGN 64u
#define MOST (1ull << 36)

static int get_memory(struct operand *o, uint64_t bytes)
{
	uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	void *memory;

	if (posix_memalign(&memory, ALIGN, room))
		return err_set(-ENOMEM, "%s: not enough memory", o->text);
	memset(memory, 0, room);
	o->memory = memory;
	o->bytes = bytes;
	return 0;
}

static int read_array(struct operand *o, int fd)
{
	for (uint64_t at = 0; at < o->bytes;) {
		ssize_t n = read(fd, o->memory + at, o->bytes - at);

		if (n <= 0)
			return n ? err_sys("%s", o->text)
				 : err_set(-EIO, "%s: the file shrank during the read", o->text);
		at += (uint64_t)n;
	}
	return 0;
}

static int read_file(struct operand *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int err;

	if (fd < 0)
		return err_sys("%s", o->text);
	if (fstat(fd, &st))
		err = err_sys("%s", o->text);
	else if (!S_ISREG(st.st_mode))
		err = err_set(-EINVAL, "%s: not a regular file", o->text);
	else if (!st.st_size || (uint64_t)st.st_size > MOST)
		err = err_set(-EINVAL, "%s: empty, or more than 64 GiB", o->text);
	else
		err = get_memory(o, (uint64_t)st.st_size);
	if (!err)
		err = read_array(o, fd);
	close(fd);
	return err;
}

static int make_array(struct operand *o, const char *size, uint64_t *seed)
{
	uint64_t bytes = 0;
	int err = cli_size("the array", size, 1, MOST, &bytes);

	if (!err)
		err = get_memory(o, bytes);
	for (uint64_t i = 0; seed && !err && i < (bytes + 7) / 8; i++) {
		uint64_t number = annex_random(seed);

		memcpy(o->memory + i * 8, &number, sizeof(number));
	}
	return err;
}

static int number(struct operand *o)
{
	const char *digits = o->text + (*o->text == '-');
	char *end;

	errno = 0;
	o->value = strtoull(o->text, &end, 0);
	if (*digits < '0' || *digits > '9' || *end || errno)
		return err_set(
			-EINVAL,
			"argument \"%s\": give a number, zero:SIZE, random:SIZE or file:PATH",
			o->text);
	return 0;
}

int operand_make(struct operand *o, const char *text, uint64_t *va, uint64_t *seed)
{
	int err;

	*o = (struct operand){.text = text};
	if (!strncmp(text, "zero:", 5))
		err = make_array(o, text + 5, NULL);
	else if (!strncmp(text, "random:", 7))
		err = make_array(o, text + 7, seed);
	else if (!strncmp(text, "file:", 5))
		err = read_file(o, text + 5);
	else
		return number(o);
	o->value = *va;
	*va += (o->bytes + PAGE - 1) / PAGE * PAGE;
	return err;
}

int operand_map(const struct operand *o, struct annex_ndp_time *t)
{
	int err = o->memory ? annex_ndp_time_map(t, o->value, o->memory, o->bytes) : 0;

	return err ? err_lib(err, "%s", o->text) : 0;
}

void operand_free(struct operand *o)
{
	free(o->memory);
}
