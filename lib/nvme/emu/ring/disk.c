// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <annex/disk.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "core/log.h"
#include "disk.h"

#define DEEP 8u /* devices on top of each other */

bool annex_emu_link_name(const char *link, char name[EMU_DISK_NAME])
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	const char *last;

	if (n < 0)
		return false;
	target[n] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	return snprintf(name, EMU_DISK_NAME, "%s", last) < EMU_DISK_NAME;
}

bool annex_emu_disk_name(const struct stat *st, char name[EMU_DISK_NAME])
{
	char link[64];

	if (!S_ISBLK(st->st_mode) && !S_ISCHR(st->st_mode))
		return false;
	snprintf(link, sizeof(link), "/sys/dev/%s/%u:%u", S_ISBLK(st->st_mode) ? "block" : "char",
		 major(st->st_rdev), minor(st->st_rdev));
	return annex_emu_link_name(link, name);
}

/* The first use ends the walk. */
static int say_use(const struct annex_disk_entry *entry, void *why)
{
	static const char *const words[] = {
		[ANNEX_DISK_MOUNT] = " is mounted on ",
		[ANNEX_DISK_SWAP] = " is swap",
		[ANNEX_DISK_HOLDER] = " is held by ",
	};

	if (entry->use == ANNEX_DISK_NODE)
		return 0;
	snprintf(why, EMU_USE_WHY, "%s%s%s", entry->device, words[entry->use], entry->name);
	return 1;
}

bool annex_emu_used(const char *disk, char why[EMU_USE_WHY])
{
	int err = annex_disk_walk("", disk, say_use, why);

	if (err < 0)
		snprintf(why, EMU_USE_WHY, "%s", annex_last_error());
	return err;
}

/*
 * A lock belongs to an inode, and each node of a device has another inode. So claims lock the block
 * device's node that the kernel has made, for its generic device (ng:) too, if this user may open
 * it; else the open file. O_EXCL allows only one opener, and lasts as long as any forked child.
 */
static int open_claims(const struct emu_ns *ns)
{
	const int flags = fcntl(ns->fd, F_GETFL) & O_ACCMODE;
	char name[EMU_DISK_NAME], found[EMU_DISK_NAME], path[EMU_DISK_NAME + 8];
	struct stat st, node;
	int claims;

	if (fstat(ns->fd, &st) || !annex_emu_disk_name(&st, name))
		return ns->fd;
	if (ns->disk)
		snprintf(name, sizeof(name), "%s", ns->disk);
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (stat(path, &node) || !S_ISBLK(node.st_mode) || !annex_emu_disk_name(&node, found) ||
	    strcmp(found, name) || (node.st_dev == st.st_dev && node.st_ino == st.st_ino))
		return ns->fd;
	claims = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	return claims < 0 ? ns->fd : claims;
}

/* With the mutex, since threads may claim at the same time. */
static void find_claims(struct annex_emu *emu, struct emu_ns *ns)
{
	pthread_mutex_lock(&emu->ctl);
	if (!ns->claimed)
		ns->claims = open_claims(ns);
	ns->claimed = true;
	pthread_mutex_unlock(&emu->ctl);
}

/* Locks of the open file description, so that two devices of one process exclude each other. */
static int lock(const struct emu_ns *ns, short how, uint64_t pos, uint64_t len)
{
	struct flock range = {
		.l_type = how, .l_whence = SEEK_SET, .l_start = (off_t)pos, .l_len = (off_t)len};

	return fcntl(ns->claims, F_OFD_SETLK, &range) ? -errno : 0;
}

/* Without locks in the file system a reader goes on, after a warning. */
static int share(const struct emu_ns *ns, uint64_t pos, uint64_t len)
{
	int err = lock(ns, F_RDLCK, pos, len);

	if (err != -ENOLCK && err != -EOPNOTSUPP && err != -ENOSYS && err != -EINVAL)
		return err;
	annex_log(ANNEX_LOG_WARNING,
		  "file: writers are not kept out while this is read: the file system has no "
		  "locks: %s",
		  strerror(-err));
	return 0;
}

int annex_emu_disk_claim(struct annex_emu *emu, struct emu_ns *ns, uint64_t pos, uint64_t len,
			 bool shared)
{
	int err;

	find_claims(emu, ns);
	err = shared ? share(ns, pos, len) : lock(ns, F_WRLCK, pos, len);
	return err == -EAGAIN || err == -EACCES ? -EBUSY : err;
}

void annex_emu_disk_unlock(const struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		if (emu->ns[i].claimed)
			lock(&emu->ns[i], F_UNLCK, 0, 0);
}

void annex_emu_disk_close(const struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++) {
		if (emu->ns[i].claimed && emu->ns[i].claims != emu->ns[i].fd)
			close(emu->ns[i].claims);
		close(emu->ns[i].fd);
	}
}

/* Whether a file of that folder begins with the word. */
static bool has_word(const char *folder, const char *name, const char *file, const char *word)
{
	char path[PATH_MAX], found[16] = "";
	FILE *text;

	if (snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file) >= (int)sizeof(path))
		return false;
	text = fopen(path, "re");
	if (text && fscanf(text, "%15s", found) != 1)
		*found = '\0';
	if (text)
		fclose(text);
	return !strcmp(found, word);
}

bool annex_emu_ctrl_is(const char *device, const char *file, const char *word)
{
	bool found = has_word(device, ".", file, word);
	const struct dirent *entry;
	DIR *dir = found ? NULL : opendir(device);

	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && has_word(device, entry->d_name, file, word);
	if (dir)
		closedir(dir);
	return found;
}

static bool disk_is(const char *folder, unsigned int deep);

/* Any of the disks that a disk is on top of. */
static bool below_is(const char *disk, unsigned int deep)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%.*s/slaves", PATH_MAX - 8, disk);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.*s/slaves/%s", PATH_MAX - NAME_MAX - 9, disk,
			 entry->d_name);
		found = disk_is(path, deep);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* By its controller or subsystem, by the disk of a partition, or by the disks below it. */
static bool disk_is(const char *folder, unsigned int deep)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/device", PATH_MAX - 8, folder);
	if (annex_emu_ctrl_is(path, "transport", "tcp"))
		return true;
	if (!deep)
		return false;
	snprintf(path, sizeof(path), "%.*s/partition", PATH_MAX - 11, folder);
	if (access(path, F_OK))
		return below_is(folder, deep - 1);
	snprintf(path, sizeof(path), "%.*s/..", PATH_MAX - 4, folder);
	return disk_is(path, deep - 1);
}

bool annex_emu_over_tcp(const char *root, const struct stat *st)
{
	bool node = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
	dev_t dev = node ? st->st_rdev : st->st_dev;
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/sys/dev/%s/%u:%u", root,
			S_ISCHR(st->st_mode) ? "char" : "block", major(dev),
			minor(dev)) < (int)sizeof(path) &&
	       disk_is(path, DEEP);
}
