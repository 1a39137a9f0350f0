// SPDX-License-Identifier: MIT
/*
 * The emulated controller's admin commands, with good and with bad fields.
 */
#include <string.h>
#include "emu_host.h"
#include "unit.h"

static uint16_t admin(struct host *h, struct annex_sqe sqe, uint32_t *dw0)
{
	return host_do(h, 0, &sqe, dw0);
}

static uint16_t identify(struct host *h, uint32_t cns, uint32_t nsid, void *data)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_IDENTIFY, .cdw10 = cns, .nsid = nsid};

	sqe.dptr[0] = host_addr(data);
	return admin(h, sqe, NULL);
}

static void identifying(void)
{
	struct annex_id_ctrl *ctrl;
	struct annex_id_ns *ns;
	uint32_t *list;
	uint8_t *desc;
	struct host h;

	host_open(&h, "mem:1M?namespaces=3&block=4096");
	host_enable(&h);
	ctrl = host_alloc(&h, sizeof(*ctrl));
	ns = host_alloc(&h, sizeof(*ns));
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_CTRL, 0, ctrl), 0);
	CU_ASSERT_EQUAL(ctrl->mdts, 8);
	CU_ASSERT_EQUAL(ctrl->nn, 3);
	CU_ASSERT_EQUAL(ctrl->sqes, 0x66);
	CU_ASSERT_EQUAL(ctrl->cqes, 0x44);
	CU_ASSERT_EQUAL(ctrl->sgls & 3, 1);
	CU_ASSERT_EQUAL(ctrl->vwc & 1, 0);
	CU_ASSERT_EQUAL(strncmp(ctrl->subnqn, "nqn.2014-08.org.nvmexpress:uuid:", 32), 0);
	CU_ASSERT_EQUAL(strlen(ctrl->subnqn), 32 + 36);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, 3, ns), 0);
	CU_ASSERT_EQUAL(ns->nsze, 256);
	CU_ASSERT_EQUAL(ns->lbaf[ns->flbas & 15].lbads, 12);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, ANNEX_NSID_ALL, ns), 0);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, 0, ns), ANNEX_SC_INVALID_NS);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS, 4, ns), ANNEX_SC_INVALID_NS);
	list = (uint32_t *)(void *)ns;
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS_LIST, 1, list), 0);
	CU_ASSERT(list[0] == 2 && list[1] == 3 && list[2] == 0);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS_LIST, ANNEX_NSID_ALL, list), ANNEX_SC_INVALID_NS);
	desc = (uint8_t *)ns;
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS_DESC, 2, desc), 0);
	CU_ASSERT(desc[0] == 3 && desc[1] == 16);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_NS_DESC, 9, desc), ANNEX_SC_INVALID_NS);
	CU_ASSERT_EQUAL(identify(&h, 0x55, 1, ns), ANNEX_SC_INVALID_FIELD);
	/* Data that the controller may not reach. */
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_CTRL, 0, h.mem + HOST_MEM), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(identify(&h, ANNEX_CNS_CTRL, 0, (char *)ctrl + 2), ANNEX_SC_PRP_OFFSET);
	host_close(&h);
}

static void bad_commands(void)
{
	struct annex_sqe sqe = {.opcode = 0x7f};
	struct host h;

	host_ready(&h, "mem:1M");
	CU_ASSERT_EQUAL(admin(&h, sqe, NULL), ANNEX_SC_INVALID_OPCODE);
	sqe.opcode = ANNEX_ADMIN_IDENTIFY;
	sqe.cdw10 = ANNEX_CNS_CTRL;
	sqe.flags = ANNEX_SQE_PSDT_SGL;
	CU_ASSERT_EQUAL(admin(&h, sqe, NULL), ANNEX_SC_INVALID_FIELD);
	sqe.flags = 1; /* fused */
	CU_ASSERT_EQUAL(admin(&h, sqe, NULL), ANNEX_SC_INVALID_FIELD);
	host_close(&h);
}

static uint16_t create(struct host *h, uint8_t opcode, uint32_t qid, uint32_t entries,
		       uint64_t addr, uint32_t cdw11)
{
	struct annex_sqe sqe = {.opcode = opcode, .cdw10 = (entries - 1) << 16 | qid};

	sqe.dptr[0] = addr;
	sqe.cdw11 = cdw11;
	return admin(h, sqe, NULL);
}

static void bad_queues(void)
{
	uint32_t pc = ANNEX_QUEUE_CONTIGUOUS;
	uint8_t cq = ANNEX_ADMIN_CREATE_CQ, sq = ANNEX_ADMIN_CREATE_SQ;
	uint64_t p, end;
	struct host h;

	host_ready(&h, "mem:1M");
	p = host_addr(host_alloc(&h, 64 << 10));
	end = host_addr(h.mem + HOST_MEM);
	CU_ASSERT_EQUAL(create(&h, cq, 0, 16, p, pc), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(create(&h, cq, 1, 16, p, pc), ANNEX_SC_QID_INVALID); /* exists */
	CU_ASSERT_EQUAL(create(&h, cq, 65, 16, p, pc), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(create(&h, cq, 2, 1, p, pc), ANNEX_SC_QUEUE_SIZE);
	CU_ASSERT_EQUAL(create(&h, cq, 2, 16, p + 4, pc), ANNEX_SC_PRP_OFFSET);
	CU_ASSERT_EQUAL(create(&h, cq, 2, 16, p, 0), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(create(&h, cq, 2, 16, end, pc), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(create(&h, cq, 2, 65536, p, pc | 65u << 16 | ANNEX_CQ_INTERRUPTS),
			ANNEX_SC_INTERRUPT_VECTOR);
	CU_ASSERT_EQUAL(create(&h, cq, 2, 257, end - 4096, pc), ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT_EQUAL(create(&h, sq, 0, 16, p, pc | 1u << 16), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(create(&h, sq, 1, 16, p, pc | 1u << 16), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(create(&h, sq, 65, 16, p, pc | 1u << 16), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 16, p, pc), ANNEX_SC_CQ_INVALID);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 16, p, pc | 2u << 16), ANNEX_SC_CQ_INVALID);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 16, p, pc | 200u << 16), ANNEX_SC_CQ_INVALID);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 1, p, pc | 1u << 16), ANNEX_SC_QUEUE_SIZE);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 16, p + 64, pc | 1u << 16), ANNEX_SC_PRP_OFFSET);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 16, p, 1u << 16), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(create(&h, sq, 2, 65, end - 4096, pc | 1u << 16), ANNEX_SC_DATA_TRANSFER);
	host_close(&h);
}

static void deleting(void)
{
	struct host h;

	host_ready(&h, "mem:1M");
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_CQ, 1), ANNEX_SC_QUEUE_DELETION);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_SQ, 0), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_SQ, 2), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_SQ, 900), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_SQ, 1), 0);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_SQ, 1), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_CQ, 0), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_CQ, 1), 0);
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_CQ, 1), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_create_cq(&h, 1, 16), 0);
	CU_ASSERT_EQUAL(host_create_sq(&h, 1, 1, 16), 0);
	host_close(&h);
}

static uint16_t set_feature(struct host *h, uint32_t cdw10, uint32_t cdw11, uint32_t *dw0)
{
	return admin(h,
		     (struct annex_sqe){
			     .opcode = ANNEX_ADMIN_SET_FEATURES, .cdw10 = cdw10, .cdw11 = cdw11},
		     dw0);
}

static uint16_t get_feature(struct host *h, uint32_t cdw10, uint32_t *dw0)
{
	return admin(h, (struct annex_sqe){.opcode = ANNEX_ADMIN_GET_FEATURES, .cdw10 = cdw10},
		     dw0);
}

static void features(void)
{
	static const uint8_t plain[] = {ANNEX_FEAT_ARBITRATION,    ANNEX_FEAT_TEMPERATURE,
					ANNEX_FEAT_ERROR_RECOVERY, ANNEX_FEAT_COALESCING,
					ANNEX_FEAT_ATOMICITY,      ANNEX_FEAT_ASYNC_EVENT};
	uint32_t dw0 = 0, initial = 0;
	struct host h;

	host_open(&h, "mem:1M");
	host_enable(&h);
	for (unsigned int i = 0; i < sizeof(plain); i++) {
		CU_ASSERT_EQUAL(get_feature(&h, plain[i] | 1u << 8, &initial), 0);
		CU_ASSERT_EQUAL(set_feature(&h, plain[i], 7, NULL), 0);
		CU_ASSERT_EQUAL(get_feature(&h, plain[i], &dw0), 0);
		CU_ASSERT_EQUAL(dw0, 7);
		CU_ASSERT_EQUAL(get_feature(&h, plain[i] | 2u << 8, &dw0), 0);
		CU_ASSERT_EQUAL(dw0, initial);
		CU_ASSERT_EQUAL(get_feature(&h, plain[i] | 3u << 8, &dw0), 0);
		CU_ASSERT_EQUAL(dw0, 4);
	}
	CU_ASSERT_EQUAL(get_feature(&h, ANNEX_FEAT_ATOMICITY | 5u << 8, NULL),
			ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(set_feature(&h, ANNEX_FEAT_ATOMICITY | 1u << 31, 0, NULL),
			ANNEX_SC_FEATURE_NOT_SAVEABLE);
	CU_ASSERT_EQUAL(set_feature(&h, 0x7f, 0, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(get_feature(&h, 0x7f, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(get_feature(&h, ANNEX_FEAT_WRITE_CACHE, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(set_feature(&h, ANNEX_FEAT_POWER, 1, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(set_feature(&h, ANNEX_FEAT_VECTOR, 65, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(set_feature(&h, ANNEX_FEAT_QUEUES, 0xffff, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(set_feature(&h, ANNEX_FEAT_QUEUES, 999u << 16 | 1, &dw0), 0);
	CU_ASSERT_EQUAL(dw0, 63u << 16 | 1);
	CU_ASSERT_EQUAL(host_create_cq(&h, 3, 8), 0);
	CU_ASSERT_EQUAL(host_create_sq(&h, 3, 3, 8), ANNEX_SC_QID_INVALID); /* two were granted */
	CU_ASSERT_EQUAL(host_create_sq(&h, 2, 3, 8), 0);
	CU_ASSERT_EQUAL(set_feature(&h, ANNEX_FEAT_QUEUES, 0, NULL), ANNEX_SC_SEQUENCE);
	host_close(&h);
}

static uint16_t log_page(struct host *h, uint32_t lid, uint32_t dwords, uint64_t offset, void *data)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_GET_LOG_PAGE,
				.cdw10 = lid | (dwords - 1) << 16,
				.cdw11 = (dwords - 1) >> 16,
				.cdw12 = (uint32_t)offset,
				.cdw13 = (uint32_t)(offset >> 32)};

	sqe.dptr[0] = host_addr(data);
	sqe.dptr[1] = host_addr(data) + 4096;
	return admin(h, sqe, NULL);
}

static void error_log(void)
{
	struct annex_error_entry *e;
	struct annex_sqe bad;
	struct host h;

	host_ready(&h, "mem:1M");
	e = host_alloc(&h, 8192);
	bad = host_rw(ANNEX_NVM_READ, 1ull << 40, 1, e, NULL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &bad, NULL), ANNEX_SC_LBA_RANGE);
	bad.opcode = 0x99;
	CU_ASSERT_EQUAL(host_do(&h, 1, &bad, NULL), ANNEX_SC_INVALID_OPCODE);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_ERROR, 1024, 0, e), 0);
	CU_ASSERT_EQUAL(e[0].error_count, 2);
	CU_ASSERT_EQUAL(e[0].status >> 1, ANNEX_SC_INVALID_OPCODE);
	CU_ASSERT_EQUAL(e[1].error_count, 1);
	CU_ASSERT_EQUAL(e[1].status >> 1, ANNEX_SC_LBA_RANGE);
	CU_ASSERT_EQUAL(e[1].lba, 1ull << 40);
	CU_ASSERT_EQUAL(e[1].sqid, 1);
	CU_ASSERT_EQUAL(e[1].nsid, 1);
	CU_ASSERT_EQUAL(e[2].error_count, 0);
	/* From an offset; and past the end come zeroes. */
	memset(e, 0xff, 8192);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_ERROR, 1040, 64, e), 0);
	CU_ASSERT_EQUAL(e[0].error_count, 1);
	CU_ASSERT_EQUAL(e[64].error_count, 0);
	CU_ASSERT_EQUAL(e[65].error_count, UINT64_MAX);
	for (unsigned int i = 0; i < 70; i++)
		CU_ASSERT_EQUAL(host_do(&h, 1, &bad, NULL), ANNEX_SC_INVALID_OPCODE);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_ERROR, 1024, 0, e), 0);
	CU_ASSERT_EQUAL(e[0].error_count, 72);
	CU_ASSERT_EQUAL(e[63].error_count, 9);
	host_close(&h);
}

static void smart_log(void)
{
	struct annex_smart *s;
	struct annex_sqe sqe;
	struct host h;
	char *data;

	host_ready(&h, "mem:1M");
	s = host_alloc(&h, 8192);
	data = host_alloc(&h, 8192);
	sqe = host_rw(ANNEX_NVM_WRITE, 0, 16, data, data + 4096);
	for (unsigned int i = 0; i < 126; i++) /* 2016 units of 512 bytes */
		CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	sqe.opcode = ANNEX_NVM_READ;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	sqe.cdw10 = 1u << 30;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), ANNEX_SC_LBA_RANGE);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_SMART, 128, 0, s), 0);
	CU_ASSERT_EQUAL(s->host_writes[0], 126);
	CU_ASSERT_EQUAL(s->host_reads[0], 1);
	CU_ASSERT_EQUAL(s->data_units_written[0], 3);
	CU_ASSERT_EQUAL(s->data_units_read[0], 1);
	CU_ASSERT_EQUAL(s->error_entries[0], 1);
	CU_ASSERT_EQUAL(s->critical_warning, 0);
	host_close(&h);
}

static void bad_log_pages(void)
{
	struct annex_sqe sqe = {
		.opcode = ANNEX_ADMIN_GET_LOG_PAGE, .cdw10 = ANNEX_LOG_PAGE_SMART, .nsid = 1};
	struct host h;
	char *data;

	host_ready(&h, "mem:1M");
	data = host_alloc(&h, 8192);
	sqe.dptr[0] = host_addr(data);
	CU_ASSERT_EQUAL(log_page(&h, 0xc0, 1, 0, data), ANNEX_SC_LOG_PAGE);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_SMART, 1, 2, data), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_SMART, 1, 516, data), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_SMART, 1u << 31, 0, data),
			ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(admin(&h, sqe, NULL), ANNEX_SC_INVALID_FIELD);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_FIRMWARE, 128, 0, data), 0);
	CU_ASSERT_EQUAL(data[0], 1);
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_SMART, 128, 0, h.mem + HOST_MEM),
			ANNEX_SC_DATA_TRANSFER);
	host_close(&h);
}

static void submit_aer(struct host *h, uint16_t cid)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_ASYNC_EVENT, .cid = cid};

	host_submit(h, 0, &sqe);
}

static void events(void)
{
	struct annex_error_entry *log;
	struct annex_cqe cqe;
	struct host h;

	host_ready(&h, "mem:1M");
	log = host_alloc(&h, 8192);
	for (uint16_t i = 0; i < 5; i++)
		submit_aer(&h, (uint16_t)(1000 + i));
	/* The fifth is one too many; the others wait. */
	CU_ASSERT(host_wait(&h, 0, &cqe));
	CU_ASSERT(cqe.cid == 1004 && cqe.status >> 1 == ANNEX_SC_ASYNC_LIMIT);
	CU_ASSERT_FALSE(host_poll(&h, 0, &cqe));
	/* A tail that the queue does not have. */
	annex_mmio_write32(h.ctrl->ops->doorbell(h.ctrl, 1, 0), 64);
	h.ctrl->ops->rung(h.ctrl, 1);
	CU_ASSERT(host_wait(&h, 0, &cqe));
	CU_ASSERT(cqe.cid >= 1000 && cqe.cid < 1004 && cqe.status >> 1 == 0);
	CU_ASSERT_EQUAL(cqe.dw0, 1u << 8 | ANNEX_LOG_PAGE_ERROR << 16);
	/* The next event waits until the log has been read. */
	h.ctrl->ops->write(h.ctrl, ANNEX_REG_DOORBELLS + 100 * 64, 4, 1);
	CU_ASSERT_FALSE(host_poll(&h, 0, &cqe));
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_ERROR | 1u << 15, 16, 0, log), 0);
	CU_ASSERT_FALSE(host_poll(&h, 0, &cqe)); /* read, but told to retain the event */
	CU_ASSERT_EQUAL(log_page(&h, ANNEX_LOG_PAGE_ERROR, 16, 0, log), 0);
	CU_ASSERT(host_wait(&h, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.dw0, 0u << 8 | ANNEX_LOG_PAGE_ERROR << 16);
	host_close(&h);
}

static void bad_head_event(void)
{
	struct annex_sqe flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	struct annex_cqe cqe;
	struct host h;

	host_ready(&h, "mem:1M");
	submit_aer(&h, 7);
	/* A head beyond the tail: ignored, but told of. */
	annex_mmio_write32(h.ctrl->ops->doorbell(h.ctrl, 1, 1), 40);
	CU_ASSERT_EQUAL(host_do(&h, 1, &flush, NULL), 0);
	CU_ASSERT(host_wait(&h, 0, &cqe));
	CU_ASSERT(cqe.cid == 7 && cqe.dw0 == (1u << 8 | ANNEX_LOG_PAGE_ERROR << 16));
	host_close(&h);
}

static void aborting(void)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_ABORT};
	struct annex_cqe cqe;
	uint32_t dw0 = 9;
	struct host h;

	host_ready(&h, "mem:1M");
	sqe.cdw10 = 1234u << 16 | 1;
	CU_ASSERT_EQUAL(admin(&h, sqe, &dw0), 0);
	CU_ASSERT_EQUAL(dw0 & 1, 1); /* no such command: not aborted */
	submit_aer(&h, 55);
	sqe.cdw10 = 55u << 16;
	sqe.cid = 56;
	host_submit(&h, 0, &sqe);
	CU_ASSERT(host_wait(&h, 0, &cqe));
	CU_ASSERT(cqe.cid == 55 && cqe.status >> 1 == ANNEX_SC_ABORT_REQUESTED);
	CU_ASSERT(host_wait(&h, 0, &cqe));
	CU_ASSERT(cqe.cid == 56 && !(cqe.dw0 & 1));
	host_close(&h);
}

UNIT_SUITE(emu_admin, {"identify", identifying}, {"bad commands", bad_commands},
	   {"bad queues", bad_queues}, {"deleting queues", deleting}, {"features", features},
	   {"error log", error_log}, {"SMART log", smart_log}, {"bad log pages", bad_log_pages},
	   {"asynchronous events", events}, {"event for a bad head", bad_head_event},
	   {"abort", aborting})
