// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory buffers (NVMe Base 2.0 section 5.27.1.10): memory for controllers without DRAM. A
 * buffer is allocated when the controller is bound, and freed when it has stopped. A reset disables
 * it.
 *
 * No owner can map it, but an owner's commands can reach it, like all of the domain. It is cleared
 * whenever it is enabled, so an owner finds no data of an earlier one.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "ctrl.h"

#define CHUNKS (PAGE_SIZE / sizeof(struct nvme_host_mem_buf_desc)) /* of a list of one page */

static uint max_hmb_mb = 128;
module_param(max_hmb_mb, uint, 0644);
MODULE_PARM_DESC(max_hmb_mb, "most MiB of host memory for a controller without DRAM; 0: none");

static int hmb_take(struct annex_ctrl *ctrl, struct annex_area *area, enum dma_data_direction way,
		    unsigned int order)
{
	int err = annex_area_init(area, way, order);

	if (!err)
		err = annex_area_map(ctrl, area);
	if (err)
		annex_area_exit(ctrl, area);
	return err;
}

/* Take up to @want pages, in up to @most chunks of @least pages or more, the largest first. */
static void hmb_fill(struct annex_ctrl *ctrl, u64 want, u32 least, u32 most)
{
	struct annex_hmb *h = &ctrl->hmb;
	struct nvme_host_mem_buf_desc *list = h->list.at;
	int order = ilog2(MAX_ORDER_NR_PAGES);

	while (h->n < most && order >= 0 && 1u << order >= least) {
		struct annex_area *chunk = &h->chunk[h->n];

		if (1u << order > want - h->pages ||
		    hmb_take(ctrl, chunk, DMA_BIDIRECTIONAL, order)) {
			order--;
			continue;
		}
		list[h->n].addr = cpu_to_le64(chunk->addr);
		list[h->n++].size = cpu_to_le32(1u << order);
		h->pages += 1u << order;
	}
}

void annex_hmb_init(struct annex_ctrl *ctrl)
{
	const struct nvme_id_ctrl *id = ctrl->admin.data.at;
	struct annex_hmb *h = &ctrl->hmb;
	u32 limit = READ_ONCE(max_hmb_mb); /* which root may be changing */
	u64 want = min_t(u64, le32_to_cpu(id->hmpre), (u64)limit * (SZ_1M / ANNEX_PAGE));
	u32 least = le32_to_cpu(id->hmmin), part = le32_to_cpu(id->hmminds);
	u32 most = min_not_zero(le16_to_cpu(id->hmmaxd), (u16)CHUNKS);

	if (!want)
		return;
	if (least <= want)
		h->chunk = kcalloc(CHUNKS, sizeof(*h->chunk), GFP_KERNEL);
	if (h->chunk && !hmb_take(ctrl, &h->list, DMA_TO_DEVICE, 0))
		hmb_fill(ctrl, want, part, most);
	if (h->pages && h->pages >= least)
		return;
	annex_hmb_exit(ctrl);
	dev_warn(&ctrl->dev, "no host memory buffer: %u pages in %u parts of %u (max_hmb_mb=%u)\n",
		 least, most, part, limit);
}

void annex_hmb_exit(struct annex_ctrl *ctrl)
{
	struct annex_hmb *h = &ctrl->hmb;

	while (h->n)
		annex_area_exit(ctrl, &h->chunk[--h->n]);
	annex_area_exit(ctrl, &h->list);
	kfree(h->chunk);
	*h = (struct annex_hmb){};
}

int annex_hmb_begin(struct annex_ctrl *ctrl)
{
	struct annex_hmb *h = &ctrl->hmb;
	struct nvme_command cmd = {};
	int status;

	if (!h->n)
		return 0;
	for (u32 i = 0; i < h->n; i++) {
		memset(h->chunk[i].at, 0, PAGE_SIZE << h->chunk[i].order);
		annex_area_give(ctrl, &h->chunk[i]);
		cond_resched();
	}
	annex_area_give(ctrl, &h->list);
	cmd.features.opcode = nvme_admin_set_features;
	cmd.features.fid = cpu_to_le32(NVME_FEAT_HOST_MEM_BUF);
	cmd.features.dword11 = cpu_to_le32(NVME_HOST_MEM_ENABLE); /* not the contents of before */
	cmd.features.dword12 = cpu_to_le32(h->pages);
	cmd.features.dword13 = cpu_to_le32(lower_32_bits(h->list.addr));
	cmd.features.dword14 = cpu_to_le32(upper_32_bits(h->list.addr));
	cmd.features.dword15 = cpu_to_le32(h->n);
	status = annex_admin_run(ctrl, &cmd, NULL);
	if (status > 0)
		dev_warn(&ctrl->dev, "no host memory buffer: status 0x%03x\n", status);
	return min(status, 0);
}
