// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <string.h>
#include "config.h"

/* clang-format off */
#define GPU(n, s, m, p) \
	{.name = n, .summary = s, .set = "cxl-gpu", .memory = m, .ports = p}
#define SKY(n, s, p, c, w) \
	{.name = n, .summary = s, .set = "skybyte", .memory = BOARD_TIER, .promote = p, \
	 .switches = c, .log = w}
/* clang-format on */

const struct config configs[] = {
	{.name = "dram",
	 .summary = "all data in local memory",
	 .set = "cxl-gpu",
	 .memory = BOARD_LOCAL,
	 .reference = true},
	GPU("uvm", "pages paged in from host memory", BOARD_UVM, NULL),
	GPU("gds", "pages paged in from an SSD", BOARD_GDS, NULL),
	GPU("cxl", "an endpoint behind a root port", BOARD_PORT, "none"),
	GPU("naive", "speculative reads of the line of each load", BOARD_PORT, "naive"),
	GPU("dynamic", "speculative reads of 256 bytes to 1 KiB from that line", BOARD_PORT,
	    "dynamic"),
	GPU("sr", "speculative reads around that line, by queue depth", BOARD_PORT, "sr"),
	GPU("ds", "sr with deterministic stores", BOARD_PORT, "sr,ds"),
	{.name = "base",
	 .summary = "a CXL-SSD with a page cache",
	 .set = "skybyte",
	 .memory = BOARD_TIER,
	 .reference = true},
	SKY("p", "hot pages in host memory", true, false, false),
	SKY("c", "switches of threads", false, true, false),
	SKY("w", "a write log", false, false, true),
	SKY("cp", "switches, hot pages", true, true, false),
	SKY("wp", "log, hot pages", true, false, true),
	SKY("full", "all three", true, true, true),
	{.name = "ideal",
	 .summary = "all data in host memory",
	 .set = "skybyte",
	 .memory = BOARD_LOCAL},
	{.name = NULL},
};

/* SkyByte runs three threads a core when it switches threads, and one when it does not. */
#define THREADS_A_CORE 3u
#define THRESHOLD_NS 2000u

void config_board(const struct config *c, struct board *m)
{
	if (strcmp(c->set, "cxl-gpu"))
		board_cpu(m);
	else
		board_gpu(m);
	m->memory = c->memory;
	if (c->ports)
		annex_cxlport_switches(c->ports, &m->port);
	m->promote = c->promote;
	m->log = c->log;
	if (c->switches) {
		m->threads = m->cores * THREADS_A_CORE;
		m->threshold_ns = THRESHOLD_NS;
	}
}

/* Parts of a board. */
enum {
	SSD = 1 << 0,
	LINK = 1 << 1,
	RATE = 1 << 2,
	RUNTIME = 1 << 3,
	LOG = 1 << 4,
	HOST = 1 << 5,
	SWITCHES = 1 << 6,
	RESERVE = 1 << 7,
};

static unsigned int parts(const struct config *c)
{
	static const unsigned int of[] = {
		[BOARD_LOCAL] = 0,
		[BOARD_UVM] = LINK | RATE | RUNTIME,
		[BOARD_GDS] = SSD | LINK | RATE | RUNTIME,
		[BOARD_PORT] = SSD | LINK | RATE,
		[BOARD_TIER] = SSD | LINK,
	};

	return of[c->memory] | (c->log ? LOG : 0) | (c->promote ? HOST : 0) |
	       (c->switches ? SWITCHES : 0) | (c->ports && strstr(c->ports, "ds") ? RESERVE : 0);
}

bool config_takes(const struct config *c, const char *option)
{
	static const struct {
		const char *option;
		unsigned int part;
	} of[] = {
		{"media", SSD},          {"media-percent", SSD}, {"ssd-dram", SSD},
		{"unit", SSD},           {"log", LOG},           {"link", LINK},
		{"link-rate", RATE},     {"runtime", RUNTIME},   {"share", RUNTIME},
		{"threshold", SWITCHES}, {"switch", SWITCHES},   {"policy", SWITCHES},
		{"host", HOST},          {"hot", HOST},          {"migration", HOST},
		{"reserve", RESERVE},
	};

	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (!strcmp(option, of[i].option))
			return parts(c) & of[i].part;
	return true;
}
