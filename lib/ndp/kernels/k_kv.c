// SPDX-License-Identifier: MIT
/*
 * A hash table with chains, in a range. The host computes hashes; the device (kernels/kv.inc) looks
 * up and compares keys, and copies values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/random.h>
#include "core/log.h"
#include "kernels.h"

#define KV_MAGIC 0x766b70646e786e41ull
#define KV_ENTRY 96u          /* the next one, key, value */
#define KV_AT_ONCE 16384u     /* requests of a launch */
#define LEAST_PUBLISHED 8193u /* fewest bytes that annex_hdm_publish() accepts */

/*
 * struct kv_head - The beginning of the table. Offsets of entries are from here on.
 * @magic: KV_MAGIC.
 * @words: words of the hash table, which follows, a power of two.
 * @entries: number of entries.
 * @used: number of entries in use, from the first one on.
 * @unused: padding.
 */
struct kv_head {
	uint64_t magic;
	uint64_t words;
	uint64_t entries;
	uint64_t used;
	uint64_t unused[4];
};

struct kv_request {
	unsigned char key[ANNEX_NDP_KEY];
	uint64_t hash;
};

/* struct kv_work - Input and output of a launch for up to @most requests, which are at its
 * start. */
struct kv_work {
	size_t most, bytes;
	struct kv_request *request;
	unsigned char *value;
	uint64_t *result;
};

/* Hash table of the requests of a launch: a power of two of numbers from 1 on; 0: free. */
struct kv_seen {
	size_t mask;
	uint32_t *number;
};

struct annex_ndp_kv {
	struct annex_kernels *k;
	struct kv_head *head;
	bool own; /* it has no name, and is freed with this handle */
};

static uint64_t first_entry(const struct kv_head *head)
{
	return sizeof(*head) + head->words * sizeof(uint64_t);
}

static uint64_t hash(const unsigned char *key)
{
	uint64_t h = 0, word;

	for (size_t i = 0; i < ANNEX_NDP_KEY; i += sizeof(word)) {
		memcpy(&word, key + i, sizeof(word));
		h ^= word;
		h = annex_random(&h);
	}
	return h;
}

static int new_handle(struct annex_kernels *k, struct kv_head *head, bool own,
		      struct annex_ndp_kv **out)
{
	struct annex_ndp_kv *kv = malloc(sizeof(*kv));

	if (!kv)
		return annex_fail(-ENOMEM, "kv: out of memory");
	*kv = (struct annex_ndp_kv){k, head, own};
	*out = kv;
	return 0;
}

int annex_ndp_kv_create(struct annex_kernels *k, const char *name, uint64_t entries,
			struct annex_ndp_kv **out)
{
	struct kv_head head = {.magic = KV_MAGIC, .words = 1, .entries = entries};
	struct annex_hdm_piece piece = {.name = name};
	uint64_t bytes;
	void *table;
	int err;

	if (!entries || entries > 1ull << 32)
		return annex_fail(-EINVAL, "kv: a table for %llu keys", (ull)entries);
	while (head.words < entries)
		head.words *= 2;
	piece.bytes = first_entry(&head) + entries * KV_ENTRY;
	bytes = piece.bytes > LEAST_PUBLISHED ? piece.bytes : LEAST_PUBLISHED;
	err = annex_hdm_alloc(k->hdm, bytes, 0, NULL, &table);
	if (err)
		return err;
	err = annex_ndp_memset(k, table, 0, first_entry(&head));
	if (!err) {
		memcpy(table, &head, sizeof(head));
		err = k_flush(k, table, sizeof(head));
	}
	/* Publish the name only after the table is complete. */
	piece.ptr = table;
	if (!err && name)
		err = annex_hdm_publish(k->hdm, &piece, 1, false);
	if (!err)
		err = new_handle(k, table, !name, out);
	if (err) {
		KEEP_LAST_ERROR(true);

		annex_hdm_free(k->hdm, table);
	}
	return err;
}

int annex_ndp_kv_open(struct annex_kernels *k, const char *name, struct annex_ndp_kv **out)
{
	struct annex_hdm_block block;
	struct annex_hdm_info info;
	struct kv_head *head;
	int err = annex_hdm_find(k->hdm, name, &block);

	if (err)
		return err;
	annex_hdm_get_info(k->hdm, &info);
	head = (void *)((char *)info.base + block.offset);
	if (block.bytes < sizeof(*head) || head->magic != KV_MAGIC || !head->words ||
	    head->words & (head->words - 1) || head->words > 1ull << 32 ||
	    head->entries > 1ull << 32 ||
	    first_entry(head) + head->entries * KV_ENTRY > block.bytes)
		return annex_fail(-EILSEQ, "kv: \"%s\" is no table", name);
	return new_handle(k, head, false, out);
}

void annex_ndp_kv_close(struct annex_ndp_kv *kv)
{
	KEEP_LAST_ERROR(true);

	if (kv && kv->own)
		annex_hdm_free(kv->k->hdm, kv->head);
	free(kv);
}

uint64_t annex_ndp_kv_count(const struct annex_ndp_kv *kv)
{
	return kv->head->used;
}

static int run(struct annex_ndp_kv *kv, enum k_kernel kernel, struct kv_work *w, size_t n)
{
	struct annex_kernels *k = kv->k;
	struct kv_head *head = kv->head;
	const uint64_t args[] = {n * sizeof(w->request[0]),
				 k->piece,
				 k_at(head),
				 k_at(head + 1),
				 head->words - 1,
				 k_at(w->value),
				 k_at(w->result),
				 k_at(&head->used),
				 head->entries,
				 first_entry(head)};
	uint64_t pieces = k_parts(n * sizeof(w->request[0]), k->piece);
	int err = k_flush(k, w->request, w->bytes);

	return err ? err
		   : k_run(k, kernel, w->request, pieces, args,
			   sizeof(args) - (kernel == K_kv_get ? 24 : 0));
}

static int work_alloc(struct annex_kernels *k, size_t n, struct kv_work *w)
{
	void *place;
	int err;

	w->most = n < KV_AT_ONCE ? n : KV_AT_ONCE;
	w->bytes = w->most * (sizeof(*w->request) + ANNEX_NDP_VALUE + sizeof(*w->result));
	err = annex_hdm_alloc(k->hdm, w->bytes, 0, NULL, &place);
	if (err)
		return err;
	w->request = place;
	w->value = (unsigned char *)(w->request + w->most);
	w->result = (void *)(w->value + w->most * ANNEX_NDP_VALUE);
	return 0;
}

static void ask(struct kv_request *request, const unsigned char *key)
{
	memcpy(request->key, key, ANNEX_NDP_KEY);
	request->hash = hash(key);
}

static int get(struct annex_ndp_kv *kv, struct kv_work *w, const unsigned char *keys, size_t n,
	       unsigned char *values, bool *found)
{
	int err;

	for (size_t i = 0; i < n; i++)
		ask(&w->request[i], keys + i * ANNEX_NDP_KEY);
	err = run(kv, K_kv_get, w, n);
	for (size_t i = 0; !err && i < n; i++) {
		found[i] = w->result[i];
		if (found[i])
			memcpy(values + i * ANNEX_NDP_VALUE, w->value + i * ANNEX_NDP_VALUE,
			       ANNEX_NDP_VALUE);
	}
	return err;
}

int annex_ndp_kv_get(struct annex_ndp_kv *kv, const void *keys, size_t n, void *values, bool *found)
{
	struct kv_work w;
	int err = n ? work_alloc(kv->k, n, &w) : 0;

	if (err || !n)
		return err;
	for (size_t at = 0, part; !err && at < n; at += part) {
		part = n - at < w.most ? n - at : w.most;
		err = get(kv, &w, (const unsigned char *)keys + at * ANNEX_NDP_KEY, part,
			  (unsigned char *)values + at * ANNEX_NDP_VALUE, found + at);
	}
	annex_hdm_free(kv->k->hdm, w.request);
	return err;
}

static int seen_alloc(size_t n, struct kv_seen *seen)
{
	seen->mask = 1;
	while (seen->mask < 2 * n)
		seen->mask *= 2;
	seen->number = malloc(seen->mask-- * sizeof(*seen->number));
	return seen->number ? 0 : annex_fail(-ENOMEM, "kv: out of memory");
}

/* Number of the request for a key, which is new or an earlier one. */
static size_t number_of(struct kv_work *w, struct kv_seen *seen, const unsigned char *key,
			size_t *n)
{
	struct kv_request *request = &w->request[*n];
	uint32_t *at;

	ask(request, key);
	for (size_t i = request->hash;; i++) {
		at = &seen->number[i & seen->mask];
		if (!*at) {
			*at = (uint32_t)++ * n;
			return *n - 1;
		}
		if (!memcmp(w->request[*at - 1].key, key, ANNEX_NDP_KEY))
			return *at - 1;
	}
}

/* Micro-threads of one launch must not set the same key, so send only the last value of a key. */
static int set(struct annex_ndp_kv *kv, struct kv_work *w, struct kv_seen *seen,
	       const unsigned char *keys, const unsigned char *values, size_t n, size_t *full)
{
	size_t different = 0;
	int err;

	memset(seen->number, 0, (seen->mask + 1) * sizeof(*seen->number));
	for (size_t i = 0; i < n; i++) {
		size_t at = number_of(w, seen, keys + i * ANNEX_NDP_KEY, &different);

		memcpy(w->value + at * ANNEX_NDP_VALUE, values + i * ANNEX_NDP_VALUE,
		       ANNEX_NDP_VALUE);
	}
	err = run(kv, K_kv_set, w, different);
	for (size_t i = 0; !err && i < different; i++)
		*full += w->result[i] == 2;
	return err;
}

int annex_ndp_kv_set(struct annex_ndp_kv *kv, const void *keys, const void *values, size_t n)
{
	struct kv_seen seen;
	struct kv_work w;
	size_t full = 0;
	int err = n ? work_alloc(kv->k, n, &w) : 0;

	if (err || !n)
		return err;
	err = seen_alloc(w.most, &seen);
	for (size_t at = 0, part; !err && at < n; at += part) {
		part = n - at < w.most ? n - at : w.most;
		err = set(kv, &w, &seen, (const unsigned char *)keys + at * ANNEX_NDP_KEY,
			  (const unsigned char *)values + at * ANNEX_NDP_VALUE, part, &full);
	}
	free(seen.number);
	annex_hdm_free(kv->k->hdm, w.request);
	if (!err && full)
		return annex_fail(-ENOSPC, "kv: no room for %zu keys: %llu entries are taken", full,
				  (ull)kv->head->used);
	return err;
}
