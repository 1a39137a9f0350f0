// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <annex/detail/random.h>
#include "../error.h"
#include "../input.h"
#include "text.h"

#define PIECE (1u << 16)
#define MOST (1ull << 30)

static int append(struct text *t, const char *path)
{
	FILE *f = input_stream(path);
	size_t got = 1;
	int err = 0;

	if (!f)
		return -EINVAL;
	while (got && !err) {
		char *bytes = realloc(t->bytes, t->n + PIECE);

		if (!bytes) {
			err = err_set(-ENOMEM, "out of memory");
			break;
		}
		t->bytes = bytes;
		got = fread(t->bytes + t->n, 1, PIECE, f);
		t->n += got;
		if (ferror(f))
			err = err_sys("cannot read %s", path);
		else if (t->n > MOST)
			err = err_set(-EFBIG, "%s: more than 1 GiB of text", path);
	}
	fclose(f);
	return err;
}

/* Files of the kernel's have no bytes, and may wait for some for ever. */
static bool has_bytes(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size;
}

/* Files, not links to others of them. */
static int is_file(const struct dirent *e)
{
	return e->d_type == DT_REG || e->d_type == DT_UNKNOWN;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int append_all(struct text *t, const char *dir)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_file, by_bytes), err = 0;

	if (n < 0)
		return err_sys("cannot read %s", dir);
	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (!err && asprintf(&path, "%s/%s", dir, list[i]->d_name) < 0)
			err = err_set(-ENOMEM, "out of memory");
		else if (!err && has_bytes(path))
			err = append(t, path);
		free(path);
		free(list[i]);
	}
	free(list);
	return err;
}

int text_open(struct text *t, const char *path, uint64_t least)
{
	struct stat st;
	int err;

	memset(t, 0, sizeof(*t));
	if (stat(path, &st))
		return err_sys("cannot open %s", path);
	err = S_ISDIR(st.st_mode) ? append_all(t, path) : append(t, path);
	if (!err && t->n < least)
		err = err_set(-EINVAL,
			      "%s: %llu bytes of text: at least %llu are needed, one more "
			      "than --context",
			      path, (ull)t->n, (ull)least);
	if (err)
		text_close(t);
	return err;
}

void text_close(struct text *t)
{
	free(t->bytes);
	memset(t, 0, sizeof(*t));
}

void text_batch(const struct text *t, uint64_t seed, uint32_t step, uint32_t batch,
		uint32_t context, uint8_t *tokens, uint8_t *next)
{
	uint64_t state = seed ^ (uint64_t)step << 32;

	for (uint32_t b = 0; b < batch; b++) {
		uint64_t at = annex_random(&state) % (t->n - context);

		memcpy(tokens + (size_t)b * context, t->bytes + at, context);
		memcpy(next + (size_t)b * context, t->bytes + at + 1, context);
	}
}
