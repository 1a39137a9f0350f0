// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include "shim.h"

struct shim shim;
struct resource iomem_resource = {.end = (1ull << 40) - 1};

void shim_require(bool truth)
{
	if (!truth)
		abort();
}

u64 shim_us(void)
{
	return shim.us;
}

bool shim_work(struct delayed_work *w)
{
	if (!w->due)
		return false;
	shim.us = max(shim.us, w->due);
	w->due = 0;
	w->work.work(&w->work);
	return true;
}

void shim_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(shim.line, sizeof(shim.line), format, args);
	va_end(args);
	shim_require(strchr(shim.line, '\n') == shim.line + strlen(shim.line) - 1);
	shim.lines++;
}

static void load(const void *at, void *value, size_t bytes)
{
	shim_require((uintptr_t)at % bytes == 0);
	if (shim.reads)
		shim.reads(at);
	memcpy(value, at, bytes);
}

static void store(void *at, const void *value, size_t bytes)
{
	shim_require((uintptr_t)at % bytes == 0);
	memcpy(at, value, bytes);
	if (shim.wrote)
		shim.wrote(at);
}

u32 readl(const void *at)
{
	u32 value;

	load(at, &value, sizeof(value));
	return value;
}

u64 readq(const void *at)
{
	u64 value;

	load(at, &value, sizeof(value));
	return value;
}

void writel(u32 value, void *at)
{
	store(at, &value, sizeof(value));
}

void writeq(u64 value, void *at)
{
	store(at, &value, sizeof(value));
}

/* A mapping must be within one BAR. */
void *ioremap(phys_addr_t at, u64 bytes)
{
	for (int i = 0; i < SHIM_BARS; i++) {
		u64 start = shim.bar[i].start, size = shim.bar[i].bytes;

		if (!shim.bar[i].mem || at < start || at - start >= size)
			continue;
		shim_require(bytes && bytes <= size - (at - start));
		shim.mapped++;
		return shim.bar[i].mem + (at - start);
	}
	abort();
}

void iounmap(void *at)
{
	shim_require(at && shim.mapped-- > 0);
}

/* As in the kernel: a loop in the list ends after as many steps as there is room for. */
u16 pci_find_dvsec_capability(struct pci_dev *pdev, u16 vendor, u16 id)
{
	u32 at = 0x100, header, first, second;

	for (int i = 0; i < (4096 - 256) / 8 && at >= 0x100; i++) {
		pci_read_config_dword(pdev, (int)at, &header);
		pci_read_config_dword(pdev, (int)at + PCI_DVSEC_HEADER1, &first);
		pci_read_config_dword(pdev, (int)at + PCI_DVSEC_HEADER2, &second);
		if ((header & 0xffff) == PCI_EXT_CAP_ID_DVSEC &&
		    PCI_DVSEC_HEADER1_VID(first) == vendor && PCI_DVSEC_HEADER2_ID(second) == id)
			return (u16)at;
		at = header >> 20 & ~3u;
	}
	return 0;
}

static int read_config(int at, void *value, int bytes)
{
	bool there = at >= 0 && at <= PCI_CFG_SPACE_EXP_SIZE - bytes && at % bytes == 0;

	memset(value, 0xff, (size_t)bytes);
	if (there)
		memcpy(value, shim.config + at, (size_t)bytes);
	return there ? 0 : -EINVAL;
}

int pci_read_config_word(struct pci_dev *pdev, int at, u16 *value)
{
	(void)pdev;
	return read_config(at, value, sizeof(*value));
}

int pci_read_config_dword(struct pci_dev *pdev, int at, u32 *value)
{
	(void)pdev;
	return read_config(at, value, sizeof(*value));
}

int pci_alloc_irq_vectors(struct pci_dev *pdev, unsigned int least, unsigned int most,
			  unsigned int flags)
{
	(void)pdev;
	shim_require(least && most <= SHIM_VECTORS && flags);
	return shim.vectors ? shim.vectors : -ENOSPC;
}

void pci_free_irq_vectors(struct pci_dev *pdev)
{
	(void)pdev;
	for (int i = 0; i < SHIM_VECTORS; i++)
		shim_require(!shim.thread[i]);
}

int request_threaded_irq(unsigned int irq, void *quick, irqreturn_t (*thread)(int, void *),
			 unsigned long flags, const char *name, void *data)
{
	shim_require(!quick && flags == IRQF_ONESHOT && name && irq < (unsigned int)shim.vectors &&
		     !shim.thread[irq]);
	shim.thread[irq] = thread;
	shim.data[irq] = data;
	return 0;
}

void free_irq(unsigned int irq, void *data)
{
	shim_require(shim.thread[irq] && shim.data[irq] == data);
	shim.thread[irq] = NULL;
}

/* Like the kernel, check that an entry begins within the table, not that it ends there. */
int acpi_table_parse_cedt(int id, acpi_tbl_entry_handler_arg handler, void *arg)
{
	struct acpi_cedt_header h;
	int count = 0;
	u8 *at, *end;

	if (!shim.cedt)
		return -ENODEV;
	at = shim.cedt + 36;
	end = shim.cedt + shim.cedt_bytes;
	for (; at + sizeof(h) < end; at += h.length) {
		memcpy(&h, at, sizeof(h));
		if (h.type == id) {
			if (handler((union acpi_subtable_headers *)at, arg, (unsigned long)end))
				return -EINVAL;
			count++;
		}
		if (!h.length)
			return -EINVAL;
	}
	return count;
}

/* The tree of resources, with unsorted children. */
static bool meets(const struct resource *a, const struct resource *b)
{
	return a->start <= b->end && b->start <= a->end;
}

static bool holds(const struct resource *a, const struct resource *b)
{
	return a->start <= b->start && b->end <= a->end;
}

static struct resource *child_at(struct resource *parent, const struct resource *res)
{
	struct resource *c = parent->child;

	while (c && !meets(c, res))
		c = c->sibling;
	return c;
}

static void hang(struct resource *parent, struct resource *res)
{
	res->parent = parent;
	res->sibling = parent->child;
	parent->child = res;
}

static void unhang(struct resource *res)
{
	struct resource **at = &res->parent->child;

	while (*at != res)
		at = &(*at)->sibling;
	*at = res->sibling;
	res->parent = NULL;
}

/* A request within a resource that is not busy becomes its child. */
struct resource *request_mem_region(u64 base, u64 bytes, const char *name)
{
	struct resource *res = shim.taken, *parent = &iomem_resource, *c;

	shim_require(name && bytes && base + bytes - 1 <= iomem_resource.end);
	while (res->parent)
		shim_require(++res < shim.taken + SHIM_REGIONS);
	*res = (struct resource){
		.start = base, .end = base + bytes - 1, .name = name, .flags = IORESOURCE_BUSY};
	while ((c = child_at(parent, res)) && !(c->flags & IORESOURCE_BUSY) && holds(c, res))
		parent = c;
	if (c)
		return NULL;
	hang(parent, res);
	return res;
}

void release_mem_region(u64 base, u64 bytes)
{
	struct resource *res = shim.taken;

	while (!res->parent || res->start != base || res->end != base + bytes - 1)
		shim_require(++res < shim.taken + SHIM_REGIONS);
	unhang(res);
}

/* The resource becomes the parent of resources within it; none may cross its edges. */
int insert_resource(struct resource *root, struct resource *res)
{
	struct resource *parent = root, *c, *next;

	while ((c = child_at(parent, res)) && holds(c, res) && !holds(res, c))
		parent = c;
	for (c = parent->child; c; c = c->sibling)
		if (meets(c, res) && !holds(res, c))
			return -EBUSY;
	for (c = parent->child; c; c = next) {
		next = c->sibling;
		if (meets(c, res)) {
			unhang(c);
			hang(res, c);
		}
	}
	hang(parent, res);
	return 0;
}

int remove_resource(struct resource *res)
{
	struct resource *parent = res->parent, *c;

	shim_require(!!parent);
	unhang(res);
	while ((c = res->child)) {
		unhang(c);
		hang(parent, c);
	}
	return 0;
}

static int walk(struct resource *parent, const struct resource *in, void *arg,
		int (*look)(struct resource *, void *))
{
	int err = -EINVAL;

	for (struct resource *c = parent->child; c && err <= 0; c = c->sibling) {
		struct resource copy = {.start = max(c->start, in->start),
					.end = min(c->end, in->end),
					.parent = c->parent};

		if (!meets(c, in))
			continue;
		err = c->flags == in->flags && c->desc == in->desc ? look(&copy, arg)
								   : walk(c, in, arg, look);
	}
	return err;
}

int walk_iomem_res_desc(unsigned long desc, unsigned long flags, u64 start, u64 end, void *arg,
			int (*look)(struct resource *, void *))
{
	struct resource in = {.start = start, .end = end, .flags = flags, .desc = desc};

	return walk(&iomem_resource, &in, arg, look);
}

/* The first GiB is system RAM. */
int region_intersects(u64 start, u64 bytes, unsigned long flags, unsigned long desc)
{
	shim_require(bytes && flags == IORESOURCE_SYSTEM_RAM && desc == IORES_DESC_NONE);
	return start >= 1ull << 30 ? REGION_DISJOINT : 0;
}

void seq_printf(struct seq_file *to, const char *format, ...)
{
	va_list args;
	char line[256];

	va_start(args, format);
	shim_require(!to && vsnprintf(line, sizeof(line), format, args) < (int)sizeof(line));
	va_end(args);
}
