/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells of text that line up: the first row has the names of the columns.
 */
#ifndef TOOLS_PCI_GRID_H
#define TOOLS_PCI_GRID_H

#define GRID_COLS 12
#define GRID_CELL 160

struct grid {
	unsigned int cols;
	unsigned int rows;
	char (*cell)[GRID_CELL];
};

/* grid_init() - @cols columns, no row yet. */
void grid_init(struct grid *g, unsigned int cols);

/* grid_row() - A row of @g->cols texts, "" as "-". 0 or -ENOMEM. */
int grid_row(struct grid *g, const char *const *texts);

/* grid_end() - Print and free. 0, or -errno with the line set. */
int grid_end(struct grid *g);
void grid_drop(struct grid *g);

#endif
