/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions evaluated near the data: kernels on a device, in this process or another one.
 */
#ifndef TOOLS_QUERY_NEAR_H
#define TOOLS_QUERY_NEAR_H

#include <annex/kernels.h>
#include "question.h"
#include "store.h"

#define NEAR_LOCAL "local"

/* NEAR_LOCAL, and the kinds of devices that the library opens. */
extern const struct cli_list near_list;

/* struct near - @info: of the device. Zeroed: none. */
struct near {
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	struct annex_kernels *kernels;
	struct annex_m2_info info;
};

/*
 * near_open() - @device: "local", a device made for this, which takes @threads of the host; or an
 * ndp: URI. It can reach all of the range. near_close() - @n may be zeroed.
 */
int near_open(struct near *n, const char *device, uint32_t threads, struct store *s);
void near_close(struct near *n);

/* near_cond(), near_and() - Bitmaps of @rows rows, in the range. */
int near_cond(struct near *n, const struct cond *c, const void *column, uint64_t rows,
	      uint8_t *bits);
int near_and(struct near *n, const uint8_t *a, const uint8_t *b, uint8_t *c, uint64_t rows);

#endif
