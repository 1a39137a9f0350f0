/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_MAPPING_H
#define ANNEX_CORE_MAPPING_H

#include <stdbool.h>
#include <annex/mapping.h>

/* annex_mapping_any_lost() - Whether annex_mapping_lost() can be true of anything. */
bool annex_mapping_any_lost(void);

/* annex_mapping_lost() - Whether a SIGBUS has replaced any of [@addr, @addr + @bytes); no system
 * call. */
bool annex_mapping_lost(const void *addr, size_t bytes);

/* annex_mapping_poison() - Lose the page at @addr, as if it were poisoned and had been touched.
 * Return: false: the process does not catch that, or the page is not watched. */
bool annex_mapping_poison(const void *addr);

#endif
