/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file behind a file: URI that the library would make (size=): made here instead, so that the
 * command knows that it is its own, and removes it in the end.
 */
#ifndef TOOLS_TRAIN_SCRATCH_H
#define TOOLS_TRAIN_SCRATCH_H

/*
 * scratch_make() - Make it, empty, if @uri has a size and nothing is there. Give *@path to
 * scratch_end(); it is NULL if nothing was made. Opening @uri tells other faults of it.
 * 0, or -errno with the line set.
 */
int scratch_make(const char *uri, char **path);

/* scratch_end() - Remove it, as a signal that ends the program would have done. */
void scratch_end(char *path);

#endif
