// SPDX-License-Identifier: MIT
#include <annex/models/ndp.h>
#include "kernels_rig.h"
#include "tests/unit/unit.h"

void kernels_device_open(struct kernels_rig *r, const struct annex_ndp_opts *opts)
{
	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(opts, &r->ndp), 0);
	CU_ASSERT_EQUAL_FATAL(annex_m2_open_local(r->ndp, NULL, &r->m2), 0);
}

void kernels_device_close(struct kernels_rig *r)
{
	annex_m2_close(r->m2);
	annex_ndp_destroy(r->ndp);
}
