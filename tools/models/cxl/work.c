// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stddef.h>
#include "tools/common/mem.h"
#include "gpu.h"
#include "ram.h"
#include "sky.h"

int work_alloc(struct work *w, uint64_t bytes)
{
	w->bytes = (bytes + RAM_PAGE - 1) / RAM_PAGE * RAM_PAGE;
	w->data = mem_alloc(w->bytes, 1, "a program's data");
	return w->data ? 0 : -ENOMEM;
}

const struct work_kind *const work_kinds[] = {
	&work_rsum,  &work_stencil, &work_sort, &work_gemm, &work_vadd,
	&work_saxpy, &work_conv3,   &work_path, &work_cfd,  &work_gauss,
	&work_bfs,   &work_gnn,     &work_mri,  &work_bc,   &work_bfs_dense,
	&work_dlrm,  &work_radix,   &work_srad, &work_tpcc, &work_ycsb,
	NULL,
};
