/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread of a simulated program: what it may do. Each call takes the time that it takes on the
 * simulated machine, and other threads run meanwhile.
 */
#ifndef TOOLS_CXL_LANE_H
#define TOOLS_CXL_LANE_H

#include <stdint.h>

struct lane;

/* Loads and stores of @data at the byte @at, a multiple of their size. */
uint32_t lane_load32(struct lane *l, uint64_t at);
uint64_t lane_load64(struct lane *l, uint64_t at);
float lane_loadf(struct lane *l, uint64_t at);
void lane_store32(struct lane *l, uint64_t at, uint32_t v);
void lane_store64(struct lane *l, uint64_t at, uint64_t v);
void lane_storef(struct lane *l, uint64_t at, float v);

/* lane_ops() - So many instructions that compute. */
void lane_ops(struct lane *l, unsigned int n);

/*
 * lane_add32() - Load, add and store in one step: returns what was there.
 * lane_barrier() - Wait until all threads of the program are here.
 */
uint32_t lane_add32(struct lane *l, uint64_t at, uint32_t n);
void lane_barrier(struct lane *l);

#endif
