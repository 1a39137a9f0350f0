// SPDX-License-Identifier: GPL-2.0
/*
 * Files of a CXL memory device in sysfs, one value each: docs/ABI/sysfs-class-annex. Reading does
 * not access the device. Only root can read addresses. For debugging by root, annex/ADDRESS/ in
 * debugfs has the decoders of devices, bridges and switches; it is not a stable interface.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "hdm.h"
#include "member.h"
#include "range.h"

static struct annex_hdm *attribute_hdm(struct device *dev)
{
	return container_of(dev, struct annex_hdm, dev);
}

static unsigned long attribute_what(struct device_attribute *attr)
{
	return (unsigned long)container_of(attr, struct dev_ext_attribute, attr)->var;
}

/* A file whose show() reads attribute_what(). */
#define FILE(name, mode, show, what)                                                               \
	(&((struct dev_ext_attribute[]){{__ATTR(name, mode, show, NULL), (void *)(what)}})         \
		  ->attr.attr)

static ssize_t users_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", annex_member_users(attribute_hdm(dev)));
}

static ssize_t refusals_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&attribute_hdm(dev)->refusals));
}

/* Event records that were fetched from one log. */
static ssize_t events_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u64 n[CXL_EVENT_LOGS];

	annex_media_count(&attribute_hdm(dev)->media, n);
	return sysfs_emit(buf, "%llu\n", n[attribute_what(attr)]);
}

enum { BASE, BYTES, KIND, GRANULARITY, SHARED, ENDED, WAYS, MEMBER };

static int attribute_of_range(const struct annex_range *r, unsigned long what, char *buf)
{
	switch (what) {
	case BASE:
		return sysfs_emit(buf, "0x%llx\n", r->base);
	case BYTES:
		return sysfs_emit(buf, "0x%llx\n", r->bytes);
	case KIND:
		return sysfs_emit(buf, "%s\n",
				  r->kind == ANNEX_HDM_PERSISTENT ? "persistent" : "volatile");
	case GRANULARITY:
		return sysfs_emit(buf, "%u\n", r->granularity);
	case SHARED:
		return sysfs_emit(buf, "%u\n", r->shared);
	case ENDED:
		return sysfs_emit(buf, "%u\n", annex_range_state(r) != ANNEX_RANGE_LIVE);
	case WAYS:
		return sysfs_emit(buf, "%u\n", r->n);
	}
	what -= MEMBER;
	return what < r->n ? sysfs_emit(buf, "%s\n", pci_name(r->members[what]->pdev)) : 0;
}

static ssize_t range_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct annex_range *r = annex_range_of(attribute_hdm(dev));
	int bytes;

	if (!r)
		return 0;
	bytes = attribute_of_range(r, attribute_what(attr), buf);
	annex_range_put(r);
	return bytes;
}

static struct attribute *device[] = {
	FILE(users, 0444, users_show, 0),
	FILE(refusals, 0444, refusals_show, 0),
	NULL,
};

static struct attribute *range[] = {
	FILE(base, 0400, range_show, BASE),
	FILE(bytes, 0444, range_show, BYTES),
	FILE(kind, 0444, range_show, KIND),
	FILE(granularity, 0444, range_show, GRANULARITY),
	FILE(shared, 0444, range_show, SHARED),
	FILE(ended, 0444, range_show, ENDED),
	FILE(ways, 0444, range_show, WAYS),
	FILE(member0, 0444, range_show, MEMBER),
	FILE(member1, 0444, range_show, MEMBER + 1),
	FILE(member2, 0444, range_show, MEMBER + 2),
	FILE(member3, 0444, range_show, MEMBER + 3),
	FILE(member4, 0444, range_show, MEMBER + 4),
	FILE(member5, 0444, range_show, MEMBER + 5),
	FILE(member6, 0444, range_show, MEMBER + 6),
	FILE(member7, 0444, range_show, MEMBER + 7),
	NULL,
};

static_assert(ANNEX_HDM_MEMBERS == 8);

static struct attribute *events[] = {
	FILE(information, 0444, events_show, 0),
	FILE(warning, 0444, events_show, 1),
	FILE(failure, 0444, events_show, 2),
	FILE(fatal, 0444, events_show, 3),
	NULL,
};

static_assert(CXL_EVENT_LOGS == 4);

static const struct attribute_group device_group = {.name = "hdm", .attrs = device};
static const struct attribute_group range_group = {.name = "range", .attrs = range};
static const struct attribute_group events_group = {.name = "events", .attrs = events};
const struct attribute_group *annex_attribute_groups[] = {
	&device_group,
	&range_group,
	&events_group,
	NULL,
};

static struct dentry *debug_root;

/* A line for each committed decoder. */
static int decoders_show(struct seq_file *to, void *unused)
{
	annex_range_decoders(to->private, to);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(decoders);

void annex_debugfs_add(struct annex_hdm *hdm)
{
	hdm->debug = debugfs_create_dir(pci_name(hdm->pdev), debug_root);
	debugfs_create_file("decoders", 0400, hdm->debug, hdm, &decoders_fops);
}

void annex_debugfs_remove(struct annex_hdm *hdm)
{
	debugfs_remove(hdm->debug);
}

void annex_debugfs_init(void)
{
	debug_root = debugfs_create_dir("annex", NULL);
}

void annex_debugfs_exit(void)
{
	debugfs_remove(debug_root);
}
