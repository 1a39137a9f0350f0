// SPDX-License-Identifier: MIT
/*
 * A call of the library that is wrong, linked in the place of the right one (ld --wrap), for tests
 * of annex selftest, which has to notice.
 */
#include <annex/hdm.h>

int __real_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);
int __wrap_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);

/* The last byte of the piece changes. */
int __wrap_annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out)
{
	static unsigned char calls;
	int err = __real_annex_hdm_find(h, name, out);

	if (!err)
		*((unsigned char *)annex_hdm_at(h, out->offset + out->bytes) - 1) = calls++;
	return err;
}
