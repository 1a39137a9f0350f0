// SPDX-License-Identifier: GPL-2.0-or-later
#include "health.h"

#define LIFE_NOT_TOLD 0xff
#define DEGREES_NOT_TOLD 0x7fff

static void add(struct health *h, const char *word)
{
	h->word[h->n++] = word;
}

static void of_status(struct health *h, unsigned int status)
{
	static const char *const words[] = {"maintenance needed", "performance degraded",
					    "hardware replacement needed",
					    "memory capacity degraded"};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (status & 1u << i)
			add(h, words[i]);
}

static void of_media(struct health *h, unsigned int state)
{
	static const char *const words[] = {
		"media not ready",
		"writes do not persist",
		"all data lost",
		"a power loss will lose writes",
		"a shutdown will lose writes",
		"writes are about to be lost",
		"a power loss will lose all data",
		"a shutdown will lose all data",
		"all data are about to be lost",
	};

	if (state > sizeof(words) / sizeof(*words))
		add(h, "unknown state of the media");
	else if (state)
		add(h, words[state - 1]);
}

/* 0: normal, 1: warning, 2: critical. */
static void of_level(struct health *h, unsigned int level, const char *high, const char *critical)
{
	if (level)
		add(h, level == 1 ? high : critical);
}

static uint32_t number(const uint8_t *p, unsigned int bytes)
{
	uint32_t n = 0;

	while (bytes--)
		n = n << 8 | p[bytes];
	return n;
}

void health_parse(const uint8_t answer[HEALTH_BYTES], struct health *h)
{
	unsigned int more = answer[2], degrees = number(answer + 4, 2);

	*h = (struct health){.known = true, .life = -1, .degrees = HEALTH_NO_DEGREES};
	of_status(h, answer[0]);
	of_media(h, answer[1]);
	of_level(h, more & 3, "little life left", "no life left");
	of_level(h, more >> 2 & 3, "hot or cold", "too hot or too cold");
	if (more & 1u << 4)
		add(h, "many corrected errors of volatile memory");
	if (more & 1u << 5)
		add(h, "many corrected errors of persistent memory");
	if (answer[3] != LIFE_NOT_TOLD)
		h->life = answer[3];
	if (degrees != DEGREES_NOT_TOLD)
		h->degrees = (int16_t)degrees;
	h->dirty_shutdowns = number(answer + 6, 4);
	h->corrected_volatile = number(answer + 10, 4);
	h->corrected_persistent = number(answer + 14, 4);
}
