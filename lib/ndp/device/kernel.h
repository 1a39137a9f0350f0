/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_NDP_DEVICE_KERNEL_H
#define ANNEX_NDP_DEVICE_KERNEL_H

#include "state.h"

/* ndp_register() - The new kernel's id, or a negative errno. Takes the lock by itself. */
int64_t ndp_register(struct ndp_client *c, const struct annex_m2_register *asked);
int ndp_unregister(struct ndp_client *c, const struct annex_m2_unregister *asked);

/* ndp_kernel_find() - Of this client; NULL: no such. Locked. */
struct ndp_kernel *ndp_kernel_find(struct ndp_client *c, uint32_t id);

#endif
