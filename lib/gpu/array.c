// SPDX-License-Identifier: MIT
/*
 * Views for kernels.
 */
#include <errno.h>
#include <annex/gpu.h>
#include "context.h"
#include "core/log.h"

int annex_gpu_array_init(struct annex_gpu_array *a, struct annex_gpu_context *ctx, uint64_t base,
			 uint32_t elem, uint64_t count)
{
	const struct annex_gpu_cache *view = &ctx->view;

	if (ctx->fork.child)
		return fork_refuse(annex_dev_uri(ctx->dev));
	if (!elem || elem & (elem - 1) || elem > annex_gpu_line(ctx))
		return annex_fail(-EINVAL, "array: an element of %u bytes does not divide the line",
				  elem);
	if (base % elem)
		return annex_fail(-EINVAL, "array: element 0 is not at a multiple of its size");
	if (base > view->size || count > (view->size - base) / elem)
		return annex_fail(-ERANGE, "array: it would end behind the %llu bytes of data",
				  (ull)view->size);
	*a = (struct annex_gpu_array){.cache = ctx->there,
				      .dir = view->dir,
				      .mem = view->mem,
				      .base = base,
				      .count = count,
				      .elem_shift = (uint32_t)__builtin_ctz(elem),
				      .line_shift = view->line_shift};
	return 0;
}
