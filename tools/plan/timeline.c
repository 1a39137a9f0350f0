// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include "tools/common/error.h"
#include "gnuplot.h"
#include "report.h"

/* As many as a screen shows: an iteration may have a hundred thousand kernels. */
#define BINS 500

/*
 * struct bins - The iteration in equal parts.
 * @live: most live bytes in each.
 * @used: most bytes in use in each.
 */
struct bins {
	double length; /* nanoseconds of a part */
	uint64_t live[BINS], used[BINS];
	double in[BINS], out[BINS];
};

static unsigned int bin_of(const struct bins *b, double ns)
{
	double i = ns / b->length;

	return i < BINS - 1 ? (unsigned int)i : BINS - 1;
}

/* A kernel's share of each part that it takes some of; its bytes are spread evenly over it. */
static void add_kernel(struct bins *b, const struct annex_sim_sample *s, uint64_t live)
{
	double start = (double)s->start, end = (double)s->end;
	double length = end > start ? end - start : 1;
	unsigned int last = bin_of(b, end);

	for (unsigned int i = bin_of(b, start); i <= last; i++) {
		double from = b->length * i, to = b->length * (i + 1);
		double share;

		from = from > start ? from : start;
		to = to < start + length ? to : start + length;
		share = to > from ? (to - from) / length : 0;
		b->in[i] += share * (double)s->in;
		b->out[i] += share * (double)s->out;
		b->live[i] = live > b->live[i] ? live : b->live[i];
		b->used[i] = s->gpu > b->used[i] ? s->gpu : b->used[i];
	}
}

static void print_data(FILE *f, const struct bins *b)
{
	fputs("$data << END\n", f);
	for (unsigned int i = 0; i < BINS; i++)
		fprintf(f, "%.9g %.6g %.6g %.6g %.6g\n", b->length * i * 1e-9,
			(double)b->live[i] / 0x1p30, (double)b->used[i] / 0x1p30,
			b->in[i] / b->length, b->out[i] / b->length);
	fputs("END\n", f);
}

static void print_panels(FILE *f, const struct annex_system *sys, const struct outcome *o)
{
	fprintf(f,
		"set xrange [0:%.9g]\nset yrange [0:]\n"
		"set multiplot layout 2,1 title 'policy %s: %.4f s an iteration, %.2f %% of "
		"ideal'\n"
		"set ylabel 'GPU memory (GiB)'\n"
		"plot $data using 1:2 with steps lw 2 lc rgb '#999999' title 'live', $data using "
		"1:3 with steps lw 2 lc rgb '#0060ad' title 'in use under the plan', %.9g with "
		"lines dt 2 lc rgb '#dd181f' title 'capacity'\n"
		"set ylabel 'link (GB/s)'\nset xlabel 'time (s)'\n"
		"plot $data using 1:4 with steps lw 2 lc rgb '#0060ad' title 'in', "
		"$data using 1:5 with steps lw 2 lc rgb '#e08214' title 'out', "
		"%.9g with lines dt 2 lc rgb '#dd181f' title 'the link, each way'\n"
		"unset multiplot\n",
		o->r.iteration, o->policy, o->r.iteration, 100 * o->r.ideal / o->r.iteration,
		(double)sys->gpu / 0x1p30, sys->pcie * 1e-9);
}

int timeline_plot(struct newfile *svg, const struct work *w, const struct annex_system *sys,
		  const struct outcome *o, const struct annex_sim_sample *samples)
{
	uint32_t n = w->traces[0]->n_kernels;
	struct bins *b = calloc(1, sizeof(*b));
	FILE *f;

	if (!b)
		return err_set(-ENOMEM, "out of memory");
	f = gnuplot_begin(1000, 700);
	if (!f) {
		free(b);
		return -EIO;
	}
	b->length = (double)(samples[n - 1].end ? samples[n - 1].end : 1) / BINS;
	for (uint32_t k = 0; k < n; k++)
		add_kernel(b, &samples[k], w->vitality[0]->live[k]);
	print_data(f, b);
	print_panels(f, sys, o);
	free(b);
	return gnuplot_end(f, svg);
}
