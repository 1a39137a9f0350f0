// SPDX-License-Identifier: MIT
/*
 * Memory that a process has mapped, as it says itself: a guest's, whose driver cannot be asked.
 */
#include <errno.h>
#include "core/log.h"
#include "front.h"

int ndp_front_attach(struct ndp_front *f, uint32_t function, const struct annex_m2_attach *asked)
{
	uint64_t va = asked->va & ~(uint64_t)(ANNEX_M2_PAGE - 1);
	unsigned int prot = (unsigned int)(asked->va - va);

	if (function == ANNEX_M2_DETACH)
		return prot || asked->offset
			       ? annex_fail(-EINVAL, "NDP: process %u detaches no such thing",
					    ndp_client_asid(f->client))
			       : ndp_client_unmap(f->client, va, asked->bytes);
	if (!prot || prot & ~3u || asked->offset % ANNEX_M2_PAGE ||
	    asked->offset > f->opts.memory_bytes || !asked->bytes ||
	    asked->bytes > f->opts.memory_bytes - asked->offset)
		return annex_fail(-EINVAL, "NDP: process %u: %llu bytes at %llu are not served",
				  ndp_client_asid(f->client), (ull)asked->bytes,
				  (ull)asked->offset);
	return ndp_client_map(f->client, va, f->opts.memory + asked->offset, asked->bytes, prot);
}
