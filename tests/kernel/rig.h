/* SPDX-License-Identifier: MIT */
/*
 * A CXL memory device for the module's files about registers. It follows the specification unless a
 * test changes its behaviour. rig_start() and rig_stop() do the steps of kernel/cxl/hdm.c.
 */
#ifndef TESTS_KERNEL_RIG_H
#define TESTS_KERNEL_RIG_H

#include "cxl.h"
#include "decoder.h"
#include "mbox.h"
#include "media.h"
#include "regs.h"
#include "window.h"

#define RIG_LOCATOR 0x200 /* in configuration space */
#define RIG_DVSEC 0x100
#define RIG_HDM 0x200 /* in the capabilities of CXL.mem */
#define RIG_STATUS 0x100
#define RIG_MBOX 0x200 /* in the device registers */
#define RIG_PAYLOAD 2048u
#define RIG_MEMDEV 0x1000
#define RIG_BYTES (512ull << 20) /* of memory */
#define RIG_WINDOW (4ull << 30)
#define RIG_RECORDS 40 /* of poison, or of events */

/**
 * struct rig - The device, and the module's state of it.
 * @bytes: bytes of memory, volatile and persistent.
 * @poison: poison list.
 * @npoison: records in @poison.
 * @nevents: records in the failure log.
 * @unlisted: the device keeps no poison list of volatile memory.
 * @policy: event interrupt policy.
 * @busy_us: time that a mailbox command takes.
 * @done: time at which the running command ends; 0: none is running.
 * @late: time at which the memory becomes ready; 0: it is ready.
 * @lie: changes an answer: its payload, its length, its return code.
 * @commands: number of commands so far.
 * @locked: decoders cannot be decommitted.
 * @error: decoders cannot be committed.
 * @pdev: PCI device.
 * @regs: the module's registers.
 * @mbox: the module's mailbox.
 * @media: the module's poison and events.
 * @decoders: the module's decoders.
 * @changed: number of times that the module reported a changed poison list.
 */
extern struct rig {
	u64 bytes[2];
	struct cxl_poison_record poison[RIG_RECORDS];
	u32 npoison, nevents;
	bool unlisted;
	u8 policy[CXL_EVENT_LOGS];
	u64 busy_us, done, late;
	void (*lie)(u16 opcode, u8 *payload, u32 *bytes, u32 *code);
	u32 commands;
	bool locked, error;
	struct pci_dev pdev;
	struct annex_regs regs;
	struct annex_mbox mbox;
	struct annex_media media;
	struct annex_decoders decoders;
	u32 changed;
} rig;

/* rig_make() - Make a valid device in a valid machine. */
void rig_make(void);
/* rig_end() - Check that all resources were released, and free the device. */
void rig_end(void);
/* rig_start() - Probe the device: 0, or a negative errno. */
int rig_start(void);
void rig_stop(void);
/* rig_over() - rig_stop() and rig_end(). */
void rig_over(void);
/* rig_config() - The byte at @at of its configuration space.
 * rig_register() - The byte at @at of its BAR @bar. */
void *rig_config(u32 at);
void *rig_register(u32 bar, u32 at);
/* rig_window() - Add an entry to the CEDT: a window of @bytes over a bridge whose _UID is 7. */
struct acpi_cedt_cfmws *rig_window(u64 base, u64 bytes, u8 ways);
struct acpi_cedt_chbs *rig_bridge(u32 uid, u64 base);
/* rig_hostile() - Make a device from an input, and check that the module survives it. */
void rig_hostile(const uint8_t *data, size_t size);

#endif
