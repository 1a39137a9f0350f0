// SPDX-License-Identifier: MIT
/*
 * A range as a provider.
 */
#include <string.h>
#include "core/log.h"
#include "hdm.h"

int hdm_hold(struct annex_hdm *h, void *ptr, size_t bytes)
{
	return h->m->ops->hold ? h->m->ops->hold(h->m, ptr, bytes) : 0;
}

void hdm_let(struct annex_hdm *h, void *ptr, size_t bytes)
{
	if (h->m->ops->let)
		h->m->ops->let(h->m, ptr, bytes);
}

static void *range_alloc(void *ctx, size_t size, size_t align)
{
	struct annex_hdm *h = ctx;
	void *ptr;

	if (annex_hdm_alloc(h, size, align, NULL, &ptr))
		return NULL;
	if (hdm_hold(h, ptr, size)) {
		KEEP_LAST_ERROR(true);

		annex_hdm_free(h, ptr);
		return NULL;
	}
	return memset(ptr, 0, size);
}

static void range_free(void *ctx, void *ptr, size_t size)
{
	KEEP_LAST_ERROR(true);
	struct annex_hdm *h = ctx;

	hdm_let(h, ptr, size);
	/* Of a range that is lost nothing needs to be freed, and every call on it says so. */
	if (annex_hdm_free(h, ptr) && !annex_hdm_check(h))
		annex_log(ANNEX_LOG_WARNING, "%s: a piece could not be freed", h->uri);
}

static int range_dmabuf(void *ctx, void *ptr, uint64_t *offset)
{
	struct annex_hdm *h = ctx;

	return h->m->ops->dmabuf(h->m, (uint64_t)((char *)ptr - h->m->base), offset);
}

void hdm_provider_init(struct annex_hdm *h)
{
	h->provider = (struct annex_provider){
		.name = h->m->scheme,
		.alloc = range_alloc,
		.free = range_free,
		.dmabuf = h->m->ops->dmabuf ? range_dmabuf : NULL,
		.ctx = h,
	};
}

const struct annex_provider *annex_hdm_provider(struct annex_hdm *h)
{
	return &h->provider;
}
