// SPDX-License-Identifier: GPL-2.0
/*
 * Host bridges and switches between a window and devices. Owns the list of ports, whose
 * decoders ranges share.
 */
#include <linux/acpi.h>
#include <linux/list.h>
#include <linux/slab.h>
#include "cxl.h"
#include "regs.h"
#include "route.h"

#define TAKEN_MOST 1024

#define say(name, fmt, ...) pr_notice_ratelimited("annex: %s: " fmt "\n", name, ##__VA_ARGS__)

/*
 * struct annex_port - A host bridge or the upstream port of a switch, while ranges need it.
 * @list: entry in the list of all ports.
 * @dev: the device, with a reference.
 * @users: number of ranges.
 * @name: name for lines in the log.
 * @cm: mapped capabilities.
 * @decoders: decoders in @cm; without registers in a host bridge with one root port, to which it
 *	passes all accesses.
 * @claimed: physical address of the decoders' registers, while reserved.
 * @claimed_bytes: their size; 0: not reserved.
 */
struct annex_port {
	struct list_head list;
	struct device *dev;
	unsigned int users;
	char name[32];
	void __iomem *cm;
	struct annex_decoders decoders;
	resource_size_t claimed, claimed_bytes;
};

static LIST_HEAD(ports);

/* Not by pci_walk_bus(): its lock is held around handlers of PCI errors, outside of our locks. */
static unsigned int route_count_root_ports(const struct pci_bus *root)
{
	struct pci_dev *pdev = NULL;
	unsigned int n = 0;

	while ((pdev = pci_get_class(PCI_CLASS_BRIDGE_PCI << 8, pdev)))
		n += pdev->bus == root && pci_is_pcie(pdev) &&
		     pci_pcie_type(pdev) == PCI_EXP_TYPE_ROOT_PORT;
	return n;
}

/*
 * Another driver owns the registers of a port, which are within @in. The kernel logs its name when
 * a second request collides. Rate-limited, since any user can trigger it.
 */
static void route_name_owner(struct annex_port *port, struct resource *in)
{
	static DEFINE_RATELIMIT_STATE(limit, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
	struct resource res = DEFINE_RES_MEM(port->decoders.phys,
					     CXL_HDM_BYTES(port->decoders.count));

	if (!__ratelimit(&limit))
		return;
	if (!devm_request_resource(port->dev, in, &res))
		devm_release_resource(port->dev, &res); /* the owner has released them meanwhile */
	pr_notice("annex: %s: its decoders at 0x%llx are another driver's: see above\n", port->name,
		  (u64)port->decoders.phys);
}

/* Reserve the decoders: the in-tree driver keeps count of committed ones, and must not share. */
static int route_claim(struct annex_port *port, struct resource *in)
{
	struct annex_decoders *d = &port->decoders;

	port->claimed = d->phys;
	port->claimed_bytes = CXL_HDM_BYTES(d->count);
	if (request_mem_region(port->claimed, port->claimed_bytes, "annex"))
		return 0;
	port->claimed_bytes = 0;
	route_name_owner(port, in);
	return -EBUSY;
}

/* @below: bus of a host bridge, or NULL. @in: resource that contains the registers. */
static int route_open_decoders(struct annex_port *port, phys_addr_t cm, struct pci_bus *below,
			       struct resource *in)
{
	u32 hdm;
	int err;

	port->cm = ioremap(cm, CXL_CM_BYTES);
	if (!port->cm)
		return -ENOMEM;
	err = annex_regs_find_hdm(port->cm, &hdm);
	if (err == -ENODEV && below && route_count_root_ports(below) == 1)
		return 0;
	if (err) {
		say(port->name, "no HDM decoders that can be used: error %d", err);
		return err == -ENODEV ? -EOPNOTSUPP : err;
	}
	annex_decoders_init(&port->decoders, port->cm, hdm, cm, port->name, false);
	return route_claim(port, in);
}

static int route_open_bridge(struct annex_port *port, struct pci_bus *bus, u32 uid)
{
	phys_addr_t at;
	int err = annex_window_bridge(uid, &at);

	return err ? err : route_open_decoders(port, at + CXL_CM, bus, &iomem_resource);
}

static struct resource *route_find_bar(struct pci_dev *pdev, phys_addr_t at)
{
	struct resource res = DEFINE_RES_MEM(at, CXL_CM + CXL_CM_BYTES);

	return pci_find_resource(pdev, &res);
}

static int route_open_switch(struct annex_port *port, struct pci_dev *pdev)
{
	struct resource *in;
	phys_addr_t at;
	u64 bytes;
	u16 command;
	int err = annex_regs_locate(pdev, CXL_BLOCK_COMPONENT, &at, &bytes);

	if (err)
		return err == -ENXIO ? -EOPNOTSUPP : err;
	in = route_find_bar(pdev, at);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	if (bytes < CXL_CM + CXL_CM_BYTES || !(command & PCI_COMMAND_MEMORY) || !in) {
		say(pci_name(pdev), "its component registers cannot be reached");
		return -EINVAL;
	}
	return route_open_decoders(port, at + CXL_CM, NULL, in);
}

static void route_put_port(struct annex_port *port)
{
	if (--port->users)
		return;
	if (port->claimed_bytes)
		release_mem_region(port->claimed, port->claimed_bytes);
	if (port->cm)
		iounmap(port->cm);
	list_del(&port->list);
	put_device(port->dev);
	kfree(port);
}

/* @pdev: a switch's upstream port; NULL: the host bridge of @bus. */
static struct annex_port *route_get_port(struct device *dev, struct pci_dev *pdev,
					 struct pci_bus *bus, u32 uid)
{
	struct annex_port *port;
	int err;

	list_for_each_entry(port, &ports, list)
		if (port->dev == dev) {
			port->users++;
			return port;
		}
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	port->dev = get_device(dev);
	port->users = 1;
	if (pdev)
		snprintf(port->name, sizeof(port->name), "switch %s", pci_name(pdev));
	else
		snprintf(port->name, sizeof(port->name), "bridge %u", uid);
	list_add(&port->list, &ports);
	err = pdev ? route_open_switch(port, pdev) : route_open_bridge(port, bus, uid);
	if (err) {
		route_put_port(port);
		return ERR_PTR(err);
	}
	return port;
}

/* struct step - A port on the way up from a device, and the number of its port to the device. */
struct step {
	struct pci_dev *pdev; /* NULL: the host bridge */
	u8 target;
};

static u8 route_port_number(struct pci_dev *pdev)
{
	u32 cap = 0;

	pcie_capability_read_dword(pdev, PCI_EXP_LNKCAP, &cap);
	return cap >> 24;
}

/* Find the steps from a device up to its host bridge. Their number, or -EOPNOTSUPP. */
static int route_climb(struct pci_dev *pdev, struct step *steps)
{
	struct pci_dev *down = pci_upstream_bridge(pdev), *up;
	int n = 0;

	while (down && n < ANNEX_ROUTE_DEPTH) {
		steps[n].target = route_port_number(down);
		if (pci_pcie_type(down) == PCI_EXP_TYPE_ROOT_PORT) {
			steps[n].pdev = NULL;
			return n + 1;
		}
		up = pci_upstream_bridge(down);
		if (pci_pcie_type(down) != PCI_EXP_TYPE_DOWNSTREAM || !up)
			break;
		steps[n++].pdev = up;
		down = pci_upstream_bridge(up);
	}
	say(pci_name(pdev), "it is not below a root port that leads to CXL memory");
	return -EOPNOTSUPP;
}

static struct pci_bus *route_root_of(struct pci_bus *bus)
{
	while (bus->parent)
		bus = bus->parent;
	return bus;
}

static int route_uid_of(struct pci_dev *pdev, u32 *uid)
{
	acpi_handle handle = ACPI_HANDLE(route_root_of(pdev->bus)->bridge);
	acpi_status status = AE_NOT_FOUND;
	unsigned long long value;

	if (handle)
		status = acpi_evaluate_integer(handle, "_UID", NULL, &value);
	if (status == AE_NO_MEMORY)
		return -ENOMEM;
	if (ACPI_FAILURE(status)) {
		say(pci_name(pdev), "its host bridge has no _UID");
		return -EOPNOTSUPP;
	}
	*uid = value;
	return 0;
}

static int route_find_hop(struct annex_route *r, struct device *dev, u32 *hop)
{
	for (*hop = 0; *hop < r->nhops; ++*hop)
		if (r->hops[*hop].port->dev == dev)
			return 0;
	return -ENOENT;
}

static int route_add_member(struct annex_route *r, struct pci_dev *pdev, u32 p)
{
	struct pci_bus *root = route_root_of(pdev->bus);
	struct step steps[ANNEX_ROUTE_DEPTH];
	int n = route_climb(pdev, steps), err;

	if (n < 0)
		return n;
	err = route_uid_of(pdev, &r->uid[p]);
	if (err)
		return err;
	r->depth[p] = n;
	for (int level = 0; level < n; level++) {
		struct step *s = &steps[n - 1 - level];
		struct device *dev = s->pdev ? &s->pdev->dev : root->bridge;
		u32 hop;

		if (route_find_hop(r, dev, &hop)) {
			struct annex_port *port = route_get_port(dev, s->pdev, root, r->uid[p]);

			if (IS_ERR(port))
				return PTR_ERR(port);
			r->hops[hop] = (struct annex_hop){.port = port, .level = level, .first = p};
			r->nhops++;
		}
		r->at[p][level].hop = hop;
		r->at[p][level].target = s->target;
	}
	return 0;
}

int annex_route_find(struct annex_route *r, struct pci_dev *const *members, unsigned int n)
{
	int err = 0;

	r->n = n;
	r->nhops = 0;
	for (u32 p = 0; p < n && !err; p++)
		err = route_add_member(r, members[p], p);
	if (err)
		annex_route_put(r);
	return err;
}

void annex_route_put(struct annex_route *r)
{
	while (r->nhops)
		route_put_port(r->hops[--r->nhops].port);
}

static bool route_is_below(const struct annex_route *r, u32 p, u32 hop)
{
	u32 level = r->hops[hop].level;

	return level < r->depth[p] && r->at[p][level].hop == hop;
}

/*
 * A hop interleaves the members below it over its targets: the first members give the order of the
 * targets, and all later members must repeat it.
 */
static int route_plan_hop(struct annex_route *r, u32 hop, u32 above)
{
	struct annex_hop *h = &r->hops[hop];
	u8 targets[ANNEX_HDM_MEMBERS];
	u32 n = 0;

	h->above = above;
	h->ways = 0;
	h->list = 0;
	for (u32 p = 0; p < r->n; p++)
		if (route_is_below(r, p, hop))
			targets[n++] = r->at[p][h->level].target;
	while (h->ways < n && (!h->ways || targets[h->ways] != targets[0])) {
		h->list |= (u64)targets[h->ways] << (8 * h->ways);
		h->ways++;
	}
	for (u32 i = 0; i < n; i++)
		if (targets[i] != targets[i % h->ways])
			return -EOPNOTSUPP;
	/* A target may occur only once in this order. */
	for (u32 i = 1; i < h->ways; i++)
		for (u32 j = 0; j < i; j++)
			if (targets[i] == targets[j])
				return -EOPNOTSUPP;
	if (!is_power_of_2(h->ways) || n % h->ways)
		return -EOPNOTSUPP;
	return h->port->decoders.regs || h->ways == 1 ? 0 : -EOPNOTSUPP;
}

/* Product of the ways of the window and of the hops above one. */
static u32 route_ways_above(const struct annex_route *r, u32 hop, u32 ways)
{
	const struct annex_hop *h = &r->hops[hop];

	for (u32 level = 0; level < h->level; level++)
		ways *= r->hops[r->at[h->first][level].hop].ways;
	return ways;
}

int annex_route_plan(struct annex_route *r, const struct annex_window *w)
{
	u32 ways;
	int err;

	if (r->n % w->ways)
		return -EOPNOTSUPP;
	for (u32 p = 0; p < r->n; p++)
		if (r->uid[p] != w->targets[p % w->ways])
			return -EOPNOTSUPP;
	/* Hops are in order: the ways of the hops above are known. */
	for (u32 hop = 0; hop < r->nhops; hop++) {
		err = route_plan_hop(r, hop, route_ways_above(r, hop, w->ways));
		if (err)
			return err;
	}
	for (u32 p = 0; p < r->n; p++) {
		ways = w->ways;
		for (u32 level = 0; level < r->depth[p]; level++)
			ways *= r->hops[r->at[p][level].hop].ways;
		if (ways != r->n)
			return -EOPNOTSUPP;
	}
	return 0;
}

u64 annex_route_end(const struct annex_route *r)
{
	u64 end = 0;

	for (u32 hop = 0; hop < r->nhops; hop++)
		if (r->hops[hop].port->decoders.regs)
			end = max(end, annex_decoders_end(&r->hops[hop].port->decoders));
	return end;
}

int annex_route_commit(struct annex_route *r, u64 base, u64 bytes, u32 granularity)
{
	int err = 0;

	for (u32 hop = r->nhops; hop-- > 0 && !err;) {
		struct annex_hop *h = &r->hops[hop];
		struct annex_setup setup = {
			.base = base,
			.bytes = bytes,
			.ways = h->ways,
			.granularity = granularity * h->above,
			.list = h->list,
		};

		if (!h->port->decoders.regs)
			continue;
		err = annex_decoder_commit(&h->port->decoders, &setup, &h->id);
		h->live = !err;
	}
	if (err && annex_route_release(r))
		err = -ENOTRECOVERABLE;
	return err;
}

int annex_route_release(struct annex_route *r)
{
	int err = 0;

	for (u32 hop = 0; hop < r->nhops; hop++) {
		struct annex_hop *h = &r->hops[hop];

		/* The registers of a switch that is gone may be at another device's addresses. */
		if (dev_is_pci(h->port->dev) && !pci_device_is_present(to_pci_dev(h->port->dev)))
			h->port->decoders.regs = NULL;
		if (h->live && annex_decoder_release(&h->port->decoders, h->id))
			err = -ENOTRECOVERABLE;
		h->live = false;
	}
	return err;
}

void annex_route_show(const struct annex_route *r, struct seq_file *to)
{
	for (u32 hop = 0; hop < r->nhops; hop++)
		if (r->hops[hop].port->decoders.regs)
			annex_decoders_show(&r->hops[hop].port->decoders, to);
}

static unsigned int route_add_taken(const struct annex_decoders *d, struct annex_taken *taken,
				    unsigned int n)
{
	for (u32 i = 0; i < d->count && n < TAKEN_MOST; i++)
		n += annex_decoder_range(d, i, &taken[n].base, &taken[n].bytes);
	return n;
}

/* Another driver may be bound to the device: only read its registers. */
static unsigned int route_add_device(struct pci_dev *pdev, struct annex_taken *taken,
				     unsigned int n)
{
	struct annex_decoders d = {};
	void __iomem *cm;
	phys_addr_t at;
	u64 bytes;
	u16 command;
	u32 hdm;

	pci_read_config_word(pdev, PCI_COMMAND, &command);
	if (!(command & PCI_COMMAND_MEMORY) || command == U16_MAX ||
	    annex_regs_locate(pdev, CXL_BLOCK_COMPONENT, &at, &bytes) ||
	    bytes < CXL_CM + CXL_CM_BYTES)
		return n;
	cm = ioremap(at + CXL_CM, CXL_CM_BYTES);
	if (!cm)
		return n;
	if (!annex_regs_find_hdm(cm, &hdm)) {
		annex_decoders_init(&d, cm, hdm, at + CXL_CM, pci_name(pdev), true);
		n = route_add_taken(&d, taken, n);
	}
	iounmap(cm);
	return n;
}

int annex_route_taken(const struct annex_route *r, struct annex_taken **taken)
{
	struct pci_dev *pdev = NULL;
	unsigned int n = 0;

	*taken = kcalloc(TAKEN_MOST, sizeof(**taken), GFP_KERNEL);
	if (!*taken)
		return -ENOMEM;
	for (u32 hop = 0; hop < r->nhops; hop++)
		if (r->hops[hop].port->decoders.regs)
			n = route_add_taken(&r->hops[hop].port->decoders, *taken, n);
	while ((pdev = pci_get_class(CXL_CLASS_MEMORY, pdev)))
		n = route_add_device(pdev, *taken, n);
	return n;
}
