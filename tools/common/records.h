/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of CSV files: RFC 4180 by libcsv, with the lines that they begin on.
 */
#ifndef TOOLS_RECORDS_H
#define TOOLS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

/* The longest field that is read. Fields of TPC-H have 199 characters at most. */
#define RECORDS_FIELD (64u << 10)
#define RECORDS_FIELDS 1024u

/*
 * struct records - Callbacks for each record, the first one with the names included.
 * @field: field @i of record @record, @n bytes and a NUL, valid during the call.
 * @end: it had so many. Both: 0, or a negative errno with the line set, which ends the reading.
 * @path: of the file, for errors.
 * @line: that the present record began on, from 1 on.
 */
struct records {
	int (*field)(void *ctx, unsigned int i, const char *s, size_t n);
	int (*end)(void *ctx, unsigned int fields);
	void *ctx;
	const char *path;
	uint64_t line;
	uint64_t record;
};

/* records_read() - All of the file, with its progress. A record without fields is none. */
int records_read(struct records *r);

/* records_bad() - The line "FILE, line N: ..."; -EINVAL. */
int records_bad(const struct records *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
