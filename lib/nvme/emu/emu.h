/* SPDX-License-Identifier: MIT */
/*
 * The emulated NVMe controller: mem: (RAM behind it), file: (the proxy, by io_uring), ng: (the
 * kernel's own driver behind it), unix: (a daemon), and what others have behind functions.
 */
#ifndef ANNEX_EMU_EMU_H
#define ANNEX_EMU_EMU_H

#include <annex/uri.h>
#include "core/blocks.h"
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

/**
 * annex_emu_open_ng() - Likewise for an ng: or nvme: URI.
 * @uri: the URI.
 * @out: the controller.
 *
 * Return: as annex_emu_open_mem(); -EACCES: the kernel lets this user send no commands; -EPERM,
 * -ENOSYS: it refuses io_uring; -ENODEV: no such controller or namespace; or the errno of the
 * device file.
 */
int annex_emu_open_ng(const struct annex_uri *uri, struct annex_ctrl **out);

/**
 * annex_emu_open_unix() - Likewise for a unix: URI.
 * @uri: the URI.
 * @out: the controller.
 *
 * Return: as annex_emu_open_mem(); -ENOENT: there is no such part, or no such socket; -EACCES: it
 * is not for this user; -ECONNREFUSED: nobody serves there; -EUSERS: it has too many clients;
 * -EPROTO, -EPROTONOSUPPORT: another kind of server, or another version; -ETIMEDOUT.
 */
int annex_emu_open_unix(const struct annex_uri *uri, struct annex_ctrl **out);

/**
 * annex_emu_open_blocks() - Make a controller whose one namespace is behind functions.
 * @uri: whose parameters may be serve= and fault=.
 * @blocks: the functions, which are needed until the controller is closed; copied.
 * @out: the controller.
 *
 * Return: 0; -EINVAL (the URI, or blocks that are of neither 512 nor 4096 bytes); -ENOMEM.
 */
int annex_emu_open_blocks(const struct annex_uri *uri, const struct annex_blocks *blocks,
			  struct annex_ctrl **out);

#endif
