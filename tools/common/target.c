// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/uri.h>
#include "claim.h"
#include "cleanup.h"
#include "error.h"
#include "newfile.h"
#include "target.h"
#include "uri.h"

static int takes(struct target *t, const char *path, uint64_t bytes)
{
	t->grows = strdup(path);
	t->need = bytes;
	return t->grows ? 0 : err_set(-ENOMEM, "out of memory");
}

/* Another process that opens it before it is claimed has it: then it is that one's to remove. */
static int make_bed(struct target *t, const char *path)
{
	int err = 0;

	cleanup_hold();
	t->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (t->fd < 0)
		err = err_sys("cannot create %s", path);
	else
		err = claim_made(t->fd, path);
	if (!err) {
		err = cleanup_add(path);
		t->created = err ? NULL : strdup(path);
		if (!t->created) {
			cleanup_remove(path);
			err = err_set(-ENOMEM, "out of memory");
		}
	}
	cleanup_release();
	return err;
}

static int make_whole(struct target *t, const char *path)
{
	int err = tempfile_open(&t->file, path);

	if (err)
		return err;
	t->created = strdup(path);
	t->path = tempfile_uses(&t->file);
	if (!t->path || !t->created)
		return err_set(-ENOMEM, "out of memory");
	return err_alias(t->path, t->created);
}

static int refuse(const char *path)
{
	return err_set(-EEXIST, "%s holds data: give --overwrite to overwrite it", path);
}

/* Whether the data of a file or device behind file: may go; *@grow: it has to be given its size. */
static int check_file(struct target *t, const char *path, enum target_kind kind, uint64_t bytes,
		      bool *grow)
{
	struct stat st;
	uint64_t have;
	int err;

	err = claim_file(path, &t->fd);
	if (err == -ENOENT) {
		*grow = true;
		err = takes(t, path, bytes);
		if (err)
			return err;
		return kind == TARGET_WHOLE ? make_whole(t, path) : make_bed(t, path);
	}
	if (!err && fstat(t->fd, &st))
		err = err_sys("cannot examine %s", path);
	if (err)
		return err;
	*grow = S_ISREG(st.st_mode) && (uint64_t)st.st_size < bytes;
	if (t->overwrite || (S_ISREG(st.st_mode) && !st.st_size)) {
		/* How much a file with holes will take is not known. */
		have = (uint64_t)st.st_blocks * 512;
		return *grow && have >= (uint64_t)st.st_size && have < bytes
			       ? takes(t, path, bytes - have)
			       : 0;
	}
	return refuse(path);
}

/* Its text as it was, but for the path of a file that has no name yet. */
static int name_uri(struct target *t, const char *text)
{
	const char *query = strchr(text, '?');

	if (t->path)
		return path_uri(t->uri, "file", t->path, query ? query + 1 : "");
	snprintf(t->uri, ANNEX_URI_MAX, "%s", text);
	return 0;
}

static int refuse_device(const char *text)
{
	return err_set(-EEXIST, "%s may hold data: give --overwrite to overwrite it", text);
}

static int check(struct target *t, const struct annex_uri *uri, const char *text,
		 enum target_kind kind, uint64_t bytes)
{
	bool grow = false, readonly = false;
	unsigned int traits = annex_dev_traits(text);
	size_t len;
	int err;

	err = annex_uri_bool(uri, "readonly", &readonly);
	if (err)
		err = err_lib(err, "cannot use device %s", text);
	else if (readonly)
		err = err_set(-EROFS, "%s is read-only: leave out readonly=1 to write to it", text);
	else if (traits & ANNEX_TRAIT_PATH)
		err = check_file(t, uri->body, kind, bytes, &grow);
	else if (traits & ANNEX_TRAIT_VOLATILE)
		err = err_set(-EINVAL,
			      "%s is lost when the command ends: write to a file or a device",
			      text);
	else if (!t->overwrite)
		err = refuse_device(text);
	if (!err)
		err = name_uri(t, text);
	if (err || !grow || annex_uri_get(uri, "size"))
		return err;
	len = strlen(t->uri);
	snprintf(t->uri + len, ANNEX_URI_MAX - len, "%csize=%llu", uri->nparams ? '&' : '?',
		 (ull)bytes);
	return 0;
}

int target_init(struct target *t, const char *text, enum target_kind kind, uint64_t bytes,
		bool overwrite)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	int err;

	*t = (struct target){.overwrite = overwrite, .fd = -1};
	t->uri = malloc(ANNEX_URI_MAX);
	if (!uri || !t->uri) {
		err = err_set(-ENOMEM, "out of memory");
	} else {
		err = annex_uri_parse(text, uri);
		err = err ? err_lib(err, "cannot use device %s", text)
			  : check(t, uri, text, kind, bytes);
	}
	free(uri);
	return err;
}

int target_look(const char *text, bool overwrite)
{
	const unsigned int traits = annex_dev_traits(text);
	struct annex_uri *uri;
	struct stat st;
	int err;

	if (overwrite || traits & ANNEX_TRAIT_VOLATILE || !traits)
		return 0; /* it is no device: opening it says so */
	if (!(traits & ANNEX_TRAIT_PATH))
		return refuse_device(text);
	uri = malloc(sizeof(*uri));
	err = uri ? annex_uri_parse(text, uri) : err_set(-ENOMEM, "out of memory");
	if (uri && err)
		err = err_lib(err, "cannot use device %s", text);
	if (!err && !stat(uri->body, &st) && (!S_ISREG(st.st_mode) || st.st_size))
		err = refuse(uri->body);
	free(uri);
	return err;
}

int target_claim(const struct target *t, struct annex_dev *dev, uint64_t bytes)
{
	struct annex_ns ns;
	uint64_t blocks;
	int err;

	/* A lock of this command's own would keep it from it. */
	if (!t->uri || annex_dev_traits(t->uri) & ANNEX_TRAIT_PATH)
		return 0;
	err = annex_dev_ns(dev, 1, &ns);
	if (!err) {
		blocks = (bytes + ns.block - 1) / ns.block;
		err = annex_dev_claim(dev, 1, 0, blocks < ns.blocks ? blocks : ns.blocks);
	}
	/* Writing says so itself. */
	return err && err != -EROFS ? err_lib(err, "cannot write to %s", t->uri) : 0;
}

int target_room(const struct target *t, unsigned int n)
{
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		uint64_t need = 0;

		if (!t[i].grows)
			continue;
		for (unsigned int k = 0; k < n; k++)
			if (t[k].grows && newfile_fs(t[k].grows) == newfile_fs(t[i].grows))
				need += t[k].need;
		err = newfile_room(t[i].grows, need);
	}
	return err;
}

/* A bed has its name already. */
static bool is_named(const struct target *t)
{
	return t->created && !t->file.path;
}

static void forget(struct target *t)
{
	tempfile_close(&t->file);
	if (t->uri && t->fd >= 0)
		close(t->fd);
	free(t->created);
	free(t->path);
	free(t->grows);
	free(t->uri);
	*t = (struct target){.uri = NULL};
}

int target_done(struct target *t, unsigned int n, int err)
{
	unsigned int named = 0;

	cleanup_hold();
	for (; named < n && !err; named++)
		if (t[named].file.path)
			err = tempfile_name(&t[named].file, t[named].overwrite);
	for (unsigned int i = 0; i < n; i++) {
		if (is_named(&t[i]) && err)
			cleanup_remove(t[i].created);
		else if (is_named(&t[i]))
			cleanup_forget(t[i].created);
		else if (t[i].created && err && i + 1 < named)
			unlink(t[i].created);
		forget(&t[i]);
	}
	cleanup_release();
	return err;
}
