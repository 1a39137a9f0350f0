/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_CGROUP_H
#define TOOLS_CGROUP_H

#include <stdint.h>

/* cgroup_memory() - Bytes of memory that the control groups of this process allow it, as containers
 * and services have them; UINT64_MAX: as many as there are. */
uint64_t cgroup_memory(void);

/* cgroup_memory_v1() - The same of groups of version 1 alone. */
uint64_t cgroup_memory_v1(void);

#endif
