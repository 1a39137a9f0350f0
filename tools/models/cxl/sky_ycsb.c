// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A key-value store in a hash table, with requests like YCSB's: keys are drawn by Zipf's law; most
 * requests read a record of 1 KiB, few update a field. Updates are appended to a log, as in a
 * log-structured merge tree, without the merge.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky.h"

#define RECORDS 42000u  /* at scale 1 */
#define REQUESTS 47000u /* at scale 1 */
#define SHARE 30u       /* requests for each update */
#define FIELDS 16u
#define RECORD (FIELDS * SKY_LINE)
#define CHUNK 32u /* requests of a lane's unit of work */

/* Offsets in a line of a record: the key (first line only), and data. */
#define KEY 4u
#define VALUE 8u
#define VALUE2 40u

/*
 * struct ycsb - Layout in @data.
 * @slots: u64: a key, and its record's number from 1; 0: free.
 * @nslots: number of slots.
 * @requests: u32: a key; the request's number decides whether it updates.
 * @log: a line of each update: key, field, number of the request.
 * @results: u64 of each chunk of requests: sum of the values read.
 */
struct ycsb {
	uint32_t nrecords;
	uint32_t nslots;
	uint32_t nrequests;
	uint64_t records;
	uint64_t slots;
	uint64_t requests;
	uint64_t log;
	uint64_t results;
};

/* Each step is invertible, so keys are unique. */
static uint32_t key_of(uint32_t i)
{
	i *= 0x9e3779b1;
	i ^= i >> 15;
	i *= 0x85ebca77;
	return i ^ i >> 13;
}

static uint32_t slot_of(const struct ycsb *y, uint32_t key)
{
	return (uint64_t)(key * 0xc2b2ae3du) * y->nslots >> 32;
}

static bool updates(uint32_t request)
{
	return request % SHARE == SHARE - 1;
}

static uint32_t field_of(uint32_t request)
{
	return request / SHARE % FIELDS;
}

static uint64_t at_entry(const struct ycsb *y, uint32_t request)
{
	return y->log + request / SHARE * SKY_LINE;
}

static void insert(const struct ycsb *y, char *data, uint32_t i, uint64_t *state)
{
	uint64_t *slots = (uint64_t *)(data + y->slots);
	uint64_t *record = (uint64_t *)(data + y->records + (uint64_t)i * RECORD);
	uint32_t key = key_of(i), slot = slot_of(y, key);

	while (slots[slot])
		slot = slot + 1 < y->nslots ? slot + 1 : 0;
	slots[slot] = (uint64_t)key << 32 | (i + 1);
	for (uint32_t j = 0; j < RECORD / 8; j++)
		if (j % (SKY_LINE / 8))
			record[j] = annex_random(state);
	((uint32_t *)record)[KEY / 4] = key;
}

static int make(struct work *w)
{
	struct ycsb *y = sky_own(w, sizeof(*y));
	uint64_t state = w->seed ^ 0x7c5b;
	struct sky_zipf z;
	int err;

	if (!y)
		return -ENOMEM;
	y->nrecords = sky_scaled(w, RECORDS, 16);
	y->nrequests = sky_scaled(w, REQUESTS, 16);
	y->nslots = y->nrecords * 3 / 2;
	y->slots = (uint64_t)y->nrecords * RECORD;
	y->requests = y->slots + y->nslots * 8ull;
	y->log = (y->requests + y->nrequests * 4ull + SKY_LINE - 1) / SKY_LINE * SKY_LINE;
	y->results = y->log + y->nrequests / SHARE * SKY_LINE;
	err = sky_zipf_init(&z, y->nrecords, 0.99);
	if (err)
		return err;
	err = work_alloc(w, y->results + (y->nrequests / CHUNK + 1) * 8ull);
	for (uint32_t i = 0; !err && i < y->nrecords; i++)
		insert(y, w->data, i, &state);
	for (uint32_t i = 0; !err && i < y->nrequests; i++)
		((uint32_t *)(w->data + y->requests))[i] =
			key_of(sky_place(sky_zipf_next(&z, &state), y->nrecords));
	sky_zipf_free(&z);
	return err;
}

/* The record of @key, which must exist. */
static uint64_t find(const struct ycsb *y, struct lane *l, uint32_t key)
{
	uint32_t slot = slot_of(y, key);
	uint64_t entry;

	lane_ops(l, 20);
	while ((entry = lane_load64(l, y->slots + slot * 8ull)) >> 32 != key) {
		slot = slot + 1 < y->nslots ? slot + 1 : 0;
		lane_ops(l, 4);
	}
	return y->records + ((uint32_t)entry - 1ull) * RECORD;
}

static uint64_t get(struct lane *l, uint64_t record, uint32_t key)
{
	uint64_t sum = 0;

	if (lane_load32(l, record + KEY) != key)
		return 0;
	for (uint32_t i = 0; i < FIELDS; i++) {
		sum += lane_load64(l, record + i * SKY_LINE + VALUE);
		sum ^= lane_load64(l, record + i * SKY_LINE + VALUE2);
		lane_ops(l, 6);
	}
	lane_ops(l, 10);
	return sum;
}

static uint64_t request(const struct ycsb *y, struct lane *l, uint32_t i)
{
	uint32_t key = lane_load32(l, y->requests + i * 4ull);
	uint64_t record = find(y, l, key);

	lane_ops(l, 30);
	if (!updates(i))
		return get(l, record, key);
	lane_store32(l, at_entry(y, i), lane_load32(l, record + KEY));
	lane_store32(l, at_entry(y, i) + 4, field_of(i));
	lane_store32(l, at_entry(y, i) + 8, i);
	return 0;
}

static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct ycsb *y = w->own;

	for (uint64_t from = (uint64_t)id * CHUNK; from < y->nrequests; from += w->lanes * CHUNK) {
		uint64_t sum = 0;

		for (uint64_t i = from; i < from + CHUNK && i < y->nrequests; i++)
			sum += request(y, l, i);
		lane_store64(l, y->results + from / CHUNK * 8, sum);
	}
}

static uint64_t plain_get(const struct ycsb *y, const char *data, uint32_t record)
{
	const uint64_t *word = (const uint64_t *)(data + y->records + (uint64_t)record * RECORD);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < FIELDS; i++, word += SKY_LINE / 8)
		sum = (sum + word[VALUE / 8]) ^ word[VALUE2 / 8];
	return sum;
}

/* The reference result, in a copy of the input. */
static void plain(const void *own, char *data)
{
	const struct ycsb *y = own;
	const uint64_t *slots = (const uint64_t *)(data + y->slots);
	const uint32_t *requests = (const uint32_t *)(data + y->requests);
	uint64_t *results = (uint64_t *)(data + y->results);

	for (uint32_t i = 0; i < y->nrequests; i++) {
		uint32_t slot = slot_of(y, requests[i]), record;

		while (slots[slot] >> 32 != requests[i])
			slot = (slot + 1) % y->nslots;
		record = (uint32_t)slots[slot] - 1;
		if (updates(i)) {
			uint32_t *entry = (uint32_t *)(data + at_entry(y, i));

			entry[0] = requests[i];
			entry[1] = field_of(i);
			entry[2] = i;
		} else {
			results[i / CHUNK] += plain_get(y, data, record);
		}
	}
}

static bool check(const struct work *w)
{
	return sky_is(w, plain);
}

/* At scale 1: 41.8 MiB, 587,000 lines are missed, 0.4 % of the requests to memory write. */
const struct work_kind work_ycsb = {
	.name = "ycsb",
	.summary = "key-value store: reads of records by Zipf's law, few updates",
	.set = "skybyte",
	.work = 31.98,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};
