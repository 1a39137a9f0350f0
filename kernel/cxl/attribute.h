/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ANNEX_ATTRIBUTE_H
#define ANNEX_ATTRIBUTE_H

#include <linux/sysfs.h>

/* Of the character device of a CXL memory device. */
extern const struct attribute_group *annex_attribute_groups[];

#endif
