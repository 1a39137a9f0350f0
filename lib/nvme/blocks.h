/* SPDX-License-Identifier: MIT */
/*
 * Devices on storage of a higher room, which annex_dev_open() does not know.
 */
#ifndef ANNEX_NVME_BLOCKS_H
#define ANNEX_NVME_BLOCKS_H

#include <annex/device.h>
#include "core/blocks.h"

/*
 * annex_nvme_open_blocks() - As annex_dev_open(), with an emulated controller on @blocks, whatever
 * the scheme of @uri is; the parameters may be serve= and fault=. @blocks is copied, and its
 * functions are needed until the device is closed. NULL: the controller is that of @uri.
 */
int annex_nvme_open_blocks(const char *uri, const struct annex_blocks *blocks,
			   const struct annex_dev_opts *opts, struct annex_dev **out);

#endif
