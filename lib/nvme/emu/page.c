// SPDX-License-Identifier: MIT
/*
 * Log pages (Base 5.16): errors, SMART, firmware.
 */
#include <string.h>
#include "state.h"

#define LOG_RETAIN (1u << 15) /* reading does not let the next event of this kind be reported */
#define UNITS_PER_THOUSAND 1000u
#define TEMPERATURE 300u /* kelvin */

struct firmware_slots {
	uint8_t active;
	uint8_t rsvd[7];
	char slot[7][8];
	uint8_t rsvd64[448];
};

static_assert(sizeof(struct firmware_slots) == 512, "firmware slot log");

void annex_emu_log_failure(struct annex_emu *emu, uint16_t sqid, const struct annex_sqe *sqe,
			   uint16_t status)
{
	struct emu_admin *admin = &emu->admin;
	struct annex_error_entry *e;

	annex_emu_lock(&admin->lock);
	e = &admin->errors[admin->nerrors++ % EMU_ERRORS];
	*e = (struct annex_error_entry){
		.error_count = admin->nerrors,
		.sqid = sqid,
		.cid = sqe->cid,
		.status = (uint16_t)(status << 1),
		.location = 0xffff, /* no one parameter */
		.nsid = sqe->nsid,
	};
	if (sqid && sqe->opcode != ANNEX_NVM_FLUSH && sqe->opcode != ANNEX_NVM_DSM)
		e->lba = sqe->cdw10 | (uint64_t)sqe->cdw11 << 32;
	annex_emu_unlock(&admin->lock);
}

/* Newest first. */
static uint32_t error_page(struct annex_emu *emu, void *page)
{
	struct annex_error_entry *out = page;
	struct emu_admin *admin = &emu->admin;

	annex_emu_lock(&admin->lock);
	for (uint64_t i = 0; i < EMU_ERRORS && i < admin->nerrors; i++)
		out[i] = admin->errors[(admin->nerrors - 1 - i) % EMU_ERRORS];
	annex_emu_unlock(&admin->lock);
	return sizeof(admin->errors);
}

/* Units of the log are thousands of 512 bytes, rounded up. */
static uint64_t thousands(uint64_t units)
{
	return (units + UNITS_PER_THOUSAND - 1) / UNITS_PER_THOUSAND;
}

static uint32_t smart_page(struct annex_emu *emu, void *page)
{
	uint64_t reads = 0, writes = 0, in = 0, out = 0;
	struct annex_smart *smart = page;

	for (unsigned int i = 1; i < EMU_QUEUES; i++) {
		const struct emu_sq *sq = &emu->sqs[i];

		reads += annex_atomic_load(&sq->reads, ANNEX_RELAXED);
		writes += annex_atomic_load(&sq->writes, ANNEX_RELAXED);
		in += annex_atomic_load(&sq->units_read, ANNEX_RELAXED);
		out += annex_atomic_load(&sq->units_written, ANNEX_RELAXED);
	}
	smart->temperature[0] = TEMPERATURE & 0xff;
	smart->temperature[1] = TEMPERATURE >> 8;
	smart->available_spare = 100;
	smart->spare_threshold = 10;
	smart->data_units_read[0] = thousands(in);
	smart->data_units_written[0] = thousands(out);
	smart->host_reads[0] = reads;
	smart->host_writes[0] = writes;
	smart->power_cycles[0] = 1;
	smart->power_on_hours[0] = (annex_now() - emu->opened_at) / ANNEX_NSEC_PER_SEC / 3600;
	smart->media_errors[0] = annex_atomic_load(&emu->media_errors, ANNEX_RELAXED);
	annex_emu_lock(&emu->admin.lock);
	smart->error_entries[0] = emu->admin.nerrors;
	annex_emu_unlock(&emu->admin.lock);
	return sizeof(*smart);
}

static uint32_t firmware_page(void *page)
{
	struct firmware_slots *slots = page;

	slots->active = 1;
	memcpy(slots->slot[0], ANNEX_EMU_FIRMWARE, sizeof(slots->slot[0]));
	return sizeof(*slots);
}

uint16_t annex_emu_get_log_page(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint64_t dwords = (sqe->cdw10 >> 16 | (uint64_t)(sqe->cdw11 & 0xffff) << 16) + 1;
	uint64_t offset = sqe->cdw12 | (uint64_t)sqe->cdw13 << 32;
	_Alignas(8) char page[sizeof(emu->admin.errors)] = {0};
	uint32_t size;
	uint16_t sc;

	if (sqe->nsid && sqe->nsid != ANNEX_NSID_ALL)
		return ANNEX_SC_INVALID_FIELD; /* pages are the controller's, LPA bit 0 */
	switch (sqe->cdw10 & 0xff) {
	case ANNEX_LOG_PAGE_ERROR:
		size = error_page(emu, page);
		break;
	case ANNEX_LOG_PAGE_SMART:
		size = smart_page(emu, page);
		break;
	case ANNEX_LOG_PAGE_FIRMWARE:
		size = firmware_page(page);
		break;
	default:
		return ANNEX_SC_LOG_PAGE;
	}
	if (offset & 3 || offset > size || dwords > EMU_MAX_TRANSFER / 4)
		return ANNEX_SC_INVALID_FIELD;
	sc = annex_emu_to_dptr(emu, sqe, page + offset, size - (uint32_t)offset,
			       (uint32_t)dwords * 4);
	if (!sc && (sqe->cdw10 & 0xff) == ANNEX_LOG_PAGE_ERROR && !(sqe->cdw10 & LOG_RETAIN))
		annex_emu_aer_read(emu);
	return sc;
}
