/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_NDP_HARTS_NAMED_H
#define ANNEX_NDP_HARTS_NAMED_H

struct rv_code;

/* rv_find_named() - Sets xs, fs and vs of code that has been decoded. */
void rv_find_named(struct rv_code *code);

#endif
