/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_MAPPING_H
#define ANNEX_CORE_MAPPING_H

#include <stdbool.h>
#include <annex/mapping.h>

/* mapping_any_lost() - Whether mapping_lost() can be true of anything. */
bool mapping_any_lost(void);

/* mapping_lost() - Whether a SIGBUS has replaced any of [@addr, @addr + @bytes); no system call. */
bool mapping_lost(const void *addr, size_t bytes);

/* mapping_poison() - Lose the page at @addr, as if it were poisoned and had been touched. Return:
 * false: the process does not catch that, or nobody watches the page. */
bool mapping_poison(const void *addr);

#endif
