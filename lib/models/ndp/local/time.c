// SPDX-License-Identifier: MIT
/*
 * Kernels from ELF files on the timed device: memory that was mapped, and the kernel's image beside
 * its scratchpad, where nothing is mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp_time.h>
#include "core/array.h"
#include "core/log.h"
#include "models/ndp/device/time.h"
#include "ndp/client/load.h"

#define IMAGE 0x20000000ull
#define MAPPED (1ull << 32) /* and above */
#define ALIGN 64u
#define LINE 128u
#define BUDGET (1ull << 32)

_Static_assert(ANNEX_NDP_VLSU == (int)RV_VLSU && ANNEX_NDP_PARTS == RV_VLSU + 1,
	       "parts of the model equal parts of the harts");

struct annex_ndp_time {
	struct annex_ndp_time_opts opts;
	struct ndp_time *device;
	struct rv_span *map;
	unsigned int n;
	char image[ANNEX_M2_IMAGE_MAX] __attribute__((aligned(ALIGN)));
	uint32_t image_bytes;
};

/* An option, and where it belongs: the default is the device's own. */
struct option {
	const char *name;
	size_t opt, param;
	uint32_t min, max;
};

#define OPTION(name, param, min, max)                                                              \
	{                                                                                          \
#name, offsetof(struct annex_ndp_time_opts, name),                                 \
			offsetof(struct ndp_time_params, param), min, max                          \
	}
static const struct option options[] = {
	OPTION(units, units, 1, 256),
	OPTION(subcores, subcores, 1, 16),
	OPTION(slots, slots, 1, 64),
	OPTION(mhz, mhz, 100, 10000),
	OPTION(register_file, register_file, 1, 1u << 20),
	OPTION(l1_bytes, l1_bytes, 128, 1u << 20),
	OPTION(l1_ways, l1_ways, 1, 64),
	OPTION(l1_cycles, l1_cycles, 1, 1000),
	OPTION(tlb_entries, tlb_entries, 8, 65536),
	OPTION(l2_bytes, l2_bytes, 128, 8u << 20),
	OPTION(l2_ways, l2_ways, 1, 64),
	OPTION(l2_cycles, l2_cycles, 1, 1000),
	OPTION(channels, channels, 1, 128),
	OPTION(dram_mhz, dram_mhz, 100, 10000),
	OPTION(link_ns, cxl_ns, 1, 1000000),
};

static int set_params(struct annex_ndp_time_opts *opts, struct ndp_time_params *params)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct option *o = &options[i];
		uint32_t *opt = (uint32_t *)(void *)((char *)opts + o->opt);
		uint32_t *param = (uint32_t *)(void *)((char *)params + o->param);

		if (!*opt)
			*opt = *param;
		if (*opt < o->min || *opt > o->max)
			return annex_fail(-EINVAL, "timed device: %s %u: from %u to %u", o->name,
					  *opt, o->min, o->max);
		*param = *opt;
	}
	return 0;
}

static int set_opts(struct annex_ndp_time_opts *opts, struct ndp_time_params *params)
{
	int err = set_params(opts, params);

	opts->vlen = opts->vlen ? opts->vlen : 256;
	opts->piece = opts->piece ? opts->piece : 32;
	opts->budget = opts->budget ? opts->budget : BUDGET;
	if (err)
		return err;
	if (opts->vlen < 128 || opts->vlen > 1024 || opts->vlen & (opts->vlen - 1))
		return annex_fail(-EINVAL, "timed device: vlen %u: 128, 256, 512 or 1024",
				  opts->vlen);
	if (opts->piece != 32 && opts->piece != 64)
		return annex_fail(-EINVAL, "timed device: piece %u: 32 or 64", opts->piece);
	if (opts->l2_bytes / LINE < opts->l2_ways || opts->l1_bytes / LINE < opts->l1_ways)
		return annex_fail(-EINVAL, "timed device: a cache of fewer lines than ways");
	if (opts->channels & (opts->channels - 1))
		return annex_fail(-EINVAL, "timed device: channels %u: a power of two",
				  opts->channels);
	return 0;
}

int annex_ndp_time_open(const struct annex_ndp_time_opts *opts, struct annex_ndp_time **out)
{
	struct ndp_time_params params = ndp_time_table_iv;
	struct annex_ndp_time *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return annex_fail(-ENOMEM, "timed device: out of memory");
	if (opts)
		t->opts = *opts;
	err = set_opts(&t->opts, &params);
	if (!err)
		err = ndp_time_open(&params, &t->device);
	if (err) {
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

void annex_ndp_time_close(struct annex_ndp_time *t)
{
	if (!t)
		return;
	ndp_time_close(t->device);
	free(t->map);
	free(t);
}

void annex_ndp_time_get_opts(const struct annex_ndp_time *t, struct annex_ndp_time_opts *opts)
{
	*opts = t->opts;
}

int annex_ndp_time_map(struct annex_ndp_time *t, uint64_t va, void *memory, uint64_t bytes)
{
	if (!bytes || va + bytes < va || (va - (uintptr_t)memory) % ALIGN)
		return annex_fail(-EINVAL, "timed device: %llu bytes at %#llx cannot be mapped",
				  (ull)bytes, (ull)va);
	if (va < MAPPED)
		return annex_fail(-EEXIST, "timed device: %#llx is the device's own", (ull)va);
	for (unsigned int i = 0; i < t->n; i++)
		if (va < t->map[i].va + t->map[i].bytes && t->map[i].va < va + bytes)
			return annex_fail(-EEXIST, "timed device: %#llx is mapped", (ull)va);
	if (!array_resize(&t->map, (t->n + 1) * sizeof(*t->map)))
		return annex_fail(-ENOMEM, "timed device: out of memory");
	t->map[t->n++] = (struct rv_span){va, bytes, memory, RV_READ | RV_WRITE};
	return 0;
}

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	struct annex_ndp_time *t = ctx;

	if (va - IMAGE < t->image_bytes) {
		*span = (struct rv_span){IMAGE, t->image_bytes, t->image, RV_READ | RV_WRITE};
		return 0;
	}
	for (unsigned int i = 0; i < t->n; i++)
		if (va - t->map[i].va < t->map[i].bytes) {
			*span = t->map[i];
			return 0;
		}
	return -EFAULT;
}

static int check_launch(struct annex_ndp_time *t, const struct annex_m2_needs *needs,
			const struct annex_ndp_time_launch *l)
{
	struct rv_span span;

	if (l->nargs != needs->args)
		return annex_fail(-EINVAL,
				  "timed device: %zu bytes of arguments, the kernel has %u",
				  l->nargs, needs->args);
	if (!l->pool_bytes)
		return annex_fail(-EINVAL, "timed device: the pool region is empty");
	if (find(t, l->pool, &span) || l->pool_bytes > span.bytes - (l->pool - span.va))
		return annex_fail(-EFAULT, "timed device: the pool region is not mapped");
	return 0;
}

static void fill_result(const struct ndp_time_result *r, struct annex_ndp_time_result *out)
{
	*out = (struct annex_ndp_time_result){
		.cycles = r->cycles,
		.ns = r->total_ns - r->link_ns,
		.link_ns = r->link_ns,
		.threads = r->threads,
		.slots = r->slots,
		.l1_hits = r->l1_hits,
		.l1_misses = r->l1_misses,
		.l2_hits = r->l2_hits,
		.l2_misses = r->l2_misses,
		.tlb_misses = r->walks,
		.dram_read = r->read,
		.dram_written = r->written,
		.row_hits = r->row_hits,
		.row_misses = r->row_misses,
		.pc = r->pc ? r->pc - IMAGE : 0,
		.addr = r->addr,
	};
	memcpy(out->issued, r->issued, sizeof(out->issued));
	memcpy(out->busy, r->busy, sizeof(out->busy));
	for (unsigned int i = 0; i < ANNEX_NDP_PARTS; i++)
		out->instructions += r->issued[i];
}

int annex_ndp_time_run(struct annex_ndp_time *t, const void *elf, size_t bytes,
		       const struct annex_ndp_time_launch *l, struct annex_ndp_time_result *out)
{
	struct ndp_time_kernel k = {.va = IMAGE, .mem = {find, t}, .budget = t->opts.budget};
	struct ndp_time_result result;
	struct m2_program p;
	int err;

	*out = (struct annex_ndp_time_result){.cycles = 0};
	err = annex_m2_program_read(elf, bytes, &p);
	if (!err)
		err = check_launch(t, &p.needs, l);
	if (err)
		return err;
	annex_m2_program_place(&p, elf, t->image);
	t->image_bytes = p.image.bytes;
	k.image = (const struct annex_m2_image *)(const void *)t->image;
	k.isa = (struct rv_isa){t->opts.vlen, p.needs.nx, p.needs.nf, p.needs.nv};
	k.scratchpad = p.needs.scratchpad > p.needs.args ? p.needs.scratchpad : p.needs.args;
	k.base = l->pool;
	k.bound = l->pool + l->pool_bytes;
	k.piece = t->opts.piece;
	k.args = l->args;
	k.args_bytes = (uint32_t)l->nargs;
	err = ndp_time_kernel(t->device, &k, &result);
	fill_result(&result, out);
	return err;
}
