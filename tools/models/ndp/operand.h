/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arguments of a timed kernel: numbers, and addresses of arrays in the device's memory.
 */
#ifndef TOOLS_NDP_OPERAND_H
#define TOOLS_NDP_OPERAND_H

#include <stdint.h>
#include <annex/models/ndp_time.h>

#define OPERANDS 31u /* arguments of a kernel at most */

/*
 * struct operand - An argument of a kernel: a number or an array.
 * @text: as on the command line.
 * @value: the number, or the array's address on the device.
 * @memory: the array, or NULL.
 * @bytes: bytes of the array.
 */
struct operand {
	const char *text;
	uint64_t value;
	char *memory;
	uint64_t bytes;
};

/*
 * operand_make() - Parse a number, zero:SIZE, random:SIZE or file:PATH. An array gets the address
 * *@va, which advances to the next page. @seed: state of the random generator.
 * operand_map() - Map the array, if any, on a device.
 * operand_free() - Free the array.
 */
int operand_make(struct operand *o, const char *text, uint64_t *va, uint64_t *seed);
int operand_map(const struct operand *o, struct annex_ndp_time *t);
void operand_free(struct operand *o);

#endif
