/* SPDX-License-Identifier: MIT */
/*
 * An NVMe controller for the module's files about controllers and admin commands: its registers,
 * its admin queue, its host memory buffer, to which it writes at each command (NVMe Base 2.0
 * sections 3.1.3, 3.5, 3.6, 5). It follows the specification unless a test changes its
 * behaviour. The rig records each of the module's mappings of pages.
 */
#ifndef TESTS_KERNEL_CTRL_RIG_H
#define TESTS_KERNEL_CTRL_RIG_H

#include "ctrl.h"

#define RIG_BAR 0x10000u /* bytes of registers */
#define RIG_CMB_BAR 2
#define RIG_NEVER (~0ull)
#define RIG_PAGES 300
#define RIG_STORM (~0u)
/* CMBSZ: @n units of controller memory, for all uses. */
#define RIG_UNITS(n, unit) ((u32)(n) << NVME_CMBSZ_SZ_SHIFT | (unit) << NVME_CMBSZ_SZU_SHIFT | 31u)

/**
 * struct rig_page - Contiguous pages of the module.
 * @at: address; NULL: not allocated.
 * @bytes: size.
 * @mapped: the controller may access it.
 * @reached: it has accessed it.
 * @way: direction of these accesses.
 */
struct rig_page {
	u8 *at;
	u64 bytes;
	bool mapped, reached;
	enum dma_data_direction way;
};

/**
 * struct ctrl_rig - The controller, and the module's state of it.
 * @ctrl: the module's controller.
 * @pdev: its PCI device.
 * @cap: CAP.
 * @ready_us: time from CC.EN 1 to CSTS.RDY 1.
 * @stop_us: time from CC.EN 0 to CSTS.RDY 0, and of a shutdown.
 * @command_us: time that an admin command takes.
 * @queues: I/O queue pairs that it grants.
 * @id: its answer to Identify.
 * @status: status of commands with opcode @fails.
 * @fails: opcode of commands that fail; 0: none.
 * @lie: changes a completion before it is posted; returns false to drop it.
 * @events: events that it has to report; RIG_STORM: there is always another.
 * @event: dword 0 of their completions.
 * @strays: completions of requests that are posted without one, after @events.
 * @requested: it has a request for an event.
 * @request: identifier of the last one.
 * @enabled: its feature of asynchronous events.
 * @fetched: number of commands fetched.
 * @last: the last of these.
 * @gone: all registers read as ones.
 * @opened: the view is open.
 * @ended: the view has ended.
 * @page: pages of the module.
 * @shutdowns: number of shutdown notifications.
 * @buffer_status: status with which it refuses a host memory buffer; 0: it takes one.
 * @barriers: number of dma_wmb() calls, at which a submission queue entry is partly written.
 * @maps_fail: which of the next mappings fails; 0: none.
 * @pages_fail: which of the next allocations fails; 0: none.
 * @largest: the largest order that can be allocated.
 * @hmb: descriptors of its host memory buffer, in its order.
 * @nhmb: number of @hmb; 0: the buffer is disabled.
 */
extern struct ctrl_rig {
	struct annex_ctrl ctrl;
	struct pci_dev pdev;
	u64 cap;
	u64 ready_us, stop_us, command_us;
	u32 queues;
	struct nvme_id_ctrl id;
	u16 status, buffer_status;
	u8 fails;
	bool (*lie)(const struct nvme_command *cmd, struct nvme_completion *cqe);
	u32 events, event, strays;
	bool requested;
	u16 request;
	u32 enabled;
	u32 fetched;
	struct nvme_command last;
	bool gone;
	bool opened, ended;
	u32 shutdowns;
	struct rig_page page[RIG_PAGES];
	u32 barriers, maps_fail, pages_fail, largest;
	struct nvme_host_mem_buf_desc hmb[256];
	u32 nhmb;
	/* Internal state of the controller. */
	u64 ready_at, stopped_at, shut_at, posts_at;
	u16 head, tail;
	u8 phase;
	bool queued;
	struct nvme_completion next;
} ctrl_rig;

/* ctrl_make() - Make a valid controller. */
void ctrl_make(void);
/* ctrl_start() - As probe: annex_ctrl_start(); events, if shim.vectors are set. */
int ctrl_start(void);
/* ctrl_over() - annex_ctrl_stop() and annex_ctrl_free(); check that all pages were freed. */
void ctrl_over(void);
/* ctrl_ask() - Run an admin command: Identify. */
int ctrl_ask(void);
/* ctrl_ring() - Ring the doorbell of the admin queue, as an owner could. */
void ctrl_ring(u32 tail);
/* ctrl_go_on() - Let the controller fetch and complete all that it can. */
void ctrl_go_on(void);
/* ctrl_reset_it() - annex_ctrl_reset(). */
int ctrl_reset_it(void);
/* ctrl_set() - Set a register, without the effects of a write. */
void ctrl_set(u32 reg, u32 value);
u32 ctrl_get(u32 reg);
/* ctrl_fatal() - Set CSTS.CFS. */
void ctrl_fatal(void);

#endif
