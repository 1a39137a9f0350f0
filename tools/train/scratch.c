// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/uri.h>
#include "../claim.h"
#include "../cleanup.h"
#include "../error.h"
#include "memory.h"

/* 1: made; 0: not. */
static int make(const char *path)
{
	int fd, err;

	cleanup_hold();
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	err = fd < 0 ? 0 : cleanup_add(path);
	if (fd >= 0)
		close(fd);
	if (err)
		unlink(path);
	cleanup_release();
	return err ? err : fd >= 0;
}

int scratch_make(const char *text, char **path)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	int made = 0;

	*path = NULL;
	if (!uri)
		return err_set(-ENOMEM, "out of memory");
	if (!annex_uri_parse(text, uri) && annex_uri_get(uri, "size") &&
	    annex_dev_traits(text) & ANNEX_TRAIT_PATH)
		made = make(uri->body);
	if (made > 0)
		*path = strdup(uri->body);
	if (made > 0 && !*path) {
		cleanup_remove(uri->body);
		made = err_set(-ENOMEM, "out of memory");
	}
	free(uri);
	return made < 0 ? made : 0;
}

int scratch_end(char *path)
{
	int fd, err = 0;

	/* Unless another process has come to write to it. */
	if (path && !claim_file(path, &fd)) {
		err = cleanup_remove(path);
		close(fd);
	} else if (path) {
		cleanup_forget(path);
	}
	free(path);
	return err;
}
