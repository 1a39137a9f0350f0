// SPDX-License-Identifier: MIT
/*
 * The second half of a training iteration: the tape backwards, then the optimizer.
 */
#include "net.h"

/*
 * The gradient that one use of @value gives. A second one is added to the first: in the place of
 * one that nothing else needs, else into a tensor of its own.
 */
static void give(struct gen_net *net, uint32_t value, uint32_t grad)
{
	struct gen_uses u = {0};
	uint32_t old, sum;

	if (net->err)
		return;
	old = net->values[value].grad;
	sum = grad;
	if (old) {
		annex_gen_read(net, &u, old);
		annex_gen_read(net, &u, grad);
		if (!net->values[old].shared)
			sum = old;
		else if (net->values[grad].shared)
			sum = annex_gen_gradient(net, value);
		annex_gen_write(net, &u, sum);
		annex_gen_kernel(net, "Add", "_Gradient", &u, 0, 0);
	}
	if (!net->err)
		net->values[value].grad = sum;
}

static bool wants(const struct gen_net *net, uint32_t value)
{
	return value && !net->err && net->values[value].wants;
}

/* The gradients of the outputs and what forward has saved: every backward kernel reads them. */
static void read_common(struct gen_net *net, struct gen_uses *u, const struct gen_op *op)
{
	for (unsigned int i = 0; i < GEN_OUTS; i++)
		if (op->out[i] && !net->err)
			annex_gen_read(net, u, net->values[op->out[i]].grad);
	for (unsigned int i = 0; i < GEN_SAVES; i++)
		annex_gen_read(net, u, op->save[i]);
	annex_gen_read(net, u, op->aux);
}

static double backward_flops(const struct gen_op *op)
{
	return op->flops * (op->backward > 0 ? op->backward : 1);
}

/* A kernel for each input, which reads the others: products. */
static void each_input(struct gen_net *net, const struct gen_op *op)
{
	static const char *const suffix[GEN_INS] = {"_Backward_A", "_Backward_B", "_Backward_C"};

	for (unsigned int i = 0; i < GEN_INS; i++) {
		struct gen_uses u = {0};
		uint32_t grad;

		if (!wants(net, op->in[i]))
			continue;
		read_common(net, &u, op);
		for (unsigned int k = 0; k < GEN_INS; k++)
			annex_gen_read(net, &u, k == i ? 0 : op->in[k]);
		grad = annex_gen_gradient(net, op->in[i]);
		annex_gen_write(net, &u, grad);
		annex_gen_kernel(net, op->name, suffix[i], &u, backward_flops(op), 0);
		give(net, op->in[i], grad);
	}
}

/* Weight gradients of @op as outputs of the kernel @u. */
static void write_weights(struct gen_net *net, struct gen_uses *u, const struct gen_op *op,
			  uint32_t grad[2], bool bias)
{
	grad[0] = op->weight ? annex_gen_gradient(net, op->weight) : 0;
	grad[1] = op->bias && bias ? annex_gen_gradient(net, op->bias) : 0;
	annex_gen_write(net, u, grad[0]);
	annex_gen_write(net, u, grad[1]);
}

static void give_weights(struct gen_net *net, const struct gen_op *op, const uint32_t grad[2])
{
	if (grad[0])
		give(net, op->weight, grad[0]);
	if (grad[1])
		give(net, op->bias, grad[1]);
}

/* One kernel for the gradients of all inputs, and with JOINT of the weights. */
static void all_inputs(struct gen_net *net, const struct gen_op *op)
{
	bool joint = op->flags & GEN_JOINT;
	uint32_t grad[GEN_INS] = {0}, weights[2] = {0};
	struct gen_uses u = {0};

	if (!wants(net, op->in[0]) && !joint)
		return;
	read_common(net, &u, op);
	annex_gen_read(net, &u, op->weight);
	for (unsigned int i = 0; i < GEN_INS; i++) {
		if (op->flags & GEN_READS_IN)
			annex_gen_read(net, &u, op->in[i]);
		if (wants(net, op->in[i]))
			grad[i] = annex_gen_gradient(net, op->in[i]);
		annex_gen_write(net, &u, grad[i]);
	}
	if (op->flags & GEN_READS_OUT)
		annex_gen_read(net, &u, op->out[0]);
	if (joint)
		write_weights(net, &u, op, weights, true);
	annex_gen_kernel(net, op->name, op->weight && !joint ? "_Backward_Input" : "_Backward", &u,
			 backward_flops(op), op->workspace[1]);
	for (unsigned int i = 0; i < GEN_INS; i++)
		if (grad[i])
			give(net, op->in[i], grad[i]);
	give_weights(net, op, weights);
}

/* A multiplication has a kernel of its own for the bias: a sum over rows. */
static void weights_apart(struct gen_net *net, const struct gen_op *op)
{
	bool own = op->flops > 0;
	uint32_t grad[2];
	struct gen_uses u = {0}, b = {0};

	read_common(net, &u, op);
	if (op->flags & GEN_WEIGHT_READS_IN)
		annex_gen_read(net, &u, op->in[0]);
	write_weights(net, &u, op, grad, !own);
	annex_gen_kernel(net, op->name, "_Backward_Weight", &u, backward_flops(op),
			 op->workspace[2]);
	if (own && op->bias) {
		read_common(net, &b, op);
		grad[1] = annex_gen_gradient(net, op->bias);
		annex_gen_write(net, &b, grad[1]);
		annex_gen_kernel(net, op->name, "_Backward_Bias", &b, 0, 0);
	}
	give_weights(net, op, grad);
}

static void pass(struct gen_net *net, const struct gen_op *op)
{
	uint32_t grad = net->values[op->out[0]].grad;

	net->values[grad].shared = true;
	for (unsigned int i = 0; i < GEN_INS; i++)
		if (wants(net, op->in[i]))
			give(net, op->in[i], grad);
}

static void backward(struct gen_net *net, const struct gen_op *op)
{
	if (net->err || !net->values[op->out[0]].grad)
		return;
	if (op->flags & GEN_PASS)
		pass(net, op);
	else if (op->flags & GEN_EACH)
		each_input(net, op);
	else
		all_inputs(net, op);
	if (op->weight && !(op->flags & GEN_JOINT))
		weights_apart(net, op);
}

static const char *const step_names[ANNEX_OPTIMIZERS] = {"", "Sgd", "Momentum", "Adam"};

static void update(struct gen_net *net, uint32_t weight)
{
	static const unsigned int moments[ANNEX_OPTIMIZERS] = {0, 0, 1, 2};
	bool half = net->values[weight].elem_bytes < 4;
	unsigned int n = moments[net->optimizer] + half;
	uint64_t elems = net->values[weight].elems;
	struct gen_uses u = {0};

	annex_gen_read(net, &u, weight);
	annex_gen_read(net, &u, net->values[weight].grad);
	annex_gen_write(net, &u, weight);
	for (unsigned int i = 0; i < n; i++) {
		u.in[u.n_in++] = u.out[u.n_out++] = annex_gen_tensor(net, NULL, elems * 4,
								     ANNEX_ROLE_OPTIMIZER, true);
		u.bytes += (double)elems * 8;
	}
	annex_gen_kernel(net, step_names[net->optimizer], "_Step", &u, 0, 0);
}

/* Gradients, as large as the weights, stay until the host's processor has used all of them. */
static void update_on_host(struct gen_net *net)
{
	double ns = (double)net->work.params / net->host_step * 1e9;

	for (uint32_t i = 1; i < net->n_values && !net->err; i++)
		if (net->values[i].weight && net->values[i].grad)
			net->trace->tensors[net->values[net->values[i].grad].tensor].death =
				net->trace->n_kernels;
	if (!net->err)
		annex_gen_timed(net, step_names[net->optimizer], "_HostStep", &(struct gen_uses){0},
				ns);
}

void annex_gen_train(struct gen_net *net, uint32_t loss)
{
	struct gen_uses u = {0};
	uint32_t head = net->stage;

	if (net->err)
		return;
	net->values[loss].grad = annex_gen_gradient(net, loss);
	if (net->err)
		return;
	annex_gen_write(net, &u, net->values[loss].grad);
	annex_gen_kernel(net, "Loss", "_Gradient", &u, 0, 0);
	/* The last layer's backward kernels follow its forward ones. */
	for (uint32_t i = net->n_ops; i-- > 0 && !net->err;) {
		net->stage = net->tape[i].stage == head ? head : ~net->tape[i].stage;
		backward(net, &net->tape[i]);
	}
	annex_gen_accumulate(net);
	if (net->host_step > 0) {
		update_on_host(net);
		return;
	}
	for (uint32_t i = 1; i < net->n_values && !net->err; i++)
		if (net->values[i].weight)
			update(net, i);
}
