// SPDX-License-Identifier: MIT
/*
 * Rates of links, measured on known devices, whose reads and writes take turns or do not.
 */
#include <math.h>
#include <string.h>
#include "migrate/pace.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BYTES 524288.0
#define READ 0.5 /* bytes a nanosecond */
#define WRITE 2.0

static const double rates[] = {READ, WRITE};

/* A device that is given @n transfers in a direction when it begins, and another for each that ends
 * until so many have begun; both directions take its time in turns, or each has its own. */
struct device {
	struct pace pace;
	bool turns;
	unsigned int left[2], flying[2];
	double done[2]; /* of the first transfer */
	struct passing passing[2][64];
	unsigned int first[2], next[2];
	double now;
};

static void begin(struct device *d, bool out)
{
	if (!d->left[out])
		return;
	d->left[out]--;
	d->flying[out]++;
	annex_pace_begin(&d->pace, out, &d->passing[out][d->next[out]++ % 64], (uint64_t)d->now);
}

static double speed(const struct device *d, bool out)
{
	return rates[out] / (d->turns && d->flying[!out] ? 2 : 1);
}

/* The next transfer ends. */
static void go_on(struct device *d)
{
	double most = INFINITY;

	for (unsigned int out = 0; out < 2; out++)
		if (d->flying[out])
			most = fmin(most, (BYTES - d->done[out]) / speed(d, out));
	for (unsigned int out = 0; out < 2; out++)
		d->done[out] += d->flying[out] ? speed(d, out) * most : 0;
	d->now += most;
	for (unsigned int out = 0; out < 2; out++) {
		if (!d->flying[out] || d->done[out] < BYTES - 1e-3)
			continue;
		d->done[out] = 0;
		annex_pace_end(&d->pace, out, &d->passing[out][d->first[out]++ % 64], BYTES,
			       (uint64_t)d->now);
		d->flying[out]--;
		begin(d, out);
	}
}

/* So many transfers, @depth at once in each direction. */
static void run(struct device *d, unsigned int in, unsigned int out, unsigned int depth)
{
	d->left[0] = in;
	d->left[1] = out;
	for (unsigned int i = 0; i < depth; i++) {
		begin(d, false);
		begin(d, true);
	}
	while (d->flying[0] || d->flying[1])
		go_on(d);
}

static bool about(double is, double wanted)
{
	return fabs(is - wanted) < wanted * 0.02;
}

static void by_known_devices(void)
{
	uint64_t state = random_seed("pace");

	for (unsigned int turns = 0; turns < 2; turns++) {
		struct device d = {.turns = turns, .now = (double)(random_next(&state) % 1000000)};

		run(&d, 400, 0, 8);
		run(&d, 0, 400, 8);
		CU_ASSERT(annex_pace_duplex(&d.pace) >= 2);
		run(&d, 300, 1200, 8);
		CU_ASSERT(about(annex_pace_rate(&d.pace, false), READ * 1e9));
		CU_ASSERT(about(annex_pace_rate(&d.pace, true), WRITE * 1e9));
		CU_ASSERT(about(annex_pace_duplex(&d.pace), turns ? 1 : 2));
	}
}

/* Of a device that had never several transfers at once less is known, and of none nothing. */
static void little_is_known(void)
{
	struct device d = {0};

	CU_ASSERT(annex_pace_rate(&d.pace, false) <= 0);
	CU_ASSERT(annex_pace_rate(&d.pace, true) <= 0);
	run(&d, 100, 100, 1);
	CU_ASSERT(about(annex_pace_rate(&d.pace, false), READ * 1e9));
	CU_ASSERT(about(annex_pace_rate(&d.pace, true), WRITE * 1e9));
	CU_ASSERT(annex_pace_duplex(&d.pace) >= 2);
}

/* Of transfers that fail no bytes have passed, and their time has. */
static void failures(void)
{
	struct pace p = {0};
	struct passing t;

	for (unsigned int i = 0; i < 64; i++) {
		annex_pace_begin(&p, false, &t, i * 2000000ull);
		annex_pace_end(&p, false, &t, i % 2 ? 0 : BYTES, i * 2000000ull + 1000000);
	}
	CU_ASSERT(about(annex_pace_rate(&p, false), BYTES / 2e6 * 1e9));
}

UNIT_SUITE(pace, {"known devices", by_known_devices}, {"little is known", little_is_known},
	   {"failures", failures})
