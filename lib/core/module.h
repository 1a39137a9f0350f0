/* SPDX-License-Identifier: MIT */
/*
 * The files of annex.ko: one for each device that is bound to it.
 */
#ifndef ANNEX_CORE_MODULE_H
#define ANNEX_CORE_MODULE_H

#include <stdbool.h>

#define MODULE_NAME 16 /* 0000:00:04.0 */

/* annex_module_name() - A device's address in full; false: it is none. */
bool annex_module_name(const char *text, char name[MODULE_NAME]);

/**
 * annex_module_file() - Open the file of a device.
 * @name: its address in full.
 *
 * Return: 0; -ENOENT (no such device, or not bound); -EBUSY (it has an owner); -EACCES, -EPERM.
 */
int annex_module_file(const char *name, int *fd);

#endif
