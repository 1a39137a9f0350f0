// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The folder of files that a run makes, and removes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../cleanup.h"
#include "../error.h"
#include "../mem.h"
#include "../output.h"
#include "../uri.h"
#include "place.h"

#define MEMORY (256ull << 20)

static int make_folder(struct selftest *s, const char *dir)
{
	int err = 0;

	if (asprintf(&s->folder, "%s/annex-selftest.XXXXXX", dir) < 0)
		return err_set(-ENOMEM, "out of memory");
	cleanup_hold();
	if (!mkdtemp(s->folder)) {
		err = err_sys("cannot make files in %s", dir);
		free(s->folder);
		s->folder = NULL;
	} else {
		err = cleanup_add(s->folder);
	}
	cleanup_release();
	return err;
}

static int name_file(const struct selftest *s, const char *name, char **out)
{
	if (asprintf(out, "%s/%s", s->folder, name) < 0) {
		*out = NULL;
		return err_set(-ENOMEM, "out of memory");
	}
	return cleanup_add(*out);
}

static int try_file(const struct selftest *s, const char *query)
{
	struct annex_dev *dev;
	char uri[ANNEX_URI_MAX];
	int err = path_uri(uri, "file", s->storage, query);

	if (!err)
		err = annex_dev_open(uri, NULL, &dev);
	if (!err)
		annex_dev_close(dev);
	return err;
}

/*
 * Whether files can be served at all, and past the page cache. The library is asked, as a file
 * system without direct I/O may let files be opened with O_DIRECT (ext4 with data=journal).
 */
static int try_files(struct selftest *s)
{
	int err = try_file(s, "size=1M&direct=0");

	if (err)
		return err_lib(err, "cannot use files in %s", s->folder);
	s->direct = !try_file(s, "direct=1&block=4096");
	return 0;
}

int place_open(struct selftest *s, const char *dir)
{
	uint64_t memory = mem_available();
	int err;

	if (memory && memory < MEMORY)
		return err_set(-ENOMEM, "it takes up to %llu MiB of memory, and %llu are free",
			       MEMORY >> 20, (ull)memory >> 20);
	err = make_folder(s, dir);
	if (!err)
		err = output_room(s->folder, 2 * SELFTEST_FILE);
	if (!err)
		err = name_file(s, "storage", &s->storage);
	if (!err)
		err = name_file(s, "range", &s->hdm);
	return err ? err : try_files(s);
}

int place_close(struct selftest *s)
{
	char *const all[] = {s->hdm, s->storage, s->folder};
	int first = 0;

	for (unsigned int i = 0; i < 3; i++) {
		int err = all[i] ? cleanup_remove(all[i]) : 0;

		first = first ? first : err;
		free(all[i]);
	}
	return first;
}
