// SPDX-License-Identifier: MIT
/*
 * hdmmigrate CXL-URI NVME-URI: a tensor goes all ways between a small device budget, CXL memory and
 * an NVMe controller, and is compared byte by byte. Prints what of it passed a buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hdmspace.h"
#include "tests/unit/random.h"

#define WAIT_MS 60000u

/* Return: bytes of it that passed a buffer. */
static uint64_t move_to(struct annex_space *s, void *p, uint64_t bytes, unsigned int tier)
{
	uint64_t before = stats_of(s).bounced;
	struct annex_mem_page page;
	struct annex_move *m;
	int err = tier == ANNEX_TIER_GPU ? annex_prefetch(s, p, bytes, 0, &m)
					 : annex_pre_evict(s, p, bytes, tier, &m);

	if (err || annex_move_wait(m, WAIT_MS) || annex_mem_lookup(s, p, &page))
		die("%s", annex_last_error());
	if (page.device != (tier == ANNEX_TIER_GPU) || (!page.device && page.tier != tier))
		die("it is not in tier %u", tier);
	return stats_of(s).bounced - before;
}

static void ways(const char *cxl, const char *nvme)
{
	static const unsigned int tiers[] = {
		ANNEX_TIER_SSD, ANNEX_TIER_CXL, ANNEX_TIER_GPU, ANNEX_TIER_CXL,
		ANNEX_TIER_SSD, ANNEX_TIER_GPU, ANNEX_TIER_SSD, ANNEX_TIER_CXL,
	};
	static const char *const names[] = {"device", "host", "CXL", "NVMe"};
	uint64_t state = random_seed("ways"), bytes = MIB + 4096;
	struct annex_space *s = open_space(cxl, nvme, 4 * MIB, 2 * MIB);
	unsigned int n = sizeof(tiers) / sizeof(*tiers), from = ANNEX_TIER_GPU;
	char *p = alloc(s, bytes), *plain = malloc(bytes);

	for (unsigned int i = 0; i < n; i++) {
		uint64_t bounced;

		random_fill(&state, plain, bytes);
		memcpy(p, plain, bytes);
		/* Now it is in the device tier; it goes back to where it was, then on. */
		if (from != ANNEX_TIER_GPU)
			move_to(s, p, bytes, from);
		bounced = move_to(s, p, bytes, tiers[i]);
		printf("%s to %s: %llu bytes of %llu by a buffer\n", names[from], names[tiers[i]],
		       (unsigned long long)bounced, (unsigned long long)bytes);
		if (from != ANNEX_TIER_GPU && tiers[i] != ANNEX_TIER_GPU && bounced)
			die("between CXL memory and storage nothing else is needed");
		if (memcmp(p, plain, bytes))
			die("the data has changed");
		from = tiers[i];
	}
	close_space(s);
	free(plain);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		die("usage: hdmmigrate CXL-URI NVME-URI");
	ways(argv[1], argv[2]);
	return 0;
}
