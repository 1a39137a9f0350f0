// SPDX-License-Identifier: MIT
/*
 * Owners of NVMe controllers that ring the module's doorbells, and have the controller write to the
 * module's pages.
 */
#include "ctrl_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* After an owner has rung the admin doorbell, the next command fails, and a reset repairs it. */
static void rung(void)
{
	uint64_t state = random_seed("rung");
	u32 tail;

	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	tail = ctrl_rig.fetched;
	for (u32 i = 0; i < 1000; i++) {
		u32 ahead = 1 + (u32)random_next(&state) % (ANNEX_ADMIN_DEPTH - 1);
		u32 n = 1 + (u32)random_next(&state) % 3;

		ctrl_ring((tail + ahead) % ANNEX_ADMIN_DEPTH);
		CU_ASSERT_EQUAL(ctrl_ask(), -EIO);
		CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
		tail = 1; /* Set Features */
		for (; n; n--, tail++)
			CU_ASSERT_EQUAL(ctrl_ask(), 0);
	}
	CU_ASSERT_EQUAL(ctrl_rig.ctrl.resets, 1000);
	ctrl_over();
}

/* A doorbell that an owner rings early never makes the controller fetch a partial command. */
static void fetched_early(void)
{
	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	ctrl_rig.barriers = 0;
	for (u32 i = 0; i < 3 * ANNEX_ADMIN_DEPTH; i++)
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.barriers, 2 * 3 * ANNEX_ADMIN_DEPTH);
	ctrl_over();
}

/* Post a completion for the next command, before the command is sent. */
static u16 forge(uint64_t *state)
{
	struct annex_admin *a = &ctrl_rig.ctrl.admin;
	struct nvme_completion *cqe = (struct nvme_completion *)a->cq.at + a->head;
	u16 status = (u16)(random_next(state) & 0x7ff);

	*cqe = (struct nvme_completion){.result.u64 = random_next(state),
					.command_id = (u16)(a->next + 1),
					.status = (u16)(status << 1 | a->phase)};
	return status;
}

static uint64_t rnd;

static bool other_data(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cqe;
	if (cmd->common.opcode == nvme_admin_identify)
		random_fill(&rnd, ctrl_rig.ctrl.admin.data.at, PAGE_SIZE);
	return true;
}

/* Forged completions and data affect the current command only. */
static void forged(void)
{
	struct annex_ctrl *c = &ctrl_rig.ctrl;

	rnd = random_seed("forged");
	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	for (u32 i = 0; i < 1000; i++) {
		u16 status = forge(&rnd);

		CU_ASSERT_EQUAL(ctrl_ask(), status);
		ctrl_rig.lie = other_data;
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		ctrl_rig.lie = NULL;
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		CU_ASSERT_EQUAL(memcmp(c->admin.data.at, &ctrl_rig.id, sizeof(ctrl_rig.id)), 0);
		if (i % 10 == 9)
			CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	}
	CU_ASSERT_EQUAL(c->queues, 16);
	CU_ASSERT_EQUAL(c->max_transfer, 4096u << 5);
	CU_ASSERT_EQUAL(c->door_bytes, PAGE_SIZE);
	CU_ASSERT_EQUAL(shim.lines, 0);
	ctrl_over();
}

/* An owner's data in controller memory is cleared, also where only commands can access it. */
static void cleared(void)
{
	struct annex_cmb *cmb = &ctrl_rig.ctrl.cmb;
	u8 *mem;

	ctrl_make();
	ctrl_set(NVME_REG_CMBSZ, RIG_UNITS(8, 0));
	ctrl_set(NVME_REG_CMBLOC, 1u << 12 | RIG_CMB_BAR);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	mem = shim.bar[RIG_CMB_BAR].mem;
	memset(mem, 0x5a, shim.bar[RIG_CMB_BAR].bytes);
	CU_ASSERT(cmb->used); /* by earlier drivers and owners */
	CU_ASSERT_EQUAL(annex_cmb_clear(&ctrl_rig.ctrl), 0);
	for (u32 i = 0; i < shim.bar[RIG_CMB_BAR].bytes; i++)
		CU_ASSERT_EQUAL_FATAL(mem[i], i >= PAGE_SIZE && i < 9 * PAGE_SIZE ? 0 : 0x5a);
	CU_ASSERT_FALSE(cmb->used);
	ctrl_over();
}

UNIT_SUITE(nvme_owner, {"rung doorbells", rung}, {"fetched early", fetched_early},
	   {"forged completions and data", forged}, {"controller memory is cleared", cleared})
