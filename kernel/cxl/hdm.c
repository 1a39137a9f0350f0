// SPDX-License-Identifier: GPL-2.0
/*
 * A CXL memory device and its driver: probe, removal, reset, errors of the bus, power. Owns the
 * device structure.
 */
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/slab.h>
#include "cxl.h"
#include "hdm.h"
#include "member.h"
#include "node.h"
#include "page.h"
#include "user.h"

static void hdm_free(struct device *dev)
{
	struct annex_hdm *hdm = container_of(dev, struct annex_hdm, dev);

	annex_node_exit(dev);
	annex_media_exit(&hdm->media);
	annex_mbox_exit(&hdm->mbox);
	kfree(hdm->saved);
	pci_dev_put(hdm->pdev);
	kfree(hdm);
}

static const struct annex_node_type type = {
	.ops = &annex_user_ops,
	.groups = annex_attribute_groups,
	.release = hdm_free,
};

/*
 * The PCI core calls the handlers of errors with the lock of its buses held, which the making of a
 * range takes under the decoders' lock. So the rest is done here.
 */
static void hdm_recover(struct work_struct *work)
{
	struct annex_hdm *hdm = container_of(work, struct annex_hdm, recover);
	/* A handler that changes these afterwards queues the work again. */
	unsigned int resets = READ_ONCE(hdm->resets);
	bool cut = READ_ONCE(hdm->cut);

	if (READ_ONCE(hdm->gone)) /* shut down: the registers are unmapped */
		return;
	annex_member_verify(hdm, cut);
	if (cut)
		return;
	if (annex_regs_ready(hdm->pdev, &hdm->regs))
		dev_warn(&hdm->dev, "after a reset it is not ready\n");
	else
		WRITE_ONCE(hdm->settled, resets);
	annex_media_resume(&hdm->media);
}

static struct annex_hdm *hdm_make(struct pci_dev *pdev)
{
	struct annex_hdm *hdm = kzalloc(sizeof(*hdm), GFP_KERNEL);
	int err;

	if (!hdm)
		return ERR_PTR(-ENOMEM);
	err = annex_node_init(&hdm->dev, &hdm->cdev, pdev, &type);
	if (err) {
		kfree(hdm);
		return ERR_PTR(err);
	}
	hdm->pdev = pci_dev_get(pdev); /* a range may outlive the device, and prints its name */
	mutex_init(&hdm->mbox.lock);
	annex_media_prepare(&hdm->media);
	INIT_WORK(&hdm->recover, hdm_recover);
	return hdm;
}

/*
 * Whether the label storage area has an index block of namespaces (UEFI 2.10, section 13.19), or
 * cannot be read. The second block follows the first one, which may be damaged.
 */
static bool hdm_has_labels(struct annex_hdm *hdm, u32 bytes)
{
	static const char signature[16] = "NAMESPACE_INDEX";
	char got[sizeof(signature)];

	for (u32 at = 0; at < min_t(u32, bytes, SZ_16K); at += SZ_256) {
		struct cxl_get_lsa in = {cpu_to_le32(at), cpu_to_le32(sizeof(got))};
		int err = annex_mbox_call(&hdm->mbox, CXL_OP_GET_LSA, &in, sizeof(in), got,
					  sizeof(got));

		if (err == -EOPNOTSUPP)
			return false;
		if (err || !memcmp(got, signature, sizeof(got)))
			return true;
	}
	return false;
}

static int hdm_read_capacity(struct annex_hdm *hdm)
{
	struct cxl_identify id;
	struct cxl_partition part;
	u64 most = BIT_ULL(52) / CXL_CAPACITY_UNIT; /* host addresses have 52 bits at most */
	int err = annex_mbox_call(&hdm->mbox, CXL_OP_IDENTIFY, NULL, 0, &id, sizeof(id));

	if (err)
		return err;
	part.volatile_now = id.volatile_only;
	part.persistent_now = id.persistent_only;
	if (id.align) /* the rest of the capacity is partitioned */
		err = annex_mbox_call(&hdm->mbox, CXL_OP_GET_PARTITION, NULL, 0, &part,
				      sizeof(part));
	if (err)
		return err;
	if (le64_to_cpu(part.volatile_now) > most || le64_to_cpu(part.persistent_now) > most)
		return annex_hdm_refuse(hdm, -EINVAL, "it says that it has 0x%llx + 0x%llx units",
					le64_to_cpu(part.volatile_now),
					le64_to_cpu(part.persistent_now));
	hdm->bytes[ANNEX_HDM_VOLATILE] = le64_to_cpu(part.volatile_now) * CXL_CAPACITY_UNIT;
	hdm->bytes[ANNEX_HDM_PERSISTENT] = le64_to_cpu(part.persistent_now) * CXL_CAPACITY_UNIT;
	hdm->labelled = part.persistent_now && hdm_has_labels(hdm, le32_to_cpu(id.lsa_bytes));
	return 0;
}

static void hdm_poison_changed(struct annex_media *media)
{
	annex_poison_update(container_of(media, struct annex_hdm, media));
}

static int hdm_start(struct annex_hdm *hdm)
{
	struct annex_regs *regs = &hdm->regs;
	struct pci_dev *pdev = hdm->pdev;
	int err = annex_regs_init(pdev, regs);

	if (!err)
		err = annex_regs_ready(pdev, regs);
	if (!err)
		err = annex_mbox_init(&hdm->mbox, &hdm->dev, regs->mbox, regs->mbox_bytes);
	if (!err)
		err = hdm_read_capacity(hdm);
	if (err)
		return err;
	annex_decoders_init(&hdm->decoders, regs->component, regs->hdm, regs->phys, pci_name(pdev),
			    true);
	hdm->serial = pci_get_dsn(pdev);
	return annex_media_init(&hdm->media, pdev, &hdm->mbox, regs->status, hdm->bytes,
				hdm_poison_changed);
}

/* End all accesses of the module to the device. */
static void hdm_stop(struct annex_hdm *hdm, unsigned long patience)
{
	annex_regs_cancel(&hdm->regs);
	cancel_work_sync(&hdm->recover);
	annex_member_evict(hdm, patience);
	annex_media_end(&hdm->media);
	annex_mbox_end(&hdm->mbox);
	annex_regs_exit(&hdm->regs);
}

/* driver_override matches devices of any class. */
static int hdm_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct annex_hdm *hdm;
	int err;

	if (pdev->class != CXL_CLASS_MEMORY) {
		pci_err(pdev, "annex: not CXL memory (class %06x)\n", pdev->class);
		return -ENODEV;
	}
	if (PAGE_SIZE != SZ_4K) {
		pci_err(pdev, "annex: needs pages of 4 KiB\n");
		return -EOPNOTSUPP;
	}
	hdm = hdm_make(pdev);
	if (IS_ERR(hdm))
		return PTR_ERR(hdm);
	err = pci_enable_device_mem(pdev);
	if (err)
		goto put;
	err = pci_request_mem_regions(pdev, "annex");
	if (err)
		goto disable;
	err = hdm_start(hdm);
	if (err)
		goto stop;
	pci_save_state(pdev); /* restored after a bus error */
	hdm->saved = pci_store_saved_state(pdev);
	err = -ENOMEM;
	if (!hdm->saved)
		goto stop;
	pci_set_drvdata(pdev, hdm);
	err = cdev_device_add(&hdm->cdev, &hdm->dev);
	if (err)
		goto stop;
	annex_debugfs_add(hdm);
	dev_info(&hdm->dev, "0x%llx bytes of volatile and 0x%llx of persistent CXL memory\n",
		 hdm->bytes[ANNEX_HDM_VOLATILE], hdm->bytes[ANNEX_HDM_PERSISTENT]);
	return 0;
stop:
	hdm_stop(hdm, ANNEX_MEMBER_REMOVAL);
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
	pci_err(pdev, "annex: the CXL memory cannot be used: error %d\n", err);
put:
	put_device(&hdm->dev);
	return err;
}

/* After a failed recovery the PCI core has restored empty registers: restore the state of probe. */
static void hdm_restore(struct annex_hdm *hdm)
{
	if (hdm->cut && pci_device_is_present(hdm->pdev) &&
	    !pci_load_saved_state(hdm->pdev, hdm->saved))
		pci_restore_state(hdm->pdev);
}

static void hdm_remove(struct pci_dev *pdev)
{
	struct annex_hdm *hdm = pci_get_drvdata(pdev);

	annex_debugfs_remove(hdm);
	cdev_device_del(&hdm->cdev, &hdm->dev);
	hdm_stop(hdm, ANNEX_MEMBER_REMOVAL);
	hdm_restore(hdm); /* for the next driver */
	pci_release_mem_regions(pdev);
	pci_disable_device(pdev);
	put_device(&hdm->dev);
}

static const struct pci_device_id hdm_no_ids[] = {{}};

/* Processes still run, but can make no range any more. kexec finds the device as it was. */
static void hdm_shutdown(struct pci_dev *pdev)
{
	hdm_stop(pci_get_drvdata(pdev), ANNEX_MEMBER_SHUTDOWN);
}

static void hdm_recover_later(struct annex_hdm *hdm, bool cut)
{
	WRITE_ONCE(hdm->cut, cut);
	WRITE_ONCE(hdm->resets, hdm->resets + 1);
	schedule_work(&hdm->recover);
}

/* Save the state again, because the PCI core's restore has consumed it. */
static void hdm_was_reset(struct annex_hdm *hdm)
{
	hdm_restore(hdm);
	pci_save_state(hdm->pdev);
	hdm_recover_later(hdm, false);
}

/* Also called for a bus reset through sysfs, which a driver cannot refuse. */
static void hdm_reset_done(struct pci_dev *pdev)
{
	hdm_was_reset(pci_get_drvdata(pdev));
}

static pci_ers_result_t hdm_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct annex_hdm *hdm = pci_get_drvdata(pdev);

	dev_warn(&hdm->dev, "PCI error\n");
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	/* Since 6.18 also after an error that was not fatal, if another device has no driver. */
	if (state == pci_channel_io_perm_failure && pci_device_is_present(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	hdm_recover_later(hdm, true);
	return state == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET
					      : PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t hdm_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_save_state(pdev);
	if (!pci_device_is_present(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	hdm_was_reset(pci_get_drvdata(pdev));
	return PCI_ERS_RESULT_RECOVERED;
}

static const struct pci_error_handlers hdm_errors = {
	.reset_done = hdm_reset_done,
	.error_detected = hdm_error_detected,
	.slot_reset = hdm_slot_reset,
};

/* Without power the decoders are lost, and stores to the range with them. */
static int hdm_suspend(struct device *dev)
{
	struct annex_hdm *hdm = dev_get_drvdata(dev);

	if (!annex_member_busy(hdm)) {
		/* The registers have no power in a moment. */
		flush_work(&hdm->recover);
		annex_media_suspend(&hdm->media);
		return 0;
	}
	dev_warn(&hdm->dev, "cannot suspend: the range of the device is in use\n");
	return -EBUSY;
}

static int hdm_resume(struct device *dev)
{
	hdm_was_reset(dev_get_drvdata(dev));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(hdm_sleep, hdm_suspend, hdm_resume);

struct pci_driver annex_hdm_driver = {
	.name = "annex_cxl",
	.id_table = hdm_no_ids,
	.probe = hdm_probe,
	.remove = hdm_remove,
	.shutdown = hdm_shutdown,
	.err_handler = &hdm_errors,
	.driver.pm = pm_sleep_ptr(&hdm_sleep),
};
