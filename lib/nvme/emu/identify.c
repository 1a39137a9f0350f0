// SPDX-License-Identifier: MIT
/*
 * Identify (Base 5.17).
 */
#include <stdio.h>
#include <string.h>
#include "state.h"

#define NID_UUID 3 /* namespace identifier type (Base 5.17.2.3) */

static void pad(char *field, size_t size, const char *text)
{
	memset(field, ' ', size);
	memcpy(field, text, strlen(text) < size ? strlen(text) : size);
}

static void hex(char *text, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static uint16_t identify_ctrl(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	struct annex_id_ctrl id = {
		.mdts = EMU_MDTS,
		.ver = ANNEX_EMU_VERSION,
		.acl = EMU_BATCH - 1, /* aborts are carried out one after the other */
		.aerl = EMU_AERS - 1,
		.frmw = 1u << 1 | 1, /* one slot, read only */
		.lpa = 1u << 2,      /* offsets */
		.elpe = EMU_ERRORS - 1,
		.sqes = 6u << 4 | 6,
		.cqes = 4u << 4 | 4,
		.nn = emu->nns,
		.oncs = ANNEX_ONCS_COMPARE | ANNEX_ONCS_DSM | ANNEX_ONCS_WRITE_ZEROES,
		.vwc = emu->ring ? 1u | 3u << 1 : 0, /* flush takes all namespaces at once */
		.sgls = 1,
	};
	char text[2 * sizeof(emu->uuid) + 1];

	hex(text, emu->uuid, 10);
	pad(id.sn, sizeof(id.sn), text);
	pad(id.mn, sizeof(id.mn), emu->ring ? "Annex proxy" : "Annex memory");
	pad(id.fr, sizeof(id.fr), ANNEX_EMU_FIRMWARE);
	hex(text, emu->uuid, sizeof(emu->uuid));
	snprintf(id.subnqn, sizeof(id.subnqn),
		 "nqn.2014-08.org.nvmexpress:uuid:%.8s-%.4s-%.4s-%.4s-%.12s", text, text + 8,
		 text + 12, text + 16, text + 20);
	return annex_emu_to_dptr(emu, sqe, &id, sizeof(id), sizeof(id));
}

static uint16_t identify_ns(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	struct annex_id_ns id = {0};

	/* All namespaces: what they have in common, which is nothing. */
	if (sqe->nsid != ANNEX_NSID_ALL) {
		const struct emu_ns *ns;

		if (sqe->nsid - 1 >= emu->nns)
			return ANNEX_SC_INVALID_NS;
		ns = &emu->ns[sqe->nsid - 1];
		id.nsze = id.ncap = id.nuse = ns->blocks;
		id.lbaf[0].lbads = (uint8_t)ns->shift;
	}
	return annex_emu_to_dptr(emu, sqe, &id, sizeof(id), sizeof(id));
}

/* Active namespaces above the one given. */
static uint16_t identify_list(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint32_t list[1024] = {0}, n = 0;

	if (sqe->nsid >= ANNEX_NSID_ALL - 1)
		return ANNEX_SC_INVALID_NS;
	for (uint32_t nsid = sqe->nsid + 1; nsid <= emu->nns; nsid++)
		list[n++] = nsid;
	return annex_emu_to_dptr(emu, sqe, list, sizeof(list), sizeof(list));
}

static uint16_t identify_desc(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint8_t desc[ANNEX_NVME_PAGE] = {NID_UUID, sizeof(emu->uuid)};

	if (sqe->nsid - 1 >= emu->nns)
		return ANNEX_SC_INVALID_NS;
	memcpy(desc + 4, emu->uuid, sizeof(emu->uuid));
	desc[4 + sizeof(emu->uuid) - 1] ^= (uint8_t)sqe->nsid;
	return annex_emu_to_dptr(emu, sqe, desc, sizeof(desc), sizeof(desc));
}

uint16_t annex_emu_identify(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	switch (sqe->cdw10 & 0xff) {
	case ANNEX_CNS_NS:
		return identify_ns(emu, sqe);
	case ANNEX_CNS_CTRL:
		return identify_ctrl(emu, sqe);
	case ANNEX_CNS_NS_LIST:
		return identify_list(emu, sqe);
	case ANNEX_CNS_NS_DESC:
		return identify_desc(emu, sqe);
	default:
		return ANNEX_SC_INVALID_FIELD;
	}
}
