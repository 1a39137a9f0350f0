/* SPDX-License-Identifier: MIT */
/*
 * The files of namespaces: names and uses of their disks in the kernel, and locks that keep others
 * from their blocks.
 */
#ifndef ANNEX_EMU_DISK_H
#define ANNEX_EMU_DISK_H

#include <sys/stat.h>
#include "nvme/emu/state.h"

#define EMU_DISK_NAME 32 /* bytes for the name of a device in sysfs */
#define EMU_USE_WHY 352  /* and for a clause of annex_emu_used() */

/* The last part of the target of a link; false: there is no such link. */
bool annex_emu_link_name(const char *link, char name[EMU_DISK_NAME]);

/* The kernel's name of a device (sda); false: it is no device, or has no name. */
bool annex_emu_disk_name(const struct stat *st, char name[EMU_DISK_NAME]);

/* Whether the kernel uses the disk @disk (sda), or that is unknown; @why is then a clause,
 * "sda1 is mounted on /mnt". */
bool annex_emu_used(const char *disk, char why[EMU_USE_WHY]);

/* As claim() of struct emu_backend. */
int annex_emu_disk_claim(struct annex_emu *emu, struct emu_ns *ns, uint64_t pos, uint64_t len,
			 bool shared);

/* Release the claims of all namespaces, and close their files, which a child of fork() shares. */
void annex_emu_disk_unlock(const struct annex_emu *emu);
void annex_emu_disk_close(const struct annex_emu *emu);

/*
 * annex_emu_ctrl_is() - Whether the file @file has the word @word for a controller of the kernel's
 * NVMe driver, or for one of a subsystem. @device: its folder in sysfs.
 */
bool annex_emu_ctrl_is(const char *device, const char *file, const char *word);

/*
 * annex_emu_over_tcp() - Whether @st is reached by NVMe over TCP: the generic device of a
 * namespace, a block device, a partition, a device on top of others, or a file on one. Linux sends
 * to the socket of such a drive in the thread that submits, which gets a SIGPIPE when the
 * connection breaks: that must be a thread that blocks signals.
 * @root: the folder with the /proc and /sys to read; "" for this machine.
 */
bool annex_emu_over_tcp(const char *root, const struct stat *st);

#endif
