/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device that a command is going to write: nothing is overwritten unasked, and a file that the
 * command made goes away again if the command fails.
 */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include <stdbool.h>
#include <stdint.h>

struct target {
	char *uri;     /* with the size where it was missing */
	char *created; /* NULL, or the file that was not there before */
	char *grows;   /* NULL, or the file that will take @need more bytes */
	uint64_t need;
};

/*
 * target_init() - Check that the device @text may be written, and have it hold @bytes if it is a
 * file. @t is to be given to target_done() in any case, with the error of the whole command.
 */
int target_init(struct target *t, const char *text, uint64_t bytes, bool overwrite);
/* target_room() - Whether the files among @t, @n of them, have room for what they will hold. */
int target_room(const struct target *t, unsigned int n);

void target_done(struct target *t, int err);

#endif
