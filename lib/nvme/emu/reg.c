// SPDX-License-Identifier: MIT
/*
 * The register file (Base 3.1.3): enabling, resetting, shutting down (Base 3.5, 3.6).
 */
#include <string.h>
#include "req.h"
#include "ring.h"
#include "state.h"

#define CAP_TIMEOUT_500MS 60ull
#define CAP_VALUE                                                                                  \
	(0xffffull | ANNEX_CAP_CQR | CAP_TIMEOUT_500MS << 24 | (uint64_t)EMU_DSTRD << 32 |         \
	 ANNEX_CAP_CSS_NVM)
#define CC_WRITABLE 0x00fffff1u
#define DOORBELL_STRIDE (4u << EMU_DSTRD)

uint32_t *annex_emu_doorbell(struct annex_ctrl *ctrl, uint16_t qid, int cq)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	if (qid >= EMU_QUEUES)
		return NULL;
	return emu->doorbells + (2 * qid + !!cq) * DOORBELL_STRIDE / 4;
}

/* Stop fetching, for good or until a reset, and let sleepers find out. */
void annex_emu_fatal(struct annex_emu *emu)
{
	annex_atomic_or(&emu->csts, ANNEX_CSTS_CFS, ANNEX_ACQ_REL);
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	annex_emu_wake_all(emu);
}

void annex_emu_vanish(struct annex_emu *emu)
{
	annex_atomic_store(&emu->gone, 1u, ANNEX_SEQ_CST);
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	pthread_mutex_lock(&emu->async);
	annex_emu_reqs_end(emu, NULL);
	pthread_mutex_unlock(&emu->async);
	annex_emu_wake_all(emu);
}

/* Reset and shutdown end when the I/O they wait for has. */
static void progress(struct annex_emu *emu)
{
	annex_emu_pass(emu);
	if (annex_atomic_load(&emu->resetting, ANNEX_RELAXED) &&
	    !annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE)) {
		annex_atomic_store(&emu->csts, 0u, ANNEX_RELEASE);
		annex_atomic_store(&emu->resetting, 0u, ANNEX_RELEASE);
	}
	if ((annex_atomic_load(&emu->csts, ANNEX_RELAXED) & ANNEX_CSTS_SHST_MASK) ==
		    ANNEX_CSTS_SHST_BUSY &&
	    !annex_atomic_load(&emu->flushing, ANNEX_ACQUIRE)) {
		annex_atomic_and(&emu->csts, ~ANNEX_CSTS_SHST_MASK, ANNEX_RELAXED);
		annex_atomic_or(&emu->csts, ANNEX_CSTS_SHST_DONE, ANNEX_RELEASE);
	}
}

static uint32_t read32(struct annex_emu *emu, uint32_t reg)
{
	switch (reg) {
	case ANNEX_REG_CAP:
		return CAP_VALUE & UINT32_MAX;
	case ANNEX_REG_CAP + 4:
		return (uint32_t)(CAP_VALUE >> 32);
	case ANNEX_REG_VS:
		return ANNEX_EMU_VERSION;
	case ANNEX_REG_INTMS:
	case ANNEX_REG_INTMC:
		return emu->intm;
	case ANNEX_REG_CC:
		return emu->cc;
	case ANNEX_REG_CSTS:
		progress(emu);
		return annex_atomic_load(&emu->csts, ANNEX_ACQUIRE);
	case ANNEX_REG_AQA:
		return emu->aqa;
	case ANNEX_REG_ASQ:
		return (uint32_t)emu->asq;
	case ANNEX_REG_ASQ + 4:
		return (uint32_t)(emu->asq >> 32);
	case ANNEX_REG_ACQ:
		return (uint32_t)emu->acq;
	case ANNEX_REG_ACQ + 4:
		return (uint32_t)(emu->acq >> 32);
	default:
		return 0;
	}
}

/* Waiting threads look at CSTS again and again: where it can be read without the mutex, do. */
static bool steady(const struct annex_emu *emu, uint64_t *value)
{
	uint32_t csts = annex_atomic_load(&emu->csts, ANNEX_ACQUIRE);

	if (annex_atomic_load(&emu->resetting, ANNEX_ACQUIRE) ||
	    (csts & ANNEX_CSTS_SHST_MASK) == ANNEX_CSTS_SHST_BUSY)
		return false;
	*value = annex_atomic_load(&emu->gone, ANNEX_ACQUIRE) ? UINT32_MAX : csts;
	return true;
}

uint64_t annex_emu_read(struct annex_ctrl *ctrl, uint32_t reg, unsigned int width)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	uint64_t value;

	if (reg == ANNEX_REG_CSTS && width == 4 && steady(emu, &value))
		return value;
	pthread_mutex_lock(&emu->ctl);
	value = read32(emu, reg);
	if (width == 8)
		value |= (uint64_t)read32(emu, reg + 4) << 32;
	pthread_mutex_unlock(&emu->ctl);
	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		value = width == 8 ? UINT64_MAX : UINT32_MAX;
	return value;
}

/* What is wrong with the configuration, or NULL (Base 3.1.3.5, 3.1.3.8). */
static const char *check_config(const struct annex_emu *emu)
{
	uint32_t sq = (emu->aqa & 0xfff) + 1, cq = (emu->aqa >> 16 & 0xfff) + 1;

	if (emu->cc & ANNEX_CC_MPS_MASK)
		return "memory page size";
	if (emu->cc & ANNEX_CC_CSS_MASK)
		return "command set";
	if (emu->cc & ANNEX_CC_AMS_MASK)
		return "arbitration";
	if ((ANNEX_CC_IOSQES(emu->cc) && ANNEX_CC_IOSQES(emu->cc) != 6) ||
	    (ANNEX_CC_IOCQES(emu->cc) && ANNEX_CC_IOCQES(emu->cc) != 4))
		return "queue entry size";
	if (sq < 2 || cq < 2)
		return "admin queue size";
	if (emu->asq % ANNEX_NVME_PAGE || emu->acq % ANNEX_NVME_PAGE ||
	    !annex_emu_reach(emu, emu->asq, sq * sizeof(struct annex_sqe)) ||
	    !annex_emu_reach(emu, emu->acq, cq * sizeof(struct annex_cqe)))
		return "admin queue address";
	return NULL;
}

static void enable(struct annex_emu *emu)
{
	const char *wrong = check_config(emu);
	int err = 0;

	if (!wrong) {
		annex_emu_features_reset(emu);
		annex_emu_aer_reset(emu);
		annex_emu_cq_init(emu, 0, emu->acq, (emu->aqa >> 16 & 0xfff) + 1);
		annex_emu_hold(&emu->sqs[0]);
		err = annex_emu_sq_init(emu, 0, 0, emu->asq, (emu->aqa & 0xfff) + 1);
		annex_emu_release(emu, &emu->sqs[0]);
	}
	if (wrong || err) {
		annex_log(ANNEX_LOG_WARNING, "emulated controller: cannot be enabled: %s",
			  wrong ? wrong : "no memory");
		annex_atomic_or(&emu->csts, ANNEX_CSTS_CFS, ANNEX_RELEASE);
		return;
	}
	annex_atomic_store(&emu->running, 1u, ANNEX_RELEASE);
	annex_atomic_or(&emu->csts, ANNEX_CSTS_RDY, ANNEX_RELEASE);
}

/* CC.EN 1 to 0: queues and commands are gone at once, RDY when the kernel's I/O has ended. */
static void reset(struct annex_emu *emu)
{
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	for (unsigned int i = 0; i < EMU_QUEUES; i++) {
		struct emu_sq *sq = &emu->sqs[i];

		annex_emu_hold(sq);
		annex_atomic_store(&sq->state, (uint32_t)EMU_SQ_NONE, ANNEX_RELEASE);
		annex_emu_cq_stop(&emu->cqs[i]);
		annex_emu_release(emu, sq);
	}
	pthread_mutex_lock(&emu->async);
	for (unsigned int i = 0; i < EMU_QUEUES; i++)
		emu->sqs[i].delete_cid = EMU_NO_CID;
	annex_emu_reqs_end(emu, NULL);
	pthread_mutex_unlock(&emu->async);
	annex_emu_aer_reset(emu);
	annex_atomic_store(&emu->resetting, 1u, ANNEX_RELEASE);
	annex_emu_wake_all(emu);
	progress(emu);
}

static void shut_down(struct annex_emu *emu)
{
	annex_atomic_and(&emu->csts, ~ANNEX_CSTS_SHST_MASK, ANNEX_RELAXED);
	annex_atomic_or(&emu->csts, ANNEX_CSTS_SHST_BUSY, ANNEX_RELEASE);
	if (emu->ring && !annex_atomic_load(&emu->flushing, ANNEX_ACQUIRE)) {
		pthread_mutex_lock(&emu->async);
		annex_emu_ring_start(emu, annex_emu_req_own(emu));
		annex_emu_ring_submit(emu);
		pthread_mutex_unlock(&emu->async);
	}
	progress(emu);
}

static void write_cc(struct annex_emu *emu, uint32_t value)
{
	uint32_t old = emu->cc;

	value &= CC_WRITABLE;
	if (annex_atomic_load(&emu->resetting, ANNEX_RELAXED))
		value &= ~ANNEX_CC_EN; /* not before RDY has dropped (Base 3.5.1) */
	emu->cc = value;
	if (value & ANNEX_CC_EN && !(old & ANNEX_CC_EN))
		enable(emu);
	else if (old & ANNEX_CC_EN && !(value & ANNEX_CC_EN))
		reset(emu);
	if (value & ANNEX_CC_SHN_MASK && !(old & ANNEX_CC_SHN_MASK))
		shut_down(emu);
}

static void write_doorbell(struct annex_emu *emu, uint32_t reg, uint32_t value)
{
	uint32_t index = (reg - ANNEX_REG_DOORBELLS) / DOORBELL_STRIDE, qid = index / 2;
	bool cq = index & 1;

	if (reg % DOORBELL_STRIDE || qid >= EMU_QUEUES ||
	    (cq ? !annex_atomic_load(&emu->cqs[qid].live, ANNEX_ACQUIRE)
		: annex_atomic_load(&emu->sqs[qid].state, ANNEX_ACQUIRE) != EMU_SQ_LIVE)) {
		if (annex_atomic_load(&emu->running, ANNEX_ACQUIRE))
			annex_emu_raise(emu, EMU_EVENT_BAD_DOORBELL);
		return;
	}
	annex_mmio_write32(annex_emu_doorbell(&emu->ctrl, (uint16_t)qid, cq), value);
	if (!cq)
		annex_emu_rung(&emu->ctrl, (uint16_t)qid);
}

static void write32(struct annex_emu *emu, uint32_t reg, uint32_t value)
{
	bool enabled = emu->cc & ANNEX_CC_EN;

	switch (reg) {
	case ANNEX_REG_INTMS:
		emu->intm |= value;
		return;
	case ANNEX_REG_INTMC:
		emu->intm &= ~value;
		return;
	case ANNEX_REG_CC:
		write_cc(emu, value);
		return;
	default:
		break;
	}
	if (enabled)
		return; /* the admin queues are in use */
	switch (reg) {
	case ANNEX_REG_AQA:
		emu->aqa = value & 0x0fff0fff;
		break;
	case ANNEX_REG_ASQ:
		emu->asq = (emu->asq & ~0xffffffffull) | (value & ~0xfffu);
		break;
	case ANNEX_REG_ASQ + 4:
		emu->asq = (emu->asq & 0xffffffff) | (uint64_t)value << 32;
		break;
	case ANNEX_REG_ACQ:
		emu->acq = (emu->acq & ~0xffffffffull) | (value & ~0xfffu);
		break;
	case ANNEX_REG_ACQ + 4:
		emu->acq = (emu->acq & 0xffffffff) | (uint64_t)value << 32;
		break;
	default:
		break;
	}
}

void annex_emu_write(struct annex_ctrl *ctrl, uint32_t reg, unsigned int width, uint64_t value)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		return;
	if (reg >= ANNEX_REG_DOORBELLS) {
		write_doorbell(emu, reg, (uint32_t)value);
		return;
	}
	pthread_mutex_lock(&emu->ctl);
	write32(emu, reg, (uint32_t)value);
	if (width == 8)
		write32(emu, reg + 4, (uint32_t)(value >> 32));
	pthread_mutex_unlock(&emu->ctl);
}
