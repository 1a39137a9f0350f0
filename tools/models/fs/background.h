/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that goes on in the background once it is known that it works.
 */
#ifndef TOOLS_FS_BACKGROUND_H
#define TOOLS_FS_BACKGROUND_H

/*
 * background_fork() - Have a child go on, which an endpoint must be opened in; *@pipe is for
 * background_ready(). Return: 0 in the child; 1 in the parent, when the child is ready; -errno with
 * the line set. When the child fails before, which says why, the parent ends with its status.
 */
int background_fork(int *pipe);

/* background_ready() - Leave the terminal, and have the parent end. */
int background_ready(int pipe);

#endif
