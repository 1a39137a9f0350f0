// SPDX-License-Identifier: MIT
/*
 * The emulated controller's registers: what can be read, enabling, resetting, shutting down.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "emu_host.h"
#include "unit.h"

#define ENABLE (ANNEX_CC_EN | ANNEX_CC_IOSQES_64 | ANNEX_CC_IOCQES_16)

static uint64_t get(struct host *h, uint32_t reg, unsigned int width)
{
	return h->ctrl->ops->read(h->ctrl, reg, width);
}

static void set(struct host *h, uint32_t reg, unsigned int width, uint64_t value)
{
	h->ctrl->ops->write(h->ctrl, reg, width, value);
}

static void capabilities(void)
{
	struct host h;
	uint64_t cap;

	host_open(&h, "mem:1M");
	cap = get(&h, ANNEX_REG_CAP, 8);
	CU_ASSERT_EQUAL(ANNEX_CAP_MQES(cap), 65536);
	CU_ASSERT((cap & ANNEX_CAP_CQR) != 0);
	CU_ASSERT((cap & ANNEX_CAP_CSS_NVM) != 0);
	CU_ASSERT(ANNEX_CAP_TO_MS(cap) > 0);
	CU_ASSERT_EQUAL(cap >> 48, 0); /* pages of 4096 bytes, no more and no less */
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_CAP, 4), cap & 0xffffffff);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_CAP + 4, 4), cap >> 32);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_VS, 4), 0x20000);
	CU_ASSERT_EQUAL(get(&h, 0x500, 4), 0);
	/* The doorbell words are where the stride says. */
	CU_ASSERT_EQUAL(h.ctrl->ops->doorbell(h.ctrl, 1, 0) - h.ctrl->ops->doorbell(h.ctrl, 0, 0),
			2 << ANNEX_CAP_DSTRD(cap));
	CU_ASSERT_PTR_NULL(h.ctrl->ops->doorbell(h.ctrl, 65, 0));
	host_close(&h);
}

static void masks(void)
{
	struct host h;

	host_open(&h, "mem:1M");
	set(&h, ANNEX_REG_INTMS, 4, 5);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_INTMC, 4), 5);
	set(&h, ANNEX_REG_INTMC, 4, 4);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_INTMS, 4), 1);
	set(&h, ANNEX_REG_ASQ, 8, 0x123456789abcdull);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_ASQ, 8), 0x123456789a000ull);
	set(&h, ANNEX_REG_ACQ + 4, 4, 7);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_ACQ, 8), 7ull << 32);
	host_enable(&h);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_CC, 4), ENABLE);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_AQA, 4), ANNEX_AQA(32, 32));
	/* The admin queues stay where they are while the controller is enabled. */
	set(&h, ANNEX_REG_AQA, 4, 0);
	set(&h, ANNEX_REG_ASQ, 8, 0);
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_AQA, 4), ANNEX_AQA(32, 32));
	CU_ASSERT_EQUAL(get(&h, ANNEX_REG_ASQ, 8), host_addr(h.q[0].sq));
	host_close(&h);
}

/* Enable with one thing wrong: fatal status, never ready; and a reset makes up for it. */
static void try_enable(uint32_t cc, uint32_t aqa, uint64_t asq_off, uint64_t acq_off)
{
	struct host h;

	host_open(&h, "mem:1M");
	set(&h, ANNEX_REG_AQA, 4, aqa);
	set(&h, ANNEX_REG_ASQ, 8, host_addr(h.mem) + asq_off);
	set(&h, ANNEX_REG_ACQ, 8, host_addr(h.mem) + acq_off);
	set(&h, ANNEX_REG_CC, 4, cc);
	CU_ASSERT_EQUAL(host_csts(&h) & (ANNEX_CSTS_CFS | ANNEX_CSTS_RDY), ANNEX_CSTS_CFS);
	set(&h, ANNEX_REG_CC, 4, 0);
	CU_ASSERT(host_wait_csts(&h, ANNEX_CSTS_CFS | ANNEX_CSTS_RDY, 0));
	h.used = 64 << 10;
	host_enable(&h);
	host_close(&h);
}

static void bad_config(void)
{
	uint32_t aqa = ANNEX_AQA(16, 16);

	try_enable(ENABLE | 1u << 7, aqa, 0, 4096);                    /* page size */
	try_enable(ENABLE | 1u << 4, aqa, 0, 4096);                    /* command set */
	try_enable(ENABLE | 1u << 11, aqa, 0, 4096);                   /* arbitration */
	try_enable(ENABLE ^ 1u << 16, aqa, 0, 4096);                   /* SQ entry size */
	try_enable(ENABLE ^ 1u << 20, aqa, 0, 4096);                   /* CQ entry size */
	try_enable(ENABLE, ANNEX_AQA(1, 16), 0, 4096);                 /* one entry */
	try_enable(ENABLE, aqa, HOST_MEM, 4096);                       /* not mapped */
	try_enable(ENABLE, ANNEX_AQA(128, 16), HOST_MEM - 4096, 4096); /* mapped in part */
	try_enable(ENABLE, aqa, 0, HOST_MEM);
}

static void reset_forgets(void)
{
	struct annex_sqe sqe = {.opcode = ANNEX_ADMIN_IDENTIFY, .cdw10 = ANNEX_CNS_CTRL};
	struct host h;

	host_ready(&h, "mem:1M");
	set(&h, ANNEX_REG_CC, 4, 0);
	CU_ASSERT(host_wait_csts(&h, ANNEX_CSTS_RDY, 0));
	/* Nothing is fetched now. */
	host_submit(&h, 0, &sqe);
	CU_ASSERT_EQUAL(h.q[0].cq[h.q[0].head].status & 1, !h.q[0].phase);
	host_enable(&h);
	/* The I/O queues are gone, so they can be made again. */
	CU_ASSERT_EQUAL(host_delete(&h, ANNEX_ADMIN_DELETE_SQ, 1), ANNEX_SC_QID_INVALID);
	CU_ASSERT_EQUAL(host_create_cq(&h, 1, 8), 0);
	CU_ASSERT_EQUAL(host_create_sq(&h, 1, 1, 8), 0);
	host_close(&h);
}

static void shutdown_is_done(const char *uri)
{
	struct host h;

	host_ready(&h, uri);
	set(&h, ANNEX_REG_CC, 4, ENABLE | ANNEX_CC_SHN_NORMAL);
	CU_ASSERT(host_wait_csts(&h, ANNEX_CSTS_SHST_MASK, ANNEX_CSTS_SHST_DONE));
	CU_ASSERT_EQUAL(host_csts(&h) & ANNEX_CSTS_RDY, ANNEX_CSTS_RDY);
	set(&h, ANNEX_REG_CC, 4, 0);
	CU_ASSERT(host_wait_csts(&h, ANNEX_CSTS_RDY | ANNEX_CSTS_SHST_MASK, 0));
	host_enable(&h);
	host_close(&h);
}

static void shutting_down(void)
{
	shutdown_is_done("mem:1M");
	shutdown_is_done("mem:1M?serve=thread");
	shutdown_is_done("mem:1M?serve=busy");
}

static void doorbell_registers(void)
{
	struct annex_sqe sqe = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1, .cid = 77};
	struct annex_cqe cqe;
	struct host h;
	uint32_t stride;

	host_ready(&h, "mem:1M");
	stride = 4u << ANNEX_CAP_DSTRD(get(&h, ANNEX_REG_CAP, 8));
	host_put(&h, 1, &sqe);
	set(&h, ANNEX_REG_DOORBELLS + 2 * stride, 4, h.q[1].tail);
	CU_ASSERT(host_wait(&h, 1, &cqe));
	CU_ASSERT_EQUAL(cqe.cid, 77);
	host_close(&h);
}

static void mapping(void)
{
	const struct annex_ctrl_ops *ops;
	uint64_t addr = 0, a = 0;
	struct host h;
	char *p;

	host_ready(&h, "mem:1M");
	ops = h.ctrl->ops;
	p = mmap(NULL, 16 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(p != MAP_FAILED);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p + 1, 4096, &addr), -EINVAL);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 100, &addr), -EINVAL);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 0, &addr), -EINVAL);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p + 4096, 8192, &addr), 0);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 8192, &a), -EEXIST);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p + 8192, 8192, &a), -EEXIST);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 4096, &a), 0);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr, 4096), -ENOENT);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr + 4096, 4096), -ENOENT);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr, 8192), 0);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, addr, 8192), -ENOENT);
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, a, 4096), 0);
	munmap(p, 16 << 10);
	CU_ASSERT_EQUAL(ops->map(h.ctrl, p, 16 << 10, &a), -EFAULT);
	/* Queue memory stays as long as there are queues. */
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, host_addr(h.mem), HOST_MEM), -EBUSY);
	set(&h, ANNEX_REG_CC, 4, 0);
	CU_ASSERT(host_wait_csts(&h, ANNEX_CSTS_RDY, 0));
	CU_ASSERT_EQUAL(ops->unmap(h.ctrl, host_addr(h.mem), HOST_MEM), 0);
	host_close(&h);
}

static void bad_uris(void)
{
	CU_ASSERT_EQUAL(host_try("mem:1M"), 0);
	CU_ASSERT_EQUAL(host_try("mem:1M?block=4096&namespaces=16&serve=thread"), 0);
	CU_ASSERT_EQUAL(host_try("pci:1M"), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(host_try("mem:"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:0"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1000"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:many"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?block=1024"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?block=8K"), -ERANGE);
	CU_ASSERT_EQUAL(host_try("mem:1M?namespaces=0"), -ERANGE);
	CU_ASSERT_EQUAL(host_try("mem:1M?namespaces=17"), -ERANGE);
	CU_ASSERT_EQUAL(host_try("mem:1M?colour=red"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?serve=nobody"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:1M?fault=gremlin"), -EINVAL);
	CU_ASSERT_EQUAL(host_try("mem:8388607T"), -ENOMEM);
	CU_ASSERT(strstr(annex_last_error(), "memory") != NULL);
}

UNIT_SUITE(emu_reg, {"capabilities", capabilities}, {"masks and addresses", masks},
	   {"bad configurations are fatal", bad_config}, {"reset forgets queues", reset_forgets},
	   {"shutdown", shutting_down}, {"doorbells as registers", doorbell_registers},
	   {"mapping", mapping}, {"bad URIs", bad_uris})
