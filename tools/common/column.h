/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Element types, and files that are nothing but elements of one type.
 */
#ifndef TOOLS_COLUMN_H
#define TOOLS_COLUMN_H

#include <stdbool.h>
#include <stdint.h>
#include "tempfile.h"

enum column_type { COLUMN_F64, COLUMN_F32, COLUMN_I64, COLUMN_I32, COLUMN_U64, COLUMN_U32 };

/* Their names, ending with NULL; the numbers above are the indices. */
extern const char *const column_types[];

uint32_t column_size(enum column_type type);

/*
 * struct column_file - A file being written. It gets its name when it is closed.
 */
struct column_file {
	struct tempfile file;
	char *buf;
	uint32_t fill;
	bool temporary; /* cleanup_remove() is the caller's */
};

int column_create(struct column_file *f, const char *path);
int column_put(struct column_file *f, const void *data, uint32_t len);

/*
 * column_close() - Finish it if @err is 0, else remove it; returns @err or the errno of a failure
 * (and has removed it then). A zeroed @f is closed.
 */
int column_close(struct column_file *f, int err);

#endif
