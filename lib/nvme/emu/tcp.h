/* SPDX-License-Identifier: MIT */
/*
 * Drives of other machines. Linux sends to the socket of one in the thread that submits, which gets
 * a SIGPIPE when the connection breaks: that must be one that blocks signals.
 */
#ifndef ANNEX_EMU_TCP_H
#define ANNEX_EMU_TCP_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * annex_emu_ctrl_is() - Whether a controller of the kernel's NVMe driver, or one of those of a
 * subsystem, has this word in this file. @device: its folder in sysfs.
 */
bool annex_emu_ctrl_is(const char *device, const char *file, const char *word);

/*
 * annex_emu_over_tcp() - Whether @st is of something that is reached by NVMe over TCP: the generic
 * device of a namespace, a block device, a partition, a device on top of others, or a file on one.
 * @root: folder that has the /proc and /sys to read, "" for those of this machine.
 */
bool annex_emu_over_tcp(const char *root, const struct stat *st);

#endif
