/* SPDX-License-Identifier: MIT */
/*
 * A model being written down as kernels: forward operations as they are added, each remembered on a
 * tape, then the tape backwards, then the optimizer (the way of autograd).
 *
 * The first error stays in the net, and later calls do nothing: models need not look.
 */
#ifndef ANNEX_PLAN_GENERATE_NET_H
#define ANNEX_PLAN_GENERATE_NET_H

#include <annex/generate.h>

#define GEN_PAGE 4096u
#define GEN_INS 3
#define GEN_OUTS 3
#define GEN_SAVES 2

/*
 * How the backward kernels of an operation behave. They always read the gradient of the output.
 * READS_IN, READS_OUT: the kernel for the input's gradient reads the input, the output.
 * WEIGHT_READS_IN: the kernel for the weight's gradient reads the input.
 * EACH: a kernel for the gradient of each input, which reads the other inputs.
 * PASS: the gradient of the output is that of each input: no kernel.
 * JOINT: one kernel makes the gradients of inputs and weights.
 * VIEW: the outputs are parts of the input: no forward kernel.
 * GATHER: of its inputs, it reads as many bytes as it writes.
 * ATTENTION: its multiplications are between activations.
 */
#define GEN_READS_IN 1u
#define GEN_READS_OUT 2u
#define GEN_WEIGHT_READS_IN 4u
#define GEN_EACH 8u
#define GEN_PASS 16u
#define GEN_JOINT 32u
#define GEN_VIEW 64u
#define GEN_GATHER 128u
#define GEN_ATTENTION 256u

/*
 * struct gen_value - A tensor as layers see it. Views are values of their own with one tensor.
 * @grad: the value that is its gradient so far; 0: none yet.
 * @wants: gradients flow to it.
 * @shared: as a gradient, it is that of more than one value.
 */
struct gen_value {
	uint64_t elems;
	uint32_t tensor, grad;
	uint8_t elem_bytes;
	bool wants, shared, weight;
};

/*
 * struct gen_op - An operation; value 0 means none, and ends lists.
 * @aux: read forward and backward, takes no gradient.
 * @state: global, read and written forward.
 * @save: written forward, read by every backward kernel.
 * @flops: forward; a backward kernel has @backward times as many (0: as many).
 * @workspace: bytes of the forward kernel, that of the input's and of the weight's gradient.
 * @stage: set by annex_gen_op().
 */
struct gen_op {
	const char *name;
	uint32_t in[GEN_INS], out[GEN_OUTS], save[GEN_SAVES], state[GEN_SAVES];
	uint32_t aux, weight, bias, flags, stage;
	double flops, backward;
	uint64_t workspace[3];
};

struct gen_net {
	int err;
	struct annex_trace *trace;
	const struct annex_gpu *gpu;
	enum annex_dtype dtype;
	enum annex_optimizer optimizer;
	uint64_t accumulate;
	bool vertical;
	double host_step;
	struct annex_work work;
	char scope[32];   /* of the names of added values: "encoder.3." */
	uint32_t stage;   /* of added kernels: changes with the scope */
	uint32_t *stages; /* of each kernel */
	struct gen_value *values;
	struct gen_op *tape;
	uint32_t n_values, room_values, n_ops, room_ops, room_stages;
};

/**
 * annex_gen_init() - Begin a net; annex_gen_free() it, which leaves the trace alone.
 * @spec: with every number the model has, its GPU, its dtype and its optimizer.
 */
int annex_gen_init(struct gen_net *net, const struct annex_trace_spec *spec);
void annex_gen_free(struct gen_net *net);

/**
 * annex_gen_scope() - Begin later names with @part, @i and dots; NULL: with nothing.
 */
void annex_gen_scope(struct gen_net *net, const char *part, uint64_t i);

/**
 * annex_gen_size() - a * b * c * d elements, or -E2BIG when no tensor may have so many.
 */
uint64_t annex_gen_size(struct gen_net *net, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/**
 * annex_gen_elems() - Elements of a value.
 */
uint64_t annex_gen_elems(const struct gen_net *net, uint32_t value);

/**
 * annex_gen_activation() - A tensor that a kernel makes; @elem_bytes 0: the model's.
 * annex_gen_input() - A tensor that the iteration is given.
 * annex_gen_weight() - A tensor that it trains.
 * annex_gen_state() - Neither trained nor forgotten: running means.
 * annex_gen_view() - Some elements of @value as a value of their own.
 * annex_gen_gradient() - A tensor for the gradient of @value.
 *
 * Return: the value; 0 after an error.
 */
uint32_t annex_gen_activation(struct gen_net *net, const char *name, uint64_t elems,
			      unsigned int elem_bytes);
uint32_t annex_gen_input(struct gen_net *net, const char *name, uint64_t elems,
			 unsigned int elem_bytes);
uint32_t annex_gen_weight(struct gen_net *net, const char *name, uint64_t elems);
uint32_t annex_gen_state(struct gen_net *net, const char *name, uint64_t elems);
uint32_t annex_gen_view(struct gen_net *net, uint32_t value, uint64_t elems);
uint32_t annex_gen_gradient(struct gen_net *net, uint32_t value);

/**
 * annex_gen_op() - Add an operation: its forward kernel, and its place on the tape.
 *
 * Return: its first output.
 */
uint32_t annex_gen_op(struct gen_net *net, const struct gen_op *op);

/**
 * annex_gen_train() - After the last operation: the backward pass from @loss, then the optimizer.
 */
void annex_gen_train(struct gen_net *net, uint32_t loss);

/**
 * annex_gen_accumulate() - Repeat all kernels, net->accumulate times in all, with tensors of their
 * own: only global tensors and gradients of weights, which add up, are the same. net->vertical: the
 * kernels of a stage are repeated before the next stage.
 */
void annex_gen_accumulate(struct gen_net *net);

/**
 * annex_gen_tensor() - A tensor of the trace with bytes rounded up to pages, which is no value.
 * annex_gen_kernel() - The next kernel, timed by the roofline. It moves @uses->bytes.
 * annex_gen_timed() - The next kernel, of a given time.
 */
struct gen_uses {
	uint32_t in[12], out[12];
	unsigned int n_in, n_out;
	double bytes;
};

uint32_t annex_gen_tensor(struct gen_net *net, const char *name, uint64_t bytes,
			  enum annex_tensor_role role, bool global);
void annex_gen_kernel(struct gen_net *net, const char *name, const char *suffix,
		      struct gen_uses *uses, double flops, uint64_t workspace);
void annex_gen_timed(struct gen_net *net, const char *name, const char *suffix,
		     const struct gen_uses *uses, double ns);
void annex_gen_read(struct gen_net *net, struct gen_uses *uses, uint32_t value);
void annex_gen_write(struct gen_net *net, struct gen_uses *uses, uint32_t value);

#endif
