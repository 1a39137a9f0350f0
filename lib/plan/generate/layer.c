// SPDX-License-Identifier: MIT
#include <stdio.h>
#include "layer.h"

#define GEMM_WORKSPACE (8u << 20) /* cuBLAS splits the long sums of weight gradients */

static uint32_t named_weight(struct gen_net *net, const char *name, const char *part,
			     uint64_t elems)
{
	char full[64];

	snprintf(full, sizeof(full), "%s.%s", name, part);
	return annex_gen_weight(net, full, elems);
}

uint32_t annex_layer_project(struct gen_net *net, uint32_t x, uint32_t weight, uint32_t bias,
			     uint64_t from, uint64_t to)
{
	uint64_t rows = annex_gen_elems(net, x) / from;
	struct gen_op op = {.name = "Linear",
			    .in = {x},
			    .weight = weight,
			    .bias = bias,
			    .flags = GEN_WEIGHT_READS_IN,
			    .flops = 2.0 * (double)rows * (double)from * (double)to,
			    .workspace = {0, 0, GEMM_WORKSPACE}};

	op.out[0] = annex_gen_activation(net, "Linear", annex_gen_size(net, rows, to, 1, 1), 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_linear(struct gen_net *net, const char *name, uint32_t x, uint64_t from,
			    uint64_t to, bool bias)
{
	uint32_t w = named_weight(net, name, "weight", annex_gen_size(net, from, to, 1, 1));
	uint32_t b = bias ? named_weight(net, name, "bias", to) : 0;

	return annex_layer_project(net, x, w, b, from, to);
}

uint32_t annex_layer_embed(struct gen_net *net, uint32_t tokens, uint32_t weight, uint64_t width)
{
	uint64_t n = annex_gen_elems(net, tokens);
	struct gen_op op = {.name = "Embedding",
			    .aux = tokens,
			    .weight = weight,
			    .flags = GEN_GATHER,
			    .workspace = {0, 0, n * 16}}; /* backward sorts tokens */

	op.out[0] = annex_gen_activation(net, "Embedding", annex_gen_size(net, n, width, 1, 1), 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_offset(struct gen_net *net, uint32_t x, uint32_t weight)
{
	struct gen_op op = {.name = "Add", .in = {x}, .weight = weight, .flags = GEN_PASS};

	op.out[0] = annex_gen_activation(net, "Add", annex_gen_elems(net, x), 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_prepend(struct gen_net *net, uint32_t x, uint32_t weight, uint64_t batch)
{
	uint64_t more = annex_gen_size(net, batch, annex_gen_elems(net, weight), 1, 1);
	struct gen_op op = {.name = "Concat", .in = {x}, .weight = weight};

	op.out[0] = annex_gen_activation(net, "Concat", annex_gen_elems(net, x) + more, 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_select(struct gen_net *net, uint32_t x, uint64_t elems)
{
	struct gen_op op = {.name = "Select", .in = {x}, .flags = GEN_GATHER};

	op.out[0] = annex_gen_activation(net, "Select", elems, 0);
	return annex_gen_op(net, &op);
}

/* Statistics of each row are saved in fp32; backward sums over rows in a workspace. */
static uint32_t norm(struct gen_net *net, const char *op_name, const char *name, uint32_t x,
		     uint64_t width, bool mean)
{
	uint64_t n = annex_gen_elems(net, x);
	struct gen_op op = {.name = op_name,
			    .in = {x},
			    .flags = GEN_READS_IN | GEN_WEIGHT_READS_IN,
			    .workspace = {0, 0, width * 4 * 64}};

	op.weight = named_weight(net, name, "weight", width);
	op.save[0] = annex_gen_activation(net, "rstd", n / width, 4);
	if (mean) {
		op.bias = named_weight(net, name, "bias", width);
		op.save[1] = annex_gen_activation(net, "mean", n / width, 4);
	}
	op.out[0] = annex_gen_activation(net, op_name, n, 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_norm(struct gen_net *net, const char *name, uint32_t x, uint64_t width)
{
	return norm(net, "LayerNorm", name, x, width, true);
}

uint32_t annex_layer_rms_norm(struct gen_net *net, const char *name, uint32_t x, uint64_t width)
{
	return norm(net, "RmsNorm", name, x, width, false);
}

uint32_t annex_layer_map(struct gen_net *net, const char *name, uint32_t x, uint32_t flags)
{
	struct gen_op op = {.name = name, .in = {x}, .flags = flags};

	op.out[0] = annex_gen_activation(net, name, annex_gen_elems(net, x), 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_dropout(struct gen_net *net, uint32_t x)
{
	uint64_t n = annex_gen_elems(net, x);
	struct gen_op op = {.name = "Dropout", .in = {x}};

	op.save[0] = annex_gen_activation(net, "mask", n, 1);
	op.out[0] = annex_gen_activation(net, "Dropout", n, 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_add(struct gen_net *net, uint32_t a, uint32_t b)
{
	struct gen_op op = {.name = "Add", .in = {a, b}, .flags = GEN_PASS};

	op.out[0] = annex_gen_activation(net, "Add", annex_gen_elems(net, a), 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_mul(struct gen_net *net, uint32_t a, uint32_t b)
{
	struct gen_op op = {.name = "Multiply", .in = {a, b}, .flags = GEN_EACH};

	op.out[0] = annex_gen_activation(net, "Multiply", annex_gen_elems(net, a), 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_softmax(struct gen_net *net, uint32_t x)
{
	return annex_layer_map(net, "Softmax", x, GEN_READS_OUT);
}

void annex_layer_split(struct gen_net *net, uint32_t x, uint32_t part[3])
{
	struct gen_op op = {.name = "Split", .in = {x}, .flags = GEN_VIEW};

	for (unsigned int i = 0; i < 3; i++)
		op.out[i] = part[i] = annex_gen_view(net, x, annex_gen_elems(net, x) / 3);
	annex_gen_op(net, &op);
}

uint32_t annex_layer_loss(struct gen_net *net, uint32_t logits, uint64_t classes)
{
	uint64_t n = annex_gen_elems(net, logits);
	struct gen_op soft = {.name = "LogSoftmax", .in = {logits}, .flags = GEN_READS_OUT};
	struct gen_op nll = {.name = "NllLoss"};

	nll.aux = annex_gen_input(net, "targets", n / classes, 8);
	soft.out[0] = nll.in[0] = annex_gen_activation(net, "LogSoftmax", n, 4);
	annex_gen_op(net, &soft);
	nll.out[0] = annex_gen_activation(net, "loss", 1, 4);
	return annex_gen_op(net, &nll);
}
