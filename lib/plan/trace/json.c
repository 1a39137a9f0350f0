// SPDX-License-Identifier: MIT
/*
 * annex-trace/1 files: docs/trace-format.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <annex/trace.h>
#include "core/array.h"
#include "core/log.h"
#include "label.h"
#include "walk.h"

#define FORMAT "annex-trace/1"
#define FILE_MAX (1u << 30)

/* The place of an error: the file, a tensor or a kernel. */
struct place {
	enum { IN_FILE, IN_TENSOR, IN_KERNEL } kind;
	size_t number;
	const char *name;
};

static const char *place_label(const struct place *p, char buf[LABEL_SIZE])
{
	if (p->kind == IN_KERNEL)
		return kernel_label(buf, p->number, p->name);
	if (p->kind == IN_TENSOR)
		snprintf(buf, LABEL_SIZE, "tensor %zu", p->number);
	else
		snprintf(buf, LABEL_SIZE, "trace");
	return buf;
}

static int bad(const struct place *p, const char *key, const char *why)
{
	char label[LABEL_SIZE], shown[LABEL_SIZE];

	snprintf(shown, sizeof(shown), "%.64s", key);
	return annex_fail(-EINVAL, "%s: \"%s\" %s", place_label(p, label), one_line(shown), why);
}

/* A key that means nothing is a mistake in one that does. */
static int check_keys(const struct place *p, json_t *obj, const char *const *keys)
{
	char label[LABEL_SIZE], shown[LABEL_SIZE];
	const char *key;
	json_t *value;

	json_object_foreach(obj, key, value)
	{
		const char *const *known = keys;

		while (*known && strcmp(*known, key))
			known++;
		if (*known)
			continue;
		snprintf(shown, sizeof(shown), "%.64s", key);
		return annex_fail(-EINVAL, "%s: unknown key \"%s\"", place_label(p, label),
				  one_line(shown));
	}
	return 0;
}

/* Members that may be missing: then @value stays as it is. */
static int get_number(const struct place *p, json_t *obj, const char *key, uint64_t min,
		      uint64_t max, uint64_t *value)
{
	json_t *v = json_object_get(obj, key);
	char label[LABEL_SIZE];

	if (!v)
		return 0;
	if (!json_is_integer(v))
		return bad(p, key, "is not an integer");
	if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) < min ||
	    (uint64_t)json_integer_value(v) > max)
		return annex_fail(
			-EINVAL, "%s: \"%s\" is %" JSON_INTEGER_FORMAT ", not %llu to %llu",
			place_label(p, label), key, json_integer_value(v), (ull)min, (ull)max);
	*value = (uint64_t)json_integer_value(v);
	return 0;
}

static int get_text(const struct place *p, json_t *obj, const char *key, const char **value)
{
	json_t *v = json_object_get(obj, key);

	if (v && !json_is_string(v))
		return bad(p, key, "is not a string");
	if (v)
		*value = json_string_value(v);
	return 0;
}

static int need(const struct place *p, json_t *obj, const char *key)
{
	return json_object_get(obj, key) ? 0 : bad(p, key, "is missing");
}

static int get_role(const struct place *p, json_t *obj, uint8_t *role)
{
	const char *name = "";
	int err = get_text(p, obj, "role", &name);

	if (err || !*name)
		return err;
	for (*role = ANNEX_ROLE_NONE + 1; *role < ANNEX_ROLES; ++*role)
		if (!strcmp(name, annex_role_name(*role)))
			return 0;
	return bad(p, "role",
		   "is none of weight, gradient, optimizer, activation, input, workspace");
}

/* A kernel number; ANNEX_KERNEL_NONE is none. */
static int get_kernel(const struct place *p, json_t *obj, const char *key, uint32_t *kernel)
{
	uint64_t n = ANNEX_KERNEL_NONE;
	int err = get_number(p, obj, key, 0, ANNEX_TRACE_MAX_KERNELS, &n);

	*kernel = (uint32_t)n;
	return err;
}

/* Ids of tensors: of all, in the order of the file, or of tensors that one kernel uses. */
struct id_list {
	uint32_t *id;
	size_t n, room;
};

static int push(struct id_list *list, uint32_t id)
{
	if (!array_grow(list->id, list->n, list->room))
		return annex_fail(-ENOMEM, "no memory for more than %zu ids", list->n);
	list->id[list->n++] = id;
	return 0;
}

/* The trace that is read, and its text. */
struct reader {
	struct walk walk;
	struct annex_trace *trace;
	struct id_list ids;
	uint64_t bytes;
};

static int get_id(json_t *obj, size_t i, uint32_t *id)
{
	json_t *v = json_object_get(obj, "id");

	if (!json_is_object(obj))
		return annex_fail(-EINVAL, "tensors[%zu] is not an object", i);
	if (!json_is_integer(v))
		return annex_fail(-EINVAL, "tensors[%zu]: \"id\" is %s", i,
				  v ? "not an integer" : "missing");
	if (json_integer_value(v) < 0 || json_integer_value(v) >= ANNEX_TRACE_MAX_TENSORS)
		return annex_fail(-EINVAL,
				  "tensors[%zu]: \"id\" is %" JSON_INTEGER_FORMAT ", not 0 to %u",
				  i, json_integer_value(v), ANNEX_TRACE_MAX_TENSORS - 1);
	*id = (uint32_t)json_integer_value(v);
	return 0;
}

static int describe_tensor(const struct place *p, json_t *obj, struct annex_tensor *t)
{
	static const char *const keys[] = {"id",   "bytes", "global", "name",
					   "role", "birth", "death",  NULL};
	json_t *global = json_object_get(obj, "global");
	const char *name = NULL;
	int err;

	if ((err = check_keys(p, obj, keys)) || (err = need(p, obj, "bytes")) ||
	    (err = get_number(p, obj, "bytes", 1, ANNEX_TRACE_MAX_BYTES, &t->bytes)) ||
	    (err = get_text(p, obj, "name", &name)) || (err = get_role(p, obj, &t->role)) ||
	    (err = get_kernel(p, obj, "birth", &t->birth)) ||
	    (err = get_kernel(p, obj, "death", &t->death)))
		return err;
	if (!json_is_boolean(global))
		return bad(p, "global", global ? "is neither true nor false" : "is missing");
	t->global = json_is_true(global);
	if (t->global && (json_object_get(obj, "birth") || json_object_get(obj, "death")))
		return bad(p, json_object_get(obj, "birth") ? "birth" : "death",
			   "is not for global tensors, which live always");
	t->name = (char *)name; /* until it is copied */
	return 0;
}

/* The trace takes tensors as they come, and has no ids yet: errors that name one are found here. */
static int read_tensor(struct reader *r, json_t *obj, size_t i)
{
	struct annex_tensor t = {0};
	struct place p = {IN_TENSOR, 0, NULL};
	uint32_t id = 0;
	int err = get_id(obj, i, &id);

	if (err)
		return err;
	p.number = id;
	err = describe_tensor(&p, obj, &t);
	if (err)
		return err;
	if (t.bytes > ANNEX_TRACE_MAX_BYTES - r->bytes)
		return annex_fail(-E2BIG,
				  "tensor %u: with it, all tensors have more than %llu bytes", id,
				  ANNEX_TRACE_MAX_BYTES);
	r->bytes += t.bytes;
	err = annex_trace_add_tensor(r->trace, &t);
	return err < 0 ? err : push(&r->ids, id);
}

/* Bring each tensor to the place that its id says. */
static int order_tensors(struct annex_trace *t, uint32_t *id)
{
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		if (id[i] >= t->n_tensors)
			return annex_fail(-EINVAL, "tensor %u: there are %u tensors, 0 to %u",
					  id[i], t->n_tensors, t->n_tensors - 1);
	}
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		while (id[i] != i) {
			uint32_t to = id[i];
			struct annex_tensor moved = t->tensors[to];

			if (id[to] == to)
				return annex_fail(-EINVAL, "tensor %u appears twice", to);
			t->tensors[to] = t->tensors[i];
			t->tensors[i] = moved;
			id[i] = id[to];
			id[to] = to;
		}
	}
	return 0;
}

static int get_uses(const struct place *p, json_t *obj, const char *key, struct id_list *ids)
{
	json_t *array = json_object_get(obj, key), *v;
	char label[LABEL_SIZE];
	int err = 0;
	size_t i;

	if (array && !json_is_array(array))
		return bad(p, key, "is not an array of tensor ids");
	json_array_foreach(array, i, v)
	{
		json_int_t id = json_integer_value(v);

		if (!json_is_integer(v))
			return bad(p, key, "holds something that is no integer");
		if (id < 0 || id >= ANNEX_TRACE_MAX_TENSORS)
			return annex_fail(-EINVAL,
					  "%s: tensor %" JSON_INTEGER_FORMAT " does not exist",
					  place_label(p, label), id);
		err = push(ids, (uint32_t)id);
		if (err)
			break;
	}
	return err;
}

static int read_kernel(struct reader *r, json_t *obj, size_t k)
{
	static const char *const keys[] = {"name", "ns", "fault_ns", "in", "out", NULL};
	struct place p = {IN_KERNEL, k, NULL};
	struct id_list *ids = &r->ids;
	uint64_t ns = 0, fault_ns = 0;
	size_t n_in;
	int err;

	if (!json_is_object(obj))
		return annex_fail(-EINVAL, "kernel %zu is not an object", k);
	ids->n = 0;
	if ((err = get_text(&p, obj, "name", &p.name)) || (err = check_keys(&p, obj, keys)) ||
	    (err = need(&p, obj, "ns")) ||
	    (err = get_number(&p, obj, "ns", 0, ANNEX_TRACE_MAX_NS, &ns)) ||
	    (err = get_number(&p, obj, "fault_ns", ns, ANNEX_TRACE_MAX_NS, &fault_ns)) ||
	    (err = get_uses(&p, obj, "in", ids)))
		return err;
	n_in = ids->n;
	err = get_uses(&p, obj, "out", ids);
	if (err)
		return err;
	err = annex_trace_add_kernel(r->trace, p.name, ns, ids->id, (unsigned int)n_in,
				     ids->id ? ids->id + n_in : NULL,
				     (unsigned int)(ids->n - n_in));
	return err || !fault_ns ? err : annex_trace_set_fault_ns(r->trace, fault_ns);
}

/* The elements of an array, one after the other. */
static int read_list(struct reader *r, int (*read)(struct reader *, json_t *, size_t))
{
	int err = annex_walk_enter(&r->walk, '[');
	bool first = true;

	for (size_t i = 0; !err && (err = annex_walk_more(&r->walk, ']', &first)) > 0; i++) {
		json_t *element;

		err = annex_walk_value(&r->walk, &element);
		if (!err)
			err = read(r, element, i);
		json_decref(element);
	}
	return err;
}

static int read_tensors(struct reader *r)
{
	int err;

	r->ids.n = 0;
	err = read_list(r, read_tensor);
	return err ? err : order_tensors(r->trace, r->ids.id);
}
/* Whether @header, the members so far, may begin a trace. */
static int check_header(json_t *header)
{
	static const char *const keys[] = {"format",  "model",   "batch", "device",
					   "tensors", "kernels", NULL};
	const struct place p = {IN_FILE, 0, NULL};
	const char *format = json_string_value(json_object_get(header, "format"));

	if (!format || strcmp(format, FORMAT))
		return annex_fail(-EINVAL, "this is no trace: \"format\" is not \"" FORMAT "\"");
	return check_keys(&p, header, keys);
}

/* One member of the file; of the two lists, @header learns only that they were there. */
static int read_member(struct reader *r, json_t *header, const char *key)
{
	const struct place p = {IN_FILE, 0, NULL};
	json_t *value = json_true();
	int err;

	if (json_object_get(header, key))
		return bad(&p, key, "appears twice");
	if (!strcmp(key, "tensors"))
		err = read_tensors(r);
	else if (!strcmp(key, "kernels"))
		err = read_list(r, read_kernel);
	else
		err = annex_walk_value(&r->walk, &value);
	if (!err && json_object_set_new(header, key, value))
		err = annex_fail(-ENOMEM, "no memory for the trace");
	/* No need to read on; but the format of a trace may come last. */
	if (!err && json_object_get(header, "format"))
		err = check_header(header);
	return err;
}

static int read_members(struct reader *r, json_t *header)
{
	int err = annex_walk_enter(&r->walk, '{');
	bool first = true;

	while (!err && (err = annex_walk_more(&r->walk, '}', &first)) > 0) {
		json_t *key;

		err = annex_walk_key(&r->walk, &key);
		if (!err)
			err = read_member(r, header, json_string_value(key));
		json_decref(key);
	}
	return err ? err : annex_walk_end(&r->walk);
}

static int keep_text(json_t *header, const char *key, char **kept)
{
	const struct place p = {IN_FILE, 0, NULL};
	const char *text = NULL;
	int err = get_text(&p, header, key, &text);

	if (!err && text) {
		*kept = strdup(text);
		err = *kept ? 0 : annex_fail(-ENOMEM, "no memory for the trace");
	}
	return err;
}

static int read_trace(struct reader *r, json_t *header)
{
	const struct place p = {IN_FILE, 0, NULL};
	struct annex_trace *t = r->trace;
	int err;

	if ((err = read_members(r, header)) || (err = check_header(header)) ||
	    (err = get_number(&p, header, "batch", 0, INT64_MAX, &t->batch)) ||
	    (err = keep_text(header, "model", &t->model)) ||
	    (err = keep_text(header, "device", &t->device)) ||
	    (err = need(&p, header, "tensors")) || (err = need(&p, header, "kernels")))
		return err;
	return annex_trace_finish(t);
}

int annex_trace_parse(const char *text, size_t len, struct annex_trace **trace)
{
	struct reader r = {.walk = {text, len, 0}};
	json_t *header = json_object();
	int err;

	*trace = NULL;
	err = header ? annex_trace_create(NULL, NULL, 0, &r.trace)
		     : annex_fail(-ENOMEM, "no memory for the trace");
	if (!err)
		err = read_trace(&r, header);
	free(r.ids.id);
	json_decref(header);
	if (err)
		annex_trace_free(r.trace);
	else
		*trace = r.trace;
	return err;
}

int annex_trace_read(const char *path, struct annex_trace **trace)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *text = NULL;
	size_t len = 0;
	int err;

	*trace = NULL;
	if (!f)
		return annex_fail(-errno, "%m");
	err = annex_walk_load(f, FILE_MAX, &text, &len);
	if (f != stdin)
		fclose(f);
	if (!err)
		err = annex_trace_parse(text, len, trace);
	free(text);
	return err;
}

/* A key, a string and a comma; nothing for NULL. */
static int write_text(FILE *f, const char *key, const char *text)
{
	json_t *string;
	int err = 0;

	if (!text)
		return 0;
	string = json_string(text);
	if (!string)
		return annex_fail(-ENOMEM, "no memory to write a name");
	fprintf(f, "\"%s\":", key);
	if (json_dumpf(string, f, JSON_ENCODE_ANY))
		err = -EIO;
	fputc(',', f);
	json_decref(string);
	return err;
}

static int write_tensor(FILE *f, const struct annex_trace *trace, uint32_t id)
{
	const struct annex_tensor *t = &trace->tensors[id];
	int err;

	fprintf(f, "%s\n  {\"id\":%u,", id ? "," : "", id);
	err = write_text(f, "name", t->name);
	if (!err && t->role != ANNEX_ROLE_NONE)
		err = write_text(f, "role", annex_role_name(t->role));
	fprintf(f, "\"bytes\":%" PRIu64 ",\"global\":%s", t->bytes, t->global ? "true" : "false");
	if (t->birth != ANNEX_KERNEL_NONE)
		fprintf(f, ",\"birth\":%u", t->birth);
	if (t->death != ANNEX_KERNEL_NONE)
		fprintf(f, ",\"death\":%u", t->death);
	fputc('}', f);
	return err;
}

static void write_uses(FILE *f, const struct annex_trace *trace, uint32_t k, const char *key,
		       uint32_t how)
{
	const char *comma = "";

	fprintf(f, ",\"%s\":[", key);
	for (uint32_t i = trace->kernels[k].first; i < trace->kernels[k + 1].first; i++) {
		if (!(trace->uses[i].how & how))
			continue;
		fprintf(f, "%s%u", comma, trace->uses[i].tensor);
		comma = ",";
	}
	fputc(']', f);
}

static int write_kernel(FILE *f, const struct annex_trace *trace, uint32_t k)
{
	const struct annex_kernel *kernel = &trace->kernels[k];
	int err;

	fprintf(f, "%s\n  {", k ? "," : "");
	err = write_text(f, "name", kernel->name);
	fprintf(f, "\"ns\":%" PRIu64, kernel->ns);
	if (kernel->fault_ns)
		fprintf(f, ",\"fault_ns\":%" PRIu64, kernel->fault_ns);
	write_uses(f, trace, k, "in", ANNEX_USE_READ);
	write_uses(f, trace, k, "out", ANNEX_USE_WRITE);
	fputc('}', f);
	return err;
}

int annex_trace_write(const struct annex_trace *trace, FILE *f)
{
	int err;

	fputs("{\"format\":\"" FORMAT "\",", f);
	err = write_text(f, "model", trace->model);
	if (!err)
		err = write_text(f, "device", trace->device);
	if (trace->batch)
		fprintf(f, "\"batch\":%" PRIu64 ",", trace->batch);
	fputs("\n \"tensors\":[", f);
	for (uint32_t i = 0; i < trace->n_tensors && !err; i++)
		err = write_tensor(f, trace, i);
	fputs("\n ],\n \"kernels\":[", f);
	for (uint32_t k = 0; k < trace->n_kernels && !err; k++)
		err = write_kernel(f, trace, k);
	fputs("\n ]\n}\n", f);
	if (err == -ENOMEM)
		return err;
	if (fflush(f) || ferror(f))
		return annex_fail(-EIO, "%s", strerror(errno ? errno : EIO));
	return 0;
}
