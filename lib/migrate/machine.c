// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <sched.h>
#include "core/thread.h"
#include "machine.h"
#include "store.h"

#define SPARE 64u  /* plans leave 1/SPARE of the device tier free */
#define FAST 1e11  /* rate assumed for links that are not the bottleneck, in bytes per second */
#define SLOW 1e9   /* rate assumed for links that have hardly been used, in bytes per second */
#define ENOUGH 64u /* pages whose time is measured */
#define NS 20000u  /* latency assumed for storage that was not measured */

static struct annex_space_stats stats_of(struct annex_space *s)
{
	struct annex_space_stats st;

	annex_space_get_stats(s, &st);
	return st;
}

/* Kernels of a GPU need no processor. */
static uint64_t links_cpu(struct annex_space *s)
{
	uint64_t ns = 0;

	if (s->frames)
		return 0;
	if (s->opts.host)
		ns += annex_link_cpu(&s->copies[ANNEX_TIER_HOST]);
	if (s->opts.cxl_bytes)
		ns += annex_link_cpu(&s->copies[ANNEX_TIER_CXL]);
	for (unsigned int i = 0; i < s->opts.n_stores; i++)
		ns += annex_link_cpu(&s->tiers[ANNEX_TIER_SSD + i].store->link);
	return ns;
}

void annex_machine_begin(struct annex_exec *e)
{
	e->moving = 0;
	e->links = links_cpu(e->space);
	e->in = stats_of(e->space).in;
}

/* Processors that the process may use. */
static unsigned int processors(void)
{
	cpu_set_t set;

	/* It fails where there are more than fit into the set. */
	return (unsigned int)(sched_getaffinity(0, sizeof(set), &set) ? CPU_SETSIZE
								      : CPU_COUNT(&set));
}

/*
 * The program's thread is assumed to compute whenever it does not wait, on all processors: the
 * links' threads delay it by their share. Fewer pages say little about the time of one.
 */
void annex_machine_end(struct annex_exec *e)
{
	uint64_t pages = (stats_of(e->space).in - e->in) / ANNEX_MEM_PAGE;
	uint64_t links = (links_cpu(e->space) - e->links) / processors();

	if (pages >= ENOUGH)
		e->page_ns = (e->moving + links) / pages;
}

uint64_t annex_machine_room(const struct annex_exec *e)
{
	uint64_t budget = annex_space_budget(e->space);

	return budget - budget / SPARE;
}

/* Limit a measured rate to the range that annex_system_check() accepts. */
static double known(double rate)
{
	rate = rate > 0 ? rate : SLOW;
	rate = rate < ANNEX_RATE_MIN ? ANNEX_RATE_MIN : rate;
	return rate > ANNEX_RATE_MAX ? ANNEX_RATE_MAX : rate;
}

static struct annex_system measure(const struct annex_exec *e)
{
	struct annex_space *s = e->space;
	struct annex_system sys;

	annex_system_init(&sys);
	sys.pcie = sys.alloc = FAST;
	if (e->made_ns)
		sys.alloc = known((double)e->made_bytes / (double)e->made_ns * 1e9);
	sys.ssd_read_ns = sys.ssd_write_ns = NS;
	sys.fault_ns = annex_probe_median(&e->probes);
	sys.fault_bytes = s->opts.fault_bytes;
	sys.page_ns = e->page_ns;
	sys.host_link = sys.cxl_rate = SLOW;
	sys.ssd_read = sys.ssd_write = FAST;
	if (s->opts.host)
		sys.host_link = known(annex_link_rate(&s->copies[ANNEX_TIER_HOST], false));
	if (s->opts.cxl_bytes)
		sys.cxl_rate = known(annex_link_rate(&s->copies[ANNEX_TIER_CXL], false));
	for (unsigned int i = 0; i < s->opts.n_stores; i++) {
		struct link *link = &s->tiers[ANNEX_TIER_SSD + i].store->link;
		double in = known(annex_link_rate(link, false));
		double out = known(annex_link_rate(link, true));
		double parts = annex_link_duplex(link);

		sys.ssd_duplex = parts < sys.ssd_duplex ? parts : sys.ssd_duplex;
		sys.ssd_read = in < sys.ssd_read ? in : sys.ssd_read;
		sys.ssd_write = out < sys.ssd_write ? out : sys.ssd_write;
	}
	if (sys.ssd_duplex < ANNEX_DUPLEX_MIN)
		sys.ssd_duplex = ANNEX_DUPLEX_MIN;
	if (e->reads.n) {
		double pass = (double)sys.fault_bytes / sys.ssd_read * 1e9;
		double took = (double)annex_probe_median(&e->reads);

		sys.ssd_read_ns = took > pass ? (uint64_t)(took - pass) : 0;
	}
	return sys;
}

struct annex_system annex_machine(const struct annex_exec *e)
{
	struct annex_system sys = e->opts.system ? e->system : measure(e);

	sys.gpus = 1;
	sys.strict = sys.frees = true; /* a program's own kernels, and its own tensors */
	sys.ssds = e->space->opts.n_stores;
	sys.gpu = annex_machine_room(e);
	sys.host = e->space->opts.host;
	sys.cxl = e->space->opts.cxl_bytes;
	return sys;
}
