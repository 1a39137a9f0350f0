// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include "../plan/gnuplot.h"
#include "train.h"

static void print_data(FILE *f, const struct train *t)
{
	fputs("$data << END\n", f);
	for (uint32_t i = 0; i < t->opts->steps; i++) {
		const struct train_step *s = &t->steps[i];

		fprintf(f, "%u %.9g %.6g %.6g %.6g\n", i + 1, s->loss, (double)s->device / 0x1p30,
			(double)s->host / 0x1p30, (double)s->stored / 0x1p30);
	}
	fputs("END\n", f);
}

static void print_panels(FILE *f, const struct train *t)
{
	fprintf(f,
		"set xrange [1:%u]\n"
		"set multiplot layout 2,1 title 'annex train: %u layers of width %u, context %u, "
		"batch %u'\n"
		"set ylabel 'loss (nats a byte)'\nset yrange [0:]\n"
		"plot $data using 1:2 with lines lw 2 lc rgb '#0060ad' title 'loss'\n"
		"set ylabel 'memory (GiB)'\nset xlabel 'iteration'\n"
		"plot $data using 1:3 with lines lw 2 lc rgb '#0060ad' title 'device tier', "
		"$data using 1:4 with lines lw 2 lc rgb '#e08214' title 'host tier', "
		"$data using 1:5 with lines lw 2 lc rgb '#999999' title 'storage'",
		t->opts->steps > 1 ? t->opts->steps : 2, t->opts->shape.layers,
		t->opts->shape.width, t->opts->shape.context, t->opts->shape.batch);
	if (t->opts->device)
		fprintf(f, ", %.9g with lines dt 2 lc rgb '#dd181f' title 'capacity'",
			(double)t->opts->device / 0x1p30);
	fputs("\nunset multiplot\n", f);
}

int train_plot(const struct train *t)
{
	struct newfile svg;
	FILE *f;
	int err = newfile_open(&svg, t->opts->plot, t->opts->overwrite);

	if (err)
		return newfile_close(&svg, 0, err);
	f = gnuplot_begin(1000, 700);
	if (f) {
		print_data(f, t);
		print_panels(f, t);
		err = gnuplot_end(f, &svg);
	} else {
		err = -EIO;
	}
	return newfile_close(&svg, 1, err);
}
