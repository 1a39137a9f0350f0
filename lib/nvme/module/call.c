// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include "core/log.h"
#include "state.h"

struct module *module_of(struct annex_ctrl *ctrl)
{
	return (struct module *)ctrl; /* its first member */
}

int module_call(struct module *p, unsigned long request, void *args, const char *what)
{
	int err = ioctl(p->fd, request, args) < 0 ? -errno : 0;

	if (err && err != -ENOSPC)
		annex_fail(err, "pci:%s: %s: %s", p->name, what, strerror(-err));
	return err;
}
