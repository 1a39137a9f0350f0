/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands of a timed kernel: numbers, and arrays in the device's memory, whose addresses it
 * gets.
 */
#ifndef TOOLS_NDP_OPERAND_H
#define TOOLS_NDP_OPERAND_H

#include <stdint.h>
#include <annex/models/ndp_time.h>

#define OPERANDS 31u /* of 8 bytes */

/*
 * struct operand - An argument of a kernel: a number or an array.
 * @value: the number, or the array's address on the device.
 * @memory: NULL: none.
 */
struct operand {
	const char *text;
	uint64_t value;
	char *memory;
	uint64_t bytes;
};

/*
 * operand_make() - From what the command line says: a number, zero:SIZE, random:SIZE or file:PATH.
 * Arrays are placed one behind the other, the next one at *@va. Random ones come from @seed.
 */
int operand_make(struct operand *o, const char *text, uint64_t *va, uint64_t *seed);
int operand_map(const struct operand *o, struct annex_ndp_time *t);
void operand_free(struct operand *o);

#endif
