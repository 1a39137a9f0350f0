/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_NDP_DEVICE_WORKER_H
#define ANNEX_NDP_DEVICE_WORKER_H

#include "state.h"

/* ndp_workers_start() - As many as the options say; -EAGAIN. Stop: none is left, also of some. */
int ndp_workers_start(struct annex_ndp *ndp);
void ndp_workers_stop(struct annex_ndp *ndp);

#endif
