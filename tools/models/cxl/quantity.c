// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stddef.h>
#include "matrix.h"

static double part(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static double speed(const struct matrix_run *r, const struct matrix_run *reference)
{
	return reference ? part((double)reference->result.ns, (double)r->result.ns) : NAN;
}

static double slowdown(const struct matrix_run *r, const struct matrix_run *reference)
{
	return 1 / speed(r, reference);
}

static double time_ms(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return (double)r->result.ns / 1e6;
}

static double hits(const struct matrix_run *r, const struct matrix_run *reference)
{
	const struct ram_stats *s = &r->result.ram;

	(void)reference;
	return part(100 * (double)(s->hits - s->late), (double)s->reads);
}

static double hits_or_late(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return part(100 * (double)r->result.ram.hits, (double)r->result.ram.reads);
}

static double flash_writes(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return (double)r->result.ram.flash_writes;
}

static double load_ns(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return r->result.load_mean;
}

static double store_ns(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return r->result.store_mean;
}

static double store_p99(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return r->result.store_p99;
}

static double real_ns(const struct matrix_run *r, const struct matrix_run *reference)
{
	(void)reference;
	return part(r->result.real_s * 1e9, (double)(r->result.loads + r->result.stores));
}

const struct matrix_quantity matrix_quantities[] = {
	{"speed", "speed, relative to dram or base", speed, true},
	{"slowdown", "time, relative to dram or base", slowdown, true},
	{"time", "milliseconds of virtual time", time_ms, false},
	{"hits", "percent of loads that hit in the endpoint's DRAM", hits, false},
	{"hits-late", "the same, with loads of lines in flight", hits_or_late, false},
	{"load", "mean nanoseconds of a load from memory", load_ns, false},
	{"store", "mean nanoseconds of a store to memory", store_ns, false},
	{"store-p99", "nanoseconds of a store at its 99th percentile", store_p99, false},
	{"flash-writes", "pages programmed, without garbage collection", flash_writes, false},
	{"real", "real nanoseconds of the simulator for an access", real_ns, false},
	{0},
};
