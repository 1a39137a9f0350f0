// SPDX-License-Identifier: MIT
/*
 * Elements, spans, tickets and additions by threads that all do something else, against memory.
 */
#include <errno.h>
#include <stdlib.h>
#include "rig.h"
#include "tools/common/error.h"

/* Mixed operations, then all elements; flushed in between, so that both ways are gone. */
static int mixed(struct runner *r, const struct rig_opts *opts)
{
	struct rig g;
	int err = rig_open(&g, r, opts);

	if (!err) {
		rig_mix(&g);
		err = rig_run(&g, TEST_KERNEL_ops, NULL);
	}
	if (!err)
		err = rig_judge(&g);
	if (!err)
		err = rig_flush(&g);
	return rig_close(&g, err);
}

#define MIXED(ident, ...) GPU_TEST(ident, mixed(r, &(struct rig_opts){__VA_ARGS__}))

MIXED(all_cached, .elem = 8, .line = 4096, .slots = 300, .queues = 2)
MIXED(quarter_cached, .elem = 8, .line = 4096, .slots = 64, .queues = 4)
MIXED(short_lines, .elem = 4, .line = 512, .slots = 512, .queues = 3)
MIXED(long_lines, .elem = 4, .line = 16384, .slots = 24, .queues = 1)

/* More lanes than slots and than commands. */
MIXED(few_slots, .elem = 8, .line = 4096, .slots = 12, .queues = 1, .depth = 4)
MIXED(direct, .elem = 8, .line = 4096, .slots = 64, .queues = 2, .direct = true)
MIXED(two_striped, .elem = 8, .line = 4096, .slots = 64, .queues = 2, .more = 1)
MIXED(three_striped, .elem = 8, .line = 512, .slots = 64, .queues = 1, .depth = 2, .more = 2)
MIXED(two_replicas, .elem = 8, .line = 4096, .slots = 64, .queues = 2, .more = 1,
      .layout = ANNEX_REPLICA)
MIXED(three_replicas, .elem = 4, .line = 4096, .slots = 64, .queues = 1, .depth = 2, .more = 2,
      .layout = ANNEX_REPLICA, .direct = true)

static int tickets(struct runner *r)
{
	struct rig g;
	int err = rig_open(&g, r,
			   &(struct rig_opts){.elem = 8, .line = 512, .slots = 256, .queues = 2});

	if (!err) {
		rig_reads(&g);
		g.n = tests_small() ? g.n / 16 : g.n;
		err = rig_run(&g, TEST_KERNEL_tickets, NULL);
	}
	if (!err)
		err = rig_judge(&g);
	return rig_close(&g, err);
}

static int out_of_bounds(struct runner *r)
{
	struct rig g;
	int err = rig_open(&g, r,
			   &(struct rig_opts){.elem = 8, .line = 4096, .slots = 64, .queues = 1});

	if (!err) {
		rig_mix(&g);
		for (uint64_t k = 0; k < g.n; k++)
			g.ops[k].i += g.room;
		err = rig_run(&g, TEST_KERNEL_ops, NULL);
	}
	for (uint64_t k = 0; !err && k < g.n; k++)
		if (g.ops[k].err != -ERANGE)
			err = err_set(-EBADMSG, "an element that is not there: %d, not -ERANGE",
				      g.ops[k].err);
	return rig_close(&g, err);
}

MIXED(drive, .elem = 8, .line = 4096, .slots = 64, .queues = 2,
      .drive = getenv("ANNEX_TEST_DEVICE"))
MIXED(drive_rings, .elem = 8, .line = 16384, .slots = 24, .queues = 2, .direct = true,
      .gpu_rings = true, .drive = getenv("ANNEX_TEST_DEVICE"))

const struct gpu_test drive_tests[] = {
	{"mixed, on a drive", drive},
	{"mixed, on a drive, rings and data in GPU memory", drive_rings},
	{NULL, NULL},
};

const struct gpu_test array_tests[] = {
	{"mixed, all cached", all_cached},
	{"mixed, a quarter cached", quarter_cached},
	{"mixed, lines of 512 bytes", short_lines},
	{"mixed, lines of 16 KiB", long_lines},
	{"mixed, fewer slots than lanes", few_slots},
	{"mixed, straight to GPU memory", direct},
	{"mixed, striped over two devices", two_striped},
	{"mixed, striped over three devices", three_striped},
	{"mixed, on two replicas", two_replicas},
	{"mixed, on three replicas", three_replicas},
	{"tickets, begun early", tickets},
	{"elements out of bounds", out_of_bounds},
	{NULL, NULL},
};
