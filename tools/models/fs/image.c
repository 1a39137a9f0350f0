// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include "tools/common/error.h"
#include "tools/common/uri.h"
#include "image.h"

#define NAP_NS 20000000
#define NAPS 500u /* ten seconds: the longest wait for another process */

/* Find a mount of this type and source, or on this directory. The last match is on top. */
static bool find_mount(const char *type, const char *source, const char *dir, char *where,
		       size_t size)
{
	char text[3 * PATH_MAX];
	struct mntent m;
	bool found = false;
	FILE *f = setmntent("/proc/self/mounts", "r");

	while (f && getmntent_r(f, &m, text, sizeof(text))) {
		if ((type && strcmp(m.mnt_type, type)) ||
		    (source && strcmp(m.mnt_fsname, source)) || (dir && strcmp(m.mnt_dir, dir)))
			continue;
		found = true;
		if (where)
			snprintf(where, size, "%s", m.mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

bool mounts_where(const char *path, char *where, size_t size)
{
	char *real = realpath(path, NULL);
	bool found = real && find_mount("fuse." MOUNTS_TYPE, real, NULL, where, size);

	free(real);
	return found;
}

bool mounts_at(const char *dir)
{
	return find_mount(NULL, NULL, dir, NULL, 0);
}

static bool is_scheme(const char *arg, const struct annex_scheme *s)
{
	const size_t n = strlen(s->name);

	return !strncmp(arg, s->name, n) && arg[n] == ':';
}

/* Whether @arg has a scheme of the library. Everything else is a path. */
static bool is_uri(const char *arg)
{
	const struct annex_scheme *s;

	for (unsigned int i = 0; (s = annex_hdm_scheme_at(i)); i++)
		if (is_scheme(arg, s))
			return true;
	for (unsigned int i = 0; (s = annex_dev_scheme_at(i)); i++)
		if (is_scheme(arg, s))
			return true;
	return false;
}

static int add_param(char *uri, const char *param)
{
	const size_t n = strlen(uri);

	if (n + 1 + strlen(param) >= ANNEX_URI_MAX)
		return err_set(-ENAMETOOLONG, "the path or the URI is too long");
	sprintf(uri + n, "%c%s", strchr(uri, '?') ? '&' : '?', param);
	return 0;
}

/* Whether the URI has the parameter and value of @param. */
static bool has_param(const struct annex_uri *u, const char *param)
{
	char key[ANNEX_URI_MAX];
	const char *value;

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(param, "="), param);
	value = annex_uri_get(u, key);
	return value && !strcmp(value, param + strlen(key) + 1);
}

static int check_uri(struct image *i, const struct annex_uri *u)
{
	if (strcmp(u->scheme, "cxlssd"))
		return err_set(-EINVAL,
			       "%s: a file system needs a CXL-SSD: give its path, or "
			       "cxlssd:/path",
			       i->uri);
	if (!*u->body)
		return err_set(-EINVAL,
			       "%s: memory ends with the process: name a file, cxlssd:/path",
			       i->uri);
	strcpy(i->path, u->body);
	return annex_uri_get(u, "log") ? 0 : add_param(i->uri, "log=bytefs");
}

int image_name(struct image *i, const char *arg, const char *more)
{
	struct annex_uri *u = malloc(sizeof(*u));
	int err = u ? 0 : err_set(-ENOMEM, "out of memory");

	*i = (struct image){0};
	if (!err && !*arg)
		err = err_set(-EINVAL, "\"\": name the file of the CXL-SSD");
	if (!err && is_uri(arg) && strlen(arg) >= sizeof(i->uri))
		err = err_set(-ENAMETOOLONG, "the URI is too long");
	if (!err && is_uri(arg))
		strcpy(i->uri, arg);
	else if (!err)
		err = path_uri(i->uri, "cxlssd", arg, "");
	if (!err) {
		err = annex_uri_parse(i->uri, u);
		if (err)
			err_lib(err, "%s", arg);
	}
	if (!err)
		err = check_uri(i, u);
	if (!err && *more && !has_param(u, more))
		err = add_param(i->uri, more);
	free(u);
	return err;
}

/* The process of an earlier mount may still be writing back. */
static int connect_patiently(struct image *i)
{
	const struct timespec nap = {0, NAP_NS};
	int err = annex_cxlssd_open(i->uri, &i->s);

	for (unsigned int n = 0; err == -EBUSY && !mounts_where(i->path, NULL, 0) && n < NAPS;
	     n++) {
		nanosleep(&nap, NULL);
		err = annex_cxlssd_open(i->uri, &i->s);
	}
	return err;
}

int image_connect(struct image *i)
{
	char where[ANNEX_URI_MAX];
	int err = connect_patiently(i);

	if (err && err != -EBUSY)
		return err_lib(err, "cannot open %s", i->path);
	if (!err)
		return stat(i->path, &i->file) ? err_sys("%s", i->path) : 0;
	if (mounts_where(i->path, where, sizeof(where)))
		return err_set(err, "%s is mounted on %s: fusermount3 -u %s", i->path, where,
			       where);
	return err_set(err, "%s is in use by another process: end that first", i->path);
}

int image_open(struct image *i, const char *arg, bool readonly)
{
	int err = image_name(i, arg, readonly ? "readonly=1" : "");

	if (err)
		return err;
	if (access(i->path, F_OK) && errno == ENOENT)
		return err_set(-ENOENT, "there is no file %s: annex fs mkfs makes one", i->path);
	return image_connect(i);
}

int image_mount(struct image *i, const struct annex_fs_opts *opts)
{
	int err = annex_fs_mount(i->s, opts, &i->fs);

	if (err == -EILSEQ)
		return err_lib(err,
			       "%s: no file system can be mounted: annex fs mkfs makes one, annex "
			       "fs fsck looks at a damaged one",
			       i->path);
	if (err == -EIO)
		return err_lib(err, "%s is damaged: annex fs fsck lists the problems", i->path);
	return err ? err_lib(err, "%s", i->path) : 0;
}

int image_unmount(struct image *i, int err)
{
	int late = annex_fs_unmount(i->fs);

	i->fs = NULL;
	if (!late || err)
		return err;
	return err_lib(late, "%s: some writes since the last fsync are lost", i->path);
}

/* If the name is now of another file, or of none, all writes are lost with the old file. */
static int check_name(const struct image *i)
{
	struct stat now;

	if (stat(i->path, &now))
		return err_sys("%s: it was removed meanwhile", i->path);
	if (now.st_dev == i->file.st_dev && now.st_ino == i->file.st_ino)
		return 0;
	return err_set(-ESTALE,
		       "%s: another file has replaced it meanwhile: all that was written is lost",
		       i->path);
}

int image_close(struct image *i, int err)
{
	int late;

	err = image_unmount(i, err);
	late = annex_cxlssd_close(i->s);
	i->s = NULL;
	if (late && !err)
		return err_lib(late, "%s: closing it", i->path);
	return err ? err : check_name(i);
}
