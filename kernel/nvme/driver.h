/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver of NVMe controllers, for main.c.
 */
#ifndef ANNEX_NVME_DRIVER_H
#define ANNEX_NVME_DRIVER_H

#include <linux/pci.h>

extern struct pci_driver annex_ctrl_driver;

#endif
