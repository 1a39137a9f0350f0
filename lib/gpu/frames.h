/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_GPU_FRAMES_H
#define ANNEX_GPU_FRAMES_H

#include <annex/frames.h>

/*
 * Frames of the host itself. As with a GPU, nothing may touch addresses that have none, and a fresh
 * one holds anything but zeroes.
 */
extern const struct annex_frames gpu_frames_host;

#endif
