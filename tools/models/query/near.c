// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <annex/models/ndp.h>
#include "tools/common/error.h"
#include "tools/common/uri.h"
#include "near.h"

static const char *near_at(unsigned int i, char *summary)
{
	if (i)
		return uri_scheme(annex_m2_scheme_at(i - 1), summary);
	strcpy(summary, "a new device in this process");
	return NEAR_LOCAL;
}

const struct cli_list near_list = {.arg = "DEVICE", .at = near_at};

static int open_device(struct near *n, const char *device, uint32_t threads)
{
	const struct annex_ndp_opts opts = {.threads = threads};
	int err;

	if (strcmp(device, NEAR_LOCAL) != 0) {
		err = annex_m2_open(device, NULL, &n->m2);
		return err ? err_lib(err, "cannot use device %s", device) : 0;
	}
	err = annex_ndp_create(&opts, &n->ndp);
	if (err) {
		n->ndp = NULL;
		return err_lib(err, "cannot make a device of %u threads", threads);
	}
	err = annex_m2_open_local(n->ndp, NULL, &n->m2);
	return err ? err_lib(err, "cannot use the device in this process") : 0;
}

int near_open(struct near *n, const char *device, uint32_t threads, struct store *s)
{
	int err;

	memset(n, 0, sizeof(*n));
	err = open_device(n, device, threads);
	if (err) {
		n->m2 = NULL;
		return err;
	}
	annex_m2_get_info(n->m2, &n->info);
	err = annex_m2_map(n->m2, s->hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE);
	if (err)
		return err_lib(err, "device %s cannot reach %s", device, s->uri);
	err = annex_kernels_open(n->m2, s->hdm, &n->kernels);
	if (err)
		n->kernels = NULL;
	return err ? err_lib(err, "cannot use the kernels of device %s", device) : 0;
}

void near_close(struct near *n)
{
	annex_kernels_close(n->kernels);
	annex_m2_close(n->m2);
	if (n->ndp)
		annex_ndp_destroy(n->ndp);
}

/* A device that is not coherent with the host's caches reads stale memory without a flush. */
static int flush(struct near *n, const void *data, uint64_t bytes)
{
	int err = n->info.coherent ? 0 : annex_m2_flush(data, bytes);

	return err ? err_lib(err, "the device is not coherent with this processor's caches") : 0;
}

int near_cond(struct near *n, const struct cond *c, const void *column, uint64_t rows,
	      uint8_t *bits)
{
	const struct tpch_column *of = &c->table->column[c->column];
	int err = flush(n, column, rows * of->width);

	if (err)
		return err;
	switch (of->type) {
	case VALUE_I32:
		err = annex_ndp_filter_i32(n->kernels, column, rows, (int32_t)c->lo, (int32_t)c->hi,
					   bits);
		break;
	case VALUE_DATE:
		err = annex_ndp_filter_date(n->kernels, column, rows, (int32_t)c->lo,
					    (int32_t)c->hi + 1, bits);
		break;
	case VALUE_DECIMAL:
		err = annex_ndp_filter_decimal(n->kernels, column, rows, c->lo, c->hi, bits);
		break;
	case VALUE_CHARS:
		err = annex_ndp_filter_prefix(n->kernels, column, of->width, rows, c->prefix,
					      strlen(c->prefix), bits);
		break;
	}
	return err ? err_lib(err, "the device cannot filter %s", of->name) : 0;
}

int near_and(struct near *n, const uint8_t *a, const uint8_t *b, uint8_t *c, uint64_t rows)
{
	int err = annex_ndp_bitmap_and(n->kernels, a, b, c, rows);

	return err ? err_lib(err, "the device cannot combine bitmaps") : 0;
}
