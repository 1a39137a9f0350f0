// SPDX-License-Identifier: MIT
/*
 * Any text as a file of flash times: accepted times are possible, and parse to the same values when
 * printed again; refusals have a reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include "models/ssd/media.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void check_accepted(const struct ssd_media *m)
{
	struct ssd_media again = {0};
	char text[256];
	int n = snprintf(
		text, sizeof(text),
		"erase_ns=%llu # a block\n\nrate = %llu\r\n\tprogram_ns =%llu\nread_ns=%llu",
		(unsigned long long)m->erase, (unsigned long long)m->rate,
		(unsigned long long)m->program, (unsigned long long)m->read);

	require(m->read && m->program && m->rate);
	require(!ssd_media_parse("again", text, (size_t)n, &again));
	require(!memcmp(m, &again, sizeof(again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ssd_media media = {0};
	char *text = malloc(size ? size : 1);

	if (!text)
		return 0;
	/* Exactly as large as the text, so that a read behind its end is seen. */
	if (size)
		memcpy(text, data, size);
	if (!ssd_media_parse("media", text, size, &media))
		check_accepted(&media);
	else
		require(*annex_last_error());
	free(text);
	return 0;
}
