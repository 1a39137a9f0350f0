// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "machine.h"

enum kind { SIZE, RATE, TIME, COUNT, PARTS };

#define MEMBER(m) offsetof(struct annex_system, m)
#define NO_MEMBER SIZE_MAX

static const struct field {
	const char *name;
	enum kind kind;
	size_t member, second;
} fields[] = {
	{"gpu", SIZE, MEMBER(gpu), NO_MEMBER},
	{"host", SIZE, MEMBER(host), NO_MEMBER},
	{"cxl", SIZE, MEMBER(cxl), NO_MEMBER},
	{"pcie", RATE, MEMBER(pcie), NO_MEMBER},
	{"host-link", RATE, MEMBER(host_link), NO_MEMBER},
	{"cxl-rate", RATE, MEMBER(cxl_rate), NO_MEMBER},
	{"ssd-read", RATE, MEMBER(ssd_read), NO_MEMBER},
	{"ssd-write", RATE, MEMBER(ssd_write), NO_MEMBER},
	{"ssd-duplex", PARTS, MEMBER(ssd_duplex), NO_MEMBER},
	{"ssd-read-latency", TIME, MEMBER(ssd_read_ns), NO_MEMBER},
	{"ssd-write-latency", TIME, MEMBER(ssd_write_ns), NO_MEMBER},
	{"ssd-size", SIZE, MEMBER(ssd_bytes), NO_MEMBER},
	{"ssd-spare", SIZE, MEMBER(ssd_spare), NO_MEMBER},
	{"alloc", RATE, MEMBER(alloc), NO_MEMBER},
	{"fault", TIME, MEMBER(fault_ns), NO_MEMBER},
	{"fault-size", SIZE, MEMBER(fault_bytes), NO_MEMBER},
	{"page", TIME, MEMBER(page_ns), NO_MEMBER},
	{"gpus", COUNT, MEMBER(gpus), NO_MEMBER},
	{"ssds", COUNT, MEMBER(ssds), NO_MEMBER},
	{"ssd", RATE, MEMBER(ssd_read), MEMBER(ssd_write)},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static void store(struct annex_system *sys, size_t member, enum kind kind, double v)
{
	void *at = (char *)sys + member;

	if (kind == RATE || kind == PARTS)
		*(double *)at = v;
	else if (kind == COUNT)
		*(uint32_t *)at = (uint32_t)v;
	else
		*(uint64_t *)at = (uint64_t)v;
}

/* @what: the option or sweep, for the line. @giga: a size or rate without suffix is in G. */
static int set(struct annex_system *sys, const struct field *f, const char *what, const char *text,
	       bool giga, double *number)
{
	static const char *const wants[] = {
		[SIZE] = "a size, as in 40G (2^30 bytes)",
		[RATE] = "bytes per second, as in 3.2G (10^9 bytes)",
		[TIME] = "microseconds",
		[COUNT] = "a whole number from 0 to 16",
		[PARTS] = "a number from 0.25 to 2",
	};
	double giga_unit = f->kind == SIZE ? 0x1p30 : f->kind == RATE ? 1e9 : 1;
	double v;

	if (!cli_scaled(text, f->kind == SIZE ? 1024 : 1000, giga ? giga_unit : 1, &v) ||
	    (f->kind == COUNT && (v > ANNEX_MAX_GPUS || v != (uint32_t)v)))
		return err_set(-EINVAL, "%s %s: give %s", what, text, wants[f->kind]);
	/* The check of the whole machine takes 0 as "no limit" or "not there" for some. */
	if (f->kind == RATE && v <= 0)
		return err_set(-EINVAL, "%s %s: a rate must be above 0", what, text);
	*number = v / giga_unit;
	if (f->kind == TIME)
		v *= 1000;
	store(sys, f->member, f->kind, v);
	if (f->second != NO_MEMBER)
		store(sys, f->second, f->kind, v);
	return 0;
}

static const struct field *find(const char *name)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (!strcmp(name, fields[i].name))
			return &fields[i];
	return NULL;
}

int machine_set(struct annex_system *sys, const char *name, const char *text, double *number)
{
	const struct field *f = find(name);

	return f ? set(sys, f, name, text, true, number) : -ENOENT;
}

const char *machine_name(unsigned int i)
{
	return i < FIELDS ? fields[i].name : NULL;
}

uint32_t machine_sets(const char *name)
{
	const struct field *f = find(name);
	uint32_t bits = 0;

	for (size_t i = 0; f && i < FIELDS; i++)
		if (fields[i].member == f->member || fields[i].member == f->second)
			bits |= 1u << i;
	return bits;
}

const char *machine_unit(const char *name)
{
	static const char *const units[] = {
		[SIZE] = "G", [RATE] = "G", [TIME] = "us", [COUNT] = "", [PARTS] = ""};
	const struct field *f = find(name);

	return f ? units[f->kind] : "";
}

void machine_gpus(struct machine *m, unsigned int traces)
{
	if (!(m->given & machine_sets("gpus")))
		m->sys.gpus = traces;
}

static int parse(void *machine, const char *opt, char *arg)
{
	const char *name = opt + strlen("--");
	struct machine *m = machine;
	double number;

	m->given |= machine_sets(name);
	return set(&m->sys, find(name), opt, arg, false, &number);
}

const struct cli_option machine_options[] = {
	{NULL, 0, NULL, 2, {0}, "The machine (default: that of G10):"},
	{"gpu", 0, "SIZE", 2, OPT_CALL(parse), "Memory of each GPU (40G)"},
	{"host", 0, "SIZE", 2, OPT_CALL(parse), "Host memory for tensors (128G)"},
	{"cxl", 0, "SIZE", 2, OPT_CALL(parse), "CXL memory (0); needs --cxl-rate"},
	{"pcie", 0, "RATE", 2, OPT_CALL(parse), "Rate of the link of each GPU, each way (15.754G)"},
	{"host-link", 0, "RATE", 2, OPT_CALL(parse),
	 "Rate of host memory, each way, for all GPUs together (no limit)"},
	{"cxl-rate", 0, "RATE", 2, OPT_CALL(parse),
	 "Rate of CXL memory, each way, for all GPUs together"},
	{"ssd-read", 0, "RATE", 2, OPT_CALL(parse), "Read rate of each SSD (3.2G)"},
	{"ssd-write", 0, "RATE", 2, OPT_CALL(parse), "Write rate of each SSD (3.2G)"},
	{"ssd-duplex", 0, "PARTS", 2, OPT_CALL(parse),
	 "Reads and writes at the same time: 2: each as fast as alone; 1: they take turns (2)"},
	{"ssd-read-latency", 0, "US", 2, OPT_CALL(parse), "Latency of a read (12)"},
	{"ssd-write-latency", 0, "US", 2, OPT_CALL(parse), "Latency of a write (16)"},
	{"ssd-size", 0, "SIZE", 2, OPT_CALL(parse),
	 "Flash of each SSD for tensors (as much as they need, without garbage collection); "
	 "policies place tensors as if it were unlimited, and only simulations count it"},
	{"ssd-spare", 0, "SIZE", 2, OPT_CALL(parse),
	 "Spare flash of each SSD (three blocks of 16M)"},
	{"alloc", 0, "RATE", 2, OPT_CALL(parse),
	 "Bytes per second that a GPU can allocate (1228G)"},
	{"fault", 0, "US", 2, OPT_CALL(parse), "Time to handle a page fault (45)"},
	{"fault-size", 0, "SIZE", 2, OPT_CALL(parse),
	 "Bytes whose page faults are handled together (2M)"},
	{"page", 0, "US", 2, OPT_CALL(parse),
	 "Processor time of the program for each 4 KiB that come in (0)"},
	{"gpus", 0, "N", 2, OPT_CALL(parse), "GPUs (1, or as many as traces)"},
	{"ssds", 0, "N", 2, OPT_CALL(parse), "SSDs (1)"},
	{"strict", 0, NULL, 2, OPT_FLAG(struct machine, sys.strict),
	 "Start each kernel when all its tensors are on the GPU, in annex's plans too"},
	{"frees", 0, NULL, 2, OPT_FLAG(struct machine, sys.frees),
	 "Free dead tensors under uvm too, where a framework's allocator would keep them"},
	{0}};
