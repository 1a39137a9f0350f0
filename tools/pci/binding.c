// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/cleanup.h"
#include "tools/common/error.h"
#include "binding.h"
#include "tools/common/sysfs.h"

/* The slowest device stops within this time; a device that has used it up gets AGAIN_MS more. */
#define WAIT_MS 60000
#define AGAIN_MS 3000

/*
 * struct change - Writes on behalf of one device. A stuck device blocks reads of its attributes
 * too, so the values to restore are noted when they are replaced.
 */
struct change {
	const char *addr;
	int ms;
	char why[256];   /* how the first write that failed did so */
	char before[40]; /* driver_override at first */
	bool overridden;
};

static int fail(struct change *c, int err, const char *what)
{
	const char *why = strerror(-err);

	if (err == -ETIMEDOUT) {
		why = "the kernel did not finish in time: see dmesg";
		c->ms = AGAIN_MS;
	}
	if (!c->why[0])
		snprintf(c->why, sizeof(c->why), "%s: %s", what, why);
	return err;
}

static int put(struct change *c, const char *path, const char *text, const char *what)
{
	int err = sysfs_write(path, text, c->ms);

	return err ? fail(c, err, what) : 0;
}

static int detach(struct change *c, const char *driver)
{
	char path[SYSFS_PATH], what[80];

	if (!*driver)
		return 0;
	snprintf(what, sizeof(what), "cannot unbind it from %s", driver);
	sysfs_path(path, "", "sys/bus/pci/drivers/%s/unbind", driver);
	return put(c, path, c->addr, what);
}

/* "" lets any driver take it again. */
static int override(struct change *c, const char *driver)
{
	char path[SYSFS_PATH], text[48];

	c->overridden = true;
	snprintf(text, sizeof(text), "%s\n", driver);
	sysfs_path(path, "", "sys/bus/pci/devices/%s/driver_override", c->addr);
	return put(c, path, text, "cannot set its driver_override");
}

static int remember(struct change *c)
{
	char path[SYSFS_PATH];
	int err;

	sysfs_path(path, "", "sys/bus/pci/devices/%s/driver_override", c->addr);
	err = sysfs_read(path, c->before, sizeof(c->before), c->ms);
	if (!strcmp(c->before, "(null)"))
		c->before[0] = '\0';
	return err ? fail(c, err, "cannot read its driver_override") : 0;
}

static void driver_now(const struct change *c, char *driver, size_t size)
{
	sysfs_link(driver, size, "", "sys/bus/pci/devices/%s/driver", c->addr);
}

/* Whether a driver takes it shows in its link, not here: only no answer at all is a failure. */
static int probe(struct change *c)
{
	char path[SYSFS_PATH];
	int err;

	sysfs_path(path, "", "sys/bus/pci/drivers_probe");
	err = sysfs_write(path, c->addr, c->ms);
	return err == -ETIMEDOUT || err == -EACCES ? fail(c, err, "cannot probe for a driver") : 0;
}

/* Everything as it was, of what @done has changed; ends with the first write that is stuck. */
static int put_back(struct change *c, const struct change *done, const struct pcidev *was)
{
	char path[SYSFS_PATH], driver[32];
	int err = 0;

	driver_now(c, driver, sizeof(driver));
	if (strcmp(driver, was->driver) != 0)
		err = detach(c, driver);
	if (!err && done->overridden)
		err = override(c, done->before);
	if (err != -ETIMEDOUT && *was->driver)
		err = probe(c);
	driver_now(c, driver, sizeof(driver));
	if (err != -ETIMEDOUT && *was->driver && !*driver) {
		sysfs_path(path, "", "sys/bus/pci/drivers/%s/bind", was->driver);
		put(c, path, c->addr, "cannot bind it again");
		driver_now(c, driver, sizeof(driver));
	}
	return err == -ETIMEDOUT || strcmp(driver, was->driver) != 0 ? -EIO : 0;
}

/* Undo, and say why. */
static int give_up(const struct change *c, const struct pcidev *was, int err)
{
	struct change back = {.addr = c->addr, .ms = c->ms};

	if (!put_back(&back, c, was))
		return err_set(err, "%s: %s", c->addr, c->why);
	return err_set(err, "%s: %s; and it could not be returned to %s (%s)%s", c->addr, c->why,
		       *was->driver ? was->driver : "no driver",
		       back.why[0] ? back.why : "the driver did not bind it: see dmesg",
		       strcmp(was->driver, pcidev_annex(was))
			       ? ": annex unbind once the kernel answers"
			       : "");
}

/*
 * struct claims - Namespaces kept from other users. An exclusive open of a disk claims its
 * partitions too, so each disk is enough.
 */
struct claims {
	int *fd;
	unsigned int n;
};

static void claims_drop(struct claims *claims)
{
	while (claims->n)
		close(claims->fd[--claims->n]);
	free(claims->fd);
	claims->fd = NULL;
}

static int claims_take(struct claims *claims, const char *addr, const struct users *users)
{
	char path[SYSFS_PATH];
	int fd;

	claims->n = 0;
	claims->fd = calloc(users->n_blocks + 1, sizeof(*claims->fd));
	if (!claims->fd)
		return err_set(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < users->n_blocks; i++) {
		if (!users->block[i].disk)
			continue;
		sysfs_path(path, "", "dev/%s", users->block[i].name);
		fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
		if (fd < 0 && errno == EBUSY)
			return err_set(-EBUSY,
				       "%s is in use: %s or a partition of it is open "
				       "exclusively: lsblk %s shows its user, stop that first",
				       addr, path, path);
		if (fd < 0)
			return err_sys("%s: cannot see whether %s is in use", addr, path);
		claims->fd[claims->n++] = fd;
	}
	return 0;
}

static int take(struct pcidev *d, struct claims *claims)
{
	struct change c = {.addr = d->addr, .ms = WAIT_MS};
	char driver[32] = "";
	int err = remember(&c);

	if (!err)
		err = detach(&c, d->driver);
	claims_drop(claims);
	if (!err)
		err = override(&c, pcidev_annex(d));
	if (!err)
		err = probe(&c);
	if (!err)
		driver_now(&c, driver, sizeof(driver));
	if (!err && strcmp(driver, pcidev_annex(d)) != 0) {
		snprintf(c.why, sizeof(c.why), "annex.ko did not bind it: see dmesg");
		err = -EIO;
	}
	if (err)
		return give_up(&c, d, err);
	pcidev_facts("", d);
	return 0;
}

int binding_take(struct pcidev *d, const struct users *users)
{
	struct claims claims;
	int err;

	/* An interrupt waits until the device has a driver: every step ends in its time. */
	cleanup_hold();
	err = claims_take(&claims, d->addr, users);
	if (!err)
		err = take(d, &claims);
	claims_drop(&claims);
	cleanup_release();
	return err;
}

static int give(struct pcidev *d)
{
	struct change c = {.addr = d->addr, .ms = WAIT_MS};
	char driver[32];
	int err = remember(&c);

	if (!err)
		err = detach(&c, d->driver);
	if (!err)
		err = override(&c, "");
	if (!err)
		err = probe(&c);
	if (err)
		return give_up(&c, d, err);
	driver_now(&c, driver, sizeof(driver));
	if (!*driver || !strcmp(driver, pcidev_annex(d)))
		return err_set(-EIO, "%s left annex, but no driver bound it: see dmesg", d->addr);
	pcidev_facts("", d);
	return 0;
}

int binding_return(struct pcidev *d)
{
	int err;

	cleanup_hold();
	err = give(d);
	cleanup_release();
	return err;
}
