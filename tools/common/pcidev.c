// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libpci finds and names the functions; sysfs says the rest.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pci/pci.h>
#include "error.h"
#include "pcidev.h"
#include "sysfs.h"

#define CLASS_NVME 0x0108
#define IF_NVME 0x02
#define CLASS_CXL 0x0502
#define IF_CXL 0x10

/* libpci leaves through this: its error function must not return. */
static jmp_buf failed;

static void on_error(char *msg, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void on_error(char *msg, ...)
{
	char line[200];
	va_list ap;

	va_start(ap, msg);
	vsnprintf(line, sizeof(line), msg, ap);
	va_end(ap);
	err_set(-EIO, "cannot look at the PCI bus: %s", line);
	longjmp(failed, 1);
}

static void on_message(char *msg, ...) __attribute__((format(printf, 1, 2)));

static void on_message(char *msg, ...)
{
	(void)msg;
}

const char *pcidev_kind(const struct pcidev *dev)
{
	return dev->kind == PCIDEV_NVME ? "nvme" : "cxl";
}

const char *pcidev_home(const struct pcidev *dev)
{
	return dev->kind == PCIDEV_NVME ? "nvme" : "cxl_pci";
}

const char *pcidev_annex(const struct pcidev *dev)
{
	return dev->kind == PCIDEV_NVME ? "annex" : "annex_cxl";
}

static bool is_ours(const struct pci_dev *p, enum pcidev_kind *kind)
{
	*kind = p->device_class == CLASS_NVME ? PCIDEV_NVME : PCIDEV_CXL;
	return (p->device_class == CLASS_NVME && p->prog_if == IF_NVME) ||
	       (p->device_class == CLASS_CXL && p->prog_if == IF_CXL);
}

/* Bytes of the CMB from CMBSZ (NVMe 2.0, 3.1.3.12): units of 4 KiB * 16^SZU. */
static int64_t cmb_bytes(uint32_t cmbsz)
{
	unsigned int unit = (cmbsz >> 8) & 0xf;

	return unit > 6 ? -1 : (int64_t)(cmbsz >> 12) << (12 + 4 * unit);
}

/* Facts that the nvme driver has read: the model, and CMBSZ, which it shows if it can use the
 * CMB. */
static void facts_of_nvme(const char *root, struct pcidev *d)
{
	struct sysfs_dir dir;
	long long cmbsz;

	d->model[0] = '\0';
	d->cmb = -1;
	if (strcmp(d->driver, "nvme") != 0)
		return;
	sysfs_dir(&dir, root, "sys/bus/pci/devices/%s/nvme", d->addr);
	if (dir.n) {
		sysfs_text(d->model, sizeof(d->model), root, "sys/bus/pci/devices/%s/nvme/%s/model",
			   d->addr, dir.name[0]);
		cmbsz = sysfs_number(-1, root, "sys/bus/pci/devices/%s/nvme/%s/cmbsz", d->addr,
				     dir.name[0]);
		d->cmb = cmbsz < 0 ? -1 : cmb_bytes((uint32_t)cmbsz);
	}
	sysfs_dir_free(&dir);
}

static void facts_of_link(const char *root, struct pcidev *d)
{
	char text[48], *end;
	double rate;

	d->speed[0] = '\0';
	d->width = (int)sysfs_number(0, root, "sys/bus/pci/devices/%s/current_link_width", d->addr);
	sysfs_text(text, sizeof(text), root, "sys/bus/pci/devices/%s/current_link_speed", d->addr);
	rate = strtod(text, &end);
	if (end != text && rate > 0 && d->width > 0)
		snprintf(d->speed, sizeof(d->speed), "%.1f GT/s", rate);
	else
		d->width = 0;
}

void pcidev_facts(const char *root, struct pcidev *d)
{
	char text[16];

	sysfs_link(d->driver, sizeof(d->driver), root, "sys/bus/pci/devices/%s/driver", d->addr);
	d->group = -1;
	d->domain[0] = '\0';
	if (sysfs_link(text, sizeof(text), root, "sys/bus/pci/devices/%s/iommu_group", d->addr)) {
		d->group = (int)strtol(text, NULL, 10);
		sysfs_text(d->domain, sizeof(d->domain), root, "sys/kernel/iommu_groups/%d/type",
			   d->group);
	}
	d->numa = (int)sysfs_number(-1, root, "sys/bus/pci/devices/%s/numa_node", d->addr);
	facts_of_link(root, d);
	facts_of_nvme(root, d);
}

/* From pci.ids alone: for each name that it lacks, libpci loses a handle on udev's database. */
static void put_name(struct pci_access *acc, const struct pci_dev *p, struct pcidev *d)
{
	pci_lookup_name(acc, d->vendor, sizeof(d->vendor), PCI_LOOKUP_VENDOR | PCI_LOOKUP_NO_HWDB,
			p->vendor_id);
	pci_lookup_name(acc, d->name, sizeof(d->name), PCI_LOOKUP_DEVICE | PCI_LOOKUP_NO_HWDB,
			p->vendor_id, p->device_id);
}

static void put(struct pci_access *acc, struct pci_dev *p, const char *root,
		struct pcidev_list *list)
{
	struct pcidev *grown, *d;
	enum pcidev_kind kind;

	pci_fill_info(p, PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_CLASS_EXT);
	if (!is_ours(p, &kind))
		return;
	grown = realloc(list->dev, (list->n + 1) * sizeof(*grown));
	if (!grown)
		on_error("out of memory");
	list->dev = grown;
	d = &grown[list->n++];
	memset(d, 0, sizeof(*d));
	d->kind = kind;
	snprintf(d->addr, sizeof(d->addr), "%04x:%02x:%02x.%u", (unsigned int)p->domain, p->bus,
		 p->dev & 0x1fu, p->func & 7u);
	put_name(acc, p, d);
	pcidev_facts(root, d);
}

static int by_addr(const void *a, const void *b)
{
	const struct pcidev *x = a, *y = b;

	/* Longer is larger: domains beyond 16 bits have more digits. */
	if (strlen(x->addr) != strlen(y->addr))
		return strlen(x->addr) < strlen(y->addr) ? -1 : 1;
	return strcmp(x->addr, y->addr);
}

int pcidev_list(const char *root, struct pcidev_list *list)
{
	static char sysfs[SYSFS_PATH], param[] = "sysfs.path";
	struct pci_access *acc = pci_alloc();

	list->dev = NULL;
	list->n = 0;
	/* A kernel without PCI, as in some virtual machines, has none of them: no failure. */
	if (!sysfs_is(root, "sys/bus/pci/devices")) {
		pci_cleanup(acc);
		return 0;
	}
	acc->error = on_error;
	acc->warning = on_message;
	acc->debug = on_message;
	acc->method = PCI_ACCESS_SYS_BUS_PCI;
	sysfs_path(sysfs, root, "sys/bus/pci");
	if (setjmp(failed)) {
		pcidev_list_free(list);
		return -EIO;
	}
	pci_set_param(acc, param, sysfs);
	pci_init(acc);
	pci_scan_bus(acc);
	for (struct pci_dev *p = acc->devices; p; p = p->next)
		put(acc, p, root, list);
	pci_cleanup(acc);
	if (list->n)
		qsort(list->dev, list->n, sizeof(*list->dev), by_addr);
	return 0;
}

void pcidev_list_free(struct pcidev_list *list)
{
	free(list->dev);
	list->dev = NULL;
	list->n = 0;
}

int pcidev_addr(const char *text, char *addr)
{
	unsigned int part[4] = {0}, colons = 0;
	size_t len = strlen(text);
	char tail;
	int n;

	for (const char *p = text; *p; p++)
		colons += *p == ':';
	/* Hexadecimal digits and marks only: scanf() would take signs, spaces and 0x too. */
	if (strspn(text, "0123456789abcdefABCDEF:.") == len && len < PCIDEV_ADDR && colons == 2)
		n = sscanf(text, "%8x:%2x:%2x.%1x%c", &part[0], &part[1], &part[2], &part[3],
			   &tail);
	else if (strspn(text, "0123456789abcdefABCDEF:.") == len && colons == 1)
		n = 1 + sscanf(text, "%2x:%2x.%1x%c", &part[1], &part[2], &part[3], &tail);
	else
		n = 0;
	if (n != 4 || part[2] > 0x1f || part[3] > 7)
		return err_set(-EINVAL,
			       "\"%s\" is not a PCI address: write it as 0000:00:04.0 or 00:04.0",
			       text);
	snprintf(addr, PCIDEV_ADDR, "%04x:%02x:%02x.%u", part[0], part[1], part[2], part[3]);
	return 0;
}

int pcidev_uri(const char *uri, const char *what, char *addr)
{
	if (strncmp(uri, "pci:", 4))
		return err_set(-EINVAL, "%s: pci:ADDRESS names a %s (annex list)", uri, what);
	return pcidev_addr(uri + 4, addr);
}

int pcidev_find(const struct pcidev_list *list, const char *text, struct pcidev **dev)
{
	char addr[PCIDEV_ADDR], class[16];
	int err = pcidev_addr(text, addr);

	if (err)
		return err;
	for (unsigned int i = 0; i < list->n; i++) {
		*dev = &list->dev[i];
		if (!strcmp(addr, (*dev)->addr))
			return 0;
	}
	if (!sysfs_text(class, sizeof(class), "", "sys/bus/pci/devices/%s/class", addr))
		return err_set(-ENODEV, "there is no PCI device %s: annex list shows the devices",
			       addr);
	return err_set(-ENODEV,
		       "%s is neither an NVMe controller nor CXL memory (class %s): annex list "
		       "shows the devices",
		       addr, class);
}
