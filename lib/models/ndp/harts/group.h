/* SPDX-License-Identifier: MIT */
/*
 * Which lanes are the group.
 */
#ifndef ANNEX_NDP_HARTS_GROUP_H
#define ANNEX_NDP_HARTS_GROUP_H

#include "hart.h"
#include "hot.h"

/* rv_first() - The lane alive with the least @key. */
typedef unsigned int rv_first_fn(const struct rv_batch *b, const uint64_t *key);
rv_first_fn rv_first, rv_first_avx2;

/* rv_choose() - The lanes that are where @first is, in the same shape, and where others wait. */
typedef void rv_choose_fn(struct rv_batch *b, unsigned int first);
rv_choose_fn rv_choose, rv_choose_avx2;

/*
 * rv_settle() - Copy the group's state to @lanes, which are at @pc now; with @shapes also vl and
 * vtype.
 */
typedef void rv_settle_fn(struct rv_batch *b, uint64_t lanes, uint64_t pc, bool shapes);
rv_settle_fn rv_settle, rv_settle_avx2;

#endif
