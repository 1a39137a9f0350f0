/* SPDX-License-Identifier: MIT */
/*
 * The emulated NVMe controller: mem: (RAM behind it) and file: (the proxy, by io_uring).
 */
#ifndef ANNEX_EMU_EMU_H
#define ANNEX_EMU_EMU_H

#include <annex/uri.h>
#include "core/ctrl.h"

/**
 * annex_emu_open_mem() - Make the controller that a mem: URI (annex/device.h) describes.
 * @uri: the URI.
 * @out: the controller, to be given back with its close().
 *
 * Return: 0; -EINVAL, -ERANGE (the URI); -ENOMEM.
 */
int annex_emu_open_mem(const struct annex_uri *uri, struct annex_ctrl **out);

/**
 * annex_emu_open_file() - Likewise for a file: URI.
 * @uri: the URI.
 * @out: the controller.
 *
 * Return: as annex_emu_open_mem(), or the errno of the file.
 */
int annex_emu_open_file(const struct annex_uri *uri, struct annex_ctrl **out);

#endif
