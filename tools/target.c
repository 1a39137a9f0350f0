// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <annex/uri.h>
#include "cleanup.h"
#include "error.h"
#include "output.h"
#include "target.h"

static int takes(struct target *t, const char *path, uint64_t bytes)
{
	t->grows = strdup(path);
	t->need = bytes;
	return t->grows ? 0 : err_set(-ENOMEM, "out of memory");
}

/* Whether the data of a file or device behind file: may go; *@grow: it has to be given its size. */
static int check_file(struct target *t, const char *path, uint64_t bytes, bool overwrite,
		      bool *grow)
{
	struct stat st;
	uint64_t have;
	int err;

	if (stat(path, &st)) {
		if (errno != ENOENT)
			return err_sys("cannot open %s", path);
		*grow = true;
		err = takes(t, path, bytes);
		if (err)
			return err;
		err = cleanup_add(path);
		t->created = err ? NULL : strdup(path);
		return err;
	}
	*grow = S_ISREG(st.st_mode) && (uint64_t)st.st_size < bytes;
	if (overwrite || (S_ISREG(st.st_mode) && !st.st_size) || S_ISDIR(st.st_mode)) {
		/* How much a file with holes will take is not known. */
		have = (uint64_t)st.st_blocks * 512;
		return *grow && have >= (uint64_t)st.st_size && have < bytes
			       ? takes(t, path, bytes - have)
			       : 0;
	}
	return err_set(-EEXIST, "%s holds data: give --overwrite if that may go", path);
}

static int check(struct target *t, const struct annex_uri *uri, const char *text, uint64_t bytes,
		 bool overwrite)
{
	bool grow = false;
	int err = 0;

	if (!strcmp(uri->scheme, "file"))
		err = check_file(t, uri->body, bytes, overwrite, &grow);
	else if (!strcmp(uri->scheme, "mem"))
		err = err_set(-EINVAL,
			      "%s would be gone when the command ends: write to a file or a device",
			      text);
	else if (!overwrite)
		err = err_set(-EEXIST, "%s may hold data: give --overwrite if that may go", text);
	if (err)
		return err;
	if (grow && !annex_uri_get(uri, "size"))
		snprintf(t->uri, ANNEX_URI_MAX, "%s%csize=%llu", text, uri->nparams ? '&' : '?',
			 (unsigned long long)bytes);
	else
		snprintf(t->uri, ANNEX_URI_MAX, "%s", text);
	return 0;
}

int target_init(struct target *t, const char *text, uint64_t bytes, bool overwrite)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	int err;

	t->created = t->grows = NULL;
	t->uri = malloc(ANNEX_URI_MAX);
	if (!uri || !t->uri) {
		err = err_set(-ENOMEM, "out of memory");
	} else {
		err = annex_uri_parse(text, uri);
		err = err ? err_lib(err, "cannot use device %s", text)
			  : check(t, uri, text, bytes, overwrite);
	}
	free(uri);
	return err;
}

int target_room(const struct target *t, unsigned int n)
{
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		uint64_t need = 0;

		if (!t[i].grows)
			continue;
		for (unsigned int k = 0; k < n; k++)
			if (t[k].grows && output_fs(t[k].grows) == output_fs(t[i].grows))
				need += t[k].need;
		err = output_room(t[i].grows, need);
	}
	return err;
}

void target_done(struct target *t, int err)
{
	if (t->created && err)
		cleanup_remove(t->created);
	else if (t->created)
		cleanup_forget(t->created);
	free(t->created);
	free(t->grows);
	free(t->uri);
	t->created = t->grows = t->uri = NULL;
}
