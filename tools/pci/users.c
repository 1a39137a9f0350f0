// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "memory.h"
#include "tools/common/sysfs.h"
#include "users.h"

static int oom(void)
{
	return err_set(-ENOMEM, "out of memory");
}

static int add_user(struct users *u, const struct user *user)
{
	struct user *grown;

	for (unsigned int i = 0; i < u->n; i++)
		if (u->user[i].kind == user->kind && u->user[i].pid == user->pid &&
		    !strcmp(u->user[i].name, user->name) &&
		    !strcmp(u->user[i].device, user->device))
			return 0;
	grown = realloc(u->user, (u->n + 1) * sizeof(*grown));
	if (!grown)
		return oom();
	u->user = grown;
	u->user[u->n++] = *user;
	return 0;
}

static int add_block(struct users *u, const char *name, const char *label, bool disk)
{
	struct users_block *grown, *b;

	for (unsigned int i = 0; i < u->n_blocks; i++)
		if (!strcmp(u->block[i].name, name))
			return 0;
	grown = realloc(u->block, (u->n_blocks + 1) * sizeof(*grown));
	if (!grown)
		return oom();
	u->block = grown;
	b = &grown[u->n_blocks++];
	memset(b, 0, sizeof(*b));
	snprintf(b->name, sizeof(b->name), "%s", name);
	snprintf(b->label, sizeof(b->label), "%s", label);
	b->disk = disk;
	return 0;
}

/* An entry of annex_disk_walk(). */
static int add_entry(const struct annex_disk_entry *entry, void *arg)
{
	struct users *u = arg;
	struct user user = {};

	if (entry->use == ANNEX_DISK_NODE)
		return add_block(u, entry->device, entry->name, false);
	user.kind = (enum user_kind)entry->use;
	snprintf(user.device, sizeof(user.device), "%s", entry->device);
	snprintf(user.name, sizeof(user.name), "%s", entry->name);
	return add_user(u, &user);
}

static int add_disk(const char *root, struct users *u, const char *name)
{
	int err = add_block(u, name, "", true);

	if (!err)
		err = annex_disk_walk(root, name, add_entry, u);
	return err ? err_lib(err, "%s", name) : 0;
}

/*
 * Add a namespace in a controller's folder. Where the kernel knows several paths to it, the folder
 * has the hidden disk nvme0c1n1 of one path; programs use nvme0n1.
 */
static int add_namespace(const char *root, struct users *u, const char *name)
{
	char head[64];
	int subsystem, path, ns;

	if (!strncmp(name, "ng", 2))
		return add_block(u, name, "", false);
	if (sscanf(name, "nvme%dc%dn%d", &subsystem, &path, &ns) == 3)
		snprintf(head, sizeof(head), "nvme%dn%d", subsystem, ns);
	else if (sscanf(name, "nvme%dn%d", &subsystem, &ns) == 2)
		snprintf(head, sizeof(head), "%s", name);
	else
		return 0;
	return add_disk(root, u, head);
}

static int add_namespaces(const char *root, struct users *u, const struct pcidev *d)
{
	struct sysfs_dir ctrl, dir;
	int err = 0;

	sysfs_dir(&ctrl, root, "sys/bus/pci/devices/%s/nvme", d->addr);
	for (unsigned int c = 0; c < ctrl.n && !err; c++) {
		err = add_block(u, ctrl.name[c], "", false);
		sysfs_dir(&dir, root, "sys/bus/pci/devices/%s/nvme/%s", d->addr, ctrl.name[c]);
		for (unsigned int i = 0; i < dir.n && !err; i++)
			err = add_namespace(root, u, dir.name[i]);
		sysfs_dir_free(&dir);
	}
	sysfs_dir_free(&ctrl);
	return err;
}

/* A region that is committed; where it has become devdax, that device and its driver. */
static int add_region(const char *root, struct users *u, const char *mem, const char *region)
{
	struct user dax = {.kind = USER_DAX}, user = {.kind = USER_REGION};
	struct sysfs_dir dir;
	int err = 0;

	sysfs_dir(&dir, root, "sys/bus/cxl/devices/%s/dax_%s", region, region);
	for (unsigned int i = 0; i < dir.n && !err; i++) {
		if (!region_is_dax(dir.name[i]))
			continue;
		err = add_block(u, dir.name[i], "", false);
		snprintf(dax.device, sizeof(dax.device), "%s", dir.name[i]);
		if (!err && sysfs_link(dax.name, sizeof(dax.name), root,
				       "sys/bus/cxl/devices/%s/dax_%s/%s/driver", region, region,
				       dir.name[i]))
			err = add_user(u, &dax);
	}
	sysfs_dir_free(&dir);
	snprintf(user.device, sizeof(user.device), "%s", mem);
	snprintf(user.name, sizeof(user.name), "%s", region);
	return err ? err : add_user(u, &user);
}

static int add_memory(const char *root, struct users *u, const struct pcidev *d)
{
	char mem[REGION_NAME], node[REGION_NAME + 4];
	struct region_list regions;
	int err;

	if (!region_memdev(root, d->addr, mem))
		return 0;
	snprintf(node, sizeof(node), "cxl/%s", mem);
	err = add_block(u, node, "", false);
	if (!err)
		err = region_list(root, mem, &regions);
	if (err)
		return err;
	for (unsigned int i = 0; i < regions.n && !err; i++)
		err = add_region(root, u, mem, regions.name[i]);
	region_list_free(&regions);
	return err;
}

static int add_blocks(const char *root, struct users *u, const struct pcidev *d)
{
	char node[PCIDEV_ADDR + 8];
	int err;

	snprintf(node, sizeof(node), "annex/%s", d->addr);
	err = add_block(u, node, "", false);
	if (err)
		return err;
	return d->kind == PCIDEV_NVME ? add_namespaces(root, u, d) : add_memory(root, u, d);
}

/* Users that annex.ko counts and no process shows: dma-bufs that were passed on, held pages. */
static int add_count(const char *root, struct users *u, const struct pcidev *d)
{
	struct user user = {.kind = USER_COUNT};
	long long n;

	n = sysfs_number(0, root, "sys/class/annex/annex!%s/hdm/users", d->addr);
	if (n <= 0 || u->n)
		return 0;
	user.count = (unsigned int)n;
	snprintf(user.device, sizeof(user.device), "annex/%s", d->addr);
	return add_user(u, &user);
}

static bool is_device(const struct users_block *b, const char *path)
{
	const char *name = path;

	if (strncmp(path, "/dev/", 5) != 0)
		return false;
	name += 5;
	if (!strcmp(name, b->name))
		return true;
	return b->label[0] && !strncmp(name, "mapper/", 7) && !strcmp(name + 7, b->label);
}

/* A file that a process has open. */
static int check_open(const char *root, const char *pid, const char *file, struct users *users,
		      unsigned int n)
{
	struct user user = {.kind = USER_PROCESS, .pid = (int)strtol(pid, NULL, 10)};

	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < users[i].n_blocks; k++) {
			const struct users_block *b = &users[i].block[k];

			if (!is_device(b, file))
				continue;
			sysfs_text(user.name, sizeof(user.name), root, "proc/%s/comm", pid);
			snprintf(user.device, sizeof(user.device), "%s", b->name);
			if (add_user(&users[i], &user))
				return -ENOMEM;
		}
	}
	return 0;
}

/* A file that a process has mapped is in use even after it was closed: proc(5), maps. */
static int check_maps(const char *root, const char *pid, struct users *users, unsigned int n)
{
	char path[SYSFS_PATH], *line = NULL, *file;
	size_t size = 0;
	int err = 0;
	FILE *f;

	sysfs_path(path, root, "proc/%s/maps", pid);
	f = fopen(path, "re");
	while (f && !err && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		file = strstr(line, " /dev/");
		if (file)
			err = check_open(root, pid, file + 1, users, n);
	}
	free(line);
	if (f)
		fclose(f);
	return err;
}

static int check_process(const char *root, const char *pid, struct users *users, unsigned int n)
{
	char path[SYSFS_PATH], to[256];
	struct sysfs_dir fds;
	ssize_t len;
	int err = 0;

	sysfs_path(path, root, "proc/%s/fd", pid);
	if (access(path, R_OK | X_OK) && errno == EACCES)
		for (unsigned int i = 0; i < n; i++)
			users[i].partial = true;
	sysfs_dir(&fds, root, "proc/%s/fd", pid);
	for (unsigned int i = 0; i < fds.n && !err; i++) {
		sysfs_path(path, root, "proc/%s/fd/%s", pid, fds.name[i]);
		len = readlink(path, to, sizeof(to) - 1);
		if (len <= 0)
			continue;
		to[len] = '\0';
		if (!strncmp(to, "/dev/", 5))
			err = check_open(root, pid, to, users, n);
	}
	sysfs_dir_free(&fds);
	return err ? err : check_maps(root, pid, users, n);
}

static int check_processes(const char *root, struct users *users, unsigned int n)
{
	struct sysfs_dir dir;
	char own[16] = "";
	int err = 0;

	if (!*root)
		snprintf(own, sizeof(own), "%d", (int)getpid());
	sysfs_dir(&dir, root, "proc");
	for (unsigned int i = 0; i < dir.n && !err; i++)
		/* Skip this process: its inherited files are found with its parents. */
		if (isdigit((unsigned char)dir.name[i][0]) && strcmp(dir.name[i], own) != 0)
			err = check_process(root, dir.name[i], users, n);
	sysfs_dir_free(&dir);
	return err;
}

/* In the order in which uses must end: a mount before the holder that it is on. */
static int by_kind(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

int users_find(const char *root, const struct pcidev *devs, unsigned int n, struct users *users)
{
	int err = 0;

	memset(users, 0, n * sizeof(*users));
	for (unsigned int i = 0; i < n && !err; i++)
		err = add_blocks(root, &users[i], &devs[i]);
	if (!err && n)
		err = check_processes(root, users, n);
	for (unsigned int i = 0; i < n && !err; i++)
		err = add_count(root, &users[i], &devs[i]);
	for (unsigned int i = 0; i < n && !err; i++)
		if (users[i].n)
			qsort(users[i].user, users[i].n, sizeof(*users[i].user), by_kind);
	if (err)
		users_free(users, n);
	return err;
}

void users_free(struct users *users, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free(users[i].block);
		free(users[i].user);
		memset(&users[i], 0, sizeof(users[i]));
	}
}

const char *user_kind(const struct user *u)
{
	static const char *const kinds[] = {"mount", "swap",   "holder", "process",
					    "dax",   "region", "count"};

	return kinds[u->kind];
}

void user_words(const struct user *u, char *buf, size_t size)
{
	switch (u->kind) {
	case USER_MOUNT:
		snprintf(buf, size, "%s on %s", u->name, u->device);
		break;
	case USER_SWAP:
		snprintf(buf, size, "swap on %s", u->device);
		break;
	case USER_HOLDER:
	case USER_REGION:
		snprintf(buf, size, "%s on %s", u->name, u->device);
		break;
	case USER_DAX:
		snprintf(buf, size, "%s with driver %s", u->device, u->name);
		break;
	case USER_COUNT:
		snprintf(buf, size, "%u in the module", u->count);
		break;
	case USER_PROCESS:
		snprintf(buf, size, "process %d (%s)", u->pid, u->name);
		break;
	}
	/* A name must not send control sequences to the terminal. */
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}
