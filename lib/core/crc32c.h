/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_CRC32C_H
#define ANNEX_CORE_CRC32C_H

#include <stdint.h>

/* annex_crc32c() - CRC-32C (Castagnoli) over @n words of 8 bytes, of any alignment, then the 4
 * bytes of @last. */
uint32_t annex_crc32c(const uint64_t *words, unsigned int n, uint32_t last);

/* crc32c_by_table() - The same, without the processor's instruction. */
uint32_t crc32c_by_table(const uint64_t *words, unsigned int n, uint32_t last);

#endif
