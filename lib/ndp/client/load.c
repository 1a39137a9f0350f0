// SPDX-License-Identifier: MIT
/*
 * Kernels from ELF files. An image is a head, followed by the segments in their layout in memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "load.h"
#include "m2.h"

/* A number that the kernel declares; 0 if it does not. */
static int read_number(const struct annex_symbols *s, const char *name, uint64_t most,
		       uint64_t *value)
{
	bool absolute;

	*value = 0;
	if (!annex_symbols_get(s, name, value, &absolute))
		return 0;
	if (!absolute)
		return annex_fail(-EINVAL, "kernel: %s is an address, not a number", name);
	if (*value > most)
		return annex_fail(-EINVAL, "kernel: %s is %llu, more than %llu", name, (ull)*value,
				  (ull)most);
	return 0;
}

static int read_needs(const struct annex_symbols *s, struct annex_m2_needs *needs)
{
	uint64_t x, f = 0, v = 0, scratchpad = 0, args = 0;
	int err = read_number(s, "ndp_regs_x", 32, &x);

	if (!err)
		err = read_number(s, "ndp_regs_f", 32, &f);
	if (!err)
		err = read_number(s, "ndp_regs_v", 32, &v);
	if (!err)
		err = read_number(s, "ndp_scratchpad", UINT32_MAX, &scratchpad);
	if (!err)
		err = read_number(s, "ndp_args", UINT8_MAX, &args);
	*needs = (struct annex_m2_needs){(uint32_t)scratchpad, (uint8_t)x, (uint8_t)f, (uint8_t)v,
					 (uint8_t)args};
	return err;
}

/* The offset in the image of an entry point; 0: none. */
static int read_entry(const struct m2_program *p, const struct annex_symbols *s, const char *name,
		      uint32_t *offset)
{
	uint64_t at;
	bool absolute;

	*offset = 0;
	if (!annex_symbols_get(s, name, &at, &absolute))
		return 0;
	for (unsigned int i = 0; i < p->elf.nsegments && !absolute && !(at % 2); i++) {
		const struct annex_elf_segment *seg = &p->elf.segment[i];

		if (!seg->execute || at < seg->va || at - seg->va >= seg->bytes)
			continue;
		*offset = (uint32_t)(p->base + (at - p->elf.low));
		return 0;
	}
	return annex_fail(-EINVAL, "kernel: %s is at %#llx, where there is no code", name, (ull)at);
}

static int read_entries(struct m2_program *p, const struct annex_symbols *s)
{
	struct annex_m2_image *image = &p->image;
	int err = read_entry(p, s, "ndp_init", &image->initializer);
	uint32_t body;
	char name[16];

	for (unsigned int i = 0; i < ANNEX_M2_BODIES && !err; i++) {
		snprintf(name, sizeof(name), "ndp_body%u", i);
		err = read_entry(p, s, name, &body);
		if (!err && body && image->bodies != i)
			return annex_fail(-EINVAL, "kernel: %s, but no ndp_body%u", name,
					  image->bodies);
		if (!err && body)
			image->body[image->bodies++] = body;
	}
	if (!err)
		err = read_entry(p, s, "ndp_fini", &image->finalizer);
	if (!err && !image->bodies)
		return annex_fail(-ENOEXEC, "kernel: no ndp_body0");
	return err;
}

int annex_m2_program_read(const void *file, size_t bytes, struct m2_program *out)
{
	struct annex_symbols s;
	uint64_t whole;
	int err;

	*out = (struct m2_program){
		.image = {.magic = ANNEX_M2_IMAGE_MAGIC, .version = ANNEX_M2_VERSION}};
	err = annex_elf_parse(file, bytes, &out->elf);
	if (!err)
		err = annex_symbols_find_table(file, bytes, &s);
	if (err)
		return err;
	/* Keep alignments of up to a cache line. */
	out->base = (uint32_t)(sizeof(out->image) + out->elf.low % ANNEX_HDM_LINE);
	whole = out->base + (out->elf.high - out->elf.low) + 7;
	if (whole > ANNEX_M2_IMAGE_MAX)
		return annex_fail(-E2BIG, "kernel: an image of %llu bytes; at most %u", (ull)whole,
				  ANNEX_M2_IMAGE_MAX);
	out->image.bytes = (uint32_t)(whole & ~7ull);
	err = read_needs(&s, &out->needs);
	return err ? err : read_entries(out, &s);
}

void annex_m2_program_place(const struct m2_program *p, const void *file, char *to)
{
	memset(to, 0, p->image.bytes);
	memcpy(to, &p->image, sizeof(p->image));
	for (unsigned int i = 0; i < p->elf.nsegments; i++) {
		const struct annex_elf_segment *seg = &p->elf.segment[i];

		memcpy(to + p->base + (seg->va - p->elf.low), (const char *)file + seg->offset,
		       seg->file_bytes);
	}
}

/* Place and register a kernel, in memory of the range's handle. */
static int place(struct annex_m2 *m2, struct annex_m2_kernel *k, const struct m2_program *p,
		 const void *file)
{
	int err = annex_hdm_alloc(k->hdm, p->image.bytes, ANNEX_HDM_LINE, NULL, &k->image);

	if (err)
		return err;
	annex_m2_program_place(p, file, k->image);
	err = m2->head.coherent ? 0 : annex_m2_flush(k->image, k->bytes);
	if (!err)
		err = annex_m2_register(m2, k->image, &p->needs, &k->id);
	/* A call that timed out may still be carried out, and read the image. */
	if (err && err != -ETIMEDOUT && err != -EIO)
		annex_hdm_free(k->hdm, k->image);
	return err;
}

int annex_m2_load(struct annex_m2 *m2, struct annex_hdm *hdm, const void *elf, size_t bytes,
		  struct annex_m2_kernel **out)
{
	struct annex_m2_kernel *k;
	struct m2_program p;
	int err = m2_usable(m2);

	if (!err)
		err = annex_m2_program_read(elf, bytes, &p);
	if (err)
		return err;
	k = calloc(1, sizeof(*k));
	if (!k)
		return annex_fail(-ENOMEM, "M2func: out of memory");
	k->hdm = hdm;
	k->bytes = p.image.bytes;
	k->args = p.needs.args;
	err = place(m2, k, &p, elf);
	if (err) {
		free(k);
		return err;
	}
	*out = k;
	return 0;
}

int annex_m2_unload(struct annex_m2 *m2, struct annex_m2_kernel *kernel)
{
	int err;

	if (!kernel)
		return 0;
	err = annex_m2_unregister(m2, kernel->id);
	/* -ENOENT: an earlier call that timed out may have unregistered it. */
	if (err && err != -ENODEV && err != -ENOENT)
		return err;
	err = annex_hdm_free(kernel->hdm, kernel->image);
	free(kernel);
	return err;
}
