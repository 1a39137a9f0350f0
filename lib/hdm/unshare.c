// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "core/log.h"
#include "hdm.h"

/* A mapping keeps its file description alive, locks and all, in every child that has it. */
int annex_hdm_unshare(struct annex_medium *m)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return annex_fail(-errno, "range: %s: %m", path);
	close(m->fd);
	m->fd = fd;
	return 0;
}
