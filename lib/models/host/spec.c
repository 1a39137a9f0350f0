// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "spec.h"

bool spec_init(struct spec *s, enum annex_cxlport_reads reads, uint32_t queue)
{
	s->reads = reads;
	s->units = 1;
	s->room = 2 * queue;
	s->requests = calloc(s->room, sizeof(*s->requests));
	return s->requests;
}

void spec_free(struct spec *s)
{
	free(s->requests);
}

/* Loads of this one's bytes, in units of MemSpecRd, have had a speculative read. */
static bool is_issued(const struct spec *s, uint64_t unit)
{
	for (uint64_t i = 0; i < s->n && i < SPEC_RING; i++)
		if (s->issued[i] == unit)
			return true;
	return false;
}

/*
 * The window of a load begins as [@line - g, @line + g], g the bytes of a speculative read.
 * Each request in the memory queue that lies in it moves its start up by a line, each that waits in
 * the SR queue its end down. It is rounded to units, and has the load's in any case.
 */
static void narrow(const struct spec *s, uint64_t line, uint64_t now, uint64_t *at, uint64_t *end)
{
	const uint64_t g = (uint64_t)s->units * SPEC_UNIT;
	const uint64_t from = line > g ? line - g : 0, to = line + g;
	uint64_t start = from, stop = to;

	for (uint64_t i = 0; i < s->n_requests && i < s->room; i++) {
		const struct spec_request *r = &s->requests[i];

		if (r->done <= now || r->at < from || r->at > to)
			continue;
		if (r->taken <= now)
			start += ANNEX_CXLSSD_LINE;
		else
			stop -= ANNEX_CXLSSD_LINE;
	}
	start = start < line ? start : line;
	stop = stop > line ? stop : line + 1;
	*at = (start + SPEC_UNIT / 2) / SPEC_UNIT * SPEC_UNIT;
	*end = (stop + SPEC_UNIT / 2) / SPEC_UNIT * SPEC_UNIT;
	if (*at > line)
		*at = line / SPEC_UNIT * SPEC_UNIT;
	if (*end <= line)
		*end = (line / SPEC_UNIT + 1) * SPEC_UNIT;
}

bool spec_plan(struct spec *s, uint64_t line, uint64_t bytes, uint64_t now, uint64_t *at,
	       uint64_t *end)
{
	const uint64_t unit = s->reads == ANNEX_CXLPORT_NAIVE ? line : line / SPEC_UNIT;

	if (s->reads == ANNEX_CXLPORT_PLAIN || is_issued(s, unit))
		return false;
	if (s->reads != ANNEX_CXLPORT_NAIVE && s->halted)
		return false;
	switch (s->reads) {
	case ANNEX_CXLPORT_DYNAMIC:
		*at = line / SPEC_UNIT * SPEC_UNIT;
		*end = *at + (uint64_t)s->units * SPEC_UNIT;
		break;
	case ANNEX_CXLPORT_WINDOW:
		narrow(s, line, now, at, end);
		break;
	default:
		*at = line;
		*end = line + ANNEX_CXLSSD_LINE;
	}
	*end = *end < bytes ? *end : bytes;
	s->issued[s->n++ % SPEC_RING] = unit;
	return true;
}

void spec_note(struct spec *s, uint64_t at, uint64_t taken, uint64_t done)
{
	s->requests[s->n_requests++ % s->room] = (struct spec_request){at, taken, done};
}

void spec_note_load(struct spec *s, enum annex_cxlssd_load load)
{
	switch (load) {
	case ANNEX_CXLSSD_LIGHT:
		s->halted = false;
		s->units += s->units < SPEC_MOST;
		break;
	case ANNEX_CXLSSD_MODERATE:
		s->units -= s->units > 1;
		break;
	case ANNEX_CXLSSD_SEVERE:
		s->halts += !s->halted;
		s->halted = true;
		break;
	default:
		break;
	}
}
