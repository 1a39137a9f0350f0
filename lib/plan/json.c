// SPDX-License-Identifier: MIT
/*
 * annex-plan/1 as JSON (docs/plan-format.md).
 *
 * Steps are read one at a time: a tree of all of them would take thirty times the memory of the
 * file.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "plan/trace/label.h"
#include "file.h"
#include "plan/trace/walk.h"

#define FORMAT "annex-plan/1"
#define FILE_MAX (1ull << 30)

enum {
	KEY_FORMAT,
	KEY_POLICY,
	KEY_TRACE,
	KEY_KERNELS,
	KEY_TENSORS,
	KEY_OVERLAP,
	KEY_RECLAIM,
	KEY_LAZY,
	KEY_UNLIMITED,
	KEY_WINDOW,
	KEY_GPU,
	KEY_HOST,
	KEY_CXL,
	KEY_STEPS,
	KEYS
};

static const char *const keys[KEYS] = {"format",  "policy",  "trace", "kernels",   "tensors",
				       "overlap", "reclaim", "lazy",  "unlimited", "window",
				       "gpu",     "host",    "cxl",   "steps"};

static const char *yes_no(bool yes)
{
	return yes ? "true" : "false";
}

static void write_step(const struct annex_plan_step *s, FILE *f)
{
	fprintf(f,
		"  {\"kernel\":%" PRIu32 ",\"ns\":%" PRIu64 ",\"op\":\"%s\",\"tensor\":%" PRIu32
		",\"bytes\":%" PRIu64,
		s->kernel, s->ns, annex_plan_op_name(s->op), s->tensor, s->bytes);
	if (s->op == ANNEX_PLAN_EVICT || s->op == ANNEX_PLAN_SAVE)
		fprintf(f, ",\"to\":\"%s\"", annex_tier_name(s->tier));
	if (s->keep)
		fputs(",\"keep\":true", f);
	fputc('}', f);
}

int annex_plan_write(const struct annex_plan *plan, FILE *f)
{
	fprintf(f,
		"{\"format\":\"" FORMAT "\",\"policy\":\"%s\",\"trace\":\"%016" PRIx64 "\",\n"
		" \"kernels\":%" PRIu32 ",\"tensors\":%" PRIu32 ",\n"
		" \"overlap\":%s,\"reclaim\":%s,\"lazy\":%s,\"unlimited\":%s,\n"
		" \"window\":%" PRIu32 ",\n"
		" \"gpu\":%" PRIu64 ",\"host\":%" PRIu64 ",\"cxl\":%" PRIu64 ",\n"
		" \"steps\":[\n",
		plan->policy, plan->hash, plan->n_kernels, plan->n_tensors,
		yes_no(plan->flags & ANNEX_PLAN_OVERLAP), yes_no(plan->flags & ANNEX_PLAN_RECLAIM),
		yes_no(plan->flags & ANNEX_PLAN_LAZY), yes_no(plan->flags & ANNEX_PLAN_UNLIMITED),
		plan->window, plan->gpu, plan->host, plan->cxl);
	for (size_t i = 0; i < plan->n_steps && !ferror(f); i++) {
		write_step(&plan->steps[i], f);
		fputs(i + 1 < plan->n_steps ? ",\n" : "\n", f);
	}
	fputs(" ]}\n", f);
	if (fflush(f) || ferror(f))
		return annex_fail(-EIO, "cannot write the plan: %m");
	return 0;
}

/*
 * struct reader - A file that is being read.
 * @walk: the walk over its JSON.
 * @where: the current member or step, for messages.
 * @step: @where is a step.
 */
struct reader {
	struct walk walk;
	char where[48];
	bool step;
};

/* The walk's error, with its place in the plan. */
static int at_place(const struct reader *r, int err)
{
	char why[300];

	snprintf(why, sizeof(why), "%s", annex_last_error());
	return annex_fail(err, "%s: %s", r->where, why);
}

/* The error of a member: of a step, which is named, or of the plan itself. */
static int wrong(const struct reader *r, const char *why)
{
	return annex_fail(-EINVAL, "%s%s%s", r->step ? r->where : "", r->step ? ": " : "", why);
}

static int unknown_key(const struct reader *r, const char *key)
{
	char why[64];

	snprintf(why, sizeof(why), "unknown key \"%.40s\"", key);
	return wrong(r, one_line(why));
}

static int bad(const struct reader *r, const char *what, const char *want)
{
	char why[96];

	snprintf(why, sizeof(why), "\"%s\" is not %s", what, want);
	return wrong(r, why);
}

/* The integer @v, from 0 to @max. */
static int as_number(const struct reader *r, const char *name, const json_t *v, uint64_t max,
		     uint64_t *number)
{
	char why[96];

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    (uint64_t)json_integer_value(v) > max) {
		snprintf(why, sizeof(why), "\"%s\" is no integer from 0 to %" PRIu64, name, max);
		return wrong(r, why);
	}
	*number = (uint64_t)json_integer_value(v);
	return 0;
}

static int as_u32(const struct reader *r, const char *name, const json_t *v, uint32_t *number)
{
	uint64_t n;
	int err = as_number(r, name, v, UINT32_MAX, &n);

	if (!err)
		*number = (uint32_t)n;
	return err;
}

static int as_flag(const struct reader *r, const char *name, const json_t *v, uint32_t flag,
		   uint32_t *flags)
{
	if (!json_is_boolean(v))
		return bad(r, name, "true or false");
	*flags |= json_is_true(v) ? flag : 0;
	return 0;
}

static int as_hash(const struct reader *r, const json_t *v, uint64_t *hash)
{
	const char *text = json_string_value(v);

	if (!text || strlen(text) != 16 || text[strspn(text, "0123456789abcdef")])
		return bad(r, "trace", "a hash of 16 hexadecimal digits");
	*hash = strtoull(text, NULL, 16);
	return 0;
}

static int as_policy(const struct reader *r, const json_t *v, struct annex_plan *plan)
{
	const char *text = json_string_value(v);

	if (!text || strlen(text) >= sizeof(plan->policy))
		return bad(r, "policy", "a short name");
	strcpy(plan->policy, text);
	return 0;
}

static int as_op(const struct reader *r, const json_t *v, uint8_t *op)
{
	const char *text = json_string_value(v);

	for (*op = 0; *op < ANNEX_PLAN_OPS; (*op)++)
		if (text && !strcmp(text, annex_plan_op_name(*op)))
			return 0;
	return bad(r, "op", "alloc, free, prefetch, evict, save, or wait");
}

static int as_tier(const struct reader *r, const json_t *v, uint8_t *tier)
{
	const char *text = json_string_value(v);
	int t = text ? annex_tier_parse(text) : -EINVAL;

	if (t <= ANNEX_TIER_GPU)
		return bad(r, "to", "host, cxl, or an SSD");
	*tier = (uint8_t)t;
	return 0;
}

/* One member of a step. */
static int step_member(const struct reader *r, const char *key, const json_t *v,
		       struct annex_plan_step *s)
{
	uint32_t keep = 0;
	int err;

	if (!strcmp(key, "kernel"))
		return as_u32(r, key, v, &s->kernel);
	if (!strcmp(key, "ns"))
		return as_number(r, key, v, PLAN_MAX_NS, &s->ns);
	if (!strcmp(key, "op"))
		return as_op(r, v, &s->op);
	if (!strcmp(key, "tensor"))
		return as_u32(r, key, v, &s->tensor);
	if (!strcmp(key, "bytes"))
		return as_number(r, key, v, ANNEX_TRACE_MAX_BYTES, &s->bytes);
	if (!strcmp(key, "to"))
		return as_tier(r, v, &s->tier);
	if (strcmp(key, "keep"))
		return unknown_key(r, key);
	err = as_flag(r, key, v, 1, &keep);
	s->keep = (uint8_t)keep;
	return err;
}

static int read_step(const struct reader *r, json_t *v, struct annex_plan_step *s)
{
	static const char *const needed[] = {"kernel", "ns", "op", "tensor", "bytes"};
	const char *key;
	json_t *member;
	int err = 0;

	if (!json_is_object(v))
		return annex_fail(-EINVAL, "%s is no object", r->where);
	for (unsigned int i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!json_object_get(v, needed[i]))
			return annex_fail(-EINVAL, "%s has no \"%s\"", r->where, needed[i]);
	memset(s, 0, sizeof(*s));
	json_object_foreach(v, key, member)
	{
		err = step_member(r, key, member, s);
		if (err)
			return err;
	}
	return 0;
}

static int read_steps(struct reader *r, struct annex_plan *plan)
{
	bool first = true;
	int err = annex_walk_enter(&r->walk, '[');

	while (!err) {
		struct annex_plan_step s;
		json_t *v;

		err = annex_walk_more(&r->walk, ']', &first);
		if (err <= 0)
			break;
		snprintf(r->where, sizeof(r->where), "step %zu", plan->n_steps);
		r->step = true;
		err = annex_walk_value(&r->walk, &v);
		if (err)
			break;
		err = read_step(r, v, &s);
		json_decref(v);
		if (!err)
			err = annex_plan_append(plan, &s);
		if (err)
			return err;
	}
	r->step = false;
	return err ? at_place(r, err) : 0;
}

static int as_format(const struct reader *r, const json_t *v)
{
	const char *text = json_string_value(v);

	if (text && !strcmp(text, FORMAT))
		return 0;
	if (text && !strncmp(text, "annex-trace/", 12))
		return wrong(r, "this is a trace, not a plan: \"format\" is not \"" FORMAT "\"");
	return bad(r, "format", "\"" FORMAT "\"");
}

static int read_value(const struct reader *r, unsigned int key, const json_t *v,
		      struct annex_plan *plan)
{
	const char *name = keys[key];

	switch (key) {
	case KEY_FORMAT:
		return as_format(r, v);
	case KEY_POLICY:
		return as_policy(r, v, plan);
	case KEY_TRACE:
		return as_hash(r, v, &plan->hash);
	case KEY_KERNELS:
		return as_u32(r, name, v, &plan->n_kernels);
	case KEY_TENSORS:
		return as_u32(r, name, v, &plan->n_tensors);
	case KEY_OVERLAP:
		return as_flag(r, name, v, ANNEX_PLAN_OVERLAP, &plan->flags);
	case KEY_RECLAIM:
		return as_flag(r, name, v, ANNEX_PLAN_RECLAIM, &plan->flags);
	case KEY_LAZY:
		return as_flag(r, name, v, ANNEX_PLAN_LAZY, &plan->flags);
	case KEY_UNLIMITED:
		return as_flag(r, name, v, ANNEX_PLAN_UNLIMITED, &plan->flags);
	case KEY_WINDOW:
		return as_u32(r, name, v, &plan->window);
	case KEY_GPU:
		return as_number(r, name, v, PLAN_MAX_CAPACITY, &plan->gpu);
	case KEY_HOST:
		return as_number(r, name, v, PLAN_MAX_CAPACITY, &plan->host);
	default:
		return as_number(r, name, v, PLAN_MAX_CAPACITY, &plan->cxl);
	}
}

/* One member of the object; @seen: bits of the keys that were there. */
static int read_member(struct reader *r, struct annex_plan *plan, unsigned int *seen)
{
	json_t *v;
	unsigned int key = 0;
	int err = annex_walk_key(&r->walk, &v);

	if (err)
		return at_place(r, err);
	while (key < KEYS && strcmp(json_string_value(v), keys[key]))
		key++;
	if (key == KEYS)
		err = unknown_key(r, json_string_value(v));
	else if (*seen & 1u << key)
		err = annex_fail(-EINVAL, "\"%s\" is there twice", keys[key]);
	json_decref(v);
	if (err)
		return err;
	*seen |= 1u << key;
	snprintf(r->where, sizeof(r->where), "\"%s\"", keys[key]);
	if (key == KEY_STEPS)
		return read_steps(r, plan);
	err = annex_walk_value(&r->walk, &v);
	if (err)
		return at_place(r, err);
	err = read_value(r, key, v, plan);
	json_decref(v);
	return err;
}

static int parse_json(const char *text, size_t len, struct annex_plan *plan)
{
	struct reader r = {.walk = {.text = text, .len = len}, .where = "start"};
	unsigned int seen = 0;
	bool first = true;
	int more;

	if (annex_walk_enter(&r.walk, '{'))
		return annex_fail(-EINVAL, "no JSON object of annex-plan/1");
	while ((more = annex_walk_more(&r.walk, '}', &first)) > 0) {
		int err = read_member(&r, plan, &seen);

		if (err)
			return err;
		snprintf(r.where, sizeof(r.where), "end");
	}
	if (more < 0 || (more = annex_walk_end(&r.walk)))
		return at_place(&r, more);
	for (unsigned int key = 0; key < KEYS; key++)
		if (!(seen & 1u << key))
			return annex_fail(-EINVAL, "\"%s\" is missing", keys[key]);
	return 0;
}

int annex_plan_parse(const void *data, size_t len, struct annex_plan **plan)
{
	struct annex_plan *p = annex_plan_new();
	int err;

	*plan = NULL;
	if (!p)
		return annex_fail(-ENOMEM, "no memory for a plan");
	err = parse_json(data, len, p);
	if (!err)
		err = annex_plan_sound(p);
	if (err) {
		annex_plan_free(p);
		return err;
	}
	*plan = p;
	return 0;
}

int annex_plan_read(const char *path, struct annex_plan **plan)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *data = NULL;
	size_t len;
	int err;

	*plan = NULL;
	if (!f)
		return annex_fail(-errno, "%m");
	err = annex_walk_load(f, FILE_MAX, &data, &len);
	if (f != stdin)
		fclose(f);
	if (!err)
		err = annex_plan_parse(data, len, plan);
	free(data);
	return err;
}
