// SPDX-License-Identifier: GPL-2.0
/*
 * Annex: NVMe controllers whose queues belong to user space, and CXL memory.
 *
 * The table of devices is empty: a controller comes here only when somebody with the right to says
 * so (driver_override), never because the module was loaded.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include "ctrl.h"
#include "cxl.h"
#include "hdm.h"
#include "node.h"
#include "owner.h"
#include "range.h"
#include "sysfs.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static void free_ctrl(struct device *dev)
{
	struct annex_ctrl *ctrl = container_of(dev, struct annex_ctrl, dev);

	annex_node_exit(dev);
	__free_page(ctrl->sink);
	kfree(ctrl);
}

static const struct annex_node_type ctrl_type = {
	.ops = &annex_owner_ops,
	.groups = annex_sysfs_groups,
	.release = free_ctrl,
};

/* The character device's half, which its last user frees. */
static struct annex_ctrl *make_ctrl(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = kzalloc(sizeof(*ctrl), GFP_KERNEL);
	int err = -ENOMEM;

	if (!ctrl)
		return ERR_PTR(-ENOMEM);
	ctrl->sink = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (ctrl->sink)
		err = annex_node_init(&ctrl->dev, &ctrl->cdev, pdev, &ctrl_type);
	if (err) {
		if (ctrl->sink)
			__free_page(ctrl->sink);
		kfree(ctrl);
		return ERR_PTR(err);
	}
	ctrl->pdev = pdev;
	mutex_init(&ctrl->lock);
	init_rwsem(&ctrl->view);
	init_waitqueue_head(&ctrl->wait);
	return ctrl;
}

static int enable_pci(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;
	int err = pci_enable_device_mem(pdev);

	if (err)
		return err;
	err = pci_request_mem_regions(pdev, "annex");
	if (err)
		goto disable;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto release;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pdev->dev, ULONG_MAX); /* or the DMA layer leaves gaps */
	err = -ENOMEM;
	ctrl->bar_bytes = pci_resource_len(pdev, 0);
	if (pci_resource_flags(pdev, 0) & IORESOURCE_MEM)
		ctrl->bar = pci_iomap(pdev, 0, 0);
	if (!ctrl->bar)
		goto release;
	return 0;
release:
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
	return err;
}

static void disable_pci(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;

	pci_iounmap(pdev, ctrl->bar);
	pci_release_mem_regions(pdev);
	pci_disable_device(pdev);
}

static void take_vectors(struct annex_ctrl *ctrl)
{
	int n = pci_alloc_irq_vectors(ctrl->pdev, 2, ctrl->queues + 1, PCI_IRQ_MSIX);

	ctrl->vectors = n > 0 ? n : 0; /* without any, completions are polled for */
}

static int ctrl_probe(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl;
	int err;

	if (PAGE_SIZE != ANNEX_PAGE) {
		pci_err(pdev, "annex: needs pages of 4 KiB, to keep doorbells apart\n");
		return -EOPNOTSUPP;
	}
	ctrl = make_ctrl(pdev);
	if (IS_ERR(ctrl))
		return PTR_ERR(ctrl);
	err = annex_ctrl_domain(ctrl);
	if (!err)
		err = annex_ctrl_alone(ctrl);
	if (!err)
		err = enable_pci(ctrl);
	if (err)
		goto put;
	mutex_lock(&ctrl->lock);
	err = annex_ctrl_start(ctrl);
	mutex_unlock(&ctrl->lock);
	if (err)
		goto stop;
	take_vectors(ctrl);
	pci_set_drvdata(pdev, ctrl);
	err = cdev_device_add(&ctrl->cdev, &ctrl->dev);
	if (err)
		goto vectors;
	dev_info(&ctrl->dev, "%u queue pairs of %llu entries, %s\n", ctrl->queues,
		 NVME_CAP_MQES(ctrl->cap) + 1, ctrl->iommu ? "behind an IOMMU" : "no IOMMU");
	return 0;
vectors:
	if (ctrl->vectors)
		pci_free_irq_vectors(pdev);
stop:
	annex_owner_evict(ctrl);
	disable_pci(ctrl);
	pci_err(pdev, "annex: the controller cannot be used: error %d\n", err);
put:
	put_device(&ctrl->dev);
	return err;
}

/* driver_override matches whatever it is written to. */
static int annex_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	if (pdev->class == PCI_CLASS_STORAGE_EXPRESS)
		return ctrl_probe(pdev);
	if (pdev->class == CXL_CLASS_MEMORY)
		return annex_hdm_probe(pdev);
	pci_err(pdev, "annex: not an NVMe controller, nor CXL memory (class %06x)\n", pdev->class);
	return -ENODEV;
}

static void ctrl_remove(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	cdev_device_del(&ctrl->cdev, &ctrl->dev);
	annex_owner_evict(ctrl);
	if (ctrl->vectors)
		pci_free_irq_vectors(pdev);
	disable_pci(ctrl);
	put_device(&ctrl->dev);
}

static void annex_remove(struct pci_dev *pdev)
{
	if (pdev->class == CXL_CLASS_MEMORY)
		annex_hdm_remove(pdev);
	else
		ctrl_remove(pdev);
}

/* remove may still come. CXL memory keeps nothing that must end before the machine does. */
static void annex_shutdown(struct pci_dev *pdev)
{
	if (pdev->class != CXL_CLASS_MEMORY)
		annex_owner_evict(pci_get_drvdata(pdev));
}

static void reset_prepare(struct pci_dev *pdev)
{
	if (pdev->class == PCI_CLASS_STORAGE_EXPRESS)
		annex_owner_pause(pci_get_drvdata(pdev));
}

static void reset_done(struct pci_dev *pdev)
{
	if (pdev->class == PCI_CLASS_STORAGE_EXPRESS)
		annex_owner_resume(pci_get_drvdata(pdev));
}

/* A reset that somebody else asks for, through sysfs. CXL memory outlives it. */
static const struct pci_error_handlers resets = {
	.reset_prepare = reset_prepare,
	.reset_done = reset_done,
};

static const struct pci_device_id no_ids[] = {{}};

static struct pci_driver driver = {
	.name = "annex",
	.id_table = no_ids,
	.probe = annex_probe,
	.remove = annex_remove,
	.shutdown = annex_shutdown,
	.err_handler = &resets,
};

static int __init annex_init(void)
{
	int err = annex_nodes_init();

	if (err)
		return err;
	err = annex_ranges_init();
	if (err)
		goto nodes;
	err = pci_register_driver(&driver);
	if (err)
		goto ranges;
	return 0;
ranges:
	annex_ranges_exit();
nodes:
	annex_nodes_exit();
	return err;
}

static void __exit annex_exit(void)
{
	pci_unregister_driver(&driver);
	annex_ranges_exit();
	annex_nodes_exit();
}

module_init(annex_init);
module_exit(annex_exit);
MODULE_DESCRIPTION("NVMe controllers whose queues belong to user space, and CXL memory");
MODULE_LICENSE("GPL");
