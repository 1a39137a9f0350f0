// SPDX-License-Identifier: MIT
/*
 * The timed device for programs: memory, launches, their times, and refusals.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp_time.h>
#include "ndp/kernels/kernels.h"
#include "tests/unit/unit.h"

#define AT (1ull << 32)
#define PAGE (2ull << 20)
#define MOST 4096u /* numbers */

/* struct timed - A device with three arrays, which kernels see at AT, and a page further each. */
struct timed {
	struct annex_ndp_time *device;
	int32_t array[3][MOST] __attribute__((aligned(64)));
	uint64_t arg[5];
	struct annex_ndp_time_launch launch;
	struct annex_ndp_time_result r;
};

static struct timed *setup(const struct annex_ndp_time_opts *opts)
{
	struct timed *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);

	memset(t, 0, sizeof(*t));
	CU_ASSERT_EQUAL_FATAL(annex_ndp_time_open(opts, &t->device), 0);
	for (unsigned int i = 0; i < 3; i++) {
		t->arg[i] = AT + i * PAGE;
		CU_ASSERT_EQUAL(
			annex_ndp_time_map(t->device, t->arg[i], t->array[i], sizeof(t->array[i])),
			0);
	}
	t->arg[3] = MOST;
	t->arg[4] = 32;
	t->launch = (struct annex_ndp_time_launch){t->arg[2], MOST, t->arg, sizeof(t->arg)};
	return t;
}

static void done(struct timed *t)
{
	annex_ndp_time_close(t->device);
	free(t);
}

/* c = a + b. */
static int add(struct timed *t)
{
	const struct k_image *k = &k_image[K_vadd_i32];

	return annex_ndp_time_run(t->device, k->elf, (size_t)(k->end - k->elf), &t->launch, &t->r);
}

static void right_and_counted(void)
{
	struct timed *t = setup(NULL);
	uint64_t issued = 0, cold;
	size_t wrong = 0;

	for (unsigned int i = 0; i < MOST; i++) {
		t->array[0][i] = (int32_t)i;
		t->array[1][i] = (int32_t)(i * 5);
	}
	CU_ASSERT_EQUAL(add(t), 0);
	for (unsigned int i = 0; i < MOST; i++)
		wrong += t->array[2][i] != (int32_t)(i * 6);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(t->r.threads, MOST / 32);
	CU_ASSERT_EQUAL(t->r.slots, 16);
	CU_ASSERT(t->r.cycles > 100 && t->r.cycles < 10000);
	CU_ASSERT_DOUBLE_EQUAL(t->r.ns, (double)t->r.cycles / 2, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(t->r.link_ns, 150, 0);
	/* Both arrays, and entries of page tables. */
	CU_ASSERT(t->r.dram_read >= 2 * sizeof(t->array[0]));
	CU_ASSERT(t->r.dram_read <= 2 * sizeof(t->array[0]) + t->r.tlb_misses * 32);
	for (unsigned int i = 0; i < ANNEX_NDP_PARTS; i++)
		issued += t->r.issued[i];
	CU_ASSERT_EQUAL(t->r.instructions, issued);
	CU_ASSERT_EQUAL(t->r.issued[ANNEX_NDP_VLSU], MOST / 32 * 3);
	/* L2s have all of it by now. */
	cold = t->r.cycles;
	CU_ASSERT_EQUAL(add(t), 0);
	CU_ASSERT(t->r.cycles < cold);
	CU_ASSERT_EQUAL(t->r.dram_read, 0);
	done(t);
}

static void another_device(void)
{
	struct annex_ndp_time_opts opts = {.mhz = 1000, .link_ns = 600, .units = 2, .piece = 64};
	struct timed *t = setup(&opts);

	annex_ndp_time_get_opts(t->device, &opts);
	CU_ASSERT_EQUAL(opts.units, 2);
	CU_ASSERT_EQUAL(opts.channels, 32);
	CU_ASSERT_EQUAL(opts.vlen, 256);
	CU_ASSERT_EQUAL(opts.l1_bytes, 128u << 10);
	t->arg[4] = 64;
	CU_ASSERT_EQUAL(add(t), 0);
	CU_ASSERT_EQUAL(t->r.threads, MOST / 64);
	CU_ASSERT_DOUBLE_EQUAL(t->r.ns, (double)t->r.cycles, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(t->r.link_ns, 600, 0);
	done(t);
}

static void no_such_device(void)
{
	static const struct annex_ndp_time_opts wrong[] = {
		{.units = 257},
		{.subcores = 17},
		{.slots = 65},
		{.mhz = 99},
		{.register_file = 2u << 20},
		{.l1_bytes = 127},
		{.l1_ways = 65},
		{.l1_cycles = 1001},
		{.tlb_entries = 7},
		{.l2_bytes = 16u << 20},
		{.l2_bytes = 1024},
		{.l1_bytes = 1024},
		{.l2_ways = 65},
		{.l2_cycles = 1001},
		{.channels = 3},
		{.channels = 256},
		{.dram_mhz = 10001},
		{.link_ns = 1000001},
		{.vlen = 64},
		{.vlen = 192},
		{.vlen = 2048},
		{.piece = 48},
	};
	struct annex_ndp_time *t;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CU_ASSERT_EQUAL(annex_ndp_time_open(&wrong[i], &t), -EINVAL);
		CU_ASSERT(strlen(annex_last_error()) > 0);
	}
}

static void maps(void)
{
	struct timed *t = setup(NULL);
	struct annex_ndp_time *d = t->device;
	char *at = (char *)t->array;

	CU_ASSERT_EQUAL(annex_ndp_time_map(d, AT + 4 * PAGE, at, 0), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_time_map(d, AT + 4 * PAGE, at + 8, 64), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_time_map(d, 0xffffffffffffffc0, at, 128), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_time_map(d, AT - 64, at, 64), -EEXIST);
	CU_ASSERT_EQUAL(annex_ndp_time_map(d, AT, at, 64), -EEXIST);
	CU_ASSERT_EQUAL(annex_ndp_time_map(d, AT + PAGE - 64, at, 128), -EEXIST);
	CU_ASSERT_EQUAL(annex_ndp_time_map(d, AT + PAGE - 64, at, 64), 0);
	done(t);
}

static void launches_that_cannot_be(void)
{
	const struct k_image *k = &k_image[K_vadd_i32];
	size_t bytes = (size_t)(k->end - k->elf);
	struct timed *t = setup(NULL);

	t->launch.nargs = 32;
	CU_ASSERT_EQUAL(add(t), -EINVAL);
	t->launch.nargs = 40;
	t->launch.pool_bytes = 0;
	CU_ASSERT_EQUAL(add(t), -EINVAL);
	t->launch.pool_bytes = sizeof(t->array[2]) + 1;
	CU_ASSERT_EQUAL(add(t), -EFAULT);
	t->launch.pool = AT - 64;
	t->launch.pool_bytes = 64;
	CU_ASSERT_EQUAL(add(t), -EFAULT);
	CU_ASSERT_EQUAL(t->r.pc, 0);
	CU_ASSERT_EQUAL(annex_ndp_time_run(t->device, k->elf, bytes / 2, &t->launch, &t->r),
			-EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_time_run(t->device, "not at all", 10, &t->launch, &t->r),
			-ENOEXEC);
	done(t);
}

static void kernels_that_fail(void)
{
	const struct annex_ndp_time_opts little = {.budget = 100}, few = {.register_file = 512};
	struct timed *t = setup(NULL);

	t->arg[1] = AT + 8 * PAGE;
	CU_ASSERT_EQUAL(add(t), -EFAULT);
	CU_ASSERT_EQUAL(t->r.addr, AT + 8 * PAGE);
	CU_ASSERT(t->r.pc >= 64 && t->r.pc < 1024);
	t->arg[1] = AT;
	CU_ASSERT_EQUAL(add(t), 0);
	CU_ASSERT_EQUAL(t->r.pc, 0);
	done(t);
	t = setup(&little);
	CU_ASSERT_EQUAL(add(t), -ETIME);
	done(t);
	t = setup(&few);
	CU_ASSERT_EQUAL(add(t), -EINVAL);
	done(t);
}

UNIT_SUITE(ndp_timed, {"right and counted", right_and_counted}, {"another device", another_device},
	   {"no such device", no_such_device}, {"maps", maps},
	   {"launches that cannot be", launches_that_cannot_be},
	   {"kernels that fail", kernels_that_fail})
