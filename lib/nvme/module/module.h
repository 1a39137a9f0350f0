/* SPDX-License-Identifier: MIT */
/*
 * Controllers behind annex.ko: pci:DDDD:BB:DD.F (include/uapi/annex.h).
 */
#ifndef ANNEX_NVME_MODULE_MODULE_H
#define ANNEX_NVME_MODULE_MODULE_H

#include <annex/uri.h>
#include "core/ctrl.h"

/**
 * annex_module_open() - Become the owner of a controller that is bound to annex.ko.
 * @uri: pci:DDDD:BB:DD.F[?wait=poll|sleep], other parameters left alone.
 * @out: the controller, enabled and without I/O queues, to be given back with its close().
 *
 * Return: 0; -ENOENT (no such controller, or not bound); -EBUSY (it has an owner); -EACCES, -EPERM;
 * -EPROTONOSUPPORT (another version of the module); -EINVAL, -ENODEV, -ENOMEM.
 */
int annex_module_open(const struct annex_uri *uri, struct annex_ctrl **out);

#endif
