/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/annex/ADDRESS: the character device of a device that is bound to the module.
 */
#ifndef ANNEX_NODE_H
#define ANNEX_NODE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/pci.h>

/**
 * struct annex_node_type - A kind of character device.
 * @ops: file operations.
 * @groups: attributes in sysfs.
 * @release: calls annex_node_exit(), and frees the structure that contains @dev.
 */
struct annex_node_type {
	const struct file_operations *ops;
	const struct attribute_group **groups;
	void (*release)(struct device *dev);
};

/*
 * annex_node_init() - Initialise a device for cdev_device_add(), with a minor number and a name. If
 * this fails, release() is not called.
 */
int annex_node_init(struct device *dev, struct cdev *cdev, struct pci_dev *pdev,
		    const struct annex_node_type *type);
/* annex_node_exit() - Free the minor number, in release(). */
void annex_node_exit(struct device *dev);

int annex_nodes_init(void);
void annex_nodes_exit(void);

#endif
