// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices /dev/annex/ADDRESS. Owns the class and the minor numbers.
 */
#include <linux/idr.h>
#include "compat.h"
#include "node.h"

#define MINORS 1024

static struct class *annex_class;
static dev_t first_minor;
static DEFINE_IDA(minors);

int annex_node_init(struct device *dev, struct cdev *cdev, struct pci_dev *pdev,
		    const struct annex_node_type *type)
{
	int minor = ida_alloc_max(&minors, MINORS - 1, GFP_KERNEL);

	if (minor < 0)
		return minor;
	if (dev_set_name(dev, "annex!%s", pci_name(pdev))) {
		ida_free(&minors, minor);
		return -ENOMEM;
	}
	device_initialize(dev);
	dev->class = annex_class;
	dev->parent = &pdev->dev;
	dev->devt = MKDEV(MAJOR(first_minor), MINOR(first_minor) + minor);
	dev->groups = type->groups;
	dev->release = type->release;
	cdev_init(cdev, type->ops);
	cdev->owner = type->ops->owner;
	return 0;
}

void annex_node_exit(struct device *dev)
{
	ida_free(&minors, MINOR(dev->devt) - MINOR(first_minor));
}

int annex_nodes_init(void)
{
	int err;

	annex_class = annex_class_create("annex");
	if (IS_ERR(annex_class))
		return PTR_ERR(annex_class);
	err = alloc_chrdev_region(&first_minor, 0, MINORS, "annex");
	if (err)
		class_destroy(annex_class);
	return err;
}

void annex_nodes_exit(void)
{
	unregister_chrdev_region(first_minor, MINORS);
	class_destroy(annex_class);
	ida_destroy(&minors);
}
