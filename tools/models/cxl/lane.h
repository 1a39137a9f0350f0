/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations of a thread of a simulated program. Each call takes its time on the simulated machine,
 * and other threads run meanwhile.
 */
#ifndef TOOLS_CXL_LANE_H
#define TOOLS_CXL_LANE_H

#include <stdint.h>

struct lane;

/* Loads and stores of @data at byte @at, a multiple of their size. */
uint32_t lane_load32(struct lane *l, uint64_t at);
uint64_t lane_load64(struct lane *l, uint64_t at);
float lane_loadf(struct lane *l, uint64_t at);
void lane_store32(struct lane *l, uint64_t at, uint32_t v);
void lane_store64(struct lane *l, uint64_t at, uint64_t v);
void lane_storef(struct lane *l, uint64_t at, float v);

/* lane_ops() - Execute @n instructions that compute. */
void lane_ops(struct lane *l, unsigned int n);

/*
 * lane_add32() - Add to a number atomically. Return: its value before.
 * lane_barrier() - Wait until all threads of the program have called it.
 */
uint32_t lane_add32(struct lane *l, uint64_t at, uint32_t n);
void lane_barrier(struct lane *l);

#endif
