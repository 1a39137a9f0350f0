/* SPDX-License-Identifier: MIT */
/*
 * Emulated NVMe controllers, on RAM (mem:), files (file:), the kernel's own driver (ng:, nvme:), a
 * daemon (unix:), and functions (core/blocks.h).
 */
#ifndef ANNEX_EMU_EMU_H
#define ANNEX_EMU_EMU_H

#include <annex/uri.h>
#include "core/blocks.h"
#include "core/ctrl.h"

/*
 * Each function creates the controller of a URI (annex/device.h), to be closed by its close().
 * Return: 0; -EINVAL, -ERANGE (the URI); -ENOMEM. Further errors:
 *	file: the errno of the file.
 *	ng, nvme: -EACCES: the kernel lets this user send no commands; -EPERM, -ENOSYS: it refuses
 *		io_uring; -ENODEV: no such controller or namespace; the errno of the device file.
 *	unix: -ENOENT: no such part or socket; -EACCES: the part is not for this user;
 *		-ECONNREFUSED: no daemon; -EUSERS: too many clients; -EPROTO: no daemon of annex;
 *		-EPROTONOSUPPORT: another version; -ETIMEDOUT.
 */
int annex_emu_open_mem(const struct annex_uri *uri, struct annex_ctrl **out);
int annex_emu_open_file(const struct annex_uri *uri, struct annex_ctrl **out);
int annex_emu_open_ng(const struct annex_uri *uri, struct annex_ctrl **out);
int annex_emu_open_unix(const struct annex_uri *uri, struct annex_ctrl **out);

/**
 * annex_emu_open_blocks() - Create a controller whose one namespace is behind functions.
 * @uri: its parameters may be serve= and fault=.
 * @blocks: the functions, which are needed until the controller is closed; copied.
 * @out: the controller.
 *
 * Return: 0; -EINVAL (the URI, or blocks of another size than a device has); -ENOMEM.
 */
int annex_emu_open_blocks(const struct annex_uri *uri, const struct annex_blocks *blocks,
			  struct annex_ctrl **out);

#endif
