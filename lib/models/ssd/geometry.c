// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "ftl.h"

static int check_counts(const struct ssd_geometry *g)
{
	const struct {
		const char *name;
		uint32_t n, most;
	} counts[] = {
		{"channels", g->channels, 1024},
		{"dies of a channel", g->dies, 1024},
		{"planes of a die", g->planes, 64},
		{"blocks of a plane", g->blocks, 1u << 20},
		{"pages of a block", g->pages, 1u << 16},
	};
	uint64_t pages = 1;

	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (!counts[i].n || counts[i].n > counts[i].most)
			return annex_fail(-EINVAL, "flash: %u %s: 1 to %u", counts[i].n,
					  counts[i].name, counts[i].most);
		pages *= counts[i].n;
		if (pages > SSD_PAGES_MAX)
			return annex_fail(-ERANGE, "flash: more than %llu pages",
					  (ull)SSD_PAGES_MAX);
	}
	return 0;
}

int ssd_geometry_check(const struct ssd_geometry *g, uint64_t bytes)
{
	uint64_t room;
	int err = check_counts(g);

	if (err)
		return err;
	if (g->page < 512 || g->page > 65536 || g->page & (g->page - 1))
		return annex_fail(-EINVAL,
				  "flash: pages of %u bytes: a power of two from 512 to 65536",
				  g->page);
	if (!bytes || bytes % g->page)
		return annex_fail(-EINVAL, "flash: %llu bytes are no whole pages of %u", (ull)bytes,
				  g->page);
	/* Each plane needs FLASH_FREE blocks, and one more that always has a stale page. */
	if (g->blocks < FLASH_FREE + 2)
		return annex_fail(-ENOSPC, "flash: %u blocks a plane: at least %u", g->blocks,
				  FLASH_FREE + 2);
	room = (uint64_t)ssd_planes(g) * (g->blocks - FLASH_FREE - 1) * g->pages * g->page;
	if (bytes > room)
		return annex_fail(
			-ENOSPC,
			"flash: %llu bytes do not leave %u blocks of each plane to spare: at "
			"most %llu",
			(ull)bytes, FLASH_FREE + 1, (ull)room);
	return 0;
}
