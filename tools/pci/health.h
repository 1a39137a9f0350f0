/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a CXL memory device says that it is (CXL 3.0, 8.2.9.8.3.1, Get Health Info).
 */
#ifndef TOOLS_PCI_HEALTH_H
#define TOOLS_PCI_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#define HEALTH_BYTES 18 /* of the answer */
#define HEALTH_WORDS 9  /* most that there can be of one answer */
#define HEALTH_NO_DEGREES INT32_MIN

/*
 * struct health - @n words, each a fault; 0: the device is healthy.
 * @life: percent of it that is used; negative: not told.
 * @degrees: Celsius, or HEALTH_NO_DEGREES. The others are counts.
 */
struct health {
	bool known;
	unsigned int n;
	const char *word[HEALTH_WORDS];
	int life, degrees;
	uint32_t dirty_shutdowns, corrected_volatile, corrected_persistent;
};

void health_parse(const uint8_t answer[HEALTH_BYTES], struct health *h);

#endif
