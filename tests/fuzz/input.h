/* SPDX-License-Identifier: MIT */
/*
 * A fuzzer's input, taken from the front; zeroes when it is used up.
 */
#ifndef ANNEX_TESTS_FUZZ_INPUT_H
#define ANNEX_TESTS_FUZZ_INPUT_H

#include <stdint.h>
#include <string.h>

struct input {
	const uint8_t *p;
	size_t left;
};

static inline void take(struct input *in, void *out, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(out, 0, n);
	memcpy(out, in->p, have);
	in->p += have;
	in->left -= have;
}

static inline uint64_t take_number(struct input *in, size_t bytes)
{
	uint64_t v = 0;

	take(in, &v, bytes);
	return v;
}

#endif
