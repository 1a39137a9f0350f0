// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/annex/NAME/count/: counters of a controller since it was bound.
 */
#include "ctrl.h"
#include "sysfs.h"

static struct annex_count *sysfs_count_of(struct device *dev)
{
	return &container_of(dev, struct annex_ctrl, dev)->count;
}

#define COUNTER(name)                                                                              \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)   \
	{                                                                                          \
		return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&sysfs_count_of(dev)->name));  \
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

static const struct attribute_group group = {.name = "count", .attrs = counters};
const struct attribute_group *annex_sysfs_groups[] = {&group, NULL};
