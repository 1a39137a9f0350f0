// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../error.h"
#include "../uri.h"
#include "selftest.h"

void fill(uint64_t *seed, void *to, size_t bytes)
{
	unsigned char *p = to;

	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t v = annex_random(seed);

		memcpy(p + i, &v, bytes - i < 8 ? bytes - i : 8);
	}
}

int storage_uri(const struct selftest *s, struct tally *t, uint64_t *seed, const char *query,
		char uri[ANNEX_URI_MAX])
{
	const char *more = *query ? "&" : "";
	unsigned int block = pick(seed, 2) ? 4096 : 512;
	bool memory = pick(seed, 2);
	char all[256];

	if (s->overwrite) {
		snprintf(uri, ANNEX_URI_MAX, "%s", s->overwrite);
		return 0;
	}
	if (memory) {
		snprintf(uri, ANNEX_URI_MAX, "mem:%llu?block=%u%s%s", SELFTEST_FILE, block, more,
			 query);
		return 0;
	}
	snprintf(all, sizeof(all), "size=%llu&direct=%d&block=%u%s%s", SELFTEST_FILE, s->direct,
		 s->direct ? 4096 : block, more, query);
	if (path_uri(uri, "file", s->storage, all))
		return tally_wrong(t, "%s: the path is too long", s->storage);
	return 0;
}

/* All of the area to the device, or from it to be compared. */
static int pass(struct area *a, uint8_t opcode)
{
	uint64_t step = annex_dev_max_transfer(a->dev);
	int err = 0;

	step = step < AREA_BUF ? step : AREA_BUF;
	for (uint64_t at = 0; at < a->bytes && !err; at += step) {
		uint64_t n = a->bytes - at < step ? a->bytes - at : step;
		struct annex_io io = {.opcode = opcode,
				      .nsid = 1,
				      .slba = (a->first + at) / a->ns.block,
				      .nlb = (uint32_t)(n / a->ns.block),
				      .bytes = (uint32_t)n,
				      .addr = a->addr};

		if (opcode == ANNEX_NVM_WRITE)
			memcpy(a->buf, a->shadow + at, n);
		else
			memset(a->buf, 0x5a, n);
		err = tally_call(a->t, annex_dev_io(a->dev, &io, 1, NULL), "a command");
		a->t->operations++;
		if (!err && opcode == ANNEX_NVM_READ)
			err = tally_same(a->t, annex_dev_uri(a->dev), a->first + at, a->buf,
					 a->shadow + at, n);
	}
	return err;
}

static int begin(struct area *a, const char *uri)
{
	const struct annex_dev_opts opts = {.queues = 2, .depth = 64, .timeout_ms = a->timeout_ms};
	int err = tally_call(a->t, annex_dev_open(uri, &opts, &a->dev), uri);

	if (!err)
		err = tally_call(a->t, annex_dev_map(a->dev, a->buf, AREA_BUF, &a->addr),
				 "annex_dev_map()");
	return err;
}

int area_open(struct area *a, const char *uri, uint64_t *seed, bool anywhere)
{
	const struct annex_provider *pages = annex_provider_pages();
	struct tally *t = a->t;
	uint64_t all;
	int err;

	a->bytes = SELFTEST_AREA;
	a->buf = pages->alloc(pages->ctx, AREA_BUF, 4096);
	a->shadow = malloc(SELFTEST_AREA);
	if (!a->buf || !a->shadow)
		return tally_memory(t);
	err = begin(a, uri);
	if (!err)
		err = tally_call(t, annex_dev_ns(a->dev, 1, &a->ns), "namespace 1");
	if (err)
		return err;
	all = a->ns.blocks * a->ns.block & ~4095ull;
	a->bytes = all < a->bytes ? all : a->bytes;
	if (a->bytes < 1u << 20)
		return tally_wrong(t, "%s: give a device of a megabyte at least", uri);
	if (anywhere)
		a->first = pick(seed, (all - a->bytes) / 4096 + 1) * 4096;
	/* A store of another process may lie there. */
	err = tally_call(t,
			 annex_dev_claim(a->dev, 1, a->first / a->ns.block, a->bytes / a->ns.block),
			 "annex_dev_claim()");
	fill(seed, a->shadow, a->bytes);
	return err ? err : pass(a, ANNEX_NVM_WRITE);
}

int area_check(struct area *a)
{
	return pass(a, ANNEX_NVM_READ);
}

int area_reopen(struct area *a)
{
	char uri[ANNEX_URI_MAX];
	int err;

	snprintf(uri, sizeof(uri), "%s", annex_dev_uri(a->dev));
	if (annex_dev_traits(uri) & ANNEX_TRAIT_VOLATILE)
		return 0;
	err = annex_dev_close(a->dev);
	a->dev = NULL;
	if (!err)
		return begin(a, uri);
	a->buf = NULL; /* the device may still write it */
	return err_lib(err, "cannot open %s again", uri);
}

void area_close(struct area *a)
{
	const struct annex_provider *pages = annex_provider_pages();

	if (!annex_dev_close(a->dev) && a->buf)
		pages->free(pages->ctx, a->buf, AREA_BUF);
	free(a->shadow);
}

int area_inject(struct area *a, const struct annex_fault *fault)
{
	int err = annex_dev_inject(a->dev, fault);

	if (err == -ENOTSUP)
		return AREA_NO_FAULTS;
	a->t->faults += !err;
	return tally_call(a->t, err, "annex_dev_inject()");
}
