// SPDX-License-Identifier: GPL-2.0
/*
 * Shadow doorbells (NVMe Base 2.0 section 5.8). Owns their two pages.
 */
#include <linux/mm.h>
#include "ctrl.h"

int annex_shadow_init(struct annex_ctrl *ctrl, bool supported)
{
	struct annex_shadow *s = &ctrl->shadow;
	int err = 0;

	/* Each buffer is one page (Base 5.8): do not use them for more doorbells. */
	if (!supported || ctrl->door_bytes > PAGE_SIZE)
		return 0;
	for (unsigned int i = 0; !err && i < 2; i++) {
		err = annex_area_init(&s->area[i], DMA_BIDIRECTIONAL, 0);
		if (!err)
			err = annex_area_map(ctrl, &s->area[i]);
	}
	s->on = !err;
	return err;
}

void annex_shadow_exit(struct annex_ctrl *ctrl)
{
	/* The view has ended: no page table has the pages. */
	annex_area_exit(ctrl, &ctrl->shadow.area[0]);
	annex_area_exit(ctrl, &ctrl->shadow.area[1]);
	ctrl->shadow.on = false;
}

int annex_shadow_begin(struct annex_ctrl *ctrl)
{
	struct annex_shadow *s = &ctrl->shadow;
	struct nvme_command cmd = {};
	int status;

	if (!s->on)
		return 0;
	clear_page(s->area[0].at);
	clear_page(s->area[1].at);
	cmd.common.opcode = nvme_admin_dbbuf;
	cmd.common.dptr.prp1 = cpu_to_le64(s->area[0].addr);
	cmd.common.dptr.prp2 = cpu_to_le64(s->area[1].addr);
	status = annex_admin_run(ctrl, &cmd, NULL);
	if (status > 0)
		dev_warn(&ctrl->dev, "no shadow doorbells: status 0x%03x\n", status);
	return status > 0 ? -EIO : status;
}
