// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/uri.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "daemon.h"

int mode_parse(void *member, const char *opt, char *arg)
{
	uint32_t *mode = member;
	char *end;
	unsigned long value = strtoul(arg, &end, 8);

	if (*arg < '0' || *arg > '7' || *end || value > 0777 || value & 0111)
		return err_set(-EINVAL, "%s %s: give permissions to read and write, as 0640", opt,
			       arg);
	*mode = (uint32_t)value;
	return 0;
}

const char *mode_owner(uint32_t uid, uint32_t gid, char buf[MODE_OWNER])
{
	const struct passwd *user = getpwuid(uid);
	const struct group *group = getgrgid(gid);
	int n = user ? snprintf(buf, 40, "%.39s", user->pw_name) : snprintf(buf, 40, "%u", uid);

	if (group)
		snprintf(buf + n, 40, ":%.38s", group->gr_name);
	else
		snprintf(buf + n, 40, ":%u", gid);
	return buf;
}

/* A number of a user or a group; not UINT32_MAX, which is -1. */
static bool read_id(const char *text, uint32_t *id)
{
	uint64_t number;

	if (text[strspn(text, "0123456789")] || annex_parse_size(text, &number) ||
	    number >= UINT32_MAX)
		return false;
	*id = (uint32_t)number;
	return true;
}

static int find_user(const char *name, uint32_t *uid, uint32_t *gid)
{
	const struct passwd *user = getpwnam(name);

	if (user) {
		*uid = user->pw_uid;
		*gid = user->pw_gid;
		return 0;
	}
	if (!read_id(name, uid))
		return err_set(-EINVAL, "--owner: there is no user %s", name);
	*gid = *uid;
	return 0;
}

static int find_group(const char *name, uint32_t *gid)
{
	const struct group *group = getgrnam(name);

	if (!group && !read_id(name, gid))
		return err_set(-EINVAL, "--owner: there is no group %s", name);
	if (group)
		*gid = group->gr_gid;
	return 0;
}

int mode_find_owner(const char *text, uint32_t *uid, uint32_t *gid)
{
	char *copy = strdup(text), *group;
	int err;

	if (!copy)
		return err_set(-ENOMEM, "out of memory");
	group = strchr(copy, ':');
	if (group)
		*group++ = 0;
	if (!*copy || (group && !*group))
		err = err_set(-EINVAL, "--owner \"%s\": give USER or USER:GROUP", text);
	else
		err = find_user(copy, uid, gid);
	if (!err && group)
		err = find_group(group, gid);
	free(copy);
	return err;
}
