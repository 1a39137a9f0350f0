// SPDX-License-Identifier: MIT
/*
 * Ranges of dataset management (NVM 3.2.3).
 */
#include "io.h"

uint16_t annex_emu_dsm_ranges(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd,
			      struct annex_dsm_range *ranges, unsigned int *n)
{
	uint32_t count = cmd->len / sizeof(*ranges);
	unsigned int nsegs, kept = 0;
	uint16_t sc = annex_emu_dptr(emu, &cmd->sqe, cmd->len, sq->segs, &nsegs, NULL);

	*n = 0;
	if (sc)
		return sc;
	annex_emu_from_host(sq->segs, nsegs, ranges, cmd->len);
	for (uint32_t i = 0; i < count; i++) {
		const struct annex_dsm_range *r = &ranges[i];

		if (r->slba > cmd->ns->blocks || r->nlb > cmd->ns->blocks - r->slba)
			return ANNEX_SC_LBA_RANGE;
	}
	/* Without the attribute the ranges are hints about access, of no use here. */
	for (uint32_t i = 0; i < count && cmd->sqe.cdw11 & ANNEX_DSM_DEALLOCATE; i++)
		if (ranges[i].nlb)
			ranges[kept++] = ranges[i];
	*n = kept;
	return 0;
}
