// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp.h>
#include "kernels_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define RANGE (64ull << 20)
#define GUARD 256u
#define GUARDED 0xa5

static void emulate(struct kernels_rig *r, const struct annex_ndp_opts *opts, const char *dir)
{
	struct annex_hdm_info info;
	struct k_way way = {ndp_qemu_run, &r->qemu};

	annex_hdm_get_info(r->range.h, &info);
	r->qemu = (struct ndp_qemu){.dir = dir,
				    .fd = r->range.fd,
				    .at = info.base,
				    .bytes = info.bytes,
				    .piece = opts->piece,
				    .vlen = opts->vlen};
	kernels_init(&r->emulated, r->range.h, &way, opts->piece, 64);
	r->k = &r->emulated;
}

void kernels_rig_open(struct kernels_rig *r, const struct annex_ndp_opts *asked, const char *test)
{
	struct annex_ndp_opts opts = asked ? *asked : (struct annex_ndp_opts){0};
	const char *qemu = getenv("ANNEX_TEST_QEMU");

	memset(r, 0, sizeof(*r));
	r->random = random_seed(test);
	opts.piece = opts.piece ? opts.piece : 32;
	opts.vlen = opts.vlen ? opts.vlen : 256;
	hdm_rig_open(&r->range, RANGE, "");
	if (qemu) {
		emulate(r, &opts, qemu);
		return;
	}
	kernels_device_open(r, &opts);
	CU_ASSERT_EQUAL_FATAL(
		annex_m2_map(r->m2, r->range.h, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE), 0);
	CU_ASSERT_EQUAL_FATAL(annex_kernels_open(r->m2, r->range.h, &r->k), 0);
}

void kernels_rig_close(struct kernels_rig *r)
{
	rig_drop(r);
	if (r->m2) {
		annex_kernels_close(r->k);
		kernels_device_close(r);
	}
	hdm_rig_close(&r->range);
}

void *rig_array(struct kernels_rig *r, size_t bytes)
{
	struct rig_array *a = &r->array[r->narrays++];
	void *at;

	CU_ASSERT_FATAL(r->narrays <= RIG_ARRAYS);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r->range.h, bytes + GUARD, 0, NULL, &at), 0);
	*a = (struct rig_array){at, bytes};
	random_fill(&r->random, at, bytes);
	memset(a->at + bytes, GUARDED, GUARD);
	return at;
}

void rig_drop(struct kernels_rig *r)
{
	while (r->narrays) {
		struct rig_array *a = &r->array[--r->narrays];
		unsigned int whole = 0;

		for (unsigned int i = 0; i < GUARD; i++)
			whole += a->at[a->bytes + i] == GUARDED;
		CU_ASSERT_EQUAL(whole, GUARD);
		annex_hdm_free(r->range.h, a->at);
	}
}

float *rig_floats(struct kernels_rig *r, size_t n)
{
	float *array = rig_array(r, n * sizeof(*array));

	for (size_t i = 0; i < n; i++)
		array[i] = (float)(random_unit(&r->random) * 2 - 1);
	return array;
}

uint64_t rig_below(struct kernels_rig *r, uint64_t n)
{
	return random_next(&r->random) % n;
}

void rig_sizes(struct kernels_rig *r, size_t most, void (*test)(struct kernels_rig *r, size_t n))
{
	static const size_t some[] = {0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 255, 256, 257, 511, 1025};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		if (some[i] > most)
			continue;
		test(r, some[i]);
		rig_drop(r);
	}
	for (unsigned int i = 0; i < 3; i++) {
		test(r, rig_below(r, most) + 1);
		rig_drop(r);
	}
}

bool rig_close_to(const float *got, const double *want, const double *bound, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs((double)got[i] - want[i]) <= bound[i])) {
			printf(" [%zu: %.9g instead of %.9g, bound %g] ", i, (double)got[i],
			       want[i], bound[i]);
			return false;
		}
	return true;
}

void rig_devices(const char *test, void (*run)(struct kernels_rig *r))
{
	static const struct annex_ndp_opts opts[] = {
		{.threads = 2},
		{.piece = 64, .vlen = 512, .threads = 1},
		{.vlen = 128, .units = 3, .subcores = 1, .slots = 5},
		{.piece = 64, .vlen = 1024, .units = 1},
	};
	struct kernels_rig r;

	for (unsigned int i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
		kernels_rig_open(&r, &opts[i], test);
		run(&r);
		kernels_rig_close(&r);
	}
}
