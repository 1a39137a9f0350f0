/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners and permissions, as of files.
 */
#ifndef TOOLS_SERVE_MODE_H
#define TOOLS_SERVE_MODE_H

#include <stddef.h>
#include <stdint.h>

/* mode_parse() - Of an option: an octal number like 0640, into an uint32_t. */
int mode_parse(void *member, const char *opt, char *arg);

/* Room for mode_owner(). */
#define MODE_OWNER 80

/* mode_owner() - USER:GROUP, by name where they have one. */
const char *mode_owner(uint32_t uid, uint32_t gid, char buf[MODE_OWNER]);

/* mode_find_owner() - The numbers of USER[:GROUP]; the group is the user's if there is none.
 * -EINVAL with a line. */
int mode_find_owner(const char *text, uint32_t *uid, uint32_t *gid);

#endif
