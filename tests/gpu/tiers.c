// SPDX-License-Identifier: MIT
/*
 * Tensors in more memory than the GPU is to use: kernels check their contents and change them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <annex/mem.h>
#include "tests/unit/random.h"
#include "k_tests.h"
#include "tests.h"
#include "tools/common/error.h"

#define TENSORS 24u
#define WAIT_MS 30000u
#define ROUNDS 4u

/*
 * struct tiers - Tensors in a space, and a kernel that changes them.
 * @bytes: of a tensor
 * @round: how often each was changed
 * @found: the kernel's result
 */
struct tiers {
	struct runner *r;
	struct annex_store *store;
	struct annex_space *space;
	uint64_t bytes;
	uint64_t *tensors[TENSORS];
	uint32_t round[TENSORS];
	struct gpu_result *found;
};

/* A third of the tensors fits the GPU's part, another host memory, and the rest storage. */
static int tiers_open(struct tiers *t, struct runner *r, bool checksum)
{
	struct annex_store_opts store = {.provider = r->memory->pinned};
	struct annex_space_opts opts = {.stores = &t->store, .n_stores = 1, .checksum = checksum};
	uint64_t third;
	char uri[64];
	int err;

	memset(t, 0, sizeof(*t));
	t->r = r;
	/* No whole frames: two tensors share one. */
	t->bytes = (tests_small() || !r->gpu ? 5 : 21) * r->memory->frames->bytes / 2;
	third = t->bytes * TENSORS / 3;
	opts.device = opts.host = third;
	opts.frames = r->memory->frames;
	snprintf(uri, sizeof(uri), "mem:%" PRIu64, 2 * third / 4096 * 4096);
	err = annex_store_open(uri, &store, &t->store);
	if (!err)
		err = annex_space_create(&opts, &t->space);
	for (unsigned int i = 0; !err && i < TENSORS; i++)
		err = annex_alloc(t->space, "tensor", t->bytes, (void **)&t->tensors[i]);
	if (err)
		return err_lib(err, "no space of three tiers");
	t->found = runner_alloc(r, sizeof(*t->found), "a result");
	return t->found ? 0 : -ENOMEM;
}

static int tiers_close(struct tiers *t, int err)
{
	annex_space_destroy(t->space);
	if (annex_store_close(t->store) && !err)
		err = err_set(-EBUSY, "the storage is still in use");
	if (t->found)
		runner_free(t->r, t->found, sizeof(*t->found));
	return err;
}

/* A kernel must touch only tensors that were fetched and are held. */
static int take(struct tiers *t, unsigned int i)
{
	struct annex_move *m;
	int err = annex_hold(t->space, t->tensors[i]);

	if (!err)
		err = annex_prefetch(t->space, t->tensors[i], t->bytes, 0, &m);
	if (!err)
		err = annex_move_wait(m, WAIT_MS);
	return err ? err_lib(err, "tensor %u does not come", i) : 0;
}

static int run(struct tiers *t, unsigned int i)
{
	struct gpu_args_stamp args = {
		.words = t->tensors[i],
		.count = t->bytes / 8,
		.was = t->round[i] ? tests_seed() + i * ROUNDS + t->round[i] : 0,
		.is = tests_seed() + i * ROUNDS + t->round[i] + 1,
		.r = t->found,
	};
	double s;
	int err = t->r->start(t->r, 0, TEST_KERNEL_stamp, t->r->threads, &args);

	if (!err)
		err = t->r->wait(t->r, 0, &s);
	t->round[i]++;
	return err ? err_lib(err, "the kernel did not run") : 0;
}

static int use(struct tiers *t, unsigned int i, unsigned int next)
{
	int err = take(t, i);

	/* It comes while the kernel runs. */
	if (!err && annex_prefetch(t->space, t->tensors[next], t->bytes, 0, NULL))
		err = err_set(-EIO, "a prefetch was not taken");
	if (!err)
		err = run(t, i);
	if (!err && annex_let_go(t->space, t->tensors[i]))
		err = err_set(-EIO, "tensor %u was not held", i);
	return err;
}

static int judge(struct tiers *t)
{
	struct annex_space_stats st;
	struct gpu_result found;
	int err = runner_get(t->r, &found, t->found, sizeof(found));

	annex_space_get_stats(t->space, &st);
	if (!err && found.done != ROUNDS * TENSORS * (t->bytes / 8))
		err = err_set(-EBADMSG, "%" PRIu64 " words were looked at", found.done);
	if (!err && found.wrong)
		err = err_set(-EBADMSG, "%" PRIu64 " words are wrong", found.wrong);
	if (!err && (!st.in || !st.out || !st.bounced || st.over))
		err = err_set(-EBADMSG, "nothing moved, or too much was in GPU memory");
	return err;
}

static int rounds(struct runner *r, bool checksum)
{
	uint64_t random = tests_seed();
	unsigned int order[TENSORS];
	struct tiers t;
	int err = tiers_open(&t, r, checksum);

	for (unsigned int i = 0; i < TENSORS; i++)
		order[i] = i;
	for (unsigned int round = 0; !err && round < ROUNDS; round++) {
		for (unsigned int i = 0; i < TENSORS; i++) {
			unsigned int k = (unsigned int)(random_next(&random) % TENSORS);
			unsigned int other = order[i];

			order[i] = order[k];
			order[k] = other;
		}
		for (unsigned int i = 0; !err && i < TENSORS; i++)
			err = use(&t, order[i], order[(i + 1) % TENSORS]);
	}
	if (!err)
		err = judge(&t);
	return tiers_close(&t, err);
}

GPU_TEST(plain, rounds(r, false))
GPU_TEST(with_checksums, rounds(r, true))

const struct gpu_test tier_tests[] = {
	{"tiers: tensors of three times the GPU's part", plain},
	{"tiers: the same with checksums", with_checksums},
	{NULL, NULL},
};
