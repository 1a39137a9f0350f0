// SPDX-License-Identifier: MIT
/*
 * The library on a machine without liburing: in the place of the backends of lib/nvme/emu that need
 * it. Their devices cannot be opened.
 */
#include <errno.h>
#include "core/log.h"
#include "nvme/emu/emu.h"

int annex_emu_open_file(const struct annex_uri *uri, struct annex_ctrl **out)
{
	(void)out;
	return annex_fail(-EOPNOTSUPP, "%s: this program was built without liburing", uri->scheme);
}

int annex_emu_open_ng(const struct annex_uri *uri, struct annex_ctrl **out)
{
	return annex_emu_open_file(uri, out);
}
