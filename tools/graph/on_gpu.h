/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * annex graph bfs --gpu: the same search by GPU threads.
 */
#ifndef TOOLS_GRAPH_ON_GPU_H
#define TOOLS_GRAPH_ON_GPU_H

#include "run.h"

/* gpu_check() - -EINVAL for options that say nothing to a GPU. */
int gpu_check(const struct run *run);

/* gpu_search() - The search and its rows; the result is in run->r.bfs, to be freed in any case. */
int gpu_search(struct run *run, struct out *out);

#endif
