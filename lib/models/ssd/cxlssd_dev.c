// SPDX-License-Identifier: MIT
/*
 * A CXL-SSD as an NVMe device: commands become calls of the block interface.
 */
#include <errno.h>
#include <stdio.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "ssd.h"
#include "nvme/blocks.h"

/* Return: the time of a command; NULL if calls take no time. */
static struct annex_cxlssd_time *arrive(const struct annex_cxlssd *s, struct annex_cxlssd_time *t)
{
	if (!s->c.delay)
		return NULL;
	t->now = annex_now() - s->start;
	return t;
}

static int leave(const struct annex_cxlssd *s, const struct annex_cxlssd_time *t, int err,
		 uint64_t *due)
{
	if (t && !err && s->start + t->done > *due)
		*due = s->start + t->done;
	return err;
}

static int read_blocks(void *ctx, uint64_t at, void *buf, uint32_t bytes, uint64_t *due)
{
	struct annex_cxlssd_time time, *t = arrive(ctx, &time);

	return leave(ctx, t, annex_cxlssd_read_blocks(ctx, at, buf, bytes, t), due);
}

static int write_blocks(void *ctx, uint64_t at, const void *buf, uint32_t bytes, uint64_t *due)
{
	struct annex_cxlssd_time time, *t = arrive(ctx, &time);

	return leave(ctx, t, annex_cxlssd_write_blocks(ctx, at, buf, bytes, t), due);
}

static int trim(void *ctx, uint64_t at, uint64_t bytes, uint64_t *due)
{
	struct annex_cxlssd_time time, *t = arrive(ctx, &time);

	return leave(ctx, t, annex_cxlssd_trim(ctx, at, bytes, t), due);
}

static int flush(void *ctx, uint64_t *due)
{
	struct annex_cxlssd_time time, *t = arrive(ctx, &time);

	return leave(ctx, t, annex_cxlssd_fence(ctx, t), due);
}

int annex_cxlssd_open_dev(struct annex_cxlssd *s, const char *params,
			  const struct annex_dev_opts *opts, struct annex_dev **out)
{
	const struct annex_blocks blocks = {annex_cxlssd_bytes(s),
					    annex_cxlssd_page(s),
					    read_blocks,
					    write_blocks,
					    trim,
					    flush,
					    s};
	char uri[ANNEX_URI_MAX];
	int n = snprintf(uri, sizeof(uri), "cxlssd:%s%s", params ? "?" : "", params ? params : "");

	if (n >= (int)sizeof(uri))
		return annex_fail(-E2BIG, "cxlssd: parameters of a device: longer than %d bytes",
				  ANNEX_URI_MAX - 1);
	return annex_nvme_open_blocks(uri, &blocks, opts, out);
}
