// SPDX-License-Identifier: MIT
/*
 * Features (Base 5.15, 5.27).
 */
#include "state.h"

#define SAVE (1u << 31)
#define CHANGEABLE (1u << 2)
#define QUEUES_DEFAULT ((EMU_IO_QUEUES - 1) << 16 | (EMU_IO_QUEUES - 1))
#define TEMPERATURE_DEFAULT 343u /* kelvin; over, composite */

enum select { CURRENT, DEFAULT, SAVED, SUPPORTED };

static bool supported(const struct annex_emu *emu, uint8_t fid)
{
	switch (fid) {
	case ANNEX_FEAT_ARBITRATION:
	case ANNEX_FEAT_POWER:
	case ANNEX_FEAT_TEMPERATURE:
	case ANNEX_FEAT_ERROR_RECOVERY:
	case ANNEX_FEAT_QUEUES:
	case ANNEX_FEAT_COALESCING:
	case ANNEX_FEAT_VECTOR:
	case ANNEX_FEAT_ATOMICITY:
	case ANNEX_FEAT_ASYNC_EVENT:
		return true;
	case ANNEX_FEAT_WRITE_CACHE:
		return emu->ring; /* RAM has none */
	default:
		return false;
	}
}

static uint32_t initial(uint8_t fid)
{
	switch (fid) {
	case ANNEX_FEAT_TEMPERATURE:
		return TEMPERATURE_DEFAULT;
	case ANNEX_FEAT_WRITE_CACHE:
		return 1;
	case ANNEX_FEAT_QUEUES:
		return QUEUES_DEFAULT;
	default:
		return 0;
	}
}

void annex_emu_features_reset(struct annex_emu *emu)
{
	for (unsigned int fid = 0; fid < EMU_FEATURES; fid++)
		emu->features[fid] = initial((uint8_t)fid);
	annex_atomic_store(&emu->write_through, 0u, ANNEX_RELAXED);
}

/* Base 5.27.1.5: grants what is asked for, up to the maximum; only before queues are created. */
static uint16_t set_queues(struct annex_emu *emu, uint32_t value, uint32_t *dw0)
{
	uint32_t sqs = value & 0xffff, cqs = value >> 16;

	if (sqs == 0xffff || cqs == 0xffff)
		return ANNEX_SC_INVALID_FIELD;
	for (unsigned int i = 1; i < EMU_QUEUES; i++)
		if (annex_atomic_load(&emu->sqs[i].state, ANNEX_ACQUIRE) != EMU_SQ_NONE ||
		    annex_atomic_load(&emu->cqs[i].live, ANNEX_ACQUIRE))
			return ANNEX_SC_SEQUENCE;
	sqs = sqs < EMU_IO_QUEUES ? sqs : EMU_IO_QUEUES - 1;
	cqs = cqs < EMU_IO_QUEUES ? cqs : EMU_IO_QUEUES - 1;
	*dw0 = cqs << 16 | sqs;
	emu->features[ANNEX_FEAT_QUEUES] = *dw0;
	return 0;
}

uint16_t annex_emu_set_features(struct annex_emu *emu, const struct annex_sqe *sqe, uint32_t *dw0)
{
	uint8_t fid = (uint8_t)sqe->cdw10;
	uint32_t value = sqe->cdw11;

	if (!supported(emu, fid))
		return ANNEX_SC_INVALID_FIELD;
	if (sqe->cdw10 & SAVE)
		return ANNEX_SC_FEATURE_NOT_SAVEABLE;
	switch (fid) {
	case ANNEX_FEAT_QUEUES:
		return set_queues(emu, value, dw0);
	case ANNEX_FEAT_POWER:
		if (value & 0x1f)
			return ANNEX_SC_INVALID_FIELD; /* there is one power state */
		break;
	case ANNEX_FEAT_VECTOR:
		if ((value & 0xffff) > EMU_IO_QUEUES)
			return ANNEX_SC_INVALID_FIELD;
		break;
	case ANNEX_FEAT_WRITE_CACHE:
		value &= 1;
		annex_atomic_store(&emu->write_through, !value, ANNEX_RELAXED);
		break;
	default:
		break;
	}
	emu->features[fid] = value;
	return 0;
}

uint16_t annex_emu_get_features(struct annex_emu *emu, const struct annex_sqe *sqe, uint32_t *dw0)
{
	uint8_t fid = (uint8_t)sqe->cdw10;

	if (!supported(emu, fid))
		return ANNEX_SC_INVALID_FIELD;
	switch (sqe->cdw10 >> 8 & 7) {
	case CURRENT:
		*dw0 = emu->features[fid];
		return 0;
	case DEFAULT:
	case SAVED: /* nothing can be saved: the default */
		*dw0 = initial(fid);
		return 0;
	case SUPPORTED:
		*dw0 = CHANGEABLE;
		return 0;
	default:
		return ANNEX_SC_INVALID_FIELD;
	}
}
