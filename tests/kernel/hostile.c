// SPDX-License-Identifier: MIT
/*
 * A valid device in a valid machine, with some registers, tables and answers changed: each 8 bytes
 * of the input are one change. The module ends in time, with 0 or with an errno and a line, and
 * releases all resources.
 */
#include "rig.h"

#define STEPS 64
#define LIES 16
#define ROOM 0x2000u  /* bytes of device registers that the rig itself needs */
#define MOST_S 900ull /* for a start, and fetching events three times */

struct step {
	u8 what, bytes;
	u16 at;
	u32 value;
};

/* struct a_lie - A change to the answer of a command: its payload, its length, or its code. */
struct a_lie {
	u16 command, at;
	u8 what;
	u32 value;
};

static struct a_lie lies[LIES];
static u32 nlies;

static void lie(u16 opcode, u8 *payload, u32 *bytes, u32 *code)
{
	(void)opcode;
	for (u32 i = 0; i < nlies; i++) {
		const struct a_lie *l = &lies[i];

		if (l->command != rig.commands % 32)
			continue;
		if (l->what % 4 == 0)
			*bytes = l->value & (SZ_256M / 128 - 1);
		else if (l->what % 4 == 1)
			*code = l->value & 15;
		else
			memcpy(payload + l->at % (RIG_PAYLOAD - 4), &l->value, sizeof(l->value));
	}
}

static void poke(u8 *from, u32 bytes, const struct step *s)
{
	u32 n = 1u << s->bytes % 3, value = s->value;

	if (s->bytes & 64)
		value = s->bytes & 128 ? ~0u : 0;
	memcpy(from + s->at % (bytes - 3) / n * n, &value, n);
}

static void shrink(u32 i, u64 bytes)
{
	u8 *mem = calloc(1, bytes);

	shim_require(!!mem);
	memcpy(mem, shim.bar[i].mem, bytes);
	free(shim.bar[i].mem);
	shim.bar[i].mem = mem;
	shim.bar[i].bytes = bytes;
}

static void change_device(const struct step *s)
{
	rig.busy_us = s->value % 3000000;
	rig.locked = s->at & 1;
	rig.error = s->at & 2;
	rig.nevents = (s->at >> 2) % RIG_RECORDS;
	rig.npoison = (s->at >> 8) % RIG_RECORDS;
	if (s->at & 128)
		shrink(0, 1 + s->value % shim.bar[0].bytes);
	if (s->at & 64)
		shrink(2, ROOM + s->value % (shim.bar[2].bytes - ROOM));
}

static void apply(const struct step *s)
{
	switch (s->what % 8) {
	case 0:
		poke(rig_config(0x100), 0x200, s);
		break;
	case 1:
		poke(rig_register(0, CXL_CM), CXL_CM_BYTES, s);
		break;
	case 2:
		poke(rig_register(2, 0), ROOM, s);
		break;
	case 3:
		poke(shim.cedt, shim.cedt_bytes, s);
		break;
	case 4:
		rig_window((u64)s->at << 28, (u64)(s->value & 255) << 28, (u8)(s->value >> 8));
		break;
	case 5:
		memcpy((u8 *)rig.poison + s->at % (sizeof(rig.poison) - 4), &s->value, 4);
		break;
	default:
		if (nlies < LIES)
			lies[nlies++] = (struct a_lie){s->bytes % 32, s->at, s->what >> 3,
						       s->value};
		break;
	}
}

static void use_decoders(void)
{
	struct annex_setup setup = {.base = RIG_WINDOW, .bytes = RIG_BYTES, .ways = 2};
	u32 id;
	int err;

	setup.granularity = 256;
	setup.list = annex_decoders_used(&rig.decoders);
	annex_decoders_show(&rig.decoders, NULL);
	err = annex_decoder_commit(&rig.decoders, &setup, &id);
	shim_require(err || annex_decoders_end(&rig.decoders) >= setup.base + setup.bytes);
	if (!err)
		annex_decoder_release(&rig.decoders, id);
}

static void use_media(void)
{
	struct annex_reader reader = {};
	struct annex_hdm_event event;
	u64 logged[CXL_EVENT_LOGS], end = 0;

	annex_media_count(&rig.media, logged);
	for (u32 i = 0; i < rig.media.npoison; i++) {
		const struct annex_ioc_seg *seg = &rig.media.poison[i];

		shim_require(seg->bytes && seg->addr >= end && seg->addr < RIG_BYTES &&
			     seg->bytes <= RIG_BYTES - seg->addr);
		end = seg->addr + seg->bytes + 1;
	}
	while (annex_media_next(&rig.media, &reader, &event))
		shim_require(event.log < CXL_EVENT_LOGS && event.seq);
	annex_media_scan(&rig.media);
	shim_work(&rig.media.again);
}

static void use_windows(void)
{
	struct annex_taken taken[4];
	struct annex_window *windows;
	int n = annex_windows_read(&windows);
	unsigned int ntaken = 0;
	phys_addr_t at;

	shim_require(n > 0 || shim.lines);
	for (u32 i = 0; rig.decoders.regs && i < min(rig.decoders.count, 4u); i++)
		ntaken += annex_decoder_range(&rig.decoders, i, &taken[ntaken].base,
					      &taken[ntaken].bytes);
	for (int i = 0; i < n; i++) {
		struct resource *res = annex_window_take(&windows[i], RIG_BYTES, shim.us, taken,
							 ntaken);

		shim_require(!res || (res->start >= windows[i].base &&
				      res->end - windows[i].base < windows[i].bytes));
		if (res)
			release_mem_region(res->start, RIG_BYTES);
	}
	if (n > 0)
		free(windows);
	if (!annex_window_bridge(7, &at))
		shim_require(at >= 1ull << 30 && at <= iomem_resource.end - CXL_COMPONENT_BYTES);
}

void rig_hostile(const uint8_t *data, size_t size)
{
	struct step s;
	int err;

	rig_make();
	rig_bridge(7, 3ull << 30);
	rig_window(RIG_WINDOW, RIG_WINDOW, 0);
	rig.lie = lie;
	nlies = 0;
	if (size >= sizeof(s)) {
		memcpy(&s, data, sizeof(s));
		change_device(&s);
	}
	for (u32 i = 1; i < STEPS && (i + 1) * sizeof(s) <= size; i++) {
		memcpy(&s, data + i * sizeof(s), sizeof(s));
		if (s.what % 8 != 1 || shim.bar[0].bytes >= CXL_CM + CXL_CM_BYTES)
			apply(&s);
	}
	err = rig_start();
	/* An unsupported command has no line: kernel/cxl/hdm.c logs the failed probe. */
	shim_require(err <= 0 && (!err || shim.lines || err == -EOPNOTSUPP));
	if (!err)
		use_media();
	if (rig.decoders.regs)
		use_decoders();
	use_windows();
	rig_stop();
	shim_require(shim.us < MOST_S * USEC_PER_SEC);
	rig_end();
}
