// SPDX-License-Identifier: GPL-2.0
/*
 * The driver of NVMe controllers, and their counters in /sys/class/annex/NAME/count/.
 *
 * The table of devices is empty: the driver binds to a controller only by driver_override, never
 * because the module was loaded.
 */
#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include "ctrl.h"
#include "node.h"
#include "owner.h"

#define RECOVERY (60 * HZ) /* longest recovery from an error that was not fatal */

/* Virtual functions that are bound, whichever driver the physical function has. */
static DEFINE_MUTEX(functions_lock);
static LIST_HEAD(functions); /* of struct annex_ctrl (functions_lock) */

static struct annex_count *driver_count_of(struct device *dev)
{
	return &container_of(dev, struct annex_ctrl, dev)->count;
}

#define COUNTER(name)                                                                              \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)   \
	{                                                                                          \
		return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&driver_count_of(dev)->name)); \
	}                                                                                          \
	static DEVICE_ATTR_RO(name)

COUNTER(opens);
COUNTER(maps);
COUNTER(unmaps);
COUNTER(creates);
COUNTER(deletes);
COUNTER(resets);
COUNTER(refusals);

static struct attribute *counters[] = {
	&dev_attr_opens.attr,    &dev_attr_maps.attr,
	&dev_attr_unmaps.attr,   &dev_attr_creates.attr,
	&dev_attr_deletes.attr,  &dev_attr_resets.attr,
	&dev_attr_refusals.attr, NULL,
};

static const struct attribute_group count_group = {.name = "count", .attrs = counters};
static const struct attribute_group *driver_groups[] = {&count_group, NULL};

static void driver_free(struct device *dev)
{
	struct annex_ctrl *ctrl = container_of(dev, struct annex_ctrl, dev);

	annex_node_exit(dev);
	__free_page(ctrl->dummy);
	kfree(ctrl->saved);
	kfree(ctrl);
}

static const struct annex_node_type ctrl_node = {
	.ops = &annex_owner_ops,
	.groups = driver_groups,
	.release = driver_free,
};

enum driver_quirk {
	SLOW_STOP = 1,   /* fails if CSTS is read within 2.3 s after CC.EN was cleared */
	SHORT_ADDRESSES, /* ignores bits of addresses from 48 on */
	LONG_ENTRIES,    /* has submission queue entries of 128 bytes */
};

/* Controllers with quirks, as the kernel's own driver knows them. */
static const struct pci_device_id quirks[] = {
	{PCI_DEVICE(0x1bb1, 0x0100), .driver_data = SLOW_STOP},       /* Seagate Nytro */
	{PCI_DEVICE(0x1c58, 0x0003), .driver_data = SLOW_STOP},       /* HGST SN100 */
	{PCI_DEVICE(0x1c58, 0x0023), .driver_data = SLOW_STOP},       /* WDC SN200 */
	{PCI_DEVICE(0x1c5f, 0x0540), .driver_data = SLOW_STOP},       /* Memblaze Pblaze4 */
	{PCI_DEVICE(0x144d, 0xa821), .driver_data = SLOW_STOP},       /* Samsung PM1725 */
	{PCI_DEVICE(0x144d, 0xa822), .driver_data = SLOW_STOP},       /* Samsung PM1725a */
	{PCI_DEVICE(0x1d0f, 0x0061), .driver_data = SHORT_ADDRESSES}, /* Amazon */
	{PCI_DEVICE(0x1d0f, 0x0065), .driver_data = SHORT_ADDRESSES},
	{PCI_DEVICE(0x1d0f, 0x8061), .driver_data = SHORT_ADDRESSES},
	{PCI_DEVICE(0x1d0f, 0xcd00), .driver_data = SHORT_ADDRESSES},
	{PCI_DEVICE(0x1d0f, 0xcd01), .driver_data = SHORT_ADDRESSES},
	{PCI_DEVICE(0x1d0f, 0xcd02), .driver_data = SHORT_ADDRESSES},
	{PCI_DEVICE(0x106b, 0x2005), .driver_data = LONG_ENTRIES}, /* Apple */
	{},
};

static bool driver_has(struct pci_dev *pdev, enum driver_quirk quirk)
{
	const struct pci_device_id *id = pci_match_id(quirks, pdev);

	return id && id->driver_data == quirk;
}

/* The state of the character device, which its last reference frees. */
static struct annex_ctrl *driver_make(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = kzalloc(sizeof(*ctrl), GFP_KERNEL);
	int err = -ENOMEM;

	if (!ctrl)
		return ERR_PTR(-ENOMEM);
	ctrl->dummy = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (ctrl->dummy)
		err = annex_node_init(&ctrl->dev, &ctrl->cdev, pdev, &ctrl_node);
	if (err) {
		if (ctrl->dummy)
			__free_page(ctrl->dummy);
		kfree(ctrl);
		return ERR_PTR(err);
	}
	ctrl->pdev = pdev;
	ctrl->slow_stop = driver_has(pdev, SLOW_STOP);
	mutex_init(&ctrl->lock);
	init_rwsem(&ctrl->view);
	INIT_LIST_HEAD(&ctrl->functions);
	init_waitqueue_head(&ctrl->wait);
	annex_event_init(ctrl);
	annex_exports_init(&ctrl->exports);
	return ctrl;
}

static int driver_enable_pci(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;
	int err = pci_enable_device_mem(pdev);

	if (err)
		return err;
	pci_intx(pdev, 0); /* the admin queue, which owners can ring, would hold a shared line */
	pci_clear_master(pdev); /* until the controller is stopped */
	pci_save_state(pdev);
	ctrl->saved = pci_store_saved_state(pdev);
	err = -ENOMEM;
	if (!ctrl->saved)
		goto disable;
	err = pci_request_mem_regions(pdev, "annex");
	if (err)
		goto disable;
	err = dma_set_mask_and_coherent(&pdev->dev,
					DMA_BIT_MASK(driver_has(pdev, SHORT_ADDRESSES) ? 48 : 64));
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
	err = annex_space_init(ctrl);
	if (!err)
		return 0;
	pci_iounmap(pdev, ctrl->bar);
	ctrl->bar = NULL;
release:
	pci_release_mem_regions(pdev);
disable:
	pci_intx(pdev, 1);
	pci_disable_device(pdev);
	return err;
}

static void driver_disable_pci(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;

	annex_space_exit(ctrl);
	pci_iounmap(pdev, ctrl->bar);
	pci_release_mem_regions(pdev);
	pci_intx(pdev, 1);
	pci_disable_device(pdev);
}

/* Before the controller is enabled: QEMU's does not use vectors that it gets later. */
static void driver_take_vectors(struct annex_ctrl *ctrl)
{
	int n = pci_alloc_irq_vectors(ctrl->pdev, 2, ANNEX_MAX_QUEUES + 1, PCI_IRQ_MSIX);

	ctrl->vectors = n > 0 ? n : 0; /* without vectors, completions are polled */
	if (ctrl->vectors)
		annex_event_open(ctrl);
}

static void driver_free_vectors(struct annex_ctrl *ctrl)
{
	annex_event_close(ctrl);
	if (ctrl->vectors)
		pci_free_irq_vectors(ctrl->pdev);
}

/* A virtual function is woken after its physical function, which it needs. */
static int driver_join(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;

	if (!pdev->is_virtfn)
		return 0;
	if (!device_link_add(&pdev->dev, &pci_physfn(pdev)->dev, DL_FLAG_STATELESS))
		return -ENOMEM;
	mutex_lock(&functions_lock);
	list_add(&ctrl->functions, &functions);
	mutex_unlock(&functions_lock);
	return 0;
}

static void driver_leave(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;

	if (list_empty(&ctrl->functions))
		return;
	mutex_lock(&functions_lock);
	list_del_init(&ctrl->functions);
	mutex_unlock(&functions_lock);
	device_link_remove(&pdev->dev, &pci_physfn(pdev)->dev);
}

/* driver_override matches devices of any class. */
static int driver_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct annex_ctrl *ctrl;
	int err;

	if (pdev->class != PCI_CLASS_STORAGE_EXPRESS) {
		pci_err(pdev, "annex: not an NVMe controller (class %06x)\n", pdev->class);
		return -ENODEV;
	}
	if (PAGE_SIZE != ANNEX_PAGE) {
		pci_err(pdev, "annex: needs pages of 4 KiB, to keep doorbells apart\n");
		return -EOPNOTSUPP;
	}
	if (pci_num_vf(pdev)) {
		pci_err(pdev, "annex: another driver has left virtual functions\n");
		return -EBUSY;
	}
	if (driver_has(pdev, LONG_ENTRIES)) {
		pci_err(pdev, "annex: its commands have 128 bytes, not 64\n");
		return -EOPNOTSUPP;
	}
	ctrl = driver_make(pdev);
	if (IS_ERR(ctrl))
		return PTR_ERR(ctrl);
	err = driver_enable_pci(ctrl);
	if (err)
		goto put;
	driver_take_vectors(ctrl);
	mutex_lock(&ctrl->lock);
	err = annex_ctrl_start(ctrl);
	ctrl->vectors = min(ctrl->vectors, ctrl->queues + 1);
	mutex_unlock(&ctrl->lock);
	if (err)
		goto stop;
	pci_save_state(pdev); /* restored after a bus error */
	pci_set_drvdata(pdev, ctrl);
	err = driver_join(ctrl);
	if (!err)
		err = cdev_device_add(&ctrl->cdev, &ctrl->dev);
	if (err)
		goto stop;
	dev_info(&ctrl->dev, "%u queue pairs of %llu entries, %s\n", ctrl->queues,
		 NVME_CAP_MQES(ctrl->cap) + 1, ctrl->space.domain ? "behind an IOMMU" : "no IOMMU");
	return 0;
stop:
	driver_leave(ctrl);
	annex_owner_evict(ctrl);
	driver_free_vectors(ctrl);
	driver_disable_pci(ctrl);
	pci_err(pdev, "annex: the controller cannot be used: error %d\n", err);
put:
	put_device(&ctrl->dev);
	return err;
}

/*
 * After a reset: save the state again, because the PCI core's restore has consumed it. After a
 * failed recovery the PCI core has restored empty registers: restore the state of probe.
 */
static void driver_restore(struct annex_ctrl *ctrl)
{
	struct pci_dev *pdev = ctrl->pdev;

	if ((ctrl->asleep || ctrl->gone) && !pci_load_saved_state(pdev, ctrl->saved))
		pci_restore_state(pdev);
	pci_save_state(pdev);
	WRITE_ONCE(ctrl->shaky, 0);
}

static void driver_remove(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	if (pci_num_vf(pdev))
		annex_sriov_configure(pdev, 0);
	driver_leave(ctrl);
	if ((ctrl->asleep || ctrl->gone) && pci_device_is_present(pdev))
		driver_restore(ctrl); /* for the next driver */
	cdev_device_del(&ctrl->cdev, &ctrl->dev);
	annex_owner_evict(ctrl);
	driver_free_vectors(ctrl);
	while (!annex_share_settle(ctrl)) /* the next driver has the same addresses */
		;
	driver_disable_pci(ctrl);
	put_device(&ctrl->dev);
}

/* driver_remove() may still follow. */
static void driver_shutdown(struct pci_dev *pdev)
{
	annex_owner_evict(pci_get_drvdata(pdev));
}

static void driver_set_function(struct annex_ctrl *ctrl, bool sleep)
{
	if (sleep) {
		annex_owner_sleep(ctrl, false);
		return;
	}
	driver_restore(ctrl);
	annex_owner_wake(ctrl);
}

/*
 * The reset of a physical function also clears the registers of its virtual functions. Not under
 * their device locks, which a reset of the whole bus holds.
 */
static void driver_set_functions(struct pci_dev *pdev, bool sleep)
{
	struct annex_ctrl *ctrl;

	mutex_lock(&functions_lock);
	list_for_each_entry(ctrl, &functions, functions)
		if (pci_physfn(ctrl->pdev) == pdev)
			driver_set_function(ctrl, sleep);
	mutex_unlock(&functions_lock);
}

static void driver_reset_prepare(struct pci_dev *pdev)
{
	driver_set_functions(pdev, true);
	annex_owner_pause(pci_get_drvdata(pdev));
}

static void driver_reset_done(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	driver_restore(ctrl);
	annex_owner_resume(ctrl);
	driver_set_functions(pdev, false);
}

static pci_ers_result_t driver_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	/* The link works, and the error may be another device's: go on. */
	if (state == pci_channel_io_normal) {
		WRITE_ONCE(ctrl->shaky, get_jiffies_64() + RECOVERY);
		return PCI_ERS_RESULT_CAN_RECOVER;
	}
	/* Since 6.18 also after an error that was not fatal, if another device has no driver. */
	if (state == pci_channel_io_perm_failure && pci_device_is_present(pdev)) {
		WRITE_ONCE(ctrl->shaky, 0);
		return PCI_ERS_RESULT_DISCONNECT;
	}
	annex_owner_sleep(ctrl, false);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	dev_warn(&ctrl->dev, "PCI error: resetting the controller\n");
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t driver_slot_reset(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	/* Another driver may have asked for the reset after an error that changed nothing here. */
	annex_owner_sleep(ctrl, false);
	driver_restore(ctrl);
	return pci_device_is_present(pdev) ? PCI_ERS_RESULT_RECOVERED : PCI_ERS_RESULT_DISCONNECT;
}

/* Also of an error that is not fatal, after a recovery that failed. */
static void driver_recovered(struct pci_dev *pdev)
{
	struct annex_ctrl *ctrl = pci_get_drvdata(pdev);

	if (ctrl->asleep)
		driver_restore(ctrl);
	WRITE_ONCE(ctrl->shaky, 0);
	annex_owner_wake(ctrl);
}

static const struct pci_error_handlers ctrl_errors = {
	.reset_prepare = driver_reset_prepare,
	.reset_done = driver_reset_done,
	.error_detected = driver_error_detected,
	.slot_reset = driver_slot_reset,
	.resume = driver_recovered,
};

static int driver_suspend(struct device *dev)
{
	annex_owner_sleep(dev_get_drvdata(dev), true);
	return 0;
}

static int driver_resume(struct device *dev)
{
	driver_restore(dev_get_drvdata(dev));
	annex_owner_wake(dev_get_drvdata(dev));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(ctrl_sleep, driver_suspend, driver_resume);

static const struct pci_device_id ctrl_no_ids[] = {{}};

struct pci_driver annex_ctrl_driver = {
	.name = "annex",
	.id_table = ctrl_no_ids,
	.probe = driver_probe,
	.remove = driver_remove,
	.shutdown = driver_shutdown,
	.sriov_configure = annex_sriov_configure,
	.err_handler = &ctrl_errors,
	.driver_managed_dma = true,
	.driver.pm = pm_sleep_ptr(&ctrl_sleep),
};
