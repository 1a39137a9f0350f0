// SPDX-License-Identifier: MIT
/*
 * A range of memory and its allocator: count the runs of this program in a piece with a name, which
 * stays when the program ends: range 'shm:/dev/shm/range?size=16M', range pci:0000:0d:00.0
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/hdm.h>

#define COUNT "example.count"
#define TABLE "example.table"
#define BYTES (64u << 10)

static void must(int err)
{
	if (err)
		exit((fprintf(stderr, "range: %s\n", annex_last_error()), 1));
}

/*
 * Build the data in private pieces, which are freed if this process dies, and name all of it in one
 * step. Pieces to be named are larger than 8 KiB: small private ones share their pages.
 */
static void create(struct annex_hdm *hdm)
{
	static const char *const names[] = {COUNT, TABLE};
	struct annex_hdm_piece pieces[2];

	for (unsigned int i = 0; i < 2; i++) {
		must(annex_hdm_alloc(hdm, BYTES, 0, NULL, &pieces[i].ptr));
		memset(pieces[i].ptr, 0, BYTES);
		/* Before it has a name, so that a name never leads to half of the data. */
		must(annex_hdm_persist(hdm, pieces[i].ptr, BYTES));
		pieces[i].bytes = BYTES;
		pieces[i].name = names[i];
	}
	must(annex_hdm_publish(hdm, pieces, 2, false));
}

/* A piece by its name. Addresses differ from process to process, offsets do not. */
static uint64_t *find(struct annex_hdm *hdm, const char *name)
{
	struct annex_hdm_block block;
	int err = annex_hdm_find(hdm, name, &block);

	if (err == -ENOENT) {
		create(hdm);
		err = annex_hdm_find(hdm, name, &block);
	}
	must(err);
	if (block.bytes != BYTES)
		exit((fprintf(stderr, "range: %s is another program's\n", name), 1));
	return (uint64_t *)annex_hdm_at(hdm, block.offset);
}

int main(int argc, char **argv)
{
	struct annex_hdm *hdm = NULL;
	struct annex_hdm_usage usage;
	struct annex_hdm_block block;
	uint64_t cursor = 0, *count, *table;
	int more;

	if (argc != 2)
		return fputs("usage: range URI\n", stderr), 2;
	must(annex_hdm_open(argv[1], NULL, &hdm));
	count = find(hdm, COUNT);
	table = find(hdm, TABLE) + *count % (BYTES / sizeof(*table));
	*table = *count + 1;
	must(annex_hdm_persist(hdm, table, sizeof(*table)));
	++*count;
	must(annex_hdm_persist(hdm, count, sizeof(*count)));
	printf("run %llu\n", (unsigned long long)*count);

	while ((more = annex_hdm_next(hdm, &cursor, &block)) > 0)
		printf("%s: %llu bytes\n", *block.name ? block.name : "(private)",
		       (unsigned long long)block.bytes);
	must(more);
	must(annex_hdm_get_usage(hdm, &usage));
	printf("free: %s\n", usage.free ? "some" : "nothing");
	must(annex_hdm_check(hdm)); /* the file was not truncated meanwhile */
	annex_hdm_close(hdm);
	return 0;
}
