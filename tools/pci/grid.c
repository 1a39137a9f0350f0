// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "grid.h"

void grid_init(struct grid *g, unsigned int cols)
{
	memset(g, 0, sizeof(*g));
	g->cols = cols;
}

int grid_row(struct grid *g, const char *const *texts)
{
	char(*grown)[GRID_CELL] = realloc(g->cell, (g->rows + 1) * g->cols * sizeof(*grown));

	if (!grown)
		return err_set(-ENOMEM, "out of memory");
	g->cell = grown;
	for (unsigned int c = 0; c < g->cols; c++)
		snprintf(grown[g->rows * g->cols + c], GRID_CELL, "%s", *texts[c] ? texts[c] : "-");
	g->rows++;
	return 0;
}

void grid_drop(struct grid *g)
{
	free(g->cell);
	g->cell = NULL;
	g->rows = 0;
}

int grid_end(struct grid *g)
{
	int width[GRID_COLS] = {0};

	for (unsigned int r = 0; r < g->rows; r++)
		for (unsigned int c = 0; c < g->cols; c++) {
			int len = (int)strlen(g->cell[r * g->cols + c]);

			if (len > width[c])
				width[c] = len;
		}
	for (unsigned int r = 0; r < g->rows; r++) {
		const char(*row)[GRID_CELL] = &g->cell[r * g->cols];

		/* The last column is as long as it is: no spaces behind. */
		for (unsigned int c = 0; c + 1 < g->cols; c++)
			printf("%-*s  ", width[c], row[c]);
		printf("%s\n", row[g->cols - 1]);
	}
	grid_drop(g);
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
}
