// SPDX-License-Identifier: MIT
/*
 * Identify (Base 5.17): what the controller and its namespaces are like.
 */
#include <errno.h>
#include <string.h>
#include "backend.h"

static_assert(sizeof(struct annex_id_ctrl) == ANNEX_NVME_PAGE, "Identify Controller");
static_assert(sizeof(struct annex_id_ns) == ANNEX_NVME_PAGE, "Identify Namespace");

static void identify_ctrl(const struct annex_emu *emu, struct annex_id_ctrl *id)
{
	*id = (struct annex_id_ctrl){
		.mdts = emu->mdts,
		.ver = EMU_VERSION,
		.sqes = 6u << 4 | 6,
		.cqes = 4u << 4 | 4,
		.nn = emu->nns,
		.oncs = ANNEX_ONCS_COMPARE | ANNEX_ONCS_DSM | ANNEX_ONCS_WRITE_ZEROES,
		/* A flush takes all namespaces at once. */
		.vwc = emu->backend->cached ? 1u | 3u << 1 : 0,
		.sgls = 1,
	};
}

static void identify_ns(const struct emu_ns *ns, struct annex_id_ns *id)
{
	*id = (struct annex_id_ns){.nsze = ns->blocks, .ncap = ns->blocks, .nuse = ns->blocks};
	id->lbaf[0].lbads = (uint8_t)ns->shift;
}

int annex_emu_identify(struct annex_ctrl *ctrl, uint32_t cns, uint32_t nsid, void *data)
{
	const struct annex_emu *emu = annex_emu_of(ctrl);

	if (cns == ANNEX_CNS_CTRL)
		identify_ctrl(emu, data);
	else if (cns != ANNEX_CNS_NS)
		return annex_fail(-EINVAL, "identify: no structure 0x%02x", cns);
	else if (nsid - 1 >= emu->nns)
		return annex_fail(-ENXIO, "identify: no namespace %u", nsid);
	else
		identify_ns(&emu->ns[nsid - 1], data);
	return 0;
}
