// SPDX-License-Identifier: MIT
/*
 * Transformers: BERT and ViT (encoders), GPT and Llama (decoders).
 */
#include <errno.h>
#include "core/log.h"
#include "generate.h"
#include "layer.h"

/*
 * How a family of shapes differs from BERT: POST_NORM normalises after the sum, the others before
 * each half; FUSED has one matrix for queries, keys and values; MODERN is Llama's: RMSNorm, rotary
 * positions, SwiGLU, no biases, FlashAttention; TIED multiplies with the embedding to get logits.
 */
#define POST_NORM 1u
#define FUSED 2u
#define MODERN 4u
#define TIED 8u
#define CAUSAL 16u
#define DROPOUT 32u
#define VISION 64u

#define BERT (POST_NORM | TIED | DROPOUT)
#define VIT (FUSED | VISION)
#define GPT (FUSED | TIED | CAUSAL | DROPOUT)
#define LLAMA (MODERN | CAUSAL)
#define LLAMA3 (LLAMA | TIED)

#define PATCH 16u
#define CLASSES 1000u
#define LAYERS_MAX 10000u

/* @positions: rows of the table of positions. @classes of logits: @vocab. */
struct shape {
	struct annex_model model;
	uint32_t kind;
	uint64_t layers, hidden, heads, kv_heads, ffn, vocab, positions;
};

static const struct shape shapes[] = {
	{{"bert-base", "110 M parameters", 256, 128}, BERT, 12, 768, 12, 12, 3072, 30522, 512},
	{{"bert-large", "335 M parameters", 128, 128}, BERT, 24, 1024, 16, 16, 4096, 30522, 512},
	{{"vit-b16", "87 M parameters", 512, 0}, VIT, 12, 768, 12, 12, 3072, CLASSES, 0},
	{{"vit-l16", "304 M parameters", 256, 0}, VIT, 24, 1024, 16, 16, 4096, CLASSES, 0},
	{{"gpt2", "124 M parameters", 32, 1024}, GPT, 12, 768, 12, 12, 3072, 50257, 1024},
	{{"gpt2-medium", "355 M parameters", 16, 1024}, GPT, 24, 1024, 16, 16, 4096, 50257, 1024},
	{{"gpt2-xl", "1.6 G parameters", 8, 1024}, GPT, 48, 1600, 25, 25, 6400, 50257, 1024},
	{{"gpt3-1.3b", "1.3 G parameters", 8, 2048}, GPT, 24, 2048, 16, 16, 8192, 50257, 2048},
	{{"gpt3-6.7b", "6.7 G parameters", 4, 2048}, GPT, 32, 4096, 32, 32, 16384, 50257, 2048},
	{{"gpt3-13b", "12.9 G parameters", 2, 2048}, GPT, 40, 5120, 40, 40, 20480, 50257, 2048},
	{{"opt-30b", "30 G parameters", 1, 2048}, GPT, 48, 7168, 56, 56, 28672, 50272, 2050},
	{{"llama-1b", "1.2 G parameters", 8, 2048}, LLAMA3, 16, 2048, 32, 8, 8192, 128256, 0},
	{{"llama-7b", "6.7 G parameters", 4, 2048}, LLAMA, 32, 4096, 32, 32, 11008, 32000, 0},
	{{"llama-8b", "8.0 G parameters", 4, 2048}, LLAMA, 32, 4096, 32, 8, 14336, 128256, 0},
	{{"llama-70b", "71 G parameters", 1, 2048}, LLAMA, 80, 8192, 64, 8, 28672, 128256, 0},
	{{"granite-8b", "8.1 G parameters", 4, 2048}, LLAMA3, 36, 4096, 32, 8, 14336, 49152, 0},
};

static const struct annex_model *shape_at(unsigned int i)
{
	return i < sizeof(shapes) / sizeof(shapes[0]) ? &shapes[i].model : NULL;
}

static int usual(unsigned int i, struct annex_trace_spec *spec)
{
	const struct shape *s = &shapes[i];
	bool vision = s->kind & VISION;
	int err = vision ? annex_gen_without(spec->model, "sequences", spec->seq)
			 : annex_gen_without(spec->model, "images", spec->image);

	if (err)
		return err;
	spec->batch = spec->batch ? spec->batch : s->model.batch;
	spec->layers = spec->layers ? spec->layers : s->layers;
	spec->hidden = spec->hidden ? spec->hidden : s->hidden;
	spec->seq = spec->seq ? spec->seq : s->model.seq;
	spec->image = vision && !spec->image ? 224 : spec->image;
	if (!spec->dtype)
		spec->dtype = s->kind & MODERN ? ANNEX_DTYPE_BF16 : ANNEX_DTYPE_FP32;
	if (!spec->optimizer)
		spec->optimizer = ANNEX_OPTIMIZER_ADAM;
	if (spec->layers > LAYERS_MAX)
		return annex_fail(-E2BIG, "%s goes up to %u layers", spec->model, LAYERS_MAX);
	if (spec->hidden % s->heads)
		return annex_fail(-EINVAL,
				  "%s has %llu heads, and a width of %llu is no multiple of them",
				  spec->model, (ull)s->heads, (ull)spec->hidden);
	if (spec->image % PATCH)
		return annex_fail(
			-EINVAL, "%s cuts images into squares of %u, and %llu is no multiple of it",
			spec->model, PATCH, (ull)spec->image);
	return 0;
}

/* The shape with the numbers of @spec, while it is built. */
struct build {
	struct gen_net *net;
	uint32_t kind;
	uint64_t hidden, ffn, vocab, positions;
	struct gen_heads heads;
	uint32_t table; /* of word embeddings */
};

static uint32_t normalise(const struct build *b, const char *name, uint32_t x)
{
	return b->kind & MODERN ? annex_layer_rms_norm(b->net, name, x, b->hidden)
				: annex_layer_norm(b->net, name, x, b->hidden);
}

static uint32_t linear(const struct build *b, const char *name, uint32_t x, uint64_t from,
		       uint64_t to)
{
	return annex_layer_linear(b->net, name, x, from, to, !(b->kind & MODERN));
}

static uint32_t drop(const struct build *b, uint32_t x)
{
	return b->kind & DROPOUT ? annex_layer_dropout(b->net, x) : x;
}

static uint32_t attention(const struct build *b, uint32_t x)
{
	uint64_t kv = b->heads.kv_heads * b->heads.width;
	uint32_t qkv[3];

	if (b->kind & FUSED) {
		x = linear(b, "attention.qkv", x, b->hidden, 3 * b->hidden);
		annex_layer_split(b->net, x, qkv);
	} else {
		qkv[0] = linear(b, "attention.query", x, b->hidden, b->hidden);
		qkv[1] = linear(b, "attention.key", x, b->hidden, kv);
		qkv[2] = linear(b, "attention.value", x, b->hidden, kv);
	}
	if (b->kind & MODERN) {
		qkv[0] = annex_layer_map(b->net, "Rotary", qkv[0], 0);
		qkv[1] = annex_layer_map(b->net, "Rotary", qkv[1], 0);
		x = annex_layer_flash(b->net, &b->heads, qkv);
	} else {
		x = annex_layer_attention(b->net, &b->heads, qkv);
	}
	return drop(b, linear(b, "attention.output", x, b->hidden, b->hidden));
}

static uint32_t feed_forward(const struct build *b, uint32_t x)
{
	if (b->kind & MODERN) {
		uint32_t gate = linear(b, "mlp.gate", x, b->hidden, b->ffn);
		uint32_t up = linear(b, "mlp.up", x, b->hidden, b->ffn);

		gate = annex_layer_map(b->net, "Silu", gate, GEN_READS_IN);
		x = annex_layer_mul(b->net, gate, up);
	} else {
		x = linear(b, "mlp.up", x, b->hidden, b->ffn);
		x = annex_layer_map(b->net, "Gelu", x, GEN_READS_IN);
	}
	return drop(b, linear(b, "mlp.down", x, b->ffn, b->hidden));
}

static uint32_t block(const struct build *b, uint32_t x)
{
	if (b->kind & POST_NORM) {
		x = annex_layer_add(b->net, x, attention(b, x));
		x = normalise(b, "attention.norm", x);
		x = annex_layer_add(b->net, x, feed_forward(b, x));
		return normalise(b, "mlp.norm", x);
	}
	x = annex_layer_add(b->net, x, attention(b, normalise(b, "attention.norm", x)));
	return annex_layer_add(b->net, x, feed_forward(b, normalise(b, "mlp.norm", x)));
}

static uint32_t embed_words(struct build *b, const struct annex_trace_spec *spec)
{
	uint64_t n = annex_gen_size(b->net, spec->batch, spec->seq, 1, 1), h = b->hidden;
	uint32_t tokens = annex_gen_input(b->net, "tokens", n, 8), x, more;

	b->table = annex_gen_weight(b->net, "embed.words",
				    annex_gen_size(b->net, b->vocab, h, 1, 1));
	x = annex_layer_embed(b->net, tokens, b->table, h);
	if (b->kind & POST_NORM) {
		tokens = annex_gen_input(b->net, "token_types", n, 8);
		more = annex_gen_weight(b->net, "embed.types", 2 * h);
		x = annex_layer_add(b->net, x, annex_layer_embed(b->net, tokens, more, h));
	}
	if (b->positions) {
		more = annex_gen_weight(b->net, "embed.positions",
					annex_gen_size(b->net, b->positions, h, 1, 1));
		x = annex_layer_offset(b->net, x, more);
	}
	if (b->kind & POST_NORM)
		x = normalise(b, "embed.norm", x);
	return drop(b, x);
}

/* Squares of the image become tokens, one more stands for the whole. */
static uint32_t embed_image(struct build *b, const struct annex_trace_spec *spec)
{
	uint64_t n = annex_gen_size(b->net, spec->batch, 3, spec->image, spec->image);
	struct gen_image im = {.batch = spec->batch, .channels = 3, .size = spec->image};
	uint32_t x, w;

	im.x = annex_gen_input(b->net, "images", n, 0);
	annex_layer_conv(b->net, "embed.patches", &im, b->hidden, PATCH, PATCH, true);
	w = annex_gen_weight(b->net, "embed.class", b->hidden);
	x = annex_layer_prepend(b->net, im.x, w, spec->batch);
	w = annex_gen_weight(b->net, "embed.positions",
			     annex_gen_size(b->net, b->heads.seq, b->hidden, 1, 1));
	return annex_layer_offset(b->net, x, w);
}

static uint32_t logits(const struct build *b, uint32_t x)
{
	uint32_t bias = 0;

	if (!(b->kind & POST_NORM))
		x = normalise(b, "norm", x);
	if (b->kind & VISION)
		x = annex_layer_select(b->net, x,
				       annex_gen_size(b->net, b->heads.batch, b->hidden, 1, 1));
	if (!(b->kind & TIED))
		return linear(b, "head", x, b->hidden, b->vocab);
	if (b->kind & POST_NORM) {
		x = linear(b, "head.transform", x, b->hidden, b->hidden);
		x = annex_layer_map(b->net, "Gelu", x, GEN_READS_IN);
		x = normalise(b, "head.norm", x);
		bias = annex_gen_weight(b->net, "head.bias", b->vocab);
	}
	return annex_layer_project(b->net, x, b->table, bias, b->hidden, b->vocab);
}

static uint32_t build(unsigned int i, struct gen_net *net, const struct annex_trace_spec *spec)
{
	const struct shape *s = &shapes[i];
	uint64_t side = spec->image / PATCH;
	struct build b = {.net = net, .kind = s->kind, .hidden = spec->hidden, .vocab = s->vocab};
	uint32_t x;

	b.ffn = annex_gen_size(net, s->ffn, spec->hidden, 1, 1) / s->hidden;
	b.heads = (struct gen_heads){.batch = spec->batch,
				     .seq = spec->seq,
				     .heads = s->heads,
				     .kv_heads = s->kv_heads,
				     .width = spec->hidden / s->heads,
				     .causal = s->kind & CAUSAL,
				     .dropout = s->kind & DROPOUT};
	if (s->kind & VISION)
		b.heads.seq = annex_gen_size(net, side, side, 1, 1) + 1;
	b.positions = s->positions && s->positions < spec->seq ? spec->seq : s->positions;
	x = s->kind & VISION ? embed_image(&b, spec) : embed_words(&b, spec);
	for (uint64_t l = 0; l < spec->layers && !net->err; l++) {
		annex_gen_scope(net, "layer", l);
		x = block(&b, x);
	}
	annex_gen_scope(net, NULL, 0);
	return annex_layer_loss(net, logits(&b, x), s->vocab);
}

const struct gen_family annex_gen_transformers = {shape_at, usual, build};
