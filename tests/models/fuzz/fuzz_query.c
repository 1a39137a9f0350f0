// SPDX-License-Identifier: MIT
/*
 * Any text as a CSV file of lineitem, part or orders (the first byte is how many of the rest are of
 * orders): a file that is refused says why; one that is not makes a whole table, in the place of
 * the one before.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "tools/models/query/import.h"

#define RANGE_BYTES (4u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* A file of these bytes, which has a name as long as it is open. */
static int file_of(const uint8_t *data, size_t size, char path[32])
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void check_table(struct store *s, const struct tpch_table *t, bool made, uint64_t rows)
{
	uint64_t found;

	require(!store_find(s, t, &found) && found == rows && rows);
	for (unsigned int i = 0; t->column[i].name; i++) {
		enum tpch_origin from = t->column[i].origin;
		const void *column;

		if (from == TPCH_STORED || (from == TPCH_MADE && made))
			require(!store_column(s, t, i, rows, &column));
	}
}

static void load(struct store *s, const char *path, struct dates *d)
{
	const struct tpch_table *t;
	struct store_table table;
	uint64_t rows, bytes;
	int err = import_table(path, &t);

	if (!err && t == &tpch_orders)
		return;
	if (!err)
		err = import_columns(path, t, t == &tpch_lineitem ? d : NULL, s, true, &table,
				     &rows, &bytes);
	if (err) {
		require(*err_text());
		return;
	}
	require(!store_publish(s, &table, 1, true));
	check_table(s, t, d && t == &tpch_lineitem, rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char range[64];
	struct store s = {.nheld = 0};
	struct dates d = {.one = NULL};
	char path[32];
	size_t first;
	int fd, err = -1;

	if (!*range) {
		fd = memfd_create("range", MFD_CLOEXEC);
		require(fd >= 0 && !ftruncate(fd, RANGE_BYTES));
		snprintf(range, sizeof(range), "shm:/proc/self/fd/%d", fd);
	}
	if (size < 2)
		return 0;
	require(!store_open(&s, range));
	first = data[0] < size - 1 ? data[0] : size - 1;
	err_clear();
	if (first) {
		fd = file_of(data + 1, first, path);
		err = import_orders(path, &d);
		require(!err || *err_text());
		close(fd);
	}
	err_clear();
	fd = file_of(data + 1 + first, size - 1 - first, path);
	load(&s, path, err ? NULL : &d);
	close(fd);
	dates_free(&d);
	store_close(&s);
	return 0;
}
