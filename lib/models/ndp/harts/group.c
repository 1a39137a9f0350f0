// SPDX-License-Identifier: MIT
/*
 * Groups, formed whenever lanes part or meet: often, where data decides which way they go.
 */
#include <string.h>
#include "group.h"

unsigned int RV_HOT(rv_first)(const struct rv_batch *b, const uint64_t *key)
{
	uint64_t least = UINT64_MAX, where = 0;

	for (unsigned int i = 0; i < RV_LANES; i++) {
		uint64_t k = key[i] | ~rv_in(b->alive, i);

		least = k < least ? k : least;
	}
	for (unsigned int i = 0; i < RV_LANES; i++)
		where |= key[i] == least ? rv_bit[i] : 0;
	return (unsigned int)__builtin_ctzll(where & b->alive);
}

void RV_HOT(rv_choose)(struct rv_batch *b, unsigned int first)
{
	uint64_t at = b->pc[first], vl = b->lane_vl[first], vtype = b->lane_vtype[first];
	uint64_t vstart = b->lane_vstart[first], limit = UINT64_MAX, group = 0;

	b->clock++;
	for (unsigned int i = 0; i < RV_LANES; i++) {
		uint64_t other = (b->pc[i] ^ at) | (b->lane_vl[i] ^ vl) |
				 (b->lane_vtype[i] ^ vtype) | (b->lane_vstart[i] ^ vstart);
		uint64_t same = other ? 0 : rv_in(b->alive, i);
		uint64_t wait = b->pc[i] > at ? b->pc[i] | ~rv_in(b->alive, i) : UINT64_MAX;

		limit = wait < limit ? wait : limit;
		group |= same & rv_bit[i];
		b->member[i] = same;
		b->ran[i] = rv_blend(same, b->clock, b->ran[i]);
	}
	b->at = at;
	b->vl = vl;
	b->vtype = vtype;
	b->vstart = vstart;
	b->group = group;
	b->limit = limit;
	b->dense = group == b->alive && __builtin_popcountll(group) >= RV_MANY;
	b->pause = b->left = false;
}

void RV_HOT(rv_settle)(struct rv_batch *b, uint64_t lanes, uint64_t pc, bool shapes)
{
	uint64_t vstart = b->vstart, vl = b->vl, vtype = b->vtype;

	for (unsigned int i = 0; i < RV_LANES; i++) {
		uint64_t in = rv_in(lanes, i);

		b->pc[i] = rv_blend(in, pc, b->pc[i]);
		b->lane_vstart[i] = rv_blend(in, vstart, b->lane_vstart[i]);
	}
	if (!shapes)
		return;
	for (unsigned int i = 0; i < RV_LANES; i++) {
		uint64_t in = rv_in(lanes, i);

		b->lane_vl[i] = rv_blend(in, vl, b->lane_vl[i]);
		b->lane_vtype[i] = rv_blend(in, vtype, b->lane_vtype[i]);
	}
}
