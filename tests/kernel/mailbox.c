// SPDX-License-Identifier: MIT
/*
 * Mailboxes and poison lists that lie: each command ends in time, with its errno and a line.
 */
#include "rig.h"
#include "tests/unit/unit.h"

#define LONG_SHIFT 14 /* payload size of a mailbox that is larger than usual */
#define LONG_LIST 500u

static u16 target;
static u32 a_code, a_length, rounds;

static void says_code(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)payload;
	(void)bytes;
	if (opcode == target)
		*code = a_code;
}

static void codes(void)
{
	static const struct {
		u32 code;
		int err;
		u32 lines;
	} known[] = {{CXL_CODE_INPUT, -EINVAL, 1},
		     {CXL_CODE_UNSUPPORTED, -EOPNOTSUPP, 0},
		     {CXL_CODE_RETRY, -EBUSY, 1},
		     {CXL_CODE_BUSY, -EBUSY, 1},
		     {CXL_CODE_ADDRESS, -EFAULT, 1},
		     {1 /* background command */, -EIO, 1},
		     {U16_MAX, -EIO, 1}};

	target = CXL_OP_IDENTIFY;
	for (u32 i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		rig_make();
		rig.lie = says_code;
		a_code = known[i].code;
		CU_ASSERT_EQUAL(rig_start(), known[i].err);
		CU_ASSERT_EQUAL(shim.lines, known[i].lines);
		rig_over();
	}
}

static void says_length(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)payload;
	(void)code;
	if (opcode == target)
		*bytes = a_length;
}

static void length(u16 opcode, u32 bytes)
{
	rig_make();
	rig.npoison = 3;
	rig.lie = says_length;
	target = opcode;
	a_length = bytes;
	CU_ASSERT_EQUAL(rig_start(), -EPROTO);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_EQUAL(rig.media.npoison, 0);
	rig_over();
}

static void lengths(void)
{
	length(CXL_OP_IDENTIFY, 0);
	length(CXL_OP_IDENTIFY, sizeof(struct cxl_identify) - 1);
	length(CXL_OP_IDENTIFY, RIG_PAYLOAD + 1);
	length(CXL_OP_IDENTIFY, (1 << 21) - 1);
	length(CXL_OP_GET_POISON, 0);
	length(CXL_OP_GET_POISON, sizeof(struct cxl_poison_out) - 1);
	length(CXL_OP_GET_POISON, sizeof(struct cxl_poison_out) + 3 * 16 - 1);
	length(CXL_OP_GET_POISON, RIG_PAYLOAD + 8);
}

static void doorbell(void)
{
	struct cxl_identify id;

	rig_make();
	rig.busy_us = U32_MAX;
	CU_ASSERT_EQUAL(rig_start(), -ETIMEDOUT);
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT(shim.us < 3 * USEC_PER_SEC);
	/* The command is still running, so the module sends no other. */
	CU_ASSERT_EQUAL(annex_mbox_call(&rig.mbox, CXL_OP_IDENTIFY, NULL, 0, &id, sizeof(id)),
			-EBUSY);
	CU_ASSERT_EQUAL(rig.commands, 1);
	CU_ASSERT_EQUAL(shim.lines, 2);
	rig_over();
}

static void gone(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)opcode;
	(void)bytes;
	(void)code;
	memset(payload - CXL_MBOX_PAYLOAD, 0xff, CXL_MBOX_PAYLOAD);
	rig.busy_us = U32_MAX;
}

static void unplugged(void)
{
	struct cxl_identify id;

	rig_make();
	rig.lie = gone;
	CU_ASSERT_EQUAL(rig_start(), -ENODEV);
	CU_ASSERT_EQUAL(annex_mbox_call(&rig.mbox, CXL_OP_IDENTIFY, NULL, 0, &id, sizeof(id)),
			-ENODEV);
	CU_ASSERT(shim.us < USEC_PER_SEC);
	rig_over();
}

/* Each answer claims that there are more records. */
static void has_more(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	struct cxl_poison_out *out = (void *)payload;

	(void)bytes;
	(void)code;
	if (opcode != CXL_OP_GET_POISON)
		return;
	out->flags = CXL_POISON_MORE;
	rounds++;
}

static void endless(u32 npoison, u64 busy_us)
{
	rig_make();
	rig.npoison = npoison;
	rig.busy_us = busy_us;
	rig.lie = has_more;
	rounds = 0;
	CU_ASSERT_EQUAL(rig_start(), -EIO);
	CU_ASSERT_STRING_EQUAL(shim.line, "its list of poison does not end\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT(rounds > 1 && rounds < 20000);
	CU_ASSERT(shim.us < 20 * USEC_PER_SEC);
	rig_over();
}

static void endless_poison(void)
{
	endless(0, 0);
	endless(1, 0); /* a record outside of the requested memory */
	endless(3, 1500000);
}

/* A list that is too long is taken as far as possible, with a line. */
static void full_poison(void)
{
	rig_make();
	rig.npoison = RIG_RECORDS;
	for (u32 i = 0; i < RIG_RECORDS; i++)
		rig.poison[i] = (struct cxl_poison_record){.address = i * 4096, .lines = 1};
	rig.lie = has_more;
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_STRING_EQUAL(shim.line, "its list of poison is not complete\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_EQUAL(rig.media.npoison, RIG_RECORDS); /* repeated records are merged */
	rig_over();
}

static void odd_poison(void)
{
	static const struct cxl_poison_record records[] = {
		{.address = 0x3000, .lines = 2},
		{.address = 0x1000, .lines = 64},
		{.address = 0x1040, .lines = 1},
		{.address = 0x2000, .lines = 1},
		{.address = RIG_BYTES, .lines = 1},
		{.address = U64_MAX, .lines = U32_MAX},
		{.address = 0x4000, .lines = 0},
		{.address = 0x3080, .lines = 1},
		{.address = RIG_BYTES - 64, .lines = U32_MAX}};
	static const struct annex_ioc_seg want[] = {
		{0x1000, 0x1040}, {0x3000, 0xc0}, {RIG_BYTES - 64, 64}};

	rig_make();
	memcpy(rig.poison, records, sizeof(records));
	rig.npoison = sizeof(records) / sizeof(records[0]);
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_EQUAL_FATAL(rig.media.npoison, 3);
	CU_ASSERT(!memcmp(rig.media.poison, want, sizeof(want)));
	rig_over();
}

static void fills(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	struct cxl_poison_out *out = (void *)payload;

	(void)code;
	if (opcode != CXL_OP_GET_POISON)
		return;
	out->count = LONG_LIST;
	for (u32 i = 0; i < LONG_LIST; i++)
		out->records[i] = (struct cxl_poison_record){.address = i * 4096ull, .lines = 1};
	*bytes = (u32)struct_size(out, records, LONG_LIST);
}

/* All pages of a long answer are read. */
static void long_answer(void)
{
	u32 shift = LONG_SHIFT, bytes = CXL_MBOX_PAYLOAD + (1u << LONG_SHIFT), memdev = 0x8000;

	rig_make();
	memcpy(rig_register(2, RIG_MBOX + CXL_MBOX_CAP), &shift, sizeof(shift));
	memcpy(rig_register(2, 2 * CXL_DEV_HEADER + 8), &bytes, sizeof(bytes));
	memcpy(rig_register(2, 3 * CXL_DEV_HEADER + 4), &memdev, sizeof(memdev));
	memcpy(rig_register(2, memdev), rig_register(2, RIG_MEMDEV), 8);
	rig.lie = fills;
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_EQUAL(rig.media.npoison, LONG_LIST);
	rig_over();
}

static void two_kinds(void)
{
	rig.bytes[0] = RIG_BYTES / 2;
	rig.bytes[1] = RIG_BYTES / 2;
	rig.poison[0] = (struct cxl_poison_record){.address = 0x1000, .lines = 1};
	rig.poison[1] = (struct cxl_poison_record){.address = RIG_BYTES / 2, .lines = 1};
	rig.npoison = 2;
}

/* Each kind of memory is listed by its own command; volatile memory need not be listed. */
static void kinds_of_poison(void)
{
	rig_make();
	two_kinds();
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_EQUAL(rig.media.npoison, 2);
	rig.unlisted = true;
	CU_ASSERT_EQUAL(annex_media_scan(&rig.media), 0);
	CU_ASSERT_EQUAL_FATAL(rig.media.npoison, 1);
	CU_ASSERT_EQUAL(rig.media.poison[0].addr, RIG_BYTES / 2);
	CU_ASSERT_EQUAL(shim.lines, 0);
	rig_over();
}

static void no_persistent_poison(void)
{
	rig_make();
	two_kinds();
	rig.bytes[0] = 0;
	rig.bytes[1] = RIG_BYTES;
	rig.lie = says_code;
	target = CXL_OP_GET_POISON;
	a_code = CXL_CODE_ADDRESS;
	CU_ASSERT_EQUAL(rig_start(), -EIO);
	CU_ASSERT_STRING_EQUAL(shim.line, "it lists no poison of its persistent memory\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	rig_over();
}

UNIT_SUITE(cxl_mailbox, {"codes of commands", codes}, {"lengths that lie", lengths},
	   {"a doorbell that is never cleared", doorbell}, {"a device that is gone", unplugged},
	   {"poison that never ends", endless_poison}, {"poison that fills the list", full_poison},
	   {"poison that overlaps, or is elsewhere", odd_poison},
	   {"an answer of many pages", long_answer},
	   {"poison of two kinds of memory", kinds_of_poison},
	   {"poison of persistent memory that is not listed", no_persistent_poison})
