// SPDX-License-Identifier: MIT
/*
 * cxlssd: a CXL-SSD of this process (annex/models/cxlssd.h) in a window of host memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/log.h"
#include "hdm/hdm.h"
#include "ssd.h"
#include "window.h"

#define WINDOW_MIN (1ull << 20)

struct cxlssd {
	struct annex_medium m;
	struct annex_cxlssd *s;
	struct window *w;
	pid_t owner;
};

static int persist(struct annex_medium *m, void *ptr, size_t len)
{
	struct cxlssd *c = (struct cxlssd *)m;

	return window_persist(c->w, (uint64_t)((char *)ptr - m->base), len);
}

static int hold(struct annex_medium *m, void *ptr, size_t len)
{
	return window_hold(((struct cxlssd *)m)->w, (uint64_t)((char *)ptr - m->base), len);
}

static void let(struct annex_medium *m, void *ptr, size_t len)
{
	window_let(((struct cxlssd *)m)->w, (uint64_t)((char *)ptr - m->base), len);
}

static void close_cxlssd(struct annex_medium *m)
{
	struct cxlssd *c = (struct cxlssd *)m;
	const bool child = c->owner != getpid();
	int err = c->w ? window_close(c->w) : 0;
	int flushed = annex_cxlssd_close(c->s);

	if (err || flushed)
		annex_log(ANNEX_LOG_ERROR,
			  "cxlssd: some stores are lost; persisted stores are safe: %s",
			  annex_last_error());
	/* A child does not inherit the mapping; its addresses may have another one. */
	if (m->base && !child)
		munmap(m->base, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	free(c);
}

static const struct annex_medium_ops ops = {.flush = "the endpoint's fence",
					    .persist = persist,
					    .hold = hold,
					    .let = let,
					    .close = close_cxlssd};

static int map(struct cxlssd *c)
{
	struct annex_medium *m = &c->m;

	m->bytes = annex_cxlssd_bytes(c->s) / HDM_PAGE * HDM_PAGE;
	m->fd = memfd_create("annex-cxlssd", MFD_CLOEXEC);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)m->bytes))
		return annex_fail(-errno, "cxlssd: %m");
	m->base = annex_medium_map(m->fd, m->bytes, 0, MAP_SHARED | MAP_NORESERVE);
	if (!m->base)
		return annex_fail(-errno, "cxlssd: no %llu bytes of addresses: %m", (ull)m->bytes);
	return 0;
}

static int open_cxlssd(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	struct cxlssd *c = calloc(1, sizeof(*c));
	uint64_t window = UINT64_MAX;
	int err;

	(void)timeout_ms;
	if (!c)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	c->m = (struct annex_medium){.ops = &ops, .fd = -1, .node = -1};
	c->owner = getpid();
	c->m.persistent = *uri->body;
	c->m.scratch = !c->m.persistent;
	err = annex_uri_u64(uri, "window", WINDOW_MIN, INT64_MAX / 2, &window);
	if (!err)
		err = ssd_open(uri, true, &c->s);
	if (!err)
		err = map(c);
	if (!err)
		err = window_open(c->s, c->m.fd, c->m.base, c->m.bytes, window, &c->w);
	if (err) {
		close_cxlssd(&c->m);
		return err;
	}
	*out = &c->m;
	return 0;
}

static struct hdm_scheme kind = {
	.scheme = {"cxlssd", "a CXL-SSD in a file, as cxlssd:/path?size=1G", ANNEX_TRAIT_PATH},
	.open = open_cxlssd,
};

static __attribute__((constructor)) void add_kind(void)
{
	annex_hdm_scheme_add(&kind);
}
