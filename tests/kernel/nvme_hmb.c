// SPDX-License-Identifier: MIT
/*
 * Host memory buffers of NVMe controllers. The controller of the rig checks the list of each buffer
 * that it is given, and aborts the program if it may not access all of it, or finds data in it.
 */
#include "ctrl_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define MIB (SZ_1M / PAGE_SIZE)
#define LARGEST ((u32)MAX_ORDER_NR_PAGES)

static struct annex_ctrl *const c = &ctrl_rig.ctrl;

static void wants(u32 most, u32 least)
{
	ctrl_make();
	*max_hmb_mb_parameter = 16;
	ctrl_rig.id.hmpre = most;
	ctrl_rig.id.hmmin = least;
}

/* A controller that gets @pages in @n parts. Without them it works as well, and a line says so. */
static void gets(u32 pages, u32 n)
{
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.nhmb, n);
	CU_ASSERT_EQUAL(c->hmb.pages, pages);
	CU_ASSERT_EQUAL(shim.lines, n || !*max_hmb_mb_parameter ? 0 : 1);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.nhmb, n);
	ctrl_over();
}

static void sizes(void)
{
	wants(1, 1);
	gets(1, 1);
	wants(LARGEST, LARGEST);
	gets(LARGEST, 1);
	wants(4 * MIB - 1, 0);
	gets(4 * MIB - 1, 10);
	wants(16 * MIB, 16 * MIB);
	gets(16 * MIB, 4);
	wants(16 * MIB + 1, 0); /* the limit */
	gets(16 * MIB, 4);
	wants(U32_MAX, 1);
	gets(16 * MIB, 4);
	wants(U32_MAX, 1);
	*max_hmb_mb_parameter = 1;
	gets(MIB, 1);
	wants(3 * MIB, 1);
	*max_hmb_mb_parameter = U32_MAX;
	gets(3 * MIB, 2);
}

/* Neither fewer pages than the controller can use, nor smaller parts, nor more of them. */
static void limits(void)
{
	wants(16 * MIB, 1);
	ctrl_rig.id.hmmaxd = 1;
	gets(LARGEST, 1);
	wants(16 * MIB, LARGEST + 1);
	ctrl_rig.id.hmmaxd = 1;
	gets(0, 0);
	wants(3 * MIB + 5, 1);
	ctrl_rig.id.hmminds = 4;
	gets(3 * MIB + 4, 3);
	wants(16 * MIB, 1);
	ctrl_rig.id.hmminds = LARGEST;
	gets(16 * MIB, 4);
	wants(16 * MIB, 1);
	ctrl_rig.id.hmminds = LARGEST + 1;
	gets(0, 0);
	wants(16 * MIB, 1);
	ctrl_rig.id.hmminds = U32_MAX;
	gets(0, 0);
	wants(U32_MAX, 16 * MIB + 1);
	gets(0, 0);
	wants(8, 9); /* a contradiction */
	gets(0, 0);
	wants(U32_MAX, U32_MAX);
	*max_hmb_mb_parameter = 0;
	gets(0, 0);
}

/* Memory in small parts: as many as a page lists. */
static void fragments(void)
{
	wants(16 * MIB, 1);
	ctrl_rig.largest = 5;
	gets(16 * MIB, 128);
	wants(16 * MIB, 256);
	ctrl_rig.largest = 0;
	gets(256, 256);
	wants(16 * MIB, 257);
	ctrl_rig.largest = 0;
	gets(0, 0);
}

/* An allocation or a mapping fails: of the list, or of a part, after which smaller ones follow. */
static void failures(void)
{
	u32 *fails[] = {&ctrl_rig.pages_fail, &ctrl_rig.maps_fail};

	for (u32 i = 0; i < ARRAY_SIZE(fails); i++) {
		for (u32 at = 4; at < 9; at++) {
			wants(16 * MIB, 16 * MIB);
			*fails[i] = at; /* the first three are the admin queue's */
			gets(at == 4 ? 0 : 16 * MIB, at == 4 ? 0 : 4 + (9 - at));
		}
	}
}

/* A controller that refuses a buffer works without it, and is asked again after a reset. */
static void refused(void)
{
	wants(16 * MIB, 1);
	ctrl_rig.buffer_status = 2;
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	ctrl_rig.buffer_status = 0;
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.nhmb, 4);
	ctrl_over();
}

static bool loses(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cqe;
	return cmd->common.opcode != nvme_admin_set_features ||
	       cmd->features.fid != NVME_FEAT_HOST_MEM_BUF;
}

/* One that does not answer has the buffer until it has stopped. */
static void unanswered(void)
{
	wants(16 * MIB, 1);
	ctrl_rig.lie = loses;
	CU_ASSERT_EQUAL(ctrl_start(), -ETIMEDOUT);
	CU_ASSERT_EQUAL(ctrl_rig.nhmb, 4);
	ctrl_over();
	wants(16 * MIB, 1);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	ctrl_rig.lie = loses;
	CU_ASSERT_EQUAL(ctrl_reset_it(), -ENODEV);
	CU_ASSERT_FALSE(shim.master);
	ctrl_over();
	wants(16 * MIB, 1);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	ctrl_rig.gone = true;
	ctrl_over();
}

/* A reset gives the same memory back, cleared, also after sleep. No reset allocates memory. */
static void resets(void)
{
	wants(7 * MIB, 1);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	for (u32 i = 0; i < 4; i++) {
		struct nvme_host_mem_buf_desc first = ctrl_rig.hmb[0];

		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		mutex_lock(&c->lock);
		if (i % 2) {
			annex_ctrl_sleep(c, i == 3);
			annex_ctrl_wake(c);
		}
		mutex_unlock(&c->lock);
		ctrl_rig.nhmb = 0; /* if it was not shut down, it has lost power */
		ctrl_rig.pages_fail = 1;
		CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
		CU_ASSERT_EQUAL(ctrl_rig.nhmb, 3);
		CU_ASSERT_EQUAL(memcmp(&first, ctrl_rig.hmb, sizeof(first)), 0);
	}
	CU_ASSERT_EQUAL(shim.lines, 0);
	ctrl_over();
}

/* Random demands: each controller starts. */
static void any(void)
{
	uint64_t rnd = random_seed("host memory buffers");

	for (u32 i = 0; i < 500; i++) {
		u64 r = random_next(&rnd);

		wants((u32)random_next(&rnd) >> r % 32, (u32)random_next(&rnd) >> (r >> 8) % 32);
		*max_hmb_mb_parameter = (r >> 60) % 4;
		ctrl_rig.id.hmminds = (u32)random_next(&rnd) >> (r >> 16) % 32;
		ctrl_rig.id.hmmaxd = (u16)((r >> 40 & 0xffff) >> (r >> 24) % 16);
		ctrl_rig.largest = (r >> 32) % 11;
		ctrl_rig.pages_fail = r & 1 ? 0 : 4 + (r >> 56) % 8;
		CU_ASSERT_EQUAL(ctrl_start(), 0);
		CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
		CU_ASSERT_EQUAL(ctrl_rig.nhmb, c->hmb.n);
		ctrl_over();
	}
}

UNIT_SUITE(nvme_hmb, {"sizes", sizes}, {"limits", limits}, {"fragments", fragments},
	   {"failures", failures}, {"refused", refused}, {"unanswered", unanswered},
	   {"resets", resets}, {"any controllers", any})
