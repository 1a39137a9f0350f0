/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_NDP_DEVICE_CLIENT_H
#define ANNEX_NDP_DEVICE_CLIENT_H

#include "state.h"

/* ndp_client_shootdown() - Translations of (@asid, @page) are looked up anew from now on. */
int ndp_client_shootdown(struct ndp_client *c, const struct annex_m2_shootdown *asked);

#endif
