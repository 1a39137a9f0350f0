// SPDX-License-Identifier: GPL-2.0
/*
 * Annex: NVMe controllers whose queues belong to user space, and CXL memory. Each has a driver.
 */
#include <linux/module.h>
#include "cxl/hdm.h"
#include "cxl/range.h"
#include "node.h"
#include "nvme/ctrl.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static int __init annex_init(void)
{
	int err = annex_nodes_init();

	if (err)
		return err;
	err = annex_ranges_init();
	if (err)
		goto nodes;
	annex_debugfs_init();
	err = pci_register_driver(&annex_ctrl_driver);
	if (err)
		goto ranges;
	err = pci_register_driver(&annex_hdm_driver);
	if (err)
		goto ctrls;
	return 0;
ctrls:
	pci_unregister_driver(&annex_ctrl_driver);
ranges:
	annex_debugfs_exit();
	annex_ranges_exit();
nodes:
	annex_nodes_exit();
	return err;
}

static void __exit annex_exit(void)
{
	pci_unregister_driver(&annex_hdm_driver);
	pci_unregister_driver(&annex_ctrl_driver);
	annex_debugfs_exit();
	annex_ranges_exit();
	annex_nodes_exit();
}

module_init(annex_init);
module_exit(annex_exit);
MODULE_DESCRIPTION("NVMe controllers whose queues belong to user space, and CXL memory");
MODULE_AUTHOR("The Annex authors");
MODULE_LICENSE("GPL");
