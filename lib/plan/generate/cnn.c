// SPDX-License-Identifier: MIT
/*
 * Convolutional networks: ResNets of bottleneck blocks, with the stride in the 3 x 3 convolution.
 */
#include <errno.h>
#include "core/log.h"
#include "generate.h"
#include "layer.h"

#define CLASSES 1000u
#define STAGES 4u
#define SHRINKS 32u /* an image becomes that much smaller on its way */

struct shape {
	struct annex_model model;
	uint32_t blocks[STAGES];
};

static const struct shape shapes[] = {
	{{"resnet50", "25.6 M parameters", 512, 0}, {3, 4, 6, 3}},
	{{"resnet101", "44.5 M parameters", 512, 0}, {3, 4, 23, 3}},
	{{"resnet152", "60.2 M parameters", 512, 0}, {3, 8, 36, 3}},
};

static const struct annex_model *shape_at(unsigned int i)
{
	return i < sizeof(shapes) / sizeof(shapes[0]) ? &shapes[i].model : NULL;
}

static int usual(unsigned int i, struct annex_trace_spec *spec)
{
	int err = annex_gen_without(spec->model, "sequences", spec->seq);

	if (!err)
		err = annex_gen_without(spec->model, "choice of layers", spec->layers);
	if (!err)
		err = annex_gen_without(spec->model, "choice of width", spec->hidden);
	if (err)
		return err;
	spec->batch = spec->batch ? spec->batch : shapes[i].model.batch;
	spec->image = spec->image ? spec->image : 224;
	if (!spec->dtype)
		spec->dtype = ANNEX_DTYPE_FP32;
	if (!spec->optimizer)
		spec->optimizer = ANNEX_OPTIMIZER_MOMENTUM;
	if (spec->image < SHRINKS)
		return annex_fail(-EINVAL, "%s needs images of %u at least", spec->model, SHRINKS);
	return 0;
}

/* conv 1x1, conv 3x3, conv 1x1 to four times as many channels, and the sum with the input. */
static void bottleneck(struct gen_net *net, struct gen_image *im, uint64_t width, uint64_t stride)
{
	struct gen_image side = *im;

	annex_layer_conv(net, "conv1", im, width, 1, 1, false);
	annex_layer_batch_norm(net, "bn1", im);
	annex_layer_relu(net, im);
	annex_layer_conv(net, "conv2", im, width, 3, stride, false);
	annex_layer_batch_norm(net, "bn2", im);
	annex_layer_relu(net, im);
	annex_layer_conv(net, "conv3", im, width * 4, 1, 1, false);
	annex_layer_batch_norm(net, "bn3", im);
	if (side.channels != im->channels || stride > 1) {
		annex_layer_conv(net, "downsample.conv", &side, width * 4, 1, stride, false);
		annex_layer_batch_norm(net, "downsample.bn", &side);
	}
	annex_layer_add_in_place(net, im, side.x);
	annex_layer_relu(net, im);
}

static uint32_t build(unsigned int i, struct gen_net *net, const struct annex_trace_spec *spec)
{
	struct gen_image im = {.batch = spec->batch, .channels = 3, .size = spec->image};
	uint64_t n = annex_gen_size(net, im.batch, im.channels, im.size, im.size), number = 0;
	uint32_t x;

	im.x = annex_gen_input(net, "images", n, 0);
	annex_layer_conv(net, "conv1", &im, 64, 7, 2, false);
	annex_layer_batch_norm(net, "bn1", &im);
	annex_layer_relu(net, &im);
	annex_layer_max_pool(net, &im);
	for (unsigned int s = 0; s < STAGES; s++) {
		for (uint32_t k = 0; k < shapes[i].blocks[s] && !net->err; k++) {
			annex_gen_scope(net, "block", number++);
			bottleneck(net, &im, 64ull << s, s && !k ? 2 : 1);
		}
	}
	annex_gen_scope(net, NULL, 0);
	x = annex_layer_mean_pool(net, &im);
	x = annex_layer_linear(net, "fc", x, im.channels, CLASSES, true);
	return annex_layer_loss(net, x, CLASSES);
}

const struct gen_family annex_gen_cnns = {shape_at, usual, build};
