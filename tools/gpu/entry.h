/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_GPU_ENTRY_H
#define TOOLS_GPU_ENTRY_H

#include "args.h"

#ifdef __cplusplus
extern "C" {
#endif

/* gpu_entries - The kernels that CUDA launches, by enum gpu_kernel. */
extern const void *const gpu_entries[GPU_KERNEL_END];

#ifdef __cplusplus
}
#endif
#endif
