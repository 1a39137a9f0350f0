// SPDX-License-Identifier: GPL-2.0-or-later
#include "ram.h"

int ram_open(const struct board *m, const char *data, uint64_t bytes, struct ram **out)
{
	switch (m->memory) {
	case BOARD_LOCAL:
		return ram_local_open(m, data, bytes, out);
	case BOARD_PORT:
		return ram_port_open(m, data, bytes, out);
	case BOARD_TIER:
		return ram_tier_open(m, data, bytes, out);
	default:
		return ram_paged_open(m, data, bytes, out);
	}
}
