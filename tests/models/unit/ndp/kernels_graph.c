// SPDX-License-Identifier: MIT
/*
 * Near-data kernels on graphs and sparse matrices give what the host gives, within their bounds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "kernels_rig.h"
#include "tests/unit/unit.h"

/* Rows of very different lengths, many of them empty. */
static struct annex_ndp_csr matrix(struct kernels_rig *r, size_t n)
{
	uint32_t *first = rig_array(r, (n + 1) * 4), *column;

	first[0] = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t kind = rig_below(r, 8);
		uint64_t most = kind < 2 ? 1 : kind < 7 ? 20 : 200;

		first[i + 1] = first[i] + (uint32_t)rig_below(r, most);
	}
	column = rig_array(r, first[n] * 4ul);
	for (uint32_t i = 0; i < first[n]; i++)
		column[i] = (uint32_t)rig_below(r, n);
	return (struct annex_ndp_csr){n, first, column, rig_floats(r, first[n])};
}

static void spmv(struct kernels_rig *r, size_t n)
{
	struct annex_ndp_csr a = matrix(r, n);
	float *x = rig_floats(r, n), *y = rig_floats(r, n);
	double *want = malloc(n * 8 + 1), *bound = malloc(n * 8 + 1);

	host_spmv(&a, x, want, bound);
	CU_ASSERT_EQUAL(annex_ndp_spmv(r->k, &a, x, y), 0);
	CU_ASSERT(rig_close_to(y, want, bound, n));
	free(want);
	free(bound);
}

static void pagerank(struct kernels_rig *r, size_t n)
{
	struct annex_ndp_csr a = matrix(r, n);
	uint32_t *out = rig_array(r, n * 4);
	float *rank = rig_floats(r, n), *next = rig_floats(r, n);
	double *want = malloc(n * 8 + 1), *bound = malloc(n * 8 + 1);

	memset(out, 0, n * 4);
	for (size_t i = 0; i < n; i++)
		rank[i] = rank[i] < 0 ? -rank[i] : rank[i];
	for (uint32_t i = 0; i < a.first[n]; i++)
		out[a.column[i]] += rig_below(r, 9) != 0;
	host_pagerank(&a, out, 0.85f, rank, want, bound);
	CU_ASSERT_EQUAL(annex_ndp_pagerank(r->k, &a, out, 0.85f, rank, next), 0);
	CU_ASSERT(rig_close_to(next, want, bound, n));
	free(want);
	free(bound);
}

static void shortest_paths(struct kernels_rig *r, size_t n)
{
	size_t vertices = n / 3 + 1;
	uint32_t *from = rig_array(r, n * 4), *to = rig_array(r, n * 4);
	uint32_t *weight = rig_array(r, n * 4), *distance = rig_array(r, vertices * 4);
	uint32_t *want = malloc(vertices * 4);
	struct annex_ndp_edges edges = {n, from, to, weight};
	size_t rounds = 0;
	bool changed = true;

	for (size_t i = 0; i < n; i++) {
		from[i] = (uint32_t)rig_below(r, vertices);
		to[i] = (uint32_t)rig_below(r, vertices);
		weight[i] >>= rig_below(r, 32);
	}
	memset(distance, 0xff, vertices * 4);
	distance[0] = 0;
	memcpy(want, distance, vertices * 4);
	host_sssp(&edges, want);
	while (changed && rounds++ <= vertices)
		if (annex_ndp_sssp_relax(r->k, &edges, distance, &changed) != 0)
			break;
	CU_ASSERT(!changed);
	CU_ASSERT_EQUAL(memcmp(distance, want, vertices * 4), 0);
	free(want);
}

static void on_graphs(struct kernels_rig *r)
{
	struct annex_ndp_csr a;

	rig_sizes(r, 5000, spmv);
	rig_sizes(r, 5000, pagerank);
	rig_sizes(r, 20000, shortest_paths);
	a = matrix(r, 100);
	a.first++;
	CU_ASSERT_EQUAL(annex_ndp_spmv(r->k, &a, a.value, rig_array(r, 400)), -EINVAL);
}

static void graphs(void)
{
	rig_devices("graphs", on_graphs);
}

UNIT_SUITE(kernels_graph, {"as on the host", graphs})
