// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/system.h>
#include "tools/common/error.h"
#include "show_periods.h"

/* Upper limits of the classes of G10's figure 4; the last class has none. */
static const struct {
	uint64_t below;
	const char *label;
} sizes[] = {
	{64ull << 10, "  tensors < 64 KiB"}, {1ull << 20, "  tensors < 1 MiB"},
	{16ull << 20, "  tensors < 16 MiB"}, {256ull << 20, "  tensors < 256 MiB"},
	{4ull << 30, "  tensors < 4 GiB"},   {UINT64_MAX, "  tensors >= 4 GiB"},
};

static const struct {
	uint64_t below_us;
	const char *label, *longer;
} lengths[] = {
	{100, "< 100 us", "  longer than 100 us"}, {1000, "< 1 ms", "  longer than 1 ms"},
	{10000, "< 10 ms", "  longer than 10 ms"}, {100000, "< 100 ms", "  longer than 100 ms"},
	{1000000, "< 1 s", "  longer than 1 s"},   {10000000, "< 10 s", "  longer than 10 s"},
	{UINT64_MAX / 1000, ">= 10 s", "at all"},
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* Periods of one class, or of several, and their bytes: those of a tensor count each time. */
struct group {
	uint64_t periods;
	double bytes;
};

struct tally {
	struct group of[SIZES][LENGTHS];
	struct group all, hidden, wrapping;
};

static void count(struct group *c, uint64_t bytes)
{
	c->periods++;
	c->bytes += (double)bytes;
}

/* Whether the tensor can go to the SSD and be back in time, were it alone on its way. */
static bool can_hide(const struct annex_system *sys, uint64_t bytes, uint64_t ns)
{
	double both = (double)bytes / sys->ssd_write + (double)bytes / sys->ssd_read;

	return both * 1e9 + (double)(sys->ssd_write_ns + sys->ssd_read_ns) <= (double)ns;
}

static void tally_periods(const struct annex_vitality *v, struct tally *t)
{
	struct annex_system sys;

	annex_system_init(&sys);
	for (uint32_t i = 0; i < v->n_periods; i++) {
		const struct annex_period *p = &v->periods[i];
		uint64_t bytes = v->trace->tensors[p->tensor].bytes;
		unsigned int size = 0, length = 0;

		while (size < SIZES - 1 && bytes >= sizes[size].below)
			size++;
		while (length < LENGTHS - 1 && p->ns >= lengths[length].below_us * 1000)
			length++;
		count(&t->of[size][length], bytes);
		count(&t->all, bytes);
		if (can_hide(&sys, bytes, p->ns))
			count(&t->hidden, bytes);
		if (p->wraps)
			count(&t->wrapping, bytes);
	}
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Figure 3 as quantiles. */
static int show_quantiles(struct out *o, const struct annex_vitality *v)
{
	static const struct {
		const char *key, *label;
		unsigned int percent;
	} quantiles[] = {
		{"period_p10_s", "  shortest tenth up to", 10},
		{"period_p50_s", "  half of them up to", 50},
		{"period_p90_s", "  all but a tenth up to", 90},
		{"period_max_s", "  longest", 100},
	};
	uint64_t *ns = malloc((v->n_periods + 1ull) * sizeof(*ns));

	if (!ns)
		return err_set(-ENOMEM, "no memory for %u periods", v->n_periods);
	for (uint32_t i = 0; i < v->n_periods; i++)
		ns[i] = v->periods[i].ns;
	qsort(ns, v->n_periods, sizeof(*ns), order);
	for (unsigned int q = 0; v->n_periods && q < sizeof(quantiles) / sizeof(quantiles[0]);
	     q++) {
		uint64_t at = (v->n_periods - 1ull) * quantiles[q].percent / 100;

		out_seconds(o, quantiles[q].key, quantiles[q].label, (double)ns[at] * 1e-9);
	}
	free(ns);
	return 0;
}

/* Figure 3 as shares, of the periods and of their bytes. */
static void show_longer(struct out *o, const struct tally *t)
{
	struct group longer = t->all;
	json_t *array = json_array();

	for (unsigned int l = 0; t->all.periods && l + 1 < LENGTHS; l++) {
		double periods, bytes;

		for (unsigned int s = 0; s < SIZES; s++) {
			longer.periods -= t->of[s][l].periods;
			longer.bytes -= t->of[s][l].bytes;
		}
		periods = share((double)longer.periods, (double)t->all.periods);
		bytes = share(longer.bytes, t->all.bytes);
		json_array_append_new(array,
				      json_pack("{sI sf sf}", "us", (json_int_t)lengths[l].below_us,
						"periods", periods, "bytes", bytes));
		out_row(o, lengths[l].longer, "%.1f %%, %.1f %% of the bytes", periods * 100,
			bytes * 100);
	}
	out_json(o, "longer_than", array);
}

static void show_class_rows(struct out *o, const struct tally *t)
{
	char line[120], buf[OUT_SIZE];
	struct group sum;
	int n = 0;

	for (unsigned int l = 0; l < LENGTHS; l++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%10s", lengths[l].label);
	out_row(o, "periods by length", "%s      bytes", line);
	for (unsigned int s = 0; s < SIZES; s++) {
		sum = (struct group){0};
		n = 0;
		for (unsigned int l = 0; l < LENGTHS; l++) {
			const struct group *c = &t->of[s][l];

			sum.periods += c->periods;
			sum.bytes += c->bytes;
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%10llu",
				      (ull)c->periods);
		}
		if (sum.periods)
			out_row(o, sizes[s].label, "%s%11s", line, out_size(sum.bytes, buf));
	}
}

/* Bytes in the periods of a column of the table. */
static void show_class_bytes(struct out *o, const struct tally *t)
{
	char line[120], buf[OUT_SIZE];
	int n = 0;

	for (unsigned int l = 0; l < LENGTHS; l++) {
		double bytes = 0;

		for (unsigned int s = 0; s < SIZES; s++)
			bytes += t->of[s][l].bytes;
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%10s", out_size(bytes, buf));
	}
	out_row(o, "  bytes", "%s", line);
}

/* Figure 4. */
static void show_classes(struct out *o, const struct tally *t)
{
	json_t *array = json_array();

	show_class_rows(o, t);
	show_class_bytes(o, t);
	for (unsigned int s = 0; s < SIZES; s++) {
		for (unsigned int l = 0; l < LENGTHS; l++) {
			json_t *c = json_pack("{sI sf}", "periods", (json_int_t)t->of[s][l].periods,
					      "bytes", t->of[s][l].bytes);

			if (s + 1 < SIZES)
				json_object_set_new(c, "tensor_below",
						    json_integer((json_int_t)sizes[s].below));
			if (l + 1 < LENGTHS)
				json_object_set_new(c, "us_below",
						    json_integer((json_int_t)lengths[l].below_us));
			json_array_append_new(array, c);
		}
	}
	out_json(o, "classes", array);
}

int show_periods(struct out *o, const struct annex_vitality *v)
{
	struct tally t = {0};
	int err;

	tally_periods(v, &t);
	out_count(o, "periods", "inactive periods", t.all.periods);
	out_count(o, "periods_wrapping", "  into the next iteration", t.wrapping.periods);
	err = show_quantiles(o, v);
	if (err)
		return err;
	show_longer(o, &t);
	out_percent(o, "hidden_share", "can hide a swap to the SSD",
		    share((double)t.hidden.periods, (double)t.all.periods));
	out_percent(o, "hidden_bytes_share", "  of the bytes", share(t.hidden.bytes, t.all.bytes));
	show_classes(o, &t);
	return 0;
}
