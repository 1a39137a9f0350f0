// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <annex/models/cxlssd.h>
#include "tools/common/error.h"
#include "option.h"
#include "ram.h"

#define MEDIA_MAX 200u
#define TEXT_MAX 600u

/* The name becomes part of a URI, in which & ends a value. */
static int check_media(const char *front, const char *value)
{
	char uri[MEDIA_MAX + 64];
	struct annex_cxlssd *s;
	int err;

	if (!strcmp(value, "dram"))
		return 0;
	if (strchr(value, '&') || strlen(value) > MEDIA_MAX)
		return err_set(-EINVAL,
			       "%smedia: the name of a file has at most %u bytes, and no &", front,
			       MEDIA_MAX);
	snprintf(uri, sizeof(uri), "cxlssd:?durable=model&size=1M&media=%s", value);
	err = annex_cxlssd_open(uri, &s);
	if (err)
		return err_lib(err, "%smedia", front);
	annex_cxlssd_close(s);
	return 0;
}

/* The line again, with @front. */
static int put_front(const char *front, int err)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "%s", err_text());
	err_clear();
	return err_set(err, "%s%s", front, text);
}

int option_check(const char *front, const char *name, const char *value)
{
	struct board m;
	int err;

	board_gpu(&m);
	m.log_bytes = 0;
	err = board_set(&m, name, value);
	if (err)
		return err == -ENOENT ? err : put_front(front, err);
	if (!strcmp(name, "media"))
		return check_media(front, value);
	if (m.unit & (m.unit - 1))
		return err_set(-EINVAL, "%s%s %s: give a power of two", front, name, value);
	if (m.dram % RAM_LINE || m.log_bytes % RAM_LINE)
		return err_set(-EINVAL, "%s%s %s: give a multiple of %u bytes", front, name, value,
			       RAM_LINE);
	return 0;
}

int option_board(const char *config, const struct board *m)
{
	const bool port = m->memory == BOARD_PORT;
	const bool flash = port || m->memory == BOARD_GDS || m->memory == BOARD_TIER;

	if (flash && !port && !strcmp(m->media, "dram"))
		return err_set(
			-EINVAL,
			"--media dram: configuration %s has an SSD: leave it out of --config",
			config);
	if (m->log && m->log_bytes + RAM_PAGE > m->dram)
		return err_set(-EINVAL,
			       "--log: %llu bytes and a page of %u do not fit in %llu bytes of "
			       "--ssd-dram",
			       (ull)m->log_bytes, RAM_PAGE, (ull)m->dram);
	if (flash && m->dram < RAM_PAGE)
		return err_set(-EINVAL, "--ssd-dram: %llu bytes have no room for a page of %u",
			       (ull)m->dram, RAM_PAGE);
	return 0;
}
