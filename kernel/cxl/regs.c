// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of a component: the Register Locator DVSEC (CXL 3.1 section 8.1.9), capability
 * arrays (sections 8.2.4, 8.2.8). Owns their mappings.
 */
#include <linux/bitfield.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iopoll.h>
#include "decoder.h"
#include "regs.h"

#define LOCATOR_MOST 16 /* blocks */
#define POLL_US 10000
#define VALID_US (1 * USEC_PER_SEC)   /* until sizes are valid (8.1.3.8.2) */
#define ACTIVE_US (60 * USEC_PER_SEC) /* until memory is active, unless the device declares more */
#define MBOX_US (60 * USEC_PER_SEC)   /* until the mailbox is ready */
#define DEVICE_CAPS 64

/* Any user can trigger a scan of other devices, so the messages are rate-limited. */
#define complain(pdev, fmt, ...) pci_notice_ratelimited(pdev, "annex: " fmt "\n", ##__VA_ARGS__)

static int regs_check_block(struct pci_dev *pdev, u32 low, u32 high, phys_addr_t *at, u64 *bytes)
{
	unsigned int bar = FIELD_GET(CXL_LOCATOR_BAR, low);
	u64 offset = (u64)high << 32 | (low & CXL_LOCATOR_OFFSET);
	u64 room = bar < PCI_STD_NUM_BARS ? pci_resource_len(pdev, bar) : 0;

	if (!room || !(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
	    offset > room - min_t(u64, room, PAGE_SIZE)) {
		complain(pdev, "its register locator points to 0x%llx of 0x%llx in BAR %u", offset,
			 room, bar);
		return -EINVAL;
	}
	*at = pci_resource_start(pdev, bar) + offset;
	*bytes = room - offset;
	return 0;
}

int annex_regs_locate(struct pci_dev *pdev, u8 type, phys_addr_t *at, u64 *bytes)
{
	int dvsec = pci_find_dvsec_capability(pdev, CXL_VENDOR, CXL_DVSEC_LOCATOR);
	u32 header, low, high;
	unsigned int n;

	if (!dvsec) {
		complain(pdev, "it has no register locator");
		return -ENXIO;
	}
	pci_read_config_dword(pdev, dvsec + PCI_DVSEC_HEADER1, &header);
	n = PCI_DVSEC_HEADER1_LEN(header);
	if (n < CXL_LOCATOR_BLOCKS || n > CXL_LOCATOR_BLOCKS + 8 * LOCATOR_MOST ||
	    dvsec + n > PCI_CFG_SPACE_EXP_SIZE) {
		complain(pdev, "its register locator has %u bytes", n);
		return -EINVAL;
	}
	for (unsigned int i = CXL_LOCATOR_BLOCKS; i + 8 <= n; i += 8) {
		pci_read_config_dword(pdev, dvsec + i, &low);
		pci_read_config_dword(pdev, dvsec + i + 4, &high);
		if (FIELD_GET(CXL_LOCATOR_TYPE, low) == type)
			return regs_check_block(pdev, low, high, at, bytes);
	}
	complain(pdev, "its register locator has no block of type %u", type);
	return -ENXIO;
}

int annex_regs_find_hdm(void __iomem *cm, u32 *offset)
{
	u32 header = readl(cm), entry, n;

	if (header == U32_MAX || FIELD_GET(CXL_CM_ID, header) != CXL_CM_ARRAY)
		return -EINVAL;
	if (FIELD_GET(CXL_CM_VERSION, header) != 1)
		return -EOPNOTSUPP;
	for (u32 i = 1; i <= FIELD_GET(CXL_CM_COUNT, header); i++) {
		entry = readl(cm + 4 * i);
		if (FIELD_GET(CXL_CM_ID, entry) != CXL_CM_HDM)
			continue;
		n = FIELD_GET(CXL_CM_VERSION, entry);
		if (n < 1 || n > 3)
			return -EOPNOTSUPP;
		*offset = FIELD_GET(CXL_CM_AT, entry);
		if (*offset % 4 || *offset < 4 * (FIELD_GET(CXL_CM_COUNT, header) + 1) ||
		    *offset > CXL_CM_BYTES - CXL_HDM_BYTES(1))
			return -EINVAL;
		n = annex_decoders_count(readl(cm + *offset + CXL_HDM_CAP));
		return !n || *offset + CXL_HDM_BYTES(n) > CXL_CM_BYTES ? -EINVAL : 0;
	}
	return -ENODEV;
}

static int regs_map_component(struct pci_dev *pdev, struct annex_regs *regs)
{
	phys_addr_t at;
	u64 bytes;
	int err = annex_regs_locate(pdev, CXL_BLOCK_COMPONENT, &at, &bytes);

	if (err)
		return err;
	if (bytes < CXL_CM + CXL_CM_BYTES) {
		pci_err(pdev, "annex: its component registers reach beyond their BAR\n");
		return -EINVAL;
	}
	regs->phys = at + CXL_CM;
	regs->component = ioremap(regs->phys, CXL_CM_BYTES);
	if (!regs->component)
		return -ENOMEM;
	err = annex_regs_find_hdm(regs->component, &regs->hdm);
	if (err)
		pci_err(pdev, "annex: its HDM decoders cannot be used: error %d\n", err);
	return err;
}

/* Take the registers of one header; the driver ignores unknown ones. */
static int regs_take_header(struct pci_dev *pdev, struct annex_regs *regs, u64 i, u64 n, u64 bytes)
{
	void __iomem *header = regs->device + i * CXL_DEV_HEADER;
	u32 first = readl(header), at = readl(header + 4), len = readl(header + 8);
	u32 version = FIELD_GET(CXL_DEV_VERSION, first), least, newest = 1;
	void __iomem **where;

	switch (FIELD_GET(CXL_DEV_ID, first)) {
	case CXL_DEV_STATUS:
		where = &regs->status;
		least = 8;
		newest = 2;
		break;
	case CXL_DEV_MBOX:
		where = &regs->mbox;
		least = CXL_MBOX_PAYLOAD + 256;
		regs->mbox_bytes = len;
		break;
	case CXL_DEV_MEMDEV:
		where = &regs->memdev;
		least = 8;
		break;
	default:
		return 0;
	}
	if (!version || version > newest) {
		pci_err(pdev, "annex: device registers 0x%lx of version %u\n",
			FIELD_GET(CXL_DEV_ID, first), version);
		return -EOPNOTSUPP;
	}
	if (at % 8 || at < (n + 1) * CXL_DEV_HEADER || len < least || at > bytes ||
	    len > bytes - at || *where) {
		pci_err(pdev, "annex: device registers at 0x%x, 0x%x bytes, of 0x%llx\n", at, len,
			bytes);
		return -EINVAL;
	}
	*where = regs->device + at;
	return 0;
}

/* The device registers end at the BAR's end, or at the component registers. */
static int regs_locate_device(struct pci_dev *pdev, struct annex_regs *regs, phys_addr_t *at,
			      u64 *bytes)
{
	phys_addr_t component = regs->phys - CXL_CM;
	int err = annex_regs_locate(pdev, CXL_BLOCK_DEVICE, at, bytes);

	if (err)
		return err;
	if (*at >= component && *at < component + CXL_COMPONENT_BYTES) {
		pci_err(pdev, "annex: its device registers lie in its component registers\n");
		return -EINVAL;
	}
	if (*at < component)
		*bytes = min(*bytes, component - *at);
	return 0;
}

static int regs_map_device(struct pci_dev *pdev, struct annex_regs *regs)
{
	phys_addr_t at;
	u64 bytes, array, n;
	int err = regs_locate_device(pdev, regs, &at, &bytes);

	if (err)
		return err;
	regs->device = ioremap(at, bytes);
	if (!regs->device)
		return -ENOMEM;
	array = readq(regs->device);
	n = FIELD_GET(CXL_DEV_ARRAY_COUNT, array);
	if (FIELD_GET(CXL_DEV_ARRAY_ID, array) || n > DEVICE_CAPS ||
	    (n + 1) * CXL_DEV_HEADER > bytes) {
		pci_err(pdev, "annex: device registers begin with 0x%llx\n", array);
		return -EINVAL;
	}
	if (FIELD_GET(CXL_DEV_ARRAY_VERSION, array) != 1) {
		pci_err(pdev, "annex: device registers of an unknown version\n");
		return -EOPNOTSUPP;
	}
	for (u64 i = 1; i <= n && !err; i++)
		err = regs_take_header(pdev, regs, i, n, bytes);
	if (!err && (!regs->status || !regs->mbox || !regs->memdev)) {
		pci_err(pdev, "annex: status, mailbox or memory device registers are missing\n");
		err = -ENXIO;
	}
	return err;
}

static int regs_find_dvsec(struct pci_dev *pdev, int *dvsec)
{
	u32 header, n;
	u16 cap;

	*dvsec = pci_find_dvsec_capability(pdev, CXL_VENDOR, CXL_DVSEC_DEVICE);
	if (!*dvsec) {
		pci_err(pdev, "annex: it has no CXL DVSEC\n");
		return -ENXIO;
	}
	pci_read_config_dword(pdev, *dvsec + PCI_DVSEC_HEADER1, &header);
	pci_read_config_word(pdev, *dvsec + CXL_DEVICE_CAP, &cap);
	n = PCI_DVSEC_HEADER1_LEN(header);
	if (n < CXL_DEVICE_BYTES || *dvsec + n > PCI_CFG_SPACE_EXP_SIZE ||
	    FIELD_GET(CXL_DEVICE_CAP_RANGES, cap) > CXL_DEVICE_RANGES) {
		pci_err(pdev, "annex: its CXL DVSEC has %u bytes and %lu ranges\n", n,
			FIELD_GET(CXL_DEVICE_CAP_RANGES, cap));
		return -EINVAL;
	}
	if (!(cap & CXL_DEVICE_CAP_MEM)) {
		pci_err(pdev, "annex: it cannot do CXL.mem\n");
		return -ENXIO;
	}
	return 0;
}

int annex_regs_init(struct pci_dev *pdev, struct annex_regs *regs)
{
	int err = regs_find_dvsec(pdev, &regs->dvsec);

	if (err)
		return err;
	err = regs_map_component(pdev, regs);
	if (!err)
		err = regs_map_device(pdev, regs);
	if (err)
		annex_regs_exit(regs);
	return err;
}

void annex_regs_exit(struct annex_regs *regs)
{
	if (regs->component)
		iounmap(regs->component);
	if (regs->device)
		iounmap(regs->device);
	regs->component = NULL;
	regs->device = NULL;
	regs->status = NULL;
	regs->mbox = NULL;
	regs->memdev = NULL;
}

static u32 regs_range_state(struct pci_dev *pdev, int at)
{
	u32 low;

	pci_read_config_dword(pdev, at, &low);
	return low;
}

/* The time that the device declares for its memory; a reserved value is the longest time. */
static u64 regs_active_us(struct pci_dev *pdev, int at)
{
	u32 code = FIELD_GET(CXL_DEVICE_TIMEOUT, regs_range_state(pdev, at));

	code = min_t(u32, code, CXL_DEVICE_TIMEOUT_MOST);
	return max_t(u64, ACTIVE_US, (1ull << (2 * code)) * USEC_PER_SEC);
}

static int regs_wait_range(struct pci_dev *pdev, const struct annex_regs *regs, int at, u32 bit,
			   u64 limit)
{
	u32 low;
	int err = read_poll_timeout(regs_range_state, low,
				    low == U32_MAX || low & bit || READ_ONCE(regs->ending), POLL_US,
				    limit, false, pdev, at);

	return low == U32_MAX || !(low & bit || err) ? -ENODEV : err;
}

static bool regs_has_failed(u64 status)
{
	return status & (CXL_MEMDEV_FATAL | CXL_MEMDEV_HALT) ||
	       FIELD_GET(CXL_MEMDEV_MEDIA, status) > CXL_MEMDEV_MEDIA_READY;
}

static bool regs_is_ready(u64 status)
{
	return FIELD_GET(CXL_MEMDEV_MEDIA, status) == CXL_MEMDEV_MEDIA_READY &&
	       status & CXL_MEMDEV_MBOX_READY;
}

static int regs_wait_memdev(struct annex_regs *regs, u64 *status)
{
	int err = read_poll_timeout(readq, *status,
				    regs_has_failed(*status) || regs_is_ready(*status) ||
					    READ_ONCE(regs->ending),
				    POLL_US, MBOX_US, false, regs->memdev);

	if (*status == U64_MAX || READ_ONCE(regs->ending))
		return -ENODEV;
	return !err && regs_has_failed(*status) ? -EIO : err;
}

void annex_regs_cancel(struct annex_regs *regs)
{
	WRITE_ONCE(regs->ending, true);
}

int annex_regs_ready(struct pci_dev *pdev, struct annex_regs *regs)
{
	u64 status = 0;
	int err = 0;
	u16 cap;

	pci_read_config_word(pdev, regs->dvsec + CXL_DEVICE_CAP, &cap);
	for (unsigned int i = 0; i < FIELD_GET(CXL_DEVICE_CAP_RANGES, cap) && !err; i++) {
		int at = regs->dvsec + CXL_DEVICE_SIZE_LOW(i);

		err = regs_wait_range(pdev, regs, at, CXL_DEVICE_VALID, VALID_US);
		if (!err)
			err = regs_wait_range(pdev, regs, at, CXL_DEVICE_ACTIVE,
					      regs_active_us(pdev, at));
	}
	if (!err)
		err = regs_wait_memdev(regs, &status);
	if (err)
		pci_err(pdev, "annex: its memory does not get ready (status 0x%llx): error %d\n",
			status, err);
	return err;
}
