// SPDX-License-Identifier: MIT
#include "layer.h"

/* Multiplications and additions of one product of each query with each key. */
static double product_flops(const struct gen_heads *h)
{
	return 2.0 * (double)h->batch * (double)h->heads * (double)h->seq * (double)h->seq *
	       (double)h->width;
}

static uint32_t matmul(struct gen_net *net, const struct gen_heads *h, uint32_t a, uint32_t b,
		       uint64_t elems)
{
	struct gen_op op = {.name = "BatchMatMul",
			    .in = {a, b},
			    .flags = GEN_EACH | GEN_ATTENTION,
			    .flops = product_flops(h)};

	op.out[0] = annex_gen_activation(net, "BatchMatMul", elems, 0);
	return annex_gen_op(net, &op);
}

uint32_t annex_layer_attention(struct gen_net *net, const struct gen_heads *h,
			       const uint32_t qkv[3])
{
	uint64_t elems = annex_gen_size(net, h->batch, h->heads, h->seq, h->seq);
	uint32_t x = matmul(net, h, qkv[0], qkv[1], elems);

	x = annex_layer_map(net, h->causal ? "ScaleMask" : "Scale", x, 0);
	x = annex_layer_softmax(net, x);
	if (h->dropout)
		x = annex_layer_dropout(net, x);
	x = matmul(net, h, x, qkv[2], annex_gen_elems(net, qkv[0]));
	return annex_layer_map(net, "Transpose", x, 0); /* heads side by side again */
}

/*
 * FlashAttention-2: forward saves one number a row; backward computes the scores anew (five
 * products where forward has two), adds up the gradient of the queries in fp32, and needs one more
 * number a row. A causal mask halves the work.
 */
uint32_t annex_layer_flash(struct gen_net *net, const struct gen_heads *h, const uint32_t qkv[3])
{
	uint64_t rows = annex_gen_size(net, h->batch, h->heads, h->seq, 1), elems;
	struct gen_op op = {.name = "FlashAttention",
			    .in = {qkv[0], qkv[1], qkv[2]},
			    .flags = GEN_READS_IN | GEN_READS_OUT | GEN_ATTENTION,
			    .flops = product_flops(h) * (h->causal ? 1 : 2),
			    .backward = 2.5};

	elems = annex_gen_size(net, rows, h->width, 1, 1);
	op.save[0] = annex_gen_activation(net, "logsumexp", rows, 4);
	op.out[0] = annex_gen_activation(net, "FlashAttention", elems, 0);
	op.workspace[1] = (elems + rows) * 4;
	return annex_gen_op(net, &op);
}
