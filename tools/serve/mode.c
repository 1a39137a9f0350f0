// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/uri.h>
#include "../cli.h"
#include "../error.h"
#include "mode.h"

int mode_parse(void *member, const char *opt, char *arg)
{
	uint32_t *mode = member;
	char *end;
	unsigned long value = strtoul(arg, &end, 8);

	if (*arg < '0' || *arg > '7' || *end || value > 0777 || value & 0111)
		return err_set(-EINVAL, "%s %s: permissions to read and write, as 0640", opt, arg);
	*mode = (uint32_t)value;
	return 0;
}

const char *mode_owner(uint32_t uid, uint32_t gid, char *buf)
{
	const struct passwd *user = getpwuid(uid);
	const struct group *group = getgrgid(gid);
	int n = user ? snprintf(buf, 20, "%.19s", user->pw_name) : snprintf(buf, 20, "%u", uid);

	if (group)
		snprintf(buf + n, 20, ":%.18s", group->gr_name);
	else
		snprintf(buf + n, 20, ":%u", gid);
	return buf;
}

static int find_user(const char *name, uint32_t *uid, uint32_t *gid)
{
	const struct passwd *user = getpwnam(name);
	uint64_t number;

	if (user) {
		*uid = user->pw_uid;
		*gid = user->pw_gid;
		return 0;
	}
	if (annex_parse_size(name, &number) || number > UINT32_MAX)
		return err_set(-EINVAL, "--owner: there is no user %s", name);
	*uid = *gid = (uint32_t)number;
	return 0;
}

static int find_group(const char *name, uint32_t *gid)
{
	const struct group *group = getgrnam(name);
	uint64_t number;

	if (group) {
		*gid = group->gr_gid;
		return 0;
	}
	if (annex_parse_size(name, &number) || number > UINT32_MAX)
		return err_set(-EINVAL, "--owner: there is no group %s", name);
	*gid = (uint32_t)number;
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
	err = find_user(copy, uid, gid);
	if (!err && group)
		err = find_group(group, gid);
	free(copy);
	return err;
}
