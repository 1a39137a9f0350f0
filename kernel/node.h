/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/annex/ADDRESS: the character device of whatever is bound to the module.
 */
#ifndef ANNEX_NODE_H
#define ANNEX_NODE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/pci.h>

/**
 * struct annex_node_type - A kind of devices, with files of its own.
 * @ops: of its files.
 * @groups: its attributes.
 * @release: frees what @dev is in, after annex_node_exit().
 */
struct annex_node_type {
	const struct file_operations *ops;
	const struct attribute_group **groups;
	void (*release)(struct device *dev);
};

/*
 * annex_node_init() - A device with a number and a name, for cdev_device_add(). When it fails @dev
 * is as it was, and release() does not come.
 */
int annex_node_init(struct device *dev, struct cdev *cdev, struct pci_dev *pdev,
		    const struct annex_node_type *type);
/* annex_node_exit() - Give the number back, in release(). */
void annex_node_exit(struct device *dev);

int annex_nodes_init(void);
void annex_nodes_exit(void);

#endif
