// SPDX-License-Identifier: MIT
#include <stddef.h>
#include <annex/warp.h>

static _Thread_local const struct annex_host_warp *played;

const struct annex_host_warp *annex_host_warp(void)
{
	return played;
}

void annex_host_warp_set(const struct annex_host_warp *warp)
{
	played = warp;
}
