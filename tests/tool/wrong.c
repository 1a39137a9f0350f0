// SPDX-License-Identifier: MIT
/*
 * Calls of the library that are wrong: linked in the place of the right ones (ld --wrap), for tests
 * of annex selftest, which has to notice.
 */
#include <annex/hdm.h>
#include <annex/simulate.h>

int __real_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);
int __wrap_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);
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

/* An iteration is a little shorter than its kernels. */
int __wrap_annex_simulate(const struct annex_sim_job *jobs, unsigned int n,
			  const struct annex_system *sys, const struct annex_sim_options *opts,
			  struct annex_sim_result *result)
{
	int err = __real_annex_simulate(jobs, n, sys, opts, result);

	result->iteration = result->ideal * 0.999;
	return err;
}
