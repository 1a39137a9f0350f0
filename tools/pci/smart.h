/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The health of an NVMe controller: its log page SMART (NVMe Base 2.0 section 5.16.1.3).
 */
#ifndef TOOLS_PCI_SMART_H
#define TOOLS_PCI_SMART_H

#include <stdbool.h>
#include <stdint.h>

#define SMART_BYTES 512
#define SMART_SENSORS 8
#define SMART_WARNINGS 6
#define SMART_NO_DEGREES INT32_MIN

/**
 * struct smart - The page. Counts above 64 bits are UINT64_MAX.
 * @n: number of warnings; 0: the controller is healthy.
 * @warning: critical warnings, in words.
 * @degrees: Celsius, or SMART_NO_DEGREES.
 * @spare: percent of the spare blocks that are left.
 * @spare_least: percent below which the controller warns.
 * @used: percent of the expected life that is used; can be above 100.
 * @read: bytes read by the host, in units of 512,000.
 * @written: likewise.
 * @reads: read commands.
 * @writes: write commands.
 * @busy: minutes with commands.
 * @cycles: power cycles.
 * @hours: hours with power.
 * @unsafe: losses of power without a shutdown.
 * @media: errors of the medium and of data integrity.
 * @errors: entries of the error log so far.
 * @warm: minutes above the warning temperature.
 * @hot: minutes above the critical temperature.
 * @sensor: degrees of each sensor, or SMART_NO_DEGREES.
 */
struct smart {
	unsigned int n;
	const char *warning[SMART_WARNINGS];
	int degrees;
	unsigned int spare, spare_least, used;
	uint64_t read, written, reads, writes, busy, cycles, hours, unsafe, media, errors;
	uint32_t warm, hot;
	int sensor[SMART_SENSORS];
};

void smart_parse(const uint8_t page[SMART_BYTES], struct smart *s);

/* smart_wait() - Wait for an event of a controller that is bound to annex. As smart_ask(). */
int smart_wait(const char *addr);

/* smart_ask() - Of a controller that is bound to annex. A negative errno with the line set. */
int smart_ask(const char *addr, struct smart *s);

#endif
