// SPDX-License-Identifier: MIT
/*
 * annex-plan/1, the binary form: a header, steps of bytes and varints, a checksum
 * (docs/plan-format.md).
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "file.h"

#define VERSION 1
#define HEADER 100
#define SUM 8
#define MIN_STEP 5 /* a byte, and four varints of one */
#define MAX_STEP 40
#define POLICY 32

#define FNV_BASE 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

_Static_assert(POLICY == sizeof(((struct annex_plan *)0)->policy), "policy names in the header");

static uint64_t fnv(uint64_t h, const unsigned char *p, size_t len)
{
	while (len--)
		h = (h ^ *p++) * FNV_PRIME;
	return h;
}

/* struct writer - Where the next byte goes, and what went before. */
struct writer {
	FILE *f;
	uint64_t sum;
};

static void put(struct writer *w, const unsigned char *p, size_t len)
{
	w->sum = fnv(w->sum, p, len);
	fwrite(p, 1, len, w->f);
}

/* Least significant byte first. Returns the byte behind. */
static unsigned char *fixed(unsigned char *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		*p++ = (unsigned char)(v >> 8 * i);
	return p;
}

static unsigned char *varint(unsigned char *p, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

static void put_header(struct writer *w, const struct annex_plan *plan)
{
	unsigned char header[HEADER], *p = header;

	memcpy(p, PLAN_MAGIC, PLAN_MAGIC_LEN);
	p = fixed(p + PLAN_MAGIC_LEN, VERSION, 4);
	p = fixed(p, plan->flags, 4);
	memcpy(p, plan->policy, POLICY);
	p = fixed(p + POLICY, plan->hash, 8);
	p = fixed(p, plan->n_kernels, 4);
	p = fixed(p, plan->n_tensors, 4);
	p = fixed(p, plan->window, 4);
	p = fixed(p, plan->gpu, 8);
	p = fixed(p, plan->host, 8);
	p = fixed(p, plan->cxl, 8);
	p = fixed(p, plan->n_steps, 8);
	put(w, header, (size_t)(p - header));
}

int annex_plan_write_binary(const struct annex_plan *plan, FILE *f)
{
	struct writer w = {f, FNV_BASE};
	unsigned char buf[MAX_STEP];
	uint32_t kernel = 0;
	uint64_t ns = 0;

	put_header(&w, plan);
	for (size_t i = 0; i < plan->n_steps && !ferror(f); i++) {
		const struct annex_plan_step *s = &plan->steps[i];
		unsigned char *p = buf;
		unsigned int extra = s->op == ANNEX_PLAN_PREFETCH ? s->keep : s->tier;

		*p++ = (unsigned char)(s->op | extra << 3);
		p = varint(p, s->kernel - kernel);
		p = varint(p, s->ns - ns);
		p = varint(p, s->tensor);
		p = varint(p, s->bytes);
		put(&w, buf, (size_t)(p - buf));
		kernel = s->kernel;
		ns = s->ns;
	}
	put(&w, buf, (size_t)(fixed(buf, w.sum, SUM) - buf));
	if (fflush(f) || ferror(f))
		return annex_fail(-EIO, "cannot write the plan: %m");
	return 0;
}

static uint64_t take(const unsigned char **p, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t) * (*p)++ << 8 * i;
	return v;
}

/* At most 63 bits, in as few bytes as they need: false for anything else, or beyond @end. */
static bool take_varint(const unsigned char **p, const unsigned char *end, uint64_t *v)
{
	const unsigned char *start = *p;

	*v = 0;
	for (unsigned int shift = 0; *p < end && shift < 63; shift += 7) {
		unsigned char byte = *(*p)++;

		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return byte || *p == start + 1;
	}
	return false;
}

static int take_step(const unsigned char **p, const unsigned char *end, size_t i,
		     struct annex_plan_step *s)
{
	unsigned int first = *p < end ? *(*p)++ : 0;
	uint64_t kernel, ns, tensor, bytes;

	if (!take_varint(p, end, &kernel) || !take_varint(p, end, &ns) ||
	    !take_varint(p, end, &tensor) || !take_varint(p, end, &bytes))
		return annex_fail(-EINVAL, "step %zu: no number where one belongs", i);
	s->op = first & 7;
	s->tier = s->keep = 0;
	*(s->op == ANNEX_PLAN_PREFETCH ? &s->keep : &s->tier) = (uint8_t)(first >> 3);
	if (kernel > ANNEX_TRACE_MAX_KERNELS || tensor > ANNEX_TRACE_MAX_TENSORS ||
	    ns > PLAN_MAX_NS)
		return annex_fail(-EINVAL, "step %zu: a number is too large", i);
	/* Earlier kernels were checked against the same limits as they were read. */
	s->kernel += (uint32_t)kernel;
	s->ns += ns;
	s->tensor = (uint32_t)tensor;
	s->bytes = bytes;
	if (s->kernel > ANNEX_TRACE_MAX_KERNELS || s->ns > PLAN_MAX_NS)
		return annex_fail(-EINVAL, "step %zu: a number is too large", i);
	return 0;
}

static int take_header(const unsigned char **at, struct annex_plan *plan, uint64_t *n_steps)
{
	const unsigned char *p = *at + PLAN_MAGIC_LEN;
	uint64_t version = take(&p, 4);

	if (version != VERSION)
		return annex_fail(-EINVAL, "version %u, not %u", (unsigned int)version, VERSION);
	plan->flags = (uint32_t)take(&p, 4);
	memcpy(plan->policy, p, POLICY);
	p += POLICY;
	plan->hash = take(&p, 8);
	plan->n_kernels = (uint32_t)take(&p, 4);
	plan->n_tensors = (uint32_t)take(&p, 4);
	plan->window = (uint32_t)take(&p, 4);
	plan->gpu = take(&p, 8);
	plan->host = take(&p, 8);
	plan->cxl = take(&p, 8);
	*n_steps = take(&p, 8);
	*at = p;
	for (size_t i = strnlen(plan->policy, POLICY); i < POLICY; i++)
		if (plan->policy[i])
			return annex_fail(-EINVAL, "bytes behind the name of the policy");
	return 0;
}

int annex_plan_parse_binary(const unsigned char *data, size_t len, struct annex_plan *plan)
{
	const unsigned char *p = data, *end;
	struct annex_plan_step step = {.kernel = 0};
	uint64_t n_steps = 0;
	int err;

	if (len < PLAN_MAGIC_LEN || memcmp(data, PLAN_MAGIC, PLAN_MAGIC_LEN))
		return annex_fail(-EINVAL, "neither JSON nor the binary form of annex-plan/1");
	if (len < HEADER + SUM)
		return annex_fail(-EINVAL, "the header is truncated");
	err = take_header(&p, plan, &n_steps);
	if (err)
		return err;
	end = data + len - SUM;
	if (n_steps > (uint64_t)(end - p) / MIN_STEP)
		return annex_fail(-EINVAL, "%llu steps do not fit in %zu bytes: truncated?",
				  (ull)n_steps, len);
	for (uint64_t i = 0; i < n_steps && !err; i++) {
		err = take_step(&p, end, i, &step);
		if (!err)
			err = annex_plan_append(plan, &step);
	}
	if (err)
		return err;
	if (p != end)
		return annex_fail(-EINVAL, "%zu bytes behind the last of %llu steps",
				  (size_t)(end - p), (ull)n_steps);
	if (take(&p, SUM) != fnv(FNV_BASE, data, len - SUM))
		return annex_fail(-EINVAL, "the checksum is wrong: the file is damaged");
	return 0;
}
