/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions evaluated near the data, by kernels on a device in this process or another one.
 */
#ifndef TOOLS_QUERY_NEAR_H
#define TOOLS_QUERY_NEAR_H

#include <annex/kernels.h>
#include "question.h"
#include "store.h"

#define NEAR_LOCAL "local"

/* NEAR_LOCAL and the library's kinds of devices. */
extern const struct cli_list near_list;

/* struct near - A near-data device with its kernels; zeroed: closed. */
struct near {
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	struct annex_kernels *kernels;
	struct annex_m2_info info;
};

/*
 * near_open() - Open @device and map the range: an ndp: URI, or "local" for a new device with
 * @threads threads of the host.
 * near_close() - Close it; @n may be zeroed.
 */
int near_open(struct near *n, const char *device, uint32_t threads, struct store *s);
void near_close(struct near *n);

/* near_cond() - Write the bitmap of a condition. near_and() - Combine two. All in the range. */
int near_cond(struct near *n, const struct cond *c, const void *column, uint64_t rows,
	      uint8_t *bits);
int near_and(struct near *n, const uint8_t *a, const uint8_t *b, uint8_t *c, uint64_t rows);

#endif
