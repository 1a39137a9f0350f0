// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sort - Stable merge sort of records of 64 bytes, 8 MiB with the index that is its result.
 * Sampled: the last merge of two sorted runs. The rank of a record is its number in its run plus
 * the result of a binary search in the other run.
 */
#include "gpu.h"

#include <stdlib.h>

#define RECORD 64u  /* its key is its first 8 bytes */
#define KEY_BITS 24 /* few enough for equal keys */

struct sort_plan {
	uint64_t run; /* records of a run */
	uint64_t records;
	uint64_t index; /* records in order, by their number */
};

static void sort_plan(void *plan, double scale, uint64_t *end)
{
	struct sort_plan *p = plan;

	p->run = gpu_scaled(scale, GPU_BYTES / 2 / (RECORD + 4), 4);
	p->records = gpu_array(end, 2 * p->run * RECORD);
	p->index = gpu_array(end, 2 * p->run * 4);
}

/* compare_records() - Compare keys, then the next word: the same order with each C library. */
static int compare_records(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	unsigned int i = x[0] == y[0];

	return (x[i] > y[i]) - (x[i] < y[i]);
}

static void sort_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct sort_plan *p = plan;
	uint64_t *word = (uint64_t *)(data + p->records);

	for (uint64_t i = 0; i < 2 * p->run * RECORD / 8; i++)
		word[i] = annex_random(seed);
	for (uint64_t i = 0; i < 2 * p->run; i++)
		word[i * RECORD / 8] >>= 64 - KEY_BITS;
	qsort(word, p->run, RECORD, compare_records);
	qsort(word + p->run * RECORD / 8, p->run, RECORD, compare_records);
}

/* sort_rank() - Count records of the run at @at below @key; @after: and equal to it. */
static uint64_t sort_rank(const struct sort_plan *p, struct lane *l, uint64_t at, uint64_t key,
			  bool after)
{
	uint64_t low = 0, high = p->run;

	while (low < high) {
		uint64_t mid = (low + high) / 2;
		uint64_t other = lane_load64(l, at + mid * RECORD);

		lane_ops(l, 2);
		if (other < key || (after && other == key))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void sort_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct sort_plan *p = plan;
	const struct gpu_part part = gpu_part(2 * p->run, id, lanes);

	for (uint64_t i = part.begin; i < part.end; i += part.step) {
		bool second = i >= p->run;
		uint64_t key = lane_load64(l, p->records + i * RECORD);
		uint64_t other = p->records + (second ? 0 : p->run * RECORD);
		uint64_t rank = sort_rank(p, l, other, key, second);

		rank += second ? i - p->run : i;
		lane_ops(l, 1);
		lane_store32(l, p->index + rank * 4, (uint32_t)i);
	}
}

static bool sort_check(const void *plan, const char *first, const char *data)
{
	const struct sort_plan *p = plan;
	const uint64_t *word = (const uint64_t *)(first + p->records);
	const uint32_t *index = (const uint32_t *)(data + p->index);
	uint64_t a = 0, b = p->run;

	for (uint64_t i = 0; i < 2 * p->run; i++) {
		bool left = b == 2 * p->run ||
			    (a < p->run && word[a * RECORD / 8] <= word[b * RECORD / 8]);

		if (index[i] != (left ? a++ : b++))
			return false;
	}
	return !memcmp(word, data + p->records, 2 * p->run * RECORD);
}

GPU_KERNEL(sort);
