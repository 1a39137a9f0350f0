/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_SHARED_H
#define ANNEX_CORE_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* shared_find() - Whether [@ptr, @ptr + @len) lies in one allocation of annex_provider_shared();
 * its file, which stays the provider's, and where in it. */
bool shared_find(const void *ptr, size_t len, int *fd, uint64_t *offset);

#endif
