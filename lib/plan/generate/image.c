// SPDX-License-Identifier: MIT
/*
 * Layers on images.
 */
#include <stdio.h>
#include "layer.h"

static uint64_t image_elems(struct gen_net *net, const struct gen_image *im)
{
	return annex_gen_size(net, im->batch, im->channels, im->size, im->size);
}

static uint64_t shrunk(uint64_t size, uint64_t stride)
{
	return (size - 1) / stride + 1;
}

void annex_layer_conv(struct gen_net *net, const char *name, struct gen_image *im,
		      uint64_t channels, uint64_t kernel, uint64_t stride, bool bias)
{
	struct gen_op op = {.name = "Conv2d", .in = {im->x}, .flags = GEN_WEIGHT_READS_IN};
	uint64_t area = kernel * kernel, in = annex_gen_elems(net, im->x), taps, out;
	char full[64];

	taps = annex_gen_size(net, im->channels, area, 1, 1);
	snprintf(full, sizeof(full), "%s.weight", name);
	op.weight = annex_gen_weight(net, full, annex_gen_size(net, channels, taps, 1, 1));
	snprintf(full, sizeof(full), "%s.bias", name);
	op.bias = bias ? annex_gen_weight(net, full, channels) : 0;
	im->channels = channels;
	im->size = shrunk(im->size, stride);
	out = image_elems(net, im);
	op.flops = 2.0 * (double)out * (double)taps;
	op.out[0] = im->x = annex_gen_activation(net, "Conv2d", out, 0);
	if (net->err)
		return;
	op.workspace[0] = in * net->values[im->x].elem_bytes;
	op.workspace[1] = out * net->values[im->x].elem_bytes;
	op.workspace[2] = op.workspace[0];
	annex_gen_op(net, &op);
}

void annex_layer_batch_norm(struct gen_net *net, const char *name, struct gen_image *im)
{
	static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
	struct gen_op op = {
		.name = "BatchNorm2d", .in = {im->x}, .flags = GEN_READS_IN | GEN_JOINT};
	uint32_t *const values[] = {&op.weight, &op.bias, &op.state[0], &op.state[1]};
	char full[64];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(full, sizeof(full), "%s.%s", name, parts[i]);
		*values[i] = i < 2 ? annex_gen_weight(net, full, im->channels)
				   : annex_gen_state(net, full, im->channels);
	}
	op.save[0] = annex_gen_activation(net, "mean", im->channels, 4);
	op.save[1] = annex_gen_activation(net, "invstd", im->channels, 4);
	op.out[0] = annex_gen_activation(net, "BatchNorm2d", image_elems(net, im), 0);
	im->x = annex_gen_op(net, &op);
}

void annex_layer_relu(struct gen_net *net, struct gen_image *im)
{
	struct gen_op op = {.name = "ReLU", .in = {im->x}, .flags = GEN_READS_OUT};

	op.out[0] = annex_gen_view(net, im->x, annex_gen_elems(net, im->x));
	im->x = annex_gen_op(net, &op);
}

void annex_layer_add_in_place(struct gen_net *net, struct gen_image *im, uint32_t other)
{
	struct gen_op op = {.name = "Add", .in = {im->x, other}, .flags = GEN_PASS};

	op.out[0] = annex_gen_view(net, im->x, annex_gen_elems(net, im->x));
	im->x = annex_gen_op(net, &op);
}

void annex_layer_max_pool(struct gen_net *net, struct gen_image *im)
{
	struct gen_op op = {.name = "MaxPool2d", .in = {im->x}, .flags = GEN_READS_IN};
	uint64_t n;

	im->size = shrunk(im->size, 2);
	n = image_elems(net, im);
	op.save[0] = annex_gen_activation(net, "indices", n, 8);
	op.out[0] = annex_gen_activation(net, "MaxPool2d", n, 0);
	im->x = annex_gen_op(net, &op);
}

uint32_t annex_layer_mean_pool(struct gen_net *net, struct gen_image *im)
{
	struct gen_op op = {.name = "AvgPool2d", .in = {im->x}};

	im->size = 1;
	op.out[0] = annex_gen_activation(net, "AvgPool2d", image_elems(net, im), 0);
	return im->x = annex_gen_op(net, &op);
}
