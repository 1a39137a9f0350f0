// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/array.h"
#include "core/log.h"
#include "net.h"

static int net_fail(struct gen_net *net, int err)
{
	if (!net->err)
		net->err = err;
	return net->err;
}

/* Make room for one more of @n; false after an error. */
#define GROW(net, array, n, room)                                                                  \
	(!(net)->err && (((n) < ANNEX_TRACE_MAX_USES && array_grow(array, n, room)) ||             \
			 !net_fail(net, annex_fail(-ENOMEM, "out of memory"))))

int annex_gen_init(struct gen_net *net, const struct annex_trace_spec *spec)
{
	static const char *const dtypes[ANNEX_DTYPES] = {"", "fp32", "tf32", "fp16", "bf16"};
	char device[96];

	memset(net, 0, sizeof(*net));
	net->gpu = annex_gpu_find(spec->gpu);
	net->dtype = spec->dtype;
	net->optimizer = spec->optimizer;
	net->accumulate = spec->accumulate;
	net->vertical = spec->vertical;
	net->host_step = spec->host_step;
	net->n_values = 1; /* value 0 is none */
	snprintf(device, sizeof(device), "%s, %llu GiB, %s, generated", net->gpu->summary,
		 (ull)(net->gpu->memory >> 30), dtypes[spec->dtype]);
	return net_fail(net, annex_trace_create(spec->model, device, spec->batch * spec->accumulate,
						&net->trace));
}

void annex_gen_free(struct gen_net *net)
{
	free(net->values);
	free(net->tape);
	free(net->stages);
	net->values = NULL;
	net->tape = NULL;
	net->stages = NULL;
}

void annex_gen_scope(struct gen_net *net, const char *part, uint64_t i)
{
	net->scope[0] = '\0';
	net->stage++;
	if (part)
		snprintf(net->scope, sizeof(net->scope), "%s.%llu.", part, (ull)i);
}

uint64_t annex_gen_size(struct gen_net *net, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t n;

	if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) ||
	    __builtin_mul_overflow(n, d, &n) || n > ANNEX_TRACE_MAX_BYTES) {
		if (!net->err)
			net_fail(net, annex_fail(-E2BIG,
						 "a tensor of %llu x %llu x %llu x %llu elements "
						 "is larger than a trace may hold",
						 (ull)a, (ull)b, (ull)c, (ull)d));
		return 1;
	}
	return n;
}

uint64_t annex_gen_elems(const struct gen_net *net, uint32_t value)
{
	return value ? net->values[value].elems : 1;
}

uint32_t annex_gen_tensor(struct gen_net *net, const char *name, uint64_t bytes,
			  enum annex_tensor_role role, bool global)
{
	char full[96];
	struct annex_tensor t = {.name = name ? full : NULL,
				 .birth = ANNEX_KERNEL_NONE,
				 .death = ANNEX_KERNEL_NONE,
				 .role = (uint8_t)role,
				 .global = global};
	int id;

	if (net->err)
		return 0;
	if (name)
		snprintf(full, sizeof(full), "%s%s", net->scope, name);
	t.bytes = (bytes + GEN_PAGE - 1) / GEN_PAGE * GEN_PAGE;
	id = annex_trace_add_tensor(net->trace, &t);
	if (id < 0)
		net_fail(net, id);
	return id < 0 ? 0 : (uint32_t)id;
}

static uint32_t add_value(struct gen_net *net, const struct gen_value *v)
{
	if (!GROW(net, net->values, net->n_values, net->room_values))
		return 0;
	net->values[net->n_values] = *v;
	return net->n_values++;
}

static uint32_t model_bytes(const struct gen_net *net)
{
	return net->dtype == ANNEX_DTYPE_FP16 || net->dtype == ANNEX_DTYPE_BF16 ? 2 : 4;
}

static uint32_t new_value(struct gen_net *net, const char *name, uint64_t elems,
			  unsigned int elem_bytes, enum annex_tensor_role role, bool global)
{
	struct gen_value v = {.elems = elems,
			      .elem_bytes = (uint8_t)(elem_bytes ? elem_bytes : model_bytes(net)),
			      .wants = role == ANNEX_ROLE_WEIGHT || role == ANNEX_ROLE_ACTIVATION,
			      .weight = role == ANNEX_ROLE_WEIGHT};

	v.tensor = annex_gen_tensor(net, name, annex_gen_size(net, elems, v.elem_bytes, 1, 1), role,
				    global);
	return add_value(net, &v);
}

uint32_t annex_gen_activation(struct gen_net *net, const char *name, uint64_t elems,
			      unsigned int elem_bytes)
{
	return new_value(net, name, elems, elem_bytes, ANNEX_ROLE_ACTIVATION, false);
}

uint32_t annex_gen_input(struct gen_net *net, const char *name, uint64_t elems,
			 unsigned int elem_bytes)
{
	return new_value(net, name, elems, elem_bytes, ANNEX_ROLE_INPUT, false);
}

uint32_t annex_gen_weight(struct gen_net *net, const char *name, uint64_t elems)
{
	net->work.params += elems;
	return new_value(net, name, elems, 0, ANNEX_ROLE_WEIGHT, true);
}

uint32_t annex_gen_state(struct gen_net *net, const char *name, uint64_t elems)
{
	return new_value(net, name, elems, 0, ANNEX_ROLE_NONE, true);
}

uint32_t annex_gen_view(struct gen_net *net, uint32_t value, uint64_t elems)
{
	struct gen_value v;

	if (net->err)
		return 0;
	v = net->values[value];
	v.elems = elems;
	return add_value(net, &v);
}

uint32_t annex_gen_gradient(struct gen_net *net, uint32_t value)
{
	struct gen_value v;

	if (net->err)
		return 0;
	v = net->values[value];
	/* A second one is added to the first, and gone. */
	return new_value(net, NULL, v.elems, v.elem_bytes,
			 v.weight && !v.grad ? ANNEX_ROLE_GRADIENT : ANNEX_ROLE_ACTIVATION, false);
}

static double value_bytes(const struct gen_net *net, uint32_t value)
{
	return (double)net->values[value].elems * net->values[value].elem_bytes;
}

void annex_gen_read(struct gen_net *net, struct gen_uses *u, uint32_t value)
{
	if (net->err || !value)
		return;
	u->in[u->n_in++] = net->values[value].tensor;
	u->bytes += value_bytes(net, value);
}

void annex_gen_write(struct gen_net *net, struct gen_uses *u, uint32_t value)
{
	if (net->err || !value)
		return;
	u->out[u->n_out++] = net->values[value].tensor;
	u->bytes += value_bytes(net, value);
}

void annex_gen_timed(struct gen_net *net, const char *name, const char *suffix,
		     const struct gen_uses *u, double ns)
{
	char full[64];

	if (net->err || !GROW(net, net->stages, net->trace->n_kernels, net->room_stages))
		return;
	net->stages[net->trace->n_kernels] = net->stage;
	snprintf(full, sizeof(full), "%s%s", name, suffix);
	if (ns >= (double)ANNEX_TRACE_MAX_NS)
		net_fail(net, annex_fail(-E2BIG, "kernel %s takes longer than a trace may", full));
	else
		net_fail(net, annex_trace_add_kernel(net->trace, full, (uint64_t)ns, u->in, u->n_in,
						     u->out, u->n_out));
}

void annex_gen_kernel(struct gen_net *net, const char *name, const char *suffix, struct gen_uses *u,
		      double flops, uint64_t workspace)
{
	if (workspace)
		u->out[u->n_out++] = annex_gen_tensor(net, NULL, workspace, ANNEX_ROLE_WORKSPACE,
						      false);
	annex_gen_timed(net, name, suffix, u, annex_gpu_ns(net->gpu, net->dtype, flops, u->bytes));
}

/* The tensor of a repetition for tensor @id of @from. @now: its tensors so far, by the old ids. */
static uint32_t repeated(struct gen_net *net, const struct annex_trace *from, uint32_t *now,
			 uint32_t id)
{
	const struct annex_tensor *t = &from->tensors[id];

	if (t->global || t->role == ANNEX_ROLE_GRADIENT)
		return id;
	if (!now[id])
		now[id] = annex_gen_tensor(net, NULL, t->bytes, t->role, false);
	return now[id];
}

/* @now: NULL for the first time; later a gradient that is written is read, too: it is added to. */
static void repeat_kernel(struct gen_net *net, const struct annex_trace *from, uint32_t *now,
			  uint32_t k)
{
	struct gen_uses u = {0};

	for (uint32_t i = from->kernels[k].first; i < from->kernels[k + 1].first; i++) {
		uint32_t old = from->uses[i].tensor, how = from->uses[i].how;
		uint32_t id = now ? repeated(net, from, now, old) : old;

		if (how & ANNEX_USE_READ || (now && from->tensors[old].role == ANNEX_ROLE_GRADIENT))
			u.in[u.n_in++] = id;
		if (how & ANNEX_USE_WRITE)
			u.out[u.n_out++] = id;
	}
	annex_gen_timed(net, from->kernels[k].name, "", &u, (double)from->kernels[k].ns);
}

/* The kernel after the ones that are repeated together with kernel @k. */
static uint32_t stage_end(const struct gen_net *net, const uint32_t *stages, uint32_t k, uint32_t n)
{
	uint32_t end = k + 1;

	while (end < n && (!net->vertical || stages[end] == stages[k]))
		end++;
	return end;
}

/* @now: net->accumulate times as many numbers as there are tensors, all 0; none is of tensor 0. */
static void repeat_all(struct gen_net *net, const struct annex_trace *from, const uint32_t *stages,
		       uint32_t *now)
{
	for (uint32_t i = 0; i < from->n_tensors && !net->err; i++) {
		int id = annex_trace_add_tensor(net->trace, &from->tensors[i]);

		net_fail(net, id < 0 ? id : 0);
	}
	for (uint32_t k = 0, end; k < from->n_kernels && !net->err; k = end) {
		end = stage_end(net, stages, k, from->n_kernels);
		for (uint64_t n = 0; n < net->accumulate; n++)
			for (uint32_t i = k; i < end && !net->err; i++)
				repeat_kernel(net, from, n ? now + n * from->n_tensors : NULL, i);
	}
}

void annex_gen_accumulate(struct gen_net *net)
{
	struct annex_trace *from = net->trace;
	uint32_t *stages = net->stages, *now;

	if (net->err || net->accumulate < 2)
		return;
	if (net->accumulate > ANNEX_TRACE_MAX_KERNELS / from->n_kernels) {
		net_fail(net, annex_fail(-E2BIG,
					 "%llu batches of %u kernels are more than a trace "
					 "may hold",
					 (ull)net->accumulate, from->n_kernels));
		return;
	}
	/* The uses of the last kernel end with all uses. */
	from->kernels[from->n_kernels] = (struct annex_kernel){.first = from->n_uses};
	net->stages = NULL;
	net->room_stages = 0;
	now = calloc(net->accumulate, from->n_tensors * sizeof(*now));
	if (!now)
		net_fail(net, annex_fail(-ENOMEM, "out of memory"));
	else
		net_fail(net,
			 annex_trace_create(from->model, from->device, from->batch, &net->trace));
	if (!net->err)
		repeat_all(net, from, stages, now);
	free(stages);
	free(now);
	if (net->trace != from)
		annex_trace_free(from);
}

uint32_t annex_gen_op(struct gen_net *net, const struct gen_op *op)
{
	struct gen_uses u = {0};

	if (!GROW(net, net->tape, net->n_ops, net->room_ops))
		return 0;
	net->tape[net->n_ops] = *op;
	net->tape[net->n_ops++].stage = net->stage;
	net->work.forward_flops += op->flops;
	if (op->flags & GEN_ATTENTION)
		net->work.attention_flops += op->flops;
	if (op->flags & GEN_VIEW)
		return op->out[0];
	for (unsigned int i = 0; i < GEN_INS; i++)
		annex_gen_read(net, &u, op->in[i]);
	annex_gen_read(net, &u, op->weight);
	if (op->flags & GEN_GATHER)
		u.bytes = value_bytes(net, op->out[0]);
	annex_gen_read(net, &u, op->aux);
	annex_gen_read(net, &u, op->bias);
	for (unsigned int i = 0; i < GEN_OUTS; i++)
		annex_gen_write(net, &u, op->out[i]);
	for (unsigned int i = 0; i < GEN_SAVES; i++) {
		annex_gen_write(net, &u, op->save[i]);
		annex_gen_read(net, &u, op->state[i]);
		annex_gen_write(net, &u, op->state[i]);
	}
	annex_gen_kernel(net, op->name, "_Forward", &u, op->flops, op->workspace[0]);
	return op->out[0];
}
