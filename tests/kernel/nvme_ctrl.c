// SPDX-License-Identifier: MIT
/*
 * NVMe controllers from probe to removal, with the module's own source files: each fault of a
 * controller ends in time, with its errno and a line.
 */
#include "ctrl_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define SECOND USEC_PER_SEC

static void good(void)
{
	struct annex_ctrl *c = &ctrl_rig.ctrl;

	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(c->queues, 16);
	CU_ASSERT_EQUAL(c->max_transfer, 4096u << 5);
	CU_ASSERT_EQUAL(c->door_bytes, PAGE_SIZE);
	CU_ASSERT_EQUAL(ctrl_get(NVME_REG_AQA),
			(ANNEX_ADMIN_DEPTH - 1) << 16 | (ANNEX_ADMIN_DEPTH - 1));
	CU_ASSERT_EQUAL(ctrl_get(NVME_REG_CC), NVME_CC_ENABLE | NVME_CC_IOSQES | NVME_CC_IOCQES);
	/* The queue wraps around. */
	for (u32 i = 0; i < 3 * ANNEX_ADMIN_DEPTH; i++)
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.fetched, 3 * ANNEX_ADMIN_DEPTH + 2);
	CU_ASSERT_EQUAL(shim.lines, 0);
	ctrl_over();
}

/* The module refuses to drive a controller with this CAP, and leaves it as it is. */
static void unfit_cap(u64 clear, u64 set, int err, u32 lines)
{
	ctrl_make();
	ctrl_rig.cap = (ctrl_rig.cap & ~clear) | set;
	CU_ASSERT_EQUAL(ctrl_start(), err);
	CU_ASSERT_EQUAL(shim.lines, lines);
	CU_ASSERT_FALSE(shim.master);
	CU_ASSERT_EQUAL(ctrl_get(NVME_REG_CC), 0);
	ctrl_over();
}

static void unfit(void)
{
	unfit_cap(0, 1ull << 48, -EOPNOTSUPP, 1);                 /* pages of 8 KiB */
	unfit_cap(0xffff, ANNEX_ADMIN_DEPTH - 2, -EOPNOTSUPP, 1); /* short queues */
	unfit_cap(0xffull << 37, 1ull << 43, -EOPNOTSUPP, 1);     /* no command set */
	unfit_cap(0, U64_MAX, -ENODEV, 0);                        /* not there */
	unfit_cap(0, 15ull << 32, -EOPNOTSUPP, 1);                /* doorbells apart */
}

static void doorbells(u32 table, u32 queues, int err)
{
	ctrl_make();
	ctrl_rig.pdev.msix_cap = 0x40;
	memcpy(shim.config + 0x40 + PCI_MSIX_TABLE, &table, sizeof(table));
	memcpy(shim.config + 0x40 + PCI_MSIX_PBA, &(u32){0x8000}, sizeof(u32));
	CU_ASSERT_EQUAL(ctrl_start(), err);
	if (!err)
		CU_ASSERT_EQUAL(ctrl_rig.ctrl.queues, queues);
	ctrl_over();
}

/* Owners map pages that contain doorbells only. */
static void doorbell_pages(void)
{
	doorbells(0x2000, 16, 0);
	doorbells(0x1100, 0, -EOPNOTSUPP);
	doorbells(0x1000, 0, -EOPNOTSUPP);
	doorbells(0x800, 0, -EOPNOTSUPP);
	doorbells(0x1100 | 1, 16, 0); /* of another BAR */
	/* A page for one pair, for the admin queue. */
	ctrl_make();
	ctrl_rig.cap |= 9ull << 32;
	ctrl_rig.ctrl.bar_bytes = NVME_REG_DBS + PAGE_SIZE;
	CU_ASSERT_EQUAL(ctrl_start(), -EOPNOTSUPP);
	ctrl_over();
	ctrl_make();
	ctrl_rig.ctrl.bar_bytes = NVME_REG_DBS;
	CU_ASSERT_EQUAL(ctrl_start(), -EOPNOTSUPP);
	ctrl_over();
	/* More queue pairs than their doorbells have pages for. */
	ctrl_make();
	ctrl_rig.queues = 65535;
	ctrl_rig.cap |= 5ull << 32;
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.ctrl.queues, (RIG_BAR - NVME_REG_DBS) / 256 - 1);
	ctrl_over();
}

static void late(u64 ready_us, u64 stop_us, int err)
{
	u64 from;

	ctrl_make();
	ctrl_rig.ready_us = ready_us;
	CU_ASSERT_EQUAL(ctrl_start(), ready_us == RIG_NEVER ? err : 0);
	if (ready_us != RIG_NEVER) {
		ctrl_rig.stop_us = stop_us;
		from = shim.us;
		CU_ASSERT_EQUAL(ctrl_reset_it(), -ENODEV);
		CU_ASSERT(shim.us - from < 2 * SECOND);
		CU_ASSERT_FALSE(shim.master);
		CU_ASSERT_EQUAL(shim.lines, 1);
		CU_ASSERT_EQUAL(ctrl_ask(), -ENODEV);
		CU_ASSERT_EQUAL(ctrl_reset_it(), -ENODEV);
	}
	ctrl_over();
}

static void never_ready(void)
{
	late(RIG_NEVER, 0, -ETIMEDOUT);
	late(1000, RIG_NEVER, 0);
}

/* A start fails if a command ends with a status. */
static void refused(u8 opcode, int err)
{
	ctrl_make();
	ctrl_rig.id.oacs = NVME_CTRL_OACS_DBBUF_SUPP;
	ctrl_rig.fails = opcode;
	ctrl_rig.status = 6;
	CU_ASSERT_EQUAL(ctrl_start(), err);
	ctrl_over();
}

static void statuses(void)
{
	refused(nvme_admin_identify, -EIO);
	refused(nvme_admin_set_features, -EIO);
	refused(nvme_admin_dbbuf, -EIO);
	refused(0, 0);
	CU_ASSERT_EQUAL(ctrl_rig.last.common.opcode, nvme_admin_dbbuf);
}

static u32 countdown;

static bool wrong_id(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	if (!countdown--)
		cqe->command_id = (u16)(cmd->common.command_id + 1);
	return true;
}

static bool wrong_queue(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cmd;
	if (!countdown--)
		cqe->sq_id = 3;
	return true;
}

static bool lost(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cmd;
	(void)cqe;
	return countdown--;
}

static bool dies(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cmd;
	(void)cqe;
	if (!countdown--)
		ctrl_fatal();
	return true;
}

static bool leaves(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cmd;
	(void)cqe;
	ctrl_rig.gone = ctrl_rig.gone || !countdown--;
	return !ctrl_rig.gone;
}

/* The controller is reset by other means: it is not ready, and has lost the command. */
static bool forgets(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	(void)cmd;
	(void)cqe;
	if (countdown--)
		return true;
	ctrl_rig.ready_at = RIG_NEVER;
	ctrl_rig.stopped_at = shim.us;
	return false;
}

static const struct {
	bool (*lie)(const struct nvme_command *cmd, struct nvme_completion *cqe);
	int err;
} lies[] = {
	{wrong_id, -EIO}, {wrong_queue, -EIO}, {lost, -ETIMEDOUT}, {dies, -EIO}, {forgets, -EIO}};

/* After a failed command, later ones are not sent until a reset. */
static void broken(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(lies); i++) {
		u64 from;
		u32 fetched;

		ctrl_make();
		CU_ASSERT_EQUAL(ctrl_start(), 0);
		countdown = 2;
		ctrl_rig.lie = lies[i].lie;
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		from = shim.us;
		CU_ASSERT_EQUAL(ctrl_ask(), lies[i].err);
		CU_ASSERT(shim.us - from < 8 * SECOND);
		CU_ASSERT(shim.lines >= 1);
		fetched = ctrl_rig.fetched;
		CU_ASSERT_EQUAL(ctrl_ask(), -EIO);
		CU_ASSERT_EQUAL(ctrl_rig.fetched, fetched);
		ctrl_rig.lie = NULL;
		CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
		CU_ASSERT_EQUAL(ctrl_rig.ctrl.resets, 1);
		for (u32 k = 0; k < 2 * ANNEX_ADMIN_DEPTH; k++)
			CU_ASSERT_EQUAL(ctrl_ask(), 0);
		ctrl_over();
	}
}

/* The same during a start. */
static void broken_starts(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(lies); i++) {
		for (u32 at = 0; at < 2; at++) {
			ctrl_make();
			countdown = at;
			ctrl_rig.lie = lies[i].lie;
			CU_ASSERT_EQUAL(ctrl_start(), lies[i].err);
			ctrl_over();
		}
	}
}

/* Each DMA mapping of a start and of a reset fails. */
static void no_mappings(void)
{
	for (u32 at = 1; at <= 3; at++) {
		ctrl_make();
		ctrl_rig.maps_fail = at;
		CU_ASSERT_EQUAL(ctrl_start(), -ENOMEM);
		ctrl_over();
		ctrl_make();
		CU_ASSERT_EQUAL(ctrl_start(), 0);
		ctrl_rig.maps_fail = at;
		CU_ASSERT_EQUAL(ctrl_reset_it(), -ENODEV);
		CU_ASSERT_EQUAL(ctrl_ask(), -EIO);
		ctrl_over();
	}
}

/* Pages in a domain of its own stay mapped: a reset, as an owner's close, needs no memory. */
static void mappings_kept(void)
{
	static char domain;

	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	ctrl_rig.ctrl.space.domain = (void *)&domain;
	ctrl_rig.maps_fail = 1;
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.maps_fail, 1);
	ctrl_rig.ctrl.space.domain = NULL;
	ctrl_over();
}

/* The controller is removed during a reset. */
static void removed_amid_reset(void)
{
	for (u32 at = 0; at < 2; at++) {
		ctrl_make();
		CU_ASSERT_EQUAL(ctrl_start(), 0);
		countdown = 0;
		ctrl_rig.lie = leaves;
		ctrl_rig.gone = !at;
		CU_ASSERT_EQUAL(ctrl_reset_it(), -ENODEV);
		CU_ASSERT(ctrl_rig.ended);
		CU_ASSERT_EQUAL(annex_ctrl_csts(&ctrl_rig.ctrl), U32_MAX);
		CU_ASSERT_EQUAL(ctrl_ask(), at ? -EIO : -ENODEV);
		ctrl_over();
	}
}

static void removed(void)
{
	for (u32 at = 0; at < 5; at++) {
		ctrl_make();
		countdown = at;
		ctrl_rig.lie = leaves;
		CU_ASSERT_EQUAL(ctrl_start(), at < 2 ? -ENODEV : 0);
		for (u32 i = 2; i < at; i++)
			CU_ASSERT_EQUAL(ctrl_ask(), 0);
		if (at >= 2) {
			CU_ASSERT_EQUAL(ctrl_ask(), -ENODEV);
			CU_ASSERT_EQUAL(annex_ctrl_csts(&ctrl_rig.ctrl), U32_MAX);
			CU_ASSERT_EQUAL(ctrl_reset_it(), -ENODEV);
		}
		ctrl_over();
	}
}

/* If a controller grants fewer queue pairs after a reset, the limit is lowered for good. */
static void fewer_queues(void)
{
	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	ctrl_rig.queues = 3;
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.ctrl.queues, 3);
	ctrl_rig.queues = 100;
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.ctrl.queues, 3);
	ctrl_over();
}

static u32 cmb(u32 size, u32 loc)
{
	u32 pages;

	ctrl_make();
	ctrl_set(NVME_REG_CMBSZ, size);
	ctrl_set(NVME_REG_CMBLOC, loc);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	pages = ctrl_rig.ctrl.cmb.pages;
	if (pages) {
		u32 first = 99;

		CU_ASSERT_EQUAL(annex_cmb_take(&ctrl_rig.ctrl, pages, &first), 0);
		CU_ASSERT_EQUAL(first, 0);
		CU_ASSERT_EQUAL(annex_cmb_take(&ctrl_rig.ctrl, 1, &first), -ENOSPC);
		annex_cmb_give(&ctrl_rig.ctrl, pages - 1, 1);
		CU_ASSERT_EQUAL(annex_cmb_take(&ctrl_rig.ctrl, 2, &first), -ENOSPC);
		CU_ASSERT_EQUAL(annex_cmb_take(&ctrl_rig.ctrl, 1, &first), 0);
		CU_ASSERT_EQUAL(first, pages - 1);
	}
	ctrl_over();
	return pages;
}

static void controller_memory(void)
{
	CU_ASSERT_EQUAL(cmb(0, 0), 0);
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 0), RIG_CMB_BAR), 8);
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(0xfffff, 6), RIG_CMB_BAR), 16); /* the BAR's end */
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 0), 15u << 12 | RIG_CMB_BAR), 1);
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 0), 16u << 12 | RIG_CMB_BAR), 0); /* beyond the BAR */
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 6), 0xfffffu << 12 | RIG_CMB_BAR), 0);
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 7), RIG_CMB_BAR), 0); /* no such unit */
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 0), 7), 0);           /* no such BAR */
	CU_ASSERT_EQUAL(cmb(RIG_UNITS(8, 0), 3), 0);           /* one without memory */
	CU_ASSERT_EQUAL(cmb(U32_MAX, U32_MAX), 0);
}

/* Controller memory at @offset of BAR @bar, with MSI-X vectors at @table and pending bits there. */
static u32 beside(u32 bar, u32 offset, u32 table, u32 pending)
{
	ctrl_make();
	ctrl_rig.pdev.msix_cap = 0x40;
	shim.config[0x42] = 15; /* 16 vectors: 256 bytes */
	memcpy(shim.config + 0x40 + PCI_MSIX_TABLE, &table, sizeof(table));
	memcpy(shim.config + 0x40 + PCI_MSIX_PBA, &pending, sizeof(pending));
	ctrl_set(NVME_REG_CMBSZ, RIG_UNITS(1, 0));
	ctrl_set(NVME_REG_CMBLOC, offset << 12 | bar);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	table = ctrl_rig.ctrl.cmb.pages;
	CU_ASSERT_EQUAL(shim.lines, table ? 0 : 1);
	ctrl_over();
	return table;
}

/* Owners never get registers as controller memory. */
static void other_registers(void)
{
	const u32 bar = RIG_CMB_BAR;

	CU_ASSERT_EQUAL(beside(bar, 2, 0 | bar, 0x1000 | bar), 1);
	CU_ASSERT_EQUAL(beside(bar, 2, 0x2000 | bar, 0x1000 | bar), 0);
	CU_ASSERT_EQUAL(beside(bar, 2, 0x1f08 | bar, 0x1000 | bar), 0);
	CU_ASSERT_EQUAL(beside(bar, 2, 0x1f00 | bar, 0x1000 | bar), 1);
	CU_ASSERT_EQUAL(beside(bar, 2, 0x1000 | bar, 0x2ff8 | bar), 0);
	CU_ASSERT_EQUAL(beside(bar, 2, 0x2000 | 5, 0x2000 | 5), 1); /* of another BAR */
	CU_ASSERT_EQUAL(beside(0, 1, 0 | bar, 0x1000 | bar), 0);    /* the doorbells */
}

/* A persistent memory region that the last driver has left enabled is disabled. */
static void persistent_memory(void)
{
	ctrl_make();
	ctrl_rig.cap |= 1ull << 56;
	ctrl_set(NVME_REG_PMRCTL, 1);
	ctrl_set(0xe14, 2 | 0x1000);
	ctrl_set(0xe18, 1);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(ctrl_get(NVME_REG_PMRCTL), 0);
	CU_ASSERT_EQUAL(ctrl_get(0xe14), 0);
	CU_ASSERT_EQUAL(ctrl_get(0xe18), 0);
	ctrl_over();
	ctrl_make(); /* without one, these are no registers */
	ctrl_set(NVME_REG_PMRCTL, 1);
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(ctrl_get(NVME_REG_PMRCTL), 1);
	ctrl_over();
}

/* Some controllers fail if their status is read soon after CC.EN was cleared. */
static void slow_stop(void)
{
	u64 from;

	ctrl_make();
	ctrl_rig.ctrl.slow_stop = true;
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	from = shim.us;
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT(shim.us - from >= 2300000);
	ctrl_over();
}

/* CRTO allows more time than CAP.TO, and so does RTD3E for a shutdown: 3 s rather than 1 s. */
static void long_times(void)
{
	u64 from;

	ctrl_make();
	ctrl_rig.ready_us = 3 * SECOND;
	CU_ASSERT_EQUAL(ctrl_start(), -ETIMEDOUT);
	ctrl_over();
	ctrl_make();
	ctrl_rig.ready_us = 3 * SECOND;
	ctrl_rig.cap |= NVME_CAP_CRMS_CRWMS;
	ctrl_set(NVME_REG_CRTO, 8);
	ctrl_rig.id.rtd3e = 3 * SECOND;
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	ctrl_rig.stop_us = 2 * SECOND;
	from = shim.us;
	annex_ctrl_stop(&ctrl_rig.ctrl);
	CU_ASSERT(shim.us - from >= 4 * SECOND); /* the shutdown, then CC.EN = 0 */
	ctrl_over();
	/* No wait is endless. */
	ctrl_make();
	ctrl_rig.cap |= NVME_CAP_CRMS_CRWMS;
	ctrl_set(NVME_REG_CRTO, 0xffff);
	ctrl_rig.id.rtd3e = U32_MAX;
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.ctrl.ready_us, 300 * SECOND);
	CU_ASSERT_EQUAL(ctrl_rig.ctrl.shutdown_us, 60 * SECOND);
	ctrl_over();
}

static void namespace(u64 blocks, u8 ms, u8 ds, u8 dps, int err)
{
	struct nvme_id_ns *id;

	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	id = ctrl_rig.ctrl.admin.data.at;
	memset(id, 0, sizeof(*id));
	id->nsze = blocks;
	id->nlbaf = 4;
	id->flbas = 0x13; /* the fourth format, with metadata at the end of each block */
	id->dps = dps;
	id->lbaf[3] = (struct nvme_lbaf){.ms = ms, .ds = ds};
	id->lbaf[2] = (struct nvme_lbaf){.ms = 64, .ds = 11};
	id->lbaf[4] = (struct nvme_lbaf){.ds = 12};
	CU_ASSERT_EQUAL(annex_ctrl_namespace(&ctrl_rig.ctrl, 7), err);
	CU_ASSERT_EQUAL(shim.lines, err ? 1 : 0);
	CU_ASSERT(!err || strstr(shim.line, "-n 7 --lbaf=4"));
	ctrl_over();
}

/* FLBAS bits 6:5 count only for a namespace with more than 16 formats. */
static void many_formats(u8 nlbaf, int err)
{
	struct nvme_id_ns *id;

	ctrl_make();
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	id = ctrl_rig.ctrl.admin.data.at;
	memset(id, 0, sizeof(*id));
	id->nsze = 1000;
	id->nlbaf = nlbaf;
	id->flbas = 0x23; /* number 19, or 3 */
	id->lbaf[3].ds = 9;
	id->lbaf[19] = (struct nvme_lbaf){.ms = 8, .ds = 12};
	CU_ASSERT_EQUAL(annex_ctrl_namespace(&ctrl_rig.ctrl, 1), err);
	ctrl_over();
}

static void namespaces(void)
{
	many_formats(15, 0);
	many_formats(16, -EOPNOTSUPP);
	many_formats(63, -EOPNOTSUPP);
	namespace(1000, 0, 9, 0, 0);
	namespace(1000, 0, 12, 0, 0);
	namespace(1000, 8, 9, 0, -EOPNOTSUPP);
	namespace(1000, 8, 12, 0, -EOPNOTSUPP);
	namespace(1000, 8, 9, 8, -EOPNOTSUPP); /* a place of protection information, and none */
	namespace(1000, 8, 9, 1, 0);
	namespace(1000, 8, 12, 11, 0);
	namespace(1000, 16, 12, 1, -EOPNOTSUPP);
	namespace(1000, 0, 13, 0, 0);
	namespace(1000, 8, 14, 1, 0);
	namespace(1000, 0, 8, 0, -EOPNOTSUPP);
	namespace(1000, 0, 15, 0, -EOPNOTSUPP);
	namespace(1000, 0, 255, 0, -EOPNOTSUPP);
	namespace(1000, 0, 0, 0, -EOPNOTSUPP);
	namespace(0, 8, 0, 0, 0); /* inactive */
}

/* No command reaches a controller that is asleep, until it is woken and reset. */
static void sleeps(bool reachable)
{
	struct annex_ctrl *c = &ctrl_rig.ctrl;
	u32 fetched;

	ctrl_make();
	CU_ASSERT_EQUAL_FATAL(ctrl_start(), 0);
	mutex_lock(&c->lock);
	annex_ctrl_sleep(c, reachable);
	mutex_unlock(&c->lock);
	CU_ASSERT_EQUAL(ctrl_rig.shutdowns, reachable);
	CU_ASSERT_FALSE(shim.master);
	CU_ASSERT_FALSE(ctrl_rig.opened);
	fetched = ctrl_rig.fetched;
	CU_ASSERT_EQUAL(ctrl_ask(), -EIO);
	shim.master = true; /* the first write was lost */
	CU_ASSERT_EQUAL(ctrl_reset_it(), -EAGAIN);
	CU_ASSERT_FALSE(shim.master);
	CU_ASSERT_EQUAL(ctrl_rig.fetched, fetched);
	CU_ASSERT_FALSE(c->gone);
	mutex_lock(&c->lock);
	annex_ctrl_wake(c);
	mutex_unlock(&c->lock);
	CU_ASSERT_FALSE(shim.master); /* until the reset has disabled it */
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(shim.lines, 0);
	ctrl_over();
}

static void asleep(void)
{
	sleeps(true);
	sleeps(false);
}

static uint64_t rnd;

static bool anything(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	u64 r = random_next(&rnd);

	(void)cmd;
	if (r % 8)
		return true;
	if (r >> 8 & 1)
		cqe->command_id ^= (u16)(r >> 16);
	if (r >> 9 & 1)
		cqe->status ^= (u16)(r >> 32);
	if (r >> 10 & 1)
		cqe->result.u32 = (u32)(r >> 20);
	if (r >> 11 & 1)
		cqe->sq_id = (u16)(r >> 40);
	if (!(r >> 12 & 15))
		ctrl_fatal();
	if (!(r >> 56 & 15))
		ctrl_rig.gone = true;
	return r >> 13 & 7;
}

/* Random registers, tables and answers: each start and reset ends, and frees all resources. */
static void hostile(void)
{
	rnd = random_seed("hostile controllers");
	for (u32 i = 0; i < 4000; i++) {
		u64 from, r = random_next(&rnd);

		ctrl_make();
		from = shim.us;
		if (r & 1)
			ctrl_rig.cap ^= 1ull << (r >> 8) % 64;
		for (u32 k = 0; k < (r >> 16) % 4; k++)
			ctrl_set((u32)(random_next(&rnd) % 0x60) & ~3u, (u32)random_next(&rnd));
		ctrl_rig.queues = 1 + (u32)(r >> 20) % 65535;
		ctrl_rig.id.mdts = (u8)(r >> 36);
		ctrl_rig.id.oacs = (u16)(r >> 44);
		ctrl_rig.command_us = (r >> 60) * 1000;
		ctrl_rig.lie = anything;
		if (!ctrl_start())
			for (u32 k = 0; k < 6; k++)
				if (random_next(&rnd) % 4 ? ctrl_ask() < 0 : ctrl_reset_it() < 0)
					break;
		CU_ASSERT(shim.us - from < 1000 * SECOND);
		ctrl_over();
	}
}

UNIT_SUITE(nvme_ctrl, {"a good controller", good}, {"unsupported controllers", unfit},
	   {"pages of doorbells", doorbell_pages}, {"never ready, never stopped", never_ready},
	   {"statuses", statuses}, {"commands that go wrong", broken},
	   {"starts that go wrong", broken_starts}, {"removed", removed},
	   {"removed amid a reset", removed_amid_reset}, {"no mappings", no_mappings},
	   {"mappings kept by a reset", mappings_kept}, {"fewer queue pairs", fewer_queues},
	   {"controller memory", controller_memory},
	   {"controller memory beside registers", other_registers},
	   {"persistent memory", persistent_memory}, {"a slow stop", slow_stop},
	   {"long times", long_times}, {"namespaces", namespaces}, {"asleep", asleep},
	   {"hostile controllers", hostile})
