/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device that a command is going to write: nothing is overwritten unasked, and a file that the
 * command made goes away again if the command fails.
 */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/device.h>
#include "tempfile.h"

/*
 * enum target_kind - How a new file is made. TARGET_WHOLE: it gets its name in target_done(), when
 * it is whole. TARGET_BED: at once, for benchmarks that write to it.
 */
enum target_kind { TARGET_WHOLE, TARGET_BED };

struct target {
	char *uri;            /* with the size where it was missing */
	char *created;        /* NULL, or the file that was not there before */
	struct tempfile file; /* the file until it has its name */
	char *path;           /* of @file */
	int fd;               /* -1, or a claim on the existing file (claim.h) */
	bool overwrite;
	char *grows; /* NULL, or the file that will take @need more bytes */
	uint64_t need;
};

/*
 * target_init() - Check that the device @text may be written, by this process alone, and have it
 * hold @bytes if it is a file. @t is to be given to target_done() in any case, with the error of
 * the whole command.
 */
int target_init(struct target *t, const char *text, enum target_kind kind, uint64_t bytes,
		bool overwrite);

/*
 * target_look() - Check that the data of device @text may go, for a command that claims it by
 * itself: it is not there yet, is empty, is of this process alone, or @overwrite says so. -EEXIST,
 * with the line.
 */
int target_look(const char *text, bool overwrite);

/*
 * target_claim() - Keep others from the first @bytes of @dev, which is open for @t, until it is
 * closed. Of file: devices target_init() has the claim already.
 */
int target_claim(const struct target *t, struct annex_dev *dev, uint64_t bytes);

/* target_room() - Whether the file systems of the @n targets @t have room for their files. */
int target_room(const struct target *t, unsigned int n);

/*
 * target_done() - After the devices are closed and the command ends with @err: name the files of @n
 * targets, or remove them. Returns @err, or the errno of a failure.
 */
int target_done(struct target *t, unsigned int n, int err);

#endif
