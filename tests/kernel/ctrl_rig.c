// SPDX-License-Identifier: MIT
#include "ctrl_rig.h"
#include "queue.h"

struct ctrl_rig ctrl_rig;

#define REG(at) (shim.bar[0].mem + (at))

void ctrl_set(u32 reg, u32 value)
{
	memcpy(REG(reg), &value, sizeof(value));
}

u32 ctrl_get(u32 reg)
{
	u32 value;

	memcpy(&value, REG(reg), sizeof(value));
	return value;
}

static u64 get64(u32 reg)
{
	return ctrl_get(reg) | (u64)ctrl_get(reg + 4) << 32;
}

/* There are no virtual functions here. */
int annex_sriov_begin(struct annex_ctrl *ctrl)
{
	(void)ctrl;
	return 0;
}

/* Nor an owner. */
void annex_queue_bring_up(struct annex_ctrl *ctrl)
{
	annex_ctrl_reset(ctrl);
}

int ctrl_request_irq(int irq, irqreturn_t (*handler)(int, void *), void *data)
{
	shim_require(irq == 1 && shim.vectors && !shim.thread[irq]);
	shim.thread[irq] = handler;
	shim.data[irq] = data;
	return 0;
}

bool ctrl_gone(void)
{
	return ctrl_rig.gone;
}

static struct rig_page *page_at(const void *at)
{
	for (u32 i = 0; i < RIG_PAGES; i++)
		if (ctrl_rig.page[i].at == at)
			return &ctrl_rig.page[i];
	abort();
}

void *ctrl_dma_alloc(gfp_t gfp, unsigned int order)
{
	struct rig_page *p = page_at(NULL);
	u64 bytes = PAGE_SIZE << order;

	shim_require(1u << order <= MAX_ORDER_NR_PAGES);
	if (order > ctrl_rig.largest || (ctrl_rig.pages_fail && !--ctrl_rig.pages_fail))
		return NULL;
	*p = (struct rig_page){.at = aligned_alloc(bytes, bytes), .bytes = bytes};
	memset(p->at, gfp & __GFP_ZERO ? 0 : 0x5a, bytes);
	return p->at;
}

/* Pages that the controller can still access must not be freed. */
void ctrl_dma_free(void *at, unsigned int order)
{
	struct rig_page *p;

	if (!at)
		return;
	p = page_at(at);
	shim_require(!(shim.master && p->reached) && !p->mapped && p->bytes == PAGE_SIZE << order);
	free(at);
	p->at = NULL;
}

dma_addr_t ctrl_dma_map(void *at, u64 bytes, enum dma_data_direction way)
{
	struct rig_page *p = page_at(at);

	shim_require(!p->mapped && p->bytes == bytes);
	if (ctrl_rig.maps_fail && !--ctrl_rig.maps_fail)
		return 0;
	p->mapped = true;
	p->way = way;
	return (uintptr_t)at;
}

/* The pages of a mapping, which must have the size and direction of dma_map_page(). */
static struct rig_page *page_mapped(dma_addr_t addr, u64 bytes, enum dma_data_direction way)
{
	struct rig_page *p = page_at((void *)(uintptr_t)addr);

	shim_require(p->mapped && p->bytes == bytes && p->way == way);
	return p;
}

void ctrl_dma_unmap(dma_addr_t addr, u64 bytes, enum dma_data_direction way)
{
	page_mapped(addr, bytes, way)->mapped = false;
}

void ctrl_dma_sync(dma_addr_t addr, u64 bytes, enum dma_data_direction way)
{
	page_mapped(addr, bytes, way);
}

/*
 * An owner may have rung the doorbell: any entry that is fetched now must be refused, or be the
 * other one of an event request and its command.
 */
void ctrl_dma_wmb(void)
{
	const struct annex_admin *a = &ctrl_rig.ctrl.admin;
	const struct nvme_command *sq = a->sq.at;
	int complete = 0;

	ctrl_rig.barriers++;
	for (u32 i = 0; a->sq.mapped && i < ANNEX_ADMIN_DEPTH; i++)
		complete += sq[i].common.opcode != 0x03;
	shim_require(complete <= !!shim.vectors);
}

/*
 * Translate an address. The controller may only access mapped pages of the module, in their
 * direction. NULL: bus mastering is off.
 */
static void *reach(u64 addr, size_t bytes, enum dma_data_direction way)
{
	struct rig_page *p = ctrl_rig.page;

	if (!shim.master)
		return NULL;
	while (!p->at || addr - (uintptr_t)p->at >= p->bytes)
		shim_require(++p < ctrl_rig.page + RIG_PAGES);
	shim_require(p->mapped && (p->way == way || p->way == DMA_BIDIRECTIONAL));
	shim_require(addr - (uintptr_t)p->at + bytes <= p->bytes);
	p->reached = true;
	return (void *)(uintptr_t)addr;
}

/* Check a buffer (Base 5.27.1.10), which must be empty. */
static void take_buffer(const struct nvme_command *cmd)
{
	u32 n = cmd->features.dword15, pages = 0;
	u64 at = cmd->features.dword13 | (u64)cmd->features.dword14 << 32;
	const struct nvme_host_mem_buf_desc *list = reach(at, n * sizeof(*list), DMA_TO_DEVICE);

	shim_require(list && at % 16 == 0 && n && n <= ARRAY_SIZE(ctrl_rig.hmb) && !ctrl_rig.nhmb);
	shim_require(!ctrl_rig.id.hmmaxd || n <= ctrl_rig.id.hmmaxd);
	for (u32 i = 0; i < n; i++) {
		u64 bytes = list[i].size * PAGE_SIZE;
		const u8 *mem = reach(list[i].addr, bytes, DMA_BIDIRECTIONAL);

		shim_require(list[i].addr % PAGE_SIZE == 0 && list[i].size && !list[i].rsvd);
		shim_require(list[i].size >= ctrl_rig.id.hmminds);
		shim_require(!mem[0] && !memcmp(mem, mem + 1, bytes - 1));
		for (u32 k = 0; k < i; k++)
			shim_require(list[k].addr + list[k].size * PAGE_SIZE <= list[i].addr ||
				     list[i].addr + bytes <= list[k].addr);
		pages += list[i].size;
	}
	shim_require(cmd->features.dword12 == pages && pages <= ctrl_rig.id.hmpre &&
		     pages >= ctrl_rig.id.hmmin);
	memcpy(ctrl_rig.hmb, list, n * sizeof(*list));
	ctrl_rig.nhmb = n;
}

static void use_buffer(void)
{
	for (u32 i = 0; i < ctrl_rig.nhmb; i++) {
		u64 bytes = ctrl_rig.hmb[i].size * PAGE_SIZE;
		u8 *mem = reach(ctrl_rig.hmb[i].addr, bytes, DMA_BIDIRECTIONAL);

		for (u64 k = 0; mem && k < bytes; k += PAGE_SIZE)
			mem[k] = mem[k + PAGE_SIZE - 1] = 0xa5;
	}
}

static u16 carry_out(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	void *data;

	switch (cmd->common.opcode) {
	case nvme_admin_identify:
		data = reach(cmd->identify.dptr.prp1, sizeof(ctrl_rig.id), DMA_FROM_DEVICE);
		if (data)
			memcpy(data, &ctrl_rig.id, sizeof(ctrl_rig.id));
		return 0;
	case nvme_admin_set_features:
		if (cmd->features.fid == NVME_FEAT_ASYNC_EVENT) {
			ctrl_rig.enabled = cmd->features.dword11;
			return 0;
		}
		if (cmd->features.fid == NVME_FEAT_HOST_MEM_BUF) {
			shim_require(cmd->features.dword11 == NVME_HOST_MEM_ENABLE);
			if (ctrl_rig.buffer_status)
				return ctrl_rig.buffer_status;
			take_buffer(cmd);
			return 0;
		}
		shim_require(cmd->features.fid == NVME_FEAT_NUM_QUEUES);
		cqe->result.u32 = (ctrl_rig.queues - 1) << 16 | (ctrl_rig.queues - 1);
		return 0;
	case nvme_admin_get_log_page:
		reach(cmd->common.dptr.prp1, (cmd->get_log_page.numdl + 1u) * 4, DMA_FROM_DEVICE);
		return 0;
	case nvme_admin_async_event:
		return 0x105; /* a second request */
	case nvme_admin_dbbuf:
		reach(cmd->common.dptr.prp1, PAGE_SIZE, DMA_TO_DEVICE);
		reach(cmd->common.dptr.prp2, PAGE_SIZE, DMA_FROM_DEVICE);
		return 0;
	default:
		return 1; /* Invalid Command Opcode */
	}
}

static void fetch(void)
{
	u32 entries = (ctrl_get(NVME_REG_AQA) & 0xfff) + 1;
	struct nvme_command *sq = reach(get64(NVME_REG_ASQ), entries * sizeof(*sq), DMA_TO_DEVICE);

	if (!sq || ctrl_rig.head == ctrl_rig.tail || ctrl_rig.queued)
		return;
	ctrl_rig.last = sq[ctrl_rig.head];
	ctrl_rig.head = (u16)((ctrl_rig.head + 1) % entries);
	ctrl_rig.fetched++;
	use_buffer();
	if (ctrl_rig.last.common.opcode == nvme_admin_async_event && !ctrl_rig.requested &&
	    ctrl_rig.fails != nvme_admin_async_event) {
		ctrl_rig.requested = true;
		ctrl_rig.request = ctrl_rig.last.common.command_id;
		return;
	}
	ctrl_rig.next = (struct nvme_completion){.sq_head = ctrl_rig.head,
						 .command_id = ctrl_rig.last.common.command_id};
	ctrl_rig.next.status = (u16)(carry_out(&ctrl_rig.last, &ctrl_rig.next) << 1);
	if (ctrl_rig.fails && ctrl_rig.last.common.opcode == ctrl_rig.fails)
		ctrl_rig.next.status = (u16)(ctrl_rig.status << 1);
	if (ctrl_rig.lie && !ctrl_rig.lie(&ctrl_rig.last, &ctrl_rig.next))
		return;
	ctrl_rig.queued = true;
	ctrl_rig.posts_at = shim.us + ctrl_rig.command_us;
}

static bool has_report(void)
{
	return ctrl_rig.events ? ctrl_rig.requested : ctrl_rig.strays;
}

/* Complete the request for an event, or post a completion without one. */
static void report(void)
{
	if (ctrl_rig.queued || !has_report())
		return;
	if (!ctrl_rig.events)
		ctrl_rig.strays--;
	else if (ctrl_rig.events != RIG_STORM)
		ctrl_rig.events--;
	ctrl_rig.requested = false;
	ctrl_rig.next = (struct nvme_completion){.sq_head = ctrl_rig.head,
						 .result.u32 = ctrl_rig.event,
						 .command_id = ctrl_rig.request};
	ctrl_rig.queued = true;
	ctrl_rig.posts_at = shim.us;
}

static void post(void)
{
	static u16 at;
	u32 entries = (ctrl_get(NVME_REG_AQA) >> 16 & 0xfff) + 1;
	struct nvme_completion *cq = reach(get64(NVME_REG_ACQ), entries * sizeof(*cq),
					   DMA_FROM_DEVICE);

	if (ctrl_rig.phase & 2) { /* the first completion since CC.EN was set */
		ctrl_rig.phase = 1;
		at = 0;
	}
	ctrl_rig.queued = false;
	if (!cq)
		return;
	ctrl_rig.next.status = (u16)((ctrl_rig.next.status & ~1u) | ctrl_rig.phase);
	cq[at] = ctrl_rig.next;
	at = (u16)((at + 1) % entries);
	if (!at)
		ctrl_rig.phase ^= 1;
	if (shim.thread[1])
		shim.thread[1](1, shim.data[1]);
}

static void enable(bool on)
{
	ctrl_rig.head = ctrl_rig.tail = 0;
	ctrl_rig.queued = false;
	ctrl_rig.requested = false;
	ctrl_rig.enabled = 0;
	ctrl_rig.nhmb = 0;
	ctrl_rig.phase = 3;
	ctrl_rig.ready_at = on ? shim.us + ctrl_rig.ready_us : RIG_NEVER;
	ctrl_rig.stopped_at = on ? RIG_NEVER : shim.us + ctrl_rig.stop_us;
	if (on && ctrl_rig.ready_us == RIG_NEVER)
		ctrl_rig.ready_at = RIG_NEVER;
	if (!on && ctrl_rig.stop_us == RIG_NEVER)
		ctrl_rig.stopped_at = RIG_NEVER;
}

static void go_on(void)
{
	u32 csts = ctrl_get(NVME_REG_CSTS);

	if (shim.us >= ctrl_rig.ready_at)
		csts |= NVME_CSTS_RDY;
	if (shim.us >= ctrl_rig.stopped_at)
		csts = 0;
	if (shim.us >= ctrl_rig.shut_at)
		csts |= NVME_CSTS_SHST_CMPLT;
	ctrl_set(NVME_REG_CSTS, csts);
	if ((csts & NVME_CSTS_RDY) && !(csts & NVME_CSTS_CFS)) {
		report();
		fetch();
		if (ctrl_rig.queued && shim.us >= ctrl_rig.posts_at)
			post();
	}
}

static void reads(const u8 *at)
{
	if (ctrl_rig.gone)
		memset(REG(0), 0xff, NVME_REG_DBS);
	else if (at == REG(NVME_REG_CSTS))
		go_on();
}

static void wrote(u8 *at)
{
	static u32 cc;
	u32 now = ctrl_get(NVME_REG_CC);

	if (at == REG(NVME_REG_DBS) && !ctrl_rig.gone)
		ctrl_rig.tail = (u16)ctrl_get(NVME_REG_DBS);
	if (at != REG(NVME_REG_CC))
		return;
	if (ctrl_rig.phase & 4) { /* the first write to a new controller */
		cc = 0;
		ctrl_rig.phase = 0;
	}
	if ((cc ^ now) & NVME_CC_ENABLE)
		enable(now & NVME_CC_ENABLE);
	if (~cc & now & NVME_CC_SHN_NORMAL)
		ctrl_rig.shutdowns++;
	if ((now & NVME_CC_SHN_MASK) && ctrl_rig.stop_us != RIG_NEVER)
		ctrl_rig.shut_at = shim.us + ctrl_rig.stop_us;
	else
		ctrl_rig.shut_at = RIG_NEVER;
	cc = now;
}

void ctrl_fatal(void)
{
	ctrl_set(NVME_REG_CSTS, ctrl_get(NVME_REG_CSTS) | NVME_CSTS_CFS);
}

/* The module's page tables. */
void annex_view_open(struct annex_ctrl *ctrl)
{
	shim_require(!ctrl_rig.ended);
	ctrl_rig.opened = true;
	ctrl->open = true;
}

void annex_view_close(struct annex_ctrl *ctrl)
{
	ctrl_rig.opened = false;
	ctrl->open = false;
}

void annex_view_end(struct annex_ctrl *ctrl)
{
	annex_view_close(ctrl);
	ctrl->gone = true;
	ctrl_rig.ended = true;
}

unsigned long bitmap_find_next_zero_area(unsigned long *map, unsigned long bits,
					 unsigned long start, unsigned int n, unsigned long mask)
{
	unsigned long run = 0;

	shim_require(!mask);
	for (unsigned long i = start; i < bits; i++) {
		run = ((char *)map)[i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return bits;
}

int annex_space_take(struct annex_space *space, u64 bytes, u64 like, struct iova **iova, u64 *addr)
{
	(void)space, (void)bytes, (void)like, (void)iova, (void)addr;
	abort();
}

void annex_space_give(struct annex_space *space, struct iova *iova)
{
	(void)space;
	shim_require(!iova);
}

void ctrl_make(void)
{
	memset(&shim, 0, sizeof(shim));
	memset(&ctrl_rig, 0, sizeof(ctrl_rig));
	shim.us = 1000000;
	shim.reads = reads;
	shim.wrote = wrote;
	for (u32 i = 0; i <= RIG_CMB_BAR; i += RIG_CMB_BAR) {
		shim.bar[i].bytes = i ? SZ_64K : RIG_BAR;
		shim.bar[i].start = (1ull << 32) + (u64)i * SZ_256M;
		shim.bar[i].flags = IORESOURCE_MEM;
		shim.bar[i].mem = aligned_alloc(PAGE_SIZE, shim.bar[i].bytes);
		memset(shim.bar[i].mem, 0, shim.bar[i].bytes);
	}
	ctrl_rig.phase = 4;
	ctrl_rig.cap = 1023 | 2ull << 24 | (u64)NVME_CAP_CSS_NVM << 37; /* a second at most */
	ctrl_rig.ready_us = 20000;
	ctrl_rig.stop_us = 3000;
	ctrl_rig.command_us = 100;
	ctrl_rig.queues = 16;
	ctrl_rig.largest = ilog2(MAX_ORDER_NR_PAGES);
	ctrl_rig.id.mdts = 5;
	ctrl_rig.ready_at = ctrl_rig.stopped_at = ctrl_rig.shut_at = RIG_NEVER;
	ctrl_rig.ctrl.pdev = &ctrl_rig.pdev;
	ctrl_rig.ctrl.bar = shim.bar[0].mem;
	ctrl_rig.ctrl.bar_bytes = RIG_BAR;
	annex_event_init(&ctrl_rig.ctrl);
}

int ctrl_start(void)
{
	struct annex_ctrl *c = &ctrl_rig.ctrl;
	int err;

	ctrl_set(NVME_REG_CAP, lower_32_bits(ctrl_rig.cap));
	ctrl_set(NVME_REG_CAP + 4, upper_32_bits(ctrl_rig.cap));
	mutex_lock(&c->lock);
	if (shim.vectors)
		annex_event_open(c);
	err = annex_ctrl_start(c);
	mutex_unlock(&c->lock);
	shim_require(!c->lock.held && (err || ctrl_rig.opened));
	return err;
}

void ctrl_over(void)
{
	annex_ctrl_stop(&ctrl_rig.ctrl);
	shim_require(ctrl_rig.ended && !ctrl_rig.opened);
	shim.master = shim.master && !ctrl_rig.gone; /* a removed controller accesses nothing */
	annex_ctrl_free(&ctrl_rig.ctrl);
	annex_event_close(&ctrl_rig.ctrl);
	for (u32 i = 0; i < RIG_PAGES; i++)
		shim_require(!ctrl_rig.page[i].at);
	for (u32 i = 0; i < SHIM_BARS; i++)
		free(shim.bar[i].mem);
	memset(&shim, 0, sizeof(shim));
}

int ctrl_ask(void)
{
	struct annex_ctrl *c = &ctrl_rig.ctrl;
	int err;

	mutex_lock(&c->lock);
	err = annex_admin_identify(c, NVME_ID_CNS_CTRL, 0);
	mutex_unlock(&c->lock);
	return err;
}

void ctrl_ring(u32 tail)
{
	writel(tail, REG(NVME_REG_DBS));
	ctrl_go_on();
}

void ctrl_go_on(void)
{
	do {
		readl(REG(NVME_REG_CSTS));
		shim.us += ctrl_rig.command_us;
	} while (ctrl_rig.queued || ctrl_rig.head != ctrl_rig.tail || has_report());
}

int ctrl_reset_it(void)
{
	struct annex_ctrl *c = &ctrl_rig.ctrl;
	int err;

	mutex_lock(&c->lock);
	err = annex_ctrl_reset(c);
	mutex_unlock(&c->lock);
	shim_require(ctrl_rig.opened == !err);
	return err;
}
