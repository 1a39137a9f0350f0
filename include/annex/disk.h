/* SPDX-License-Identifier: MIT */
/*
 * Disks: which parts of the kernel use one. File systems, swap and other block devices (the device
 * mapper, md) may be on a disk, on its partitions, or on block devices on top of these. Processes
 * that have a disk open are not reported.
 */
#ifndef ANNEX_DISK_H
#define ANNEX_DISK_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum annex_disk_use - Kind of an entry. Uses must end in the order in which they stand here.
 * @ANNEX_DISK_MOUNT: a file system on the block device is mounted.
 * @ANNEX_DISK_SWAP: the block device is swap.
 * @ANNEX_DISK_HOLDER: another block device lies on the block device.
 * @ANNEX_DISK_NODE: no use: the block device exists.
 */
enum annex_disk_use {
	ANNEX_DISK_MOUNT,
	ANNEX_DISK_SWAP,
	ANNEX_DISK_HOLDER,
	ANNEX_DISK_NODE,
};

/**
 * struct annex_disk_entry - A block device of a disk, or a use of one.
 * @use: which of these.
 * @device: name of the block device: the disk, a partition of it, or a device on top.
 * @name: mount point of ANNEX_DISK_MOUNT; block device of ANNEX_DISK_HOLDER; name below /dev/mapper
 *	of ANNEX_DISK_NODE, "" if it has none; "" of ANNEX_DISK_SWAP.
 */
struct annex_disk_entry {
	enum annex_disk_use use;
	const char *device;
	const char *name;
};

/**
 * typedef annex_disk_fn - Receives one entry.
 * @entry: valid until the callback returns.
 * @arg: the argument of annex_disk_walk().
 * Return: 0 to go on; other values end the walk.
 */
typedef int (*annex_disk_fn)(const struct annex_disk_entry *entry, void *arg);

/**
 * annex_disk_walk() - Visit the block devices of a disk, and their users in the kernel.
 * @root: folder with the /proc, /sys and /dev to read; "" for this machine's own.
 * @disk: name of the disk, as in /sys/class/block.
 * @visit: called for each entry. A block device comes before its uses. One that lies on several
 *	block devices of the disk comes once for each of these.
 * @arg: passed to it.
 * Any thread may call it. A disk that does not exist has one entry, ANNEX_DISK_NODE.
 * Return: 0; the value of @visit that ended the walk; -EIO if /proc/self/mountinfo cannot be read.
 */
int annex_disk_walk(const char *root, const char *disk, annex_disk_fn visit, void *arg);

#ifdef __cplusplus
}
#endif
#endif
