// SPDX-License-Identifier: MIT
/*
 * Any text as an edge list (the first byte chooses whether it has weights): a list that is accepted
 * names only vertices it has, and becomes sorted rows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/graph/build.h"
#include "tools/graph/list.h"

#define VERTICES_MAX (1u << 20) /* beyond that the rows would only cost time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void check_names(const struct list *l)
{
	uint64_t names = 0;

	for (uint64_t i = 0; i < l->names_len; i++)
		names += !l->names[i];
	require(!l->names || (names == l->vertices && !l->names[l->names_len - 1]));
}

static void check_rows(struct list *l)
{
	static struct pool *pool;
	struct csr_data d = {.vertices = l->vertices};
	struct build_source src;

	require(pool || !pool_create(1, &pool));
	build_list_source(l, &src);
	require(!build_csr(pool, &src, false, &d));
	require(d.edges + d.duplicates + d.loops <= l->edges * 2);
	for (uint64_t v = 0; v < d.vertices; v++)
		for (uint64_t i = d.offsets[v] + 1; i < d.offsets[v + 1]; i++)
			require(d.adj[i - 1] >> 32 < d.adj[i] >> 32);
	build_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct list l = {0};
	FILE *f;

	if (size < 2)
		return 0;
	f = fmemopen((void *)(data + 1), size - 1, "r");
	require(f != NULL);
	err_clear();
	if (snap_read(f, "input", data[0] & 1, &l)) {
		require(*err_text());
	} else {
		for (uint64_t i = 0; i < l.edges; i++)
			require(l.edge[i].from < l.vertices && l.edge[i].to < l.vertices);
		check_names(&l);
		if (l.vertices && l.vertices <= VERTICES_MAX)
			check_rows(&l);
	}
	fclose(f);
	list_free(&l);
	return 0;
}
