// SPDX-License-Identifier: MIT
/*
 * Sparse matrices and graphs.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "kernels.h"

/* Run a kernel whose pool is the array of rows, a word each, without the word at its end. */
static int run_rows(struct annex_kernels *k, enum k_kernel kernel, const struct annex_ndp_csr *a,
		    const uint64_t *args, size_t nargs)
{
	int err = k_aligned(a->first, "rows");

	if (!err)
		err = k_flush(k, a->first, (a->rows + 1) * sizeof(*a->first));
	if (!err && !k->coherent && a->rows)
		err = k_flush(k, a->column, a->first[a->rows] * sizeof(*a->column));
	if (!err && !k->coherent && a->rows && a->value)
		err = k_flush(k, a->value, a->first[a->rows] * sizeof(*a->value));
	if (err)
		return err;
	return k_run(k, kernel, a->first, k_parts(a->rows, k->piece / 4), args, nargs);
}

int annex_ndp_spmv(struct annex_kernels *k, const struct annex_ndp_csr *a, const float *x, float *y)
{
	const uint64_t args[] = {a->rows, k->piece / 4, k_at(a->column),
				 k_at(x), k_at(y),      k_at(a->value)};
	int err = k_flush(k, y, a->rows * sizeof(*y));

	return err ? err : run_rows(k, K_spmv, a, args, sizeof(args));
}

int annex_ndp_pagerank(struct annex_kernels *k, const struct annex_ndp_csr *in,
		       const uint32_t *out_degree, float damping, const float *rank, float *next)
{
	uint64_t args[9] = {in->rows,   k->piece / 4, k_at(in->column), 0,
			    k_at(next), k_at(rank),   k_at(out_degree)};
	float base = (1 - damping) / (float)in->rows;
	size_t bytes = in->rows * sizeof(*rank);
	void *gives;
	int err;

	if (!in->rows)
		return 0;
	err = k_flush(k, rank, bytes);
	if (!err)
		err = k_flush(k, next, bytes);
	if (!err)
		err = k_flush(k, out_degree, bytes);
	if (!err)
		err = annex_hdm_alloc(k->hdm, bytes, 0, NULL, &gives);
	if (err)
		return err;
	args[3] = k_at(gives);
	memcpy(&args[7], &damping, sizeof(damping));
	memcpy(&args[8], &base, sizeof(base));
	err = k_flush(k, gives, bytes);
	if (!err)
		err = run_rows(k, K_pagerank, in, args, sizeof(args));
	annex_hdm_free(k->hdm, gives);
	return err;
}

int annex_ndp_sssp_relax(struct annex_kernels *k, const struct annex_ndp_edges *e,
			 uint32_t *distance, bool *changed)
{
	uint64_t args[] = {
		k_at(e->from), k_at(e->to), k_at(e->weight), e->n, k->piece, k_at(distance), 0};
	int err = k_aligned(e->to, "edges");
	uint32_t *flag;
	void *place;

	if (!err)
		err = k_flush(k, e->from, e->n * 4);
	if (!err)
		err = k_flush(k, e->to, e->n * 4);
	if (!err)
		err = k_flush(k, e->weight, e->n * 4);
	if (!err)
		err = annex_hdm_alloc(k->hdm, sizeof(*flag), 0, NULL, &place);
	if (err)
		return err;
	flag = place;
	*flag = 0;
	args[6] = k_at(flag);
	err = k_flush(k, flag, sizeof(*flag));
	if (!err)
		err = k_run(k, K_sssp, e->to, k_parts(e->n, k->piece), args, sizeof(args));
	if (!err)
		*changed = *flag;
	annex_hdm_free(k->hdm, place);
	return err;
}
