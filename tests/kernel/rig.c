// SPDX-License-Identifier: MIT
#include "rig.h"

struct rig rig;

#define CM(at) rig_register(0, CXL_CM + (at))
#define DEV(at) rig_register(2, at)
#define CEDT_MOST 4096

static const u8 media_event[16] = {0xfb, 0xcd, 0x0a, 0x77, 0xc2, 0x60, 0x41, 0x7f,
				   0x85, 0xa9, 0x08, 0x8b, 0x16, 0x21, 0xeb, 0xa6};

void *rig_config(u32 at)
{
	return shim.config + at;
}

void *rig_register(u32 bar, u32 at)
{
	return shim.bar[bar].mem + at;
}

static void set32(void *at, u32 value)
{
	memcpy(at, &value, sizeof(value));
}

static void set64(void *at, u64 value)
{
	memcpy(at, &value, sizeof(value));
}

static u64 get64(const void *at)
{
	u64 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* List the poison of one kind of memory. */
static u32 list_poison(u8 *payload, u32 *code)
{
	struct cxl_poison_out *out = (void *)payload;
	struct cxl_poison_in in;
	u64 stop;

	memcpy(&in, payload, sizeof(in));
	stop = in.address + in.lines * CXL_LINE;
	if (stop > rig.bytes[0] + rig.bytes[1] ||
	    (in.address < rig.bytes[0]) != (stop <= rig.bytes[0]))
		*code = CXL_CODE_INPUT;
	else if (rig.unlisted && in.address < rig.bytes[0])
		*code = CXL_CODE_ADDRESS;
	memset(payload, 0, RIG_PAYLOAD);
	for (u32 i = 0; i < rig.npoison; i++)
		if (!rig.bytes[1] ||
		    (rig.poison[i].address >= in.address && rig.poison[i].address < stop))
			out->records[out->count++] = rig.poison[i];
	return (u32)struct_size(out, records, out->count);
}

/* List as many events as the payload has room for. */
static u32 list_events(u8 *payload)
{
	struct cxl_events_out *out = (void *)payload;
	u32 n = min(rig.nevents, (u32)(RIG_PAYLOAD - sizeof(*out)) / CXL_EVENT_BYTES);

	out->count = (u16)n;
	out->flags = n < rig.nevents ? CXL_EVENTS_MORE : 0;
	for (u32 i = 0; i < n; i++) {
		memcpy(out->records[i].type, media_event, sizeof(media_event));
		out->records[i].handle = (u16)(i + 1);
	}
	return (u32)struct_size(out, records, n);
}

static u32 answer(u16 opcode, u8 *payload, u32 bytes, u32 *code)
{
	struct cxl_identify *id = (void *)payload;

	switch (opcode) {
	case CXL_OP_IDENTIFY:
		memset(id, 0, sizeof(*id));
		id->volatile_only = rig.bytes[0] / CXL_CAPACITY_UNIT;
		id->persistent_only = rig.bytes[1] / CXL_CAPACITY_UNIT;
		id->total = id->volatile_only + id->persistent_only;
		return sizeof(*id);
	case CXL_OP_GET_POISON:
		shim_require(bytes == sizeof(struct cxl_poison_in));
		return list_poison(payload, code);
	case CXL_OP_GET_EVENTS:
		shim_require(bytes == 1);
		memset(payload + 1, 0, RIG_PAYLOAD - 1);
		return list_events(payload);
	case CXL_OP_CLEAR_EVENTS:
		shim_require(bytes >= 8 && payload[2] <= rig.nevents);
		rig.nevents -= payload[2];
		set32(DEV(RIG_STATUS), rig.nevents ? BIT(2) : 0);
		return 0;
	case CXL_OP_SET_TIMESTAMP:
		return 0;
	case CXL_OP_SET_EVENT_POLICY:
		shim_require(bytes == CXL_EVENT_LOGS);
		memcpy(rig.policy, payload, CXL_EVENT_LOGS);
		return 0;
	case CXL_OP_GET_EVENT_POLICY:
		memcpy(payload, rig.policy, CXL_EVENT_LOGS);
		return CXL_EVENT_LOGS;
	}
	*code = CXL_CODE_UNSUPPORTED;
	return 0;
}

static void serve(void)
{
	u64 cmd = get64(DEV(RIG_MBOX + CXL_MBOX_CMD));
	u8 *payload = DEV(RIG_MBOX + CXL_MBOX_PAYLOAD);
	u16 opcode = (u16)FIELD_GET(CXL_MBOX_CMD_OPCODE, cmd);
	u32 code = 0, bytes = (u32)FIELD_GET(CXL_MBOX_CMD_BYTES, cmd);

	rig.commands++;
	bytes = answer(opcode, payload, bytes, &code);
	if (rig.lie)
		rig.lie(opcode, payload, &bytes, &code);
	set64(DEV(RIG_MBOX + CXL_MBOX_STATUS), FIELD_PREP(CXL_MBOX_STATUS_CODE, (u64)code));
	set64(DEV(RIG_MBOX + CXL_MBOX_CMD), FIELD_PREP(CXL_MBOX_CMD_OPCODE, (u64)opcode) |
						    FIELD_PREP(CXL_MBOX_CMD_BYTES, (u64)bytes));
	rig.done = shim.us + rig.busy_us;
}

static void reads(const u8 *at)
{
	if (at == DEV(RIG_MBOX + CXL_MBOX_CTRL) && rig.done && shim.us >= rig.done) {
		set32(DEV(RIG_MBOX + CXL_MBOX_CTRL), 0);
		rig.done = 0;
	}
	if (rig.late && shim.us >= rig.late) {
		set64(DEV(RIG_MEMDEV), CXL_MEMDEV_MBOX_READY | CXL_MEMDEV_MEDIA_READY << 2);
		rig.late = 0;
	}
}

static void commit(u8 *at)
{
	u32 ctrl;

	memcpy(&ctrl, at, sizeof(ctrl));
	if (!(ctrl & CXL_DEC_CTRL_COMMIT))
		ctrl &= rig.locked ? ~0u : ~(u32)CXL_DEC_CTRL_COMMITTED;
	else if (rig.error)
		ctrl |= CXL_DEC_CTRL_ERROR | (rig.locked ? CXL_DEC_CTRL_COMMITTED : 0);
	else
		ctrl |= CXL_DEC_CTRL_COMMITTED;
	set32(at, ctrl);
}

static void wrote(u8 *at)
{
	u8 *decoders = CM(RIG_HDM);
	u32 i;

	if (at == DEV(RIG_MBOX + CXL_MBOX_CTRL) && *at & CXL_MBOX_CTRL_DOORBELL)
		serve();
	for (i = 0; i < 4; i++)
		if (at == decoders + CXL_HDM_DECODER(i) + CXL_DEC_CTRL)
			commit(at);
}

static void make_config(void)
{
	u8 *dvsec = rig_config(RIG_DVSEC), *locator = rig_config(RIG_LOCATOR);

	set32(dvsec, (u32)RIG_LOCATOR << 20 | 1u << 16 | PCI_EXT_CAP_ID_DVSEC);
	set32(dvsec + PCI_DVSEC_HEADER1, 0x3cu << 20 | 2u << 16 | CXL_VENDOR);
	set32(dvsec + CXL_DEVICE_CAP - 2, (u32)(CXL_DEVICE_CAP_MEM | 1u << 4) << 16);
	set32(dvsec + CXL_DEVICE_SIZE_LOW(0), CXL_DEVICE_VALID | CXL_DEVICE_ACTIVE);
	set32(locator, 1u << 16 | PCI_EXT_CAP_ID_DVSEC);
	set32(locator + PCI_DVSEC_HEADER1, (CXL_LOCATOR_BLOCKS + 16u) << 20 | CXL_VENDOR);
	set32(locator + PCI_DVSEC_HEADER2, CXL_DVSEC_LOCATOR);
	set32(locator + CXL_LOCATOR_BLOCKS, CXL_BLOCK_COMPONENT << 8);
	set32(locator + CXL_LOCATOR_BLOCKS + 8, CXL_BLOCK_DEVICE << 8 | 2);
}

static void header(u32 i, u32 id, u32 at, u32 bytes)
{
	set32(DEV(i * CXL_DEV_HEADER), 1u << 16 | id);
	set32(DEV(i * CXL_DEV_HEADER + 4), at);
	set32(DEV(i * CXL_DEV_HEADER + 8), bytes);
}

static void make_registers(void)
{
	set32(CM(0), 2u << 24 | 1u << 16 | CXL_CM_ARRAY);
	set32(CM(4), 0x180u << 20 | 1u << 16 | 2);
	set32(CM(8), (u32)RIG_HDM << 20 | 1u << 16 | CXL_CM_HDM);
	set32(CM(RIG_HDM), 2 | CXL_HDM_CAP_BITS_8 | CXL_HDM_CAP_BITS_12);
	set64(DEV(0), 3ull << 32 | 1u << 16);
	header(1, CXL_DEV_STATUS, RIG_STATUS, 8);
	header(2, CXL_DEV_MBOX, RIG_MBOX, CXL_MBOX_PAYLOAD + RIG_PAYLOAD);
	header(3, CXL_DEV_MEMDEV, RIG_MEMDEV, 8);
	set32(DEV(RIG_MBOX + CXL_MBOX_CAP), ilog2(RIG_PAYLOAD));
	set64(DEV(RIG_MEMDEV), CXL_MEMDEV_MBOX_READY | CXL_MEMDEV_MEDIA_READY << 2);
}

static void make_bar(u32 i, u64 start, u64 bytes)
{
	shim.bar[i].start = start;
	shim.bar[i].bytes = bytes;
	shim.bar[i].flags = IORESOURCE_MEM;
	shim.bar[i].mem = calloc(1, bytes);
	shim_require(!!shim.bar[i].mem);
}

/* Grow the table at its end, so that sanitizers detect reads beyond it. */
static void *grow(u32 bytes)
{
	u8 *cedt = calloc(1, shim.cedt_bytes + bytes);

	shim_require(!!cedt);
	memcpy(cedt, shim.cedt, shim.cedt_bytes);
	free(shim.cedt);
	shim.cedt = cedt;
	shim.cedt_bytes += bytes;
	return cedt + shim.cedt_bytes - bytes;
}

struct acpi_cedt_cfmws *rig_window(u64 base, u64 bytes, u8 ways)
{
	u32 targets = ways <= 4 ? 1u << ways : 1;
	struct acpi_cedt_cfmws *c = grow((u32)sizeof(*c) + targets * 4);

	c->header.type = ACPI_CEDT_TYPE_CFMWS;
	c->header.length = (u16)(sizeof(*c) + targets * 4);
	c->base_hpa = base;
	c->window_size = bytes;
	c->interleave_ways = ways;
	for (u32 i = 0; i < targets; i++)
		c->interleave_targets[i] = 7 + i;
	return c;
}

struct acpi_cedt_chbs *rig_bridge(u32 uid, u64 base)
{
	struct acpi_cedt_chbs *c = grow(sizeof(*c));

	c->header.length = sizeof(*c);
	c->uid = uid;
	c->cxl_version = ACPI_CEDT_CHBS_VERSION_CXL20;
	c->base = base;
	c->length = CXL_COMPONENT_BYTES;
	return c;
}

void rig_make(void)
{
	memset(&shim, 0, sizeof(shim));
	memset(&rig, 0, sizeof(rig));
	iomem_resource.child = NULL;
	shim.us = 1;
	rig.bytes[0] = RIG_BYTES;
	make_bar(0, 3ull << 30, SZ_64K);
	make_bar(2, (3ull << 30) + SZ_64K, 2 * SZ_64K);
	make_config();
	make_registers();
	shim.cedt = calloc(1, 36);
	shim.cedt_bytes = 36;
	shim.vectors = 1;
	shim.reads = reads;
	shim.wrote = wrote;
}

void rig_end(void)
{
	shim_require(!shim.mapped);
	for (int i = 0; i < SHIM_VECTORS; i++)
		shim_require(!shim.thread[i]);
	for (int i = 0; i < SHIM_BARS; i++)
		free(shim.bar[i].mem);
	free(shim.cedt);
	shim.cedt = NULL;
}

static void changed(struct annex_media *media)
{
	(void)media;
	rig.changed++;
}

int rig_start(void)
{
	struct annex_regs *regs = &rig.regs;
	struct cxl_identify id;
	int err = annex_regs_init(&rig.pdev, regs);

	annex_media_prepare(&rig.media);
	if (!err)
		err = annex_regs_ready(&rig.pdev, regs);
	if (!err)
		err = annex_mbox_init(&rig.mbox, &rig.pdev.dev, regs->mbox, regs->mbox_bytes);
	if (!err)
		err = annex_mbox_call(&rig.mbox, CXL_OP_IDENTIFY, NULL, 0, &id, sizeof(id));
	if (err)
		return err;
	annex_decoders_init(&rig.decoders, regs->component, regs->hdm, regs->phys, "device", true);
	return annex_media_init(&rig.media, &rig.pdev, &rig.mbox, regs->status, rig.bytes, changed);
}

void rig_stop(void)
{
	annex_media_end(&rig.media);
	annex_mbox_end(&rig.mbox);
	annex_regs_exit(&rig.regs);
	shim_require(!rig.regs.status && !rig.regs.mbox && !rig.regs.memdev);
	annex_media_exit(&rig.media);
	annex_mbox_exit(&rig.mbox);
	memset(&rig.regs, 0, sizeof(rig.regs));
	memset(&rig.mbox, 0, sizeof(rig.mbox));
	memset(&rig.media, 0, sizeof(rig.media));
	memset(&rig.decoders, 0, sizeof(rig.decoders));
}

void rig_over(void)
{
	rig_stop();
	rig_end();
}
