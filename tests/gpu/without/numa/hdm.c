// SPDX-License-Identifier: MIT
/*
 * Spaces on a machine without libnuma: in the place of lib/hdm. There is no range to be opened, so
 * these are not called.
 */
#include <errno.h>
#include "core/log.h"
#include "hdm/hdm.h"

int annex_hdm_alloc(struct annex_hdm *h, size_t bytes, size_t align, const char *name, void **out)
{
	(void)h;
	(void)bytes;
	(void)align;
	(void)name;
	(void)out;
	return annex_fail(-EOPNOTSUPP, "this program was built without CXL memory");
}

int annex_hdm_free(struct annex_hdm *h, void *ptr)
{
	(void)h;
	(void)ptr;
	return -EINVAL;
}

const struct annex_provider *annex_hdm_provider(struct annex_hdm *h)
{
	(void)h;
	return annex_provider_pages();
}

int hdm_hold(struct annex_hdm *h, void *ptr, size_t bytes)
{
	(void)h;
	(void)ptr;
	(void)bytes;
	return 0;
}

void hdm_let(struct annex_hdm *h, void *ptr, size_t bytes)
{
	(void)h;
	(void)ptr;
	(void)bytes;
}
