// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../error.h"
#include "each.h"
#include "kernels.h"

int kernels_open(struct kernels *k, struct pool *pool, uint32_t rows, uint32_t width,
		 uint32_t context)
{
	size_t sums = (size_t)each_parts(rows, KERNEL_ROWS) * 2 * width;
	size_t square = (size_t)context * context * pool_threads(pool);

	k->pool = pool;
	k->scratch = calloc(sums > square ? sums : square, sizeof(*k->scratch));
	k->losses = calloc(rows, sizeof(*k->losses));
	if (k->scratch && k->losses)
		return 0;
	kernels_close(k);
	return err_set(-ENOMEM, "out of memory");
}

void kernels_close(struct kernels *k)
{
	free(k->scratch);
	free(k->losses);
	memset(k, 0, sizeof(*k));
}
