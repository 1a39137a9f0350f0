/* SPDX-License-Identifier: MIT */
/*
 * The emulated NVMe controller: mem: (RAM behind it) and file: (the proxy, by io_uring).
 */
#ifndef ANNEX_EMU_EMU_H
#define ANNEX_EMU_EMU_H

#include <annex/uri.h>
#include "core/ctrl.h"

/**
 * annex_emu_open() - Make the controller that a mem: or file: URI (annex/device.h) describes.
 * @out: the controller, disabled, to be given back with its close().
 *
 * Return: 0; -EPROTONOSUPPORT (another scheme); -EINVAL, -ENOMEM, or the errno of the file.
 */
int annex_emu_open(const struct annex_uri *uri, struct annex_ctrl **out);

#endif
