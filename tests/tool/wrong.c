// SPDX-License-Identifier: MIT
/*
 * Calls of the library that are wrong: linked in the place of the right ones (ld --wrap), for tests
 * of annex selftest, which has to notice.
 */
#include <annex/hdm.h>
#include <annex/kernels.h>
#include <annex/simulate.h>

int __real_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);
int __wrap_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);
int __real_annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n,
				int32_t lo, int32_t hi, uint8_t *bitmap);
int __wrap_annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n,
				int32_t lo, int32_t hi, uint8_t *bitmap);
int __real_annex_simulate(const struct annex_sim_job *jobs, unsigned int n,
			  const struct annex_system *sys, const struct annex_sim_options *opts,
			  struct annex_sim_result *result);
int __wrap_annex_simulate(const struct annex_sim_job *jobs, unsigned int n,
			  const struct annex_system *sys, const struct annex_sim_options *opts,
			  struct annex_sim_result *result);

/* One bit of the piece is another. */
int __wrap_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out)
{
	int err = __real_annex_hdm_find(h, name, out);

	if (!err)
		*(unsigned char *)annex_hdm_at(h, out->offset + out->bytes - 1) ^= 4;
	return err;
}

/* The last row is not what was asked for. */
int __wrap_annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n,
				int32_t lo, int32_t hi, uint8_t *bitmap)
{
	int err = __real_annex_ndp_filter_i32(k, column, n, lo, hi, bitmap);

	bitmap[(n - 1) / 8] ^= (uint8_t)(1u << (n - 1) % 8);
	return err;
}

/* An iteration is a little shorter than its kernels. */
int __wrap_annex_simulate(const struct annex_sim_job *jobs, unsigned int n,
			  const struct annex_system *sys, const struct annex_sim_options *opts,
			  struct annex_sim_result *result)
{
	int err = __real_annex_simulate(jobs, n, sys, opts, result);

	result->iteration = result->ideal * 0.999;
	return err;
}
