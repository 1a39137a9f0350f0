/* SPDX-License-Identifier: MIT */
/*
 * A CXL memory device for the module's files about registers, that does as it should until a test
 * has it do otherwise; and all of a device's life in the module, as kernel/cxl/hdm.c has it.
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
 * @bytes: of memory, volatile and persistent.
 * @poison: what it lists. @npoison: how many. @unlisted: for volatile memory it keeps no list.
 * @nevents: records in its failure log. @policy: how its logs make themselves heard.
 * @busy_us: how long its mailbox takes for a command.
 * @lie: changes an answer: its payload, how many bytes it says, its code.
 * @late: since when its memory is ready.
 * @commands: that it has heard.
 * @locked: its decoders go on being committed. @error: and do not become so.
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

/* rig_make() - A good device in a good machine. */
void rig_make(void);
/* rig_end() - Nothing may be left of it. */
void rig_end(void);
/* rig_start() - As far as the module gets with it: 0, or a negative errno. */
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
/* rig_hostile() - Another device for each input; what the module does with it ends, and is sound.
 */
void rig_hostile(const uint8_t *data, size_t size);

#endif
