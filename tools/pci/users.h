/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The users of a device: file systems, swap and block devices on top of a controller's namespaces;
 * processes that have any of its nodes open or mapped, its annex device among them; regions that
 * the kernel's drivers made of CXL memory, and what annex.ko counts beside.
 */
#ifndef TOOLS_PCI_USERS_H
#define TOOLS_PCI_USERS_H

#include <annex/disk.h>
#include <stdbool.h>
#include <stddef.h>
#include "tools/common/pcidev.h"

/* In the order in which they must end. */
enum user_kind {
	USER_MOUNT = ANNEX_DISK_MOUNT,
	USER_SWAP = ANNEX_DISK_SWAP,
	USER_HOLDER = ANNEX_DISK_HOLDER,
	USER_PROCESS,
	USER_DAX,
	USER_REGION,
	USER_COUNT
};

struct user {
	enum user_kind kind;
	char device[64];    /* block device, node or memory device that is used */
	char name[160];     /* mount point, holder, command of the process, driver, region */
	int pid;            /* of a process */
	unsigned int count; /* users in the module whose processes are not seen */
};

/* struct users_block - A node: of a namespace, a partition, a stacked device, or memory. */
struct users_block {
	char name[64];
	char label[128]; /* of the device mapper */
	bool disk;       /* a whole namespace */
};

struct users {
	struct users_block *block;
	unsigned int n_blocks;
	struct user *user;
	unsigned int n;
	bool partial; /* processes of other users could not be looked at */
};

/* users_find() - Of each of @n devices into the array @users, in the order in which to end them. */
int users_find(const char *root, const struct pcidev *devs, unsigned int n, struct users *users);
void users_free(struct users *users, unsigned int n);

/* user_words() - A user in words, as "/home on nvme0n1p2". */
void user_words(const struct user *u, char *buf, size_t size);

/* user_kind() - Its kind as JSON has it. */
const char *user_kind(const struct user *u);

#endif
