// SPDX-License-Identifier: MIT
/*
 * Events of devices that lie, fail or lose some: readers get each record once, after its poison.
 */
#include "rig.h"
#include "tests/unit/unit.h"

static u16 target;
static u32 a_code, rounds;

static void says_code(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)payload;
	(void)bytes;
	if (opcode == target)
		*code = a_code;
}

static void events_begin(u32 n)
{
	u32 status = BIT(2);

	rig.nevents = n;
	memcpy(rig_register(2, RIG_STATUS), &status, sizeof(status));
}

static void events(void)
{
	rig_make();
	events_begin(RIG_RECORDS);
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_EQUAL(rig.media.logged[2], RIG_RECORDS);
	CU_ASSERT_EQUAL(rig.nevents, 0);
	CU_ASSERT_EQUAL(rig.changed, 1);
	events_begin(2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(shim.thread[0]);
	shim.thread[0](0, shim.data[0]);
	CU_ASSERT_EQUAL(rig.media.logged[2], RIG_RECORDS + 2);
	CU_ASSERT_EQUAL(shim.lines, 0);
	rig_over();
}

static void one_more(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)payload;
	(void)bytes;
	(void)code;
	if (opcode == CXL_OP_SET_EVENT_POLICY)
		events_begin(1);
}

/* A record from before interrupts were enabled raised none, and is fetched nevertheless. */
static void early_event(void)
{
	rig_make();
	rig.lie = one_more;
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT(rig.media.interrupts);
	CU_ASSERT_EQUAL(rig.media.logged[2], 1);
	rig.lie = NULL;
	rig_over();
}

/* A log that was not emptied raises no interrupt: it is polled, with growing delays. */
static void events_later(u16 failing)
{
	u64 last = 0, from;

	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_FALSE(shim_work(&rig.media.again));
	rig.lie = says_code;
	target = failing;
	a_code = CXL_CODE_BUSY;
	events_begin(3);
	shim.thread[0](0, shim.data[0]);
	for (u32 i = 0; i < 8; i++) {
		from = shim.us;
		CU_ASSERT_TRUE_FATAL(shim_work(&rig.media.again));
		CU_ASSERT(shim.us - from >= last && shim.us - from < 40 * USEC_PER_SEC);
		last = (shim.us - from) / 2;
	}
	CU_ASSERT(last > 10 * USEC_PER_SEC);
	rig.lie = NULL;
	rig.changed = 0;
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.media.logged[2], 3); /* each record once */
	CU_ASSERT_EQUAL(rig.nevents, 0);
	CU_ASSERT_EQUAL(rig.changed, 1);
	CU_ASSERT_FALSE(shim_work(&rig.media.again));
	rig_over();
}

static void failures(void)
{
	events_later(CXL_OP_GET_EVENTS);
	events_later(CXL_OP_GET_POISON);
}

static void not_cleared(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)bytes;
	if (opcode != CXL_OP_CLEAR_EVENTS)
		return;
	rig.nevents += payload[2];
	events_begin(rig.nevents);
	*code = CXL_CODE_BUSY;
}

static void events_once(void)
{
	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig.lie = not_cleared;
	events_begin(3);
	annex_media_fetch(&rig.media);
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.nevents, 3);
	rig.lie = NULL;
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.nevents, 0);
	CU_ASSERT_EQUAL(rig.media.logged[2], 3);
	/* After the log was cleared, equal records are new ones. */
	events_begin(3);
	annex_media_fetch(&rig.media);
	CU_ASSERT_EQUAL(rig.media.logged[2], 6);
	rig_over();
}

static void overflows(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	struct cxl_events_out *out = (void *)payload;

	(void)bytes;
	(void)code;
	if (opcode != CXL_OP_GET_EVENTS || !out->count)
		return;
	out->flags |= CXL_EVENTS_OVERFLOW;
	out->lost = 5;
	for (u32 i = 0; i < out->count; i++)
		memset(out->records[i].type, 0, sizeof(out->records[i].type));
}

/* Lost records may have reported poison, so the list is read. */
static void lost_events(void)
{
	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig.lie = overflows;
	rig.npoison = 1;
	rig.poison[0] = (struct cxl_poison_record){.address = 0x1000, .lines = 1};
	events_begin(2);
	annex_media_fetch(&rig.media);
	CU_ASSERT_EQUAL(rig.media.seq, 7);
	CU_ASSERT_EQUAL(rig.media.npoison, 1);
	CU_ASSERT_EQUAL(rig.changed, 1);
	rig_over();
}

static void overflows_uncleared(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	overflows(opcode, payload, bytes, code);
	not_cleared(opcode, payload, bytes, code);
}

/* Reading the log again does not count the lost records again. */
static void lost_once(void)
{
	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig.lie = overflows_uncleared;
	events_begin(2);
	annex_media_fetch(&rig.media);
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.media.seq, 7);
	rig.lie = overflows;
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.media.seq, 7);
	/* Later losses are counted. */
	events_begin(2);
	annex_media_fetch(&rig.media);
	CU_ASSERT_EQUAL(rig.media.seq, 14);
	rig_over();
}

static struct annex_reader reader;
static bool early;

static void is_too_early(struct annex_media *media)
{
	struct annex_hdm_event event;

	early = annex_media_has(media, &reader) || annex_media_next(media, &reader, &event) ||
		media->wait;
	rig.changed++;
}

/* The poison of an event is applied before readers get the event. */
static void poison_before_events(void)
{
	struct annex_hdm_event event;

	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig.media.changed = is_too_early;
	rig.media.wait = 0;
	annex_media_begin(&rig.media, &reader);
	events_begin(2);
	early = true;
	annex_media_fetch(&rig.media);
	CU_ASSERT_EQUAL(rig.changed, 1);
	CU_ASSERT_FALSE(early);
	CU_ASSERT(annex_media_has(&rig.media, &reader));
	CU_ASSERT(annex_media_next(&rig.media, &reader, &event));
	CU_ASSERT_EQUAL(rig.media.wait, 1);
	/* Also if another thread has fetched the event, and not applied its poison yet. */
	rig.media.found++;
	annex_media_fetch(&rig.media);
	CU_ASSERT_EQUAL(rig.changed, 2);
	annex_media_fetch(&rig.media);
	CU_ASSERT_EQUAL(rig.changed, 2);
	rig_over();
}

/* Registers read as ones for a while: the module looks for events again afterwards. */
static void in_reset(void)
{
	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	memset(rig_register(2, RIG_STATUS), 0xff, 4);
	shim.thread[0](0, shim.data[0]);
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	events_begin(1);
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.media.logged[2], 1);
	CU_ASSERT_FALSE(shim_work(&rig.media.again));
	rig_over();
}

/* Callers of annex_media_ask() do not wait for each other, and do not retry a failed command. */
static void asked(void)
{
	rig_make();
	shim.vectors = 0;
	CU_ASSERT_EQUAL(rig_start(), 0);
	events_begin(1);
	mutex_lock(&rig.media.talk);
	annex_media_ask(&rig.media);
	CU_ASSERT_EQUAL(rig.media.logged[2], 0);
	mutex_unlock(&rig.media.talk);
	annex_media_ask(&rig.media);
	CU_ASSERT_EQUAL(rig.media.logged[2], 1);
	rig.lie = says_code;
	target = CXL_OP_GET_EVENTS;
	a_code = CXL_CODE_BUSY;
	events_begin(1);
	annex_media_ask(&rig.media);
	rounds = rig.commands;
	annex_media_ask(&rig.media);
	CU_ASSERT_EQUAL(rig.commands, rounds);
	rig.lie = NULL;
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.media.logged[2], 2);
	events_begin(1);
	annex_media_ask(&rig.media);
	CU_ASSERT_EQUAL(rig.media.logged[2], 3);
	rig_over();
}

/* A device without interrupts is polled while poll() has waiters, and only then. */
static void watched(void)
{
	rig_make();
	shim.vectors = 0;
	CU_ASSERT_EQUAL(rig_start(), 0);
	annex_media_watch(&rig.media);
	CU_ASSERT_FALSE(shim_work(&rig.media.again));
	shim.sleepers = true;
	annex_media_watch(&rig.media);
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	events_begin(1);
	rig.media.wait = 0;
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_EQUAL(rig.media.logged[2], 1);
	CU_ASSERT_EQUAL(rig.media.wait, 1);
	CU_ASSERT(shim.us < 3 * USEC_PER_SEC);
	shim.sleepers = false;
	CU_ASSERT_TRUE(shim_work(&rig.media.again));
	CU_ASSERT_FALSE(shim_work(&rig.media.again));
	shim.sleepers = true;
	annex_media_watch(&rig.media);
	annex_media_end(&rig.media);
	annex_media_watch(&rig.media);
	CU_ASSERT_FALSE(shim_work(&rig.media.again));
	rig_over();
}

/* Logs of firmware are left alone, and their policy is restored at the end. */
static void firmware_logs(void)
{
	static const u8 some[] = {0, 1, CXL_POLICY_FIRMWARE, 0};

	rig_make();
	memcpy(rig.policy, some, sizeof(some));
	events_begin(2);
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT(rig.media.interrupts);
	CU_ASSERT_EQUAL(rig.policy[2], CXL_POLICY_FIRMWARE);
	CU_ASSERT_EQUAL(rig.policy[0], CXL_POLICY_MSI);
	CU_ASSERT_EQUAL(rig.nevents, 2);
	CU_ASSERT_STRING_EQUAL(shim.line, "its event logs 0x4 are firmware's\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	annex_media_end(&rig.media);
	CU_ASSERT(!memcmp(rig.policy, some, sizeof(some)));
	rig_over();
	rig_make();
	shim.firmware = true;
	events_begin(2);
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_FALSE(rig.media.interrupts);
	CU_ASSERT_EQUAL(rig.nevents, 2);
	CU_ASSERT_EQUAL(rig.policy[0], 0);
	CU_ASSERT_EQUAL(shim.lines, 1);
	rig_over();
}

/* A new record for each cleared one. */
static void refills(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)payload;
	(void)bytes;
	(void)code;
	if (opcode == CXL_OP_CLEAR_EVENTS)
		events_begin(1);
}

static void endless_events(void)
{
	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig.lie = refills;
	events_begin(1);
	annex_media_fetch(&rig.media);
	CU_ASSERT_STRING_EQUAL(shim.line, "its event log 2 does not end\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	rig.busy_us = 1500000;
	shim.us = 0;
	annex_media_fetch(&rig.media);
	CU_ASSERT(shim.us < 20 * USEC_PER_SEC);
	CU_ASSERT_EQUAL(shim.lines, 2);
	rig_over();
}

static void more_events(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	struct cxl_events_out *out = (void *)payload;

	(void)bytes;
	(void)code;
	if (opcode == CXL_OP_GET_EVENTS)
		out->count = U16_MAX;
}

static void truncated_events(void)
{
	rig_make();
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig.lie = more_events;
	events_begin(1);
	annex_media_fetch(&rig.media);
	CU_ASSERT_STRING_EQUAL(shim.line, "its event log 2 ends in a record\n");
	CU_ASSERT_EQUAL(shim.lines, 1);
	CU_ASSERT_EQUAL(rig.media.count, 0);
	rig_over();
}

static void says_vectors(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)bytes;
	(void)code;
	if (opcode == CXL_OP_GET_EVENT_POLICY)
		memset(payload, (int)a_code, CXL_EVENT_LOGS);
}

/* The module polls for events then. */
static void wrong_vectors(void)
{
	static const u32 policies[] = {0, CXL_POLICY_MSI | 1 << 4, 0xff, 2};

	for (u32 i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		rig_make();
		a_code = policies[i];
		rig.lie = says_vectors;
		CU_ASSERT_EQUAL(rig_start(), 0);
		CU_ASSERT_FALSE(rig.media.interrupts);
		CU_ASSERT_EQUAL(shim.lines, 1);
		CU_ASSERT_EQUAL(rig.policy[0], policies[i] == 2 ? 0 : (u8)policies[i]);
		CU_ASSERT_PTR_NULL(shim.thread[0]);
		rig_over();
	}
	rig_make();
	shim.vectors = 0;
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_FALSE(rig.media.interrupts);
	CU_ASSERT_EQUAL(shim.lines, 1);
	rig_over();
}

UNIT_SUITE(cxl_events, {"events are taken", events},
	   {"an event before there are interrupts", early_event},
	   {"failures are tried again", failures}, {"events that stay come once", events_once},
	   {"events that were lost", lost_events}, {"events that were lost once", lost_once},
	   {"poison comes before its events", poison_before_events},
	   {"a device that is being reset", in_reset}, {"a device that many ask", asked},
	   {"a device that is watched", watched}, {"event logs of firmware's", firmware_logs},
	   {"events that never end", endless_events}, {"truncated events", truncated_events},
	   {"interrupts that cannot be", wrong_vectors})
