/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI functions that Annex can work with, and what the kernel knows of them.
 */
#ifndef TOOLS_PCI_PCIDEV_H
#define TOOLS_PCI_PCIDEV_H

#include <stdbool.h>
#include <stdint.h>

#define PCIDEV_ADDR 24

enum pcidev_kind { PCIDEV_NVME, PCIDEV_CXL };

/* struct pcidev - Facts of a device; an unknown one is "" or negative. */
struct pcidev {
	char addr[PCIDEV_ADDR]; /* DDDD:BB:DD.F */
	enum pcidev_kind kind;
	char vendor[80]; /* as pci.ids has them */
	char name[80];
	char model[48]; /* as the controller says, where the nvme driver has asked it */
	char driver[32];
	int group;       /* IOMMU group */
	char domain[16]; /* type of the group's domain: DMA, DMA-FQ, identity ... */
	int numa;
	char speed[16]; /* of the link now: "16.0 GT/s" */
	int width;
	int64_t cmb; /* bytes of the controller memory buffer */
};

struct pcidev_list {
	struct pcidev *dev;
	unsigned int n;
};

/*
 * pcidev_list() - NVMe controllers (class 0108, interface 02) and CXL memory devices (0502, 10) of
 * the machine under @root, by address.
 */
int pcidev_list(const char *root, struct pcidev_list *list);
void pcidev_list_free(struct pcidev_list *list);

/* pcidev_facts() - Read again what changes with the driver. */
void pcidev_facts(const char *root, struct pcidev *dev);

/* pcidev_addr() - An address in full from one that may lack its domain, "00:04.0". */
int pcidev_addr(const char *text, char *addr);

/* pcidev_uri() - The address in @uri, pci:ADDRESS of a @what. */
int pcidev_uri(const char *uri, const char *what, char *addr);

/* pcidev_find() - The device of this machine that @text is the address of. */
int pcidev_find(const struct pcidev_list *list, const char *text, struct pcidev **dev);

/* pcidev_kind() - "nvme" or "cxl". */
const char *pcidev_kind(const struct pcidev *dev);

/* pcidev_home() - The kernel's own driver for it: "nvme" or "cxl_pci". */
const char *pcidev_home(const struct pcidev *dev);

/* pcidev_annex() - The driver that annex.ko registers for it: "annex" or "annex_cxl". */
const char *pcidev_annex(const struct pcidev *dev);

#endif
