// SPDX-License-Identifier: MIT
/*
 * Power cuts.
 */
#include <errno.h>
#include "core/log.h"
#include "ssd.h"

size_t annex_cxlssd_unfenced(struct annex_cxlssd *s, uint64_t *lines, size_t n)
{
	const struct ssd_cache *c = &s->cache;
	const uint32_t unit_lines = c->unit / SSD_LINE;
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < c->n_loose; i++) {
		const uint32_t frame = c->loose[i];

		for (uint64_t bits = c->frames[frame].loose; bits; bits &= bits - 1, count++)
			if (count < n)
				lines[count] = (uint64_t)ssd_cache_unit(c, frame) * unit_lines +
					       (uint64_t)__builtin_ctzll(bits);
	}
	for (uint32_t i = s->log.firm; i < s->log.n; i++) {
		if (s->log.lines[i] == SSD_NO_LINE)
			continue;
		if (count < n)
			lines[count] = s->log.lines[i];
		count++;
	}
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Add an unfenced line to the journal; fenced lines are there already. */
static int add_cut(struct annex_cxlssd *s, uint64_t line)
{
	const struct ssd_cache *c = &s->cache;
	const uint32_t unit_lines = c->unit / SSD_LINE, i = (uint32_t)(line % unit_lines);
	uint32_t at;

	if (line >= s->bytes / SSD_LINE)
		return annex_fail(-EINVAL, "cxlssd: no line %llu", (ull)line);
	at = s->log.room ? ssd_log_find(&s->log, line) : SSD_NO_ENTRY;
	if (at != SSD_NO_ENTRY)
		return at < s->log.firm ? 0 : ssd_add_line(s, line, ssd_log_data(&s->log, at));
	at = ssd_cache_find(c, (uint32_t)(line / unit_lines));
	if (at == SSD_NO_FRAME || !(c->frames[at].loose >> i & 1))
		return 0;
	return ssd_add_line(s, line, ssd_cache_data(c, at) + i * SSD_LINE);
}

int annex_cxlssd_cut(struct annex_cxlssd *s, const uint64_t *lines, size_t n)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; s->journal && !err && i < n; i++)
		err = add_cut(s, lines[i]);
	if (!err && s->journal && n)
		err = ssd_journal_append(s->journal, ssd_flash_turn(s->flash), true);
	pthread_mutex_unlock(&s->lock);
	ssd_close(s);
	return err;
}
