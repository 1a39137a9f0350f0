// SPDX-License-Identifier: MIT
/*
 * What the module believes of CXL memory devices and of firmware's tables, whatever these say: see
 * tests/kernel/hostile.c.
 */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void rig_hostile(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_hostile(data, size);
	return 0;
}
