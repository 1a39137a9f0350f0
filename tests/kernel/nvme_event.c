// SPDX-License-Identifier: MIT
/*
 * Asynchronous events of NVMe controllers: one that misreports them cannot occupy the module, and
 * disturbs no other command.
 */
#include "ctrl_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define SMART 2u
#define WARNING (1u | 1u << 8 | SMART << 16) /* temperature */

static struct annex_ctrl *const c = &ctrl_rig.ctrl;

static void start(void)
{
	ctrl_make();
	shim.vectors = 2;
	ctrl_rig.event = WARNING;
}

static void start_well(void)
{
	start();
	CU_ASSERT_EQUAL_FATAL(ctrl_start(), 0);
	CU_ASSERT(ctrl_rig.requested && c->admin.requested);
	CU_ASSERT_EQUAL(ctrl_rig.enabled, 0x1f);
	shim_work(&c->event.work); /* for the interrupts of commands */
	CU_ASSERT_EQUAL(c->event.count[SMART], 0);
	ctrl_rig.fetched = 0;
}

static void happens(u32 events)
{
	ctrl_rig.events = events;
	ctrl_go_on();
}

/* No entry is left that an owner could have the controller fetch again. */
static bool scrubbed(void)
{
	const struct nvme_command *sq = c->admin.sq.at;

	for (u32 i = 0; i < ANNEX_ADMIN_DEPTH; i++)
		if (sq[i].common.opcode != 0x03 || sq[i].common.command_id)
			return false;
	return true;
}

/* The log page is read without Retain Asynchronous Event, and the next event is requested. */
static void taken(void)
{
	start_well();
	for (u32 i = 0; i < 3 * ANNEX_ADMIN_DEPTH; i++) {
		unsigned int woken = c->wait;

		CU_ASSERT(scrubbed());
		happens(1);
		CU_ASSERT(shim_work(&c->event.work));
		CU_ASSERT_EQUAL(c->wait, woken + 1);
		CU_ASSERT_EQUAL(c->event.count[SMART], i + 1);
		CU_ASSERT_EQUAL(ctrl_rig.last.common.opcode, nvme_admin_get_log_page);
		CU_ASSERT_EQUAL(ctrl_rig.last.get_log_page.lid, SMART);
		CU_ASSERT_EQUAL(ctrl_rig.last.get_log_page.lsp, 0);
		CU_ASSERT(ctrl_rig.requested);
		CU_ASSERT(shim_work(&c->event.work)); /* for the interrupt of that command */
		CU_ASSERT_FALSE(shim_work(&c->event.work));
	}
	CU_ASSERT_EQUAL(ctrl_rig.fetched, 2 * 3 * ANNEX_ADMIN_DEPTH);
	CU_ASSERT_EQUAL(c->resets + shim.lines, 0);
	ctrl_over();
}

/* Other log pages are read, too, but no file can wait for them. */
static void other_pages(void)
{
	start_well();
	for (u32 log = 0; log < 256; log++) {
		ctrl_rig.event = 2 | log << 16;
		happens(1);
		CU_ASSERT(shim_work(&c->event.work));
		CU_ASSERT_EQUAL(ctrl_rig.last.get_log_page.lid, log);
		CU_ASSERT_EQUAL(annex_event_count(c, log), log >= 1 && log <= 3);
		shim_work(&c->event.work);
	}
	CU_ASSERT_EQUAL(c->resets + shim.lines, 0);
	ctrl_over();
}

/* An event arrives while a command runs, which gets its own answer. */
static void beside_a_command(void)
{
	start_well();
	for (u32 i = 0; i < 3 * ANNEX_ADMIN_DEPTH; i++) {
		ctrl_rig.events = 1;
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		CU_ASSERT_EQUAL(c->event.count[SMART], i);
		CU_ASSERT(shim_work(&c->event.work));
		CU_ASSERT_EQUAL(c->event.count[SMART], i + 1);
	}
	CU_ASSERT_EQUAL(c->resets + shim.lines, 0);
	ctrl_over();
}

/* Each request is completed at once: ten events a second, and commands go on. */
static void storm(void)
{
	u64 from;

	start();
	ctrl_rig.events = RIG_STORM;
	CU_ASSERT_EQUAL_FATAL(ctrl_start(), 0);
	from = shim.us;
	for (u32 i = 1; i <= 100; i++) {
		u32 fetched = ctrl_rig.fetched;

		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		CU_ASSERT_EQUAL(ctrl_rig.fetched, fetched + 1);
		CU_ASSERT(shim_work(&c->event.work));
		CU_ASSERT_EQUAL(c->event.count[SMART], i);
		CU_ASSERT_EQUAL(ctrl_rig.fetched, fetched + 3);
	}
	CU_ASSERT(shim.us - from >= 100 * USEC_PER_SEC / 10);
	CU_ASSERT_EQUAL(c->resets + shim.lines, 0);
	ctrl_over();
}

/* A completion for no command leads to a reset, after which events are requested again. */
static void unexpected(u32 events, u16 id)
{
	start_well();
	ctrl_rig.strays = 1;
	ctrl_rig.request ^= id;
	happens(events);
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->resets, 1);
	CU_ASSERT(shim.lines >= 1);
	CU_ASSERT_EQUAL(c->event.count[SMART], 0);
	CU_ASSERT(ctrl_rig.requested);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	/* An event that the controller had reported before is not lost. */
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->event.count[SMART], events);
	happens(1);
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->event.count[SMART], events + 1);
	CU_ASSERT_EQUAL(c->resets, 1);
	ctrl_over();
}

static void for_no_command(void)
{
	unexpected(0, 1);                /* another identifier */
	unexpected(0, ctrl_rig.request); /* 0, which unused entries have */
	unexpected(1, 0);                /* a request is completed twice */
	/* An owner rings the doorbell. */
	start_well();
	ctrl_ring((c->admin.tail + 3) % ANNEX_ADMIN_DEPTH);
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->resets, 1);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	ctrl_over();
}

/* The controller refuses the request, or its configuration. */
static void refused(void)
{
	start();
	ctrl_rig.fails = nvme_admin_async_event;
	ctrl_rig.status = 0x105;
	CU_ASSERT_EQUAL_FATAL(ctrl_start(), 0);
	CU_ASSERT_FALSE(c->admin.requested || c->admin.happened);
	ctrl_rig.fetched = 0;
	for (u32 i = 0; i < ANNEX_ADMIN_DEPTH; i++) {
		CU_ASSERT_EQUAL(ctrl_ask(), 0);
		shim_work(&c->event.work);
	}
	CU_ASSERT_EQUAL(ctrl_rig.fetched, ANNEX_ADMIN_DEPTH); /* and no request */
	ctrl_rig.fails = 0;
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT(ctrl_rig.requested);
	CU_ASSERT_EQUAL(c->resets, 1);
	CU_ASSERT_EQUAL(shim.lines, 0);
	ctrl_over();

	start_well();
	ctrl_rig.fails = nvme_admin_get_log_page;
	ctrl_rig.status = 2;
	happens(1);
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->event.count[SMART], 1);
	CU_ASSERT(ctrl_rig.requested);
	CU_ASSERT_EQUAL(c->resets + shim.lines, 0);
	ctrl_over();
}

/* A reset voids the request; an event that was posted before is void, too. */
static void reset(void)
{
	start_well();
	happens(1);
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT(ctrl_rig.requested);
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->event.count[SMART], 0);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(c->resets, 1);
	CU_ASSERT_EQUAL(shim.lines, 0);
	ctrl_over();
}

static void no_read(const u8 *at)
{
	(void)at;
	shim_require(false);
}

static void no_write(u8 *at)
{
	no_read(at);
}

/* The work accesses no register: @asleep, @paused, or with a @broken queue. */
static void untouched(bool asleep, bool paused, bool broken)
{
	void (*reads)(const u8 *);
	void (*wrote)(u8 *);

	start_well();
	happens(1);
	if (asleep) {
		mutex_lock(&c->lock);
		annex_ctrl_sleep(c, false);
		mutex_unlock(&c->lock);
	}
	c->paused = paused;
	c->admin.broken = c->admin.broken || broken;
	reads = shim.reads;
	wrote = shim.wrote;
	shim.reads = no_read;
	shim.wrote = no_write;
	CU_ASSERT(shim_work(&c->event.work));
	shim.reads = reads;
	shim.wrote = wrote;
	CU_ASSERT_EQUAL(c->resets, 0);
	CU_ASSERT_EQUAL(c->event.count[SMART], 0);
	ctrl_over();
}

static void not_now(void)
{
	untouched(true, false, false);
	untouched(false, true, false);
	untouched(false, false, true);
	/* No register is readable: the PCI core will act, or the owner. */
	start_well();
	happens(0);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	ctrl_rig.gone = true;
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->resets, 0);
	CU_ASSERT_FALSE(c->gone);
	ctrl_over();
	/* The controller has stopped, with work that is due. */
	start_well();
	happens(1);
	annex_ctrl_stop(c);
	CU_ASSERT(shim_work(&c->event.work));
	CU_ASSERT_EQUAL(c->event.count[SMART], 0);
	ctrl_over();
}

/* Without interrupts, events are not requested. */
static void no_interrupts(void)
{
	ctrl_make();
	ctrl_rig.events = RIG_STORM;
	CU_ASSERT_EQUAL(ctrl_start(), 0);
	CU_ASSERT_EQUAL(ctrl_ask(), 0);
	CU_ASSERT_EQUAL(ctrl_reset_it(), 0);
	CU_ASSERT_EQUAL(ctrl_rig.enabled, 0);
	CU_ASSERT_FALSE(ctrl_rig.requested || c->admin.requested);
	ctrl_over();
}

static uint64_t rnd;

static bool anything(const struct nvme_command *cmd, struct nvme_completion *cqe)
{
	u64 r = random_next(&rnd);

	(void)cmd;
	if (!(r % 32))
		cqe->command_id ^= (u16)(r >> 16);
	if (!(r >> 8 & 31))
		cqe->status ^= (u16)(r >> 32);
	if (!(r >> 48 & 255))
		ctrl_fatal();
	return r >> 56;
}

/* Events and stray completions at any time, with wrong answers: nothing is lost or endless. */
static void random_events(void)
{
	rnd = random_seed("events");
	for (u32 i = 0; i < 500; i++) {
		u64 from;

		start();
		from = shim.us;
		ctrl_rig.lie = anything;
		if (!ctrl_start())
			for (u32 k = 0; k < 50; k++) {
				u64 r = random_next(&rnd);

				ctrl_rig.event = (u32)(r >> 32);
				ctrl_rig.strays = !(r >> 8 & 31);
				ctrl_rig.events = r >> 16 & 1;
				if (r & 1)
					shim_work(&c->event.work);
				else if (ctrl_ask() < 0 && ctrl_reset_it() < 0)
					break;
			}
		CU_ASSERT(shim.us - from < 1000 * USEC_PER_SEC);
		ctrl_over();
	}
}

UNIT_SUITE(nvme_event, {"events are taken", taken}, {"other log pages", other_pages},
	   {"beside a command", beside_a_command}, {"a storm", storm},
	   {"completions for no command", for_no_command}, {"refused", refused}, {"reset", reset},
	   {"asleep, paused, broken, gone", not_now}, {"without interrupts", no_interrupts},
	   {"random events", random_events})
