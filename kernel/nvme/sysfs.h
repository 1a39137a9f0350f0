/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ANNEX_SYSFS_H
#define ANNEX_SYSFS_H

struct attribute_group;

extern const struct attribute_group *annex_sysfs_groups[];

#endif
