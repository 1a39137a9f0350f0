/* SPDX-License-Identifier: MIT */
/*
 * Traces of models that nobody has to run: what one training iteration does to memory follows from
 * the arithmetic of its layers, and how long each kernel takes from a roofline of a named GPU.
 *
 * Weights and optimizer state are global; activations live from their forward kernel to the
 * backward kernels that read them; the gradient of a weight dies in the optimizer's kernel for it,
 * and those come at the end, as in PyTorch. The same specification gives the same trace on every
 * machine.
 */
#ifndef ANNEX_GENERATE_H
#define ANNEX_GENERATE_H

#include <stdint.h>
#include <annex/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum annex_dtype - Number format that a model computes in.
 * @ANNEX_DTYPE_USUAL: the usual one of the model.
 * @ANNEX_DTYPE_FP32: 4 bytes, no tensor cores.
 * @ANNEX_DTYPE_TF32: 4 bytes, on tensor cores.
 * @ANNEX_DTYPE_FP16: 2 bytes; the optimizer keeps master weights of 4.
 * @ANNEX_DTYPE_BF16: 2 bytes, likewise.
 * @ANNEX_DTYPES: number of formats.
 */
enum annex_dtype {
	ANNEX_DTYPE_USUAL,
	ANNEX_DTYPE_FP32,
	ANNEX_DTYPE_TF32,
	ANNEX_DTYPE_FP16,
	ANNEX_DTYPE_BF16,
	ANNEX_DTYPES,
};

/**
 * enum annex_optimizer - How weights are updated.
 * @ANNEX_OPTIMIZER_USUAL: the usual one of the model.
 * @ANNEX_OPTIMIZER_SGD: no state.
 * @ANNEX_OPTIMIZER_MOMENTUM: state of 4 bytes a parameter.
 * @ANNEX_OPTIMIZER_ADAM: state of 8 bytes a parameter.
 * @ANNEX_OPTIMIZERS: number of optimizers.
 */
enum annex_optimizer {
	ANNEX_OPTIMIZER_USUAL,
	ANNEX_OPTIMIZER_SGD,
	ANNEX_OPTIMIZER_MOMENTUM,
	ANNEX_OPTIMIZER_ADAM,
	ANNEX_OPTIMIZERS,
};

/**
 * struct annex_trace_spec - Parameters of a trace. Numbers that are 0 mean the usual of the model;
 * numbers that the model does not have must be 0.
 * @model: one of annex_model_at().
 * @gpu: one of annex_gpu_at(); NULL: "a100-40".
 * @batch: samples in a batch.
 * @seq: tokens in a sequence.
 * @layers: layers.
 * @hidden: width; feed-forward layers keep their ratio to it.
 * @image: width and height of images, in pixels.
 * @kernels: of the model "synthetic", a random trace in the shape of training: number of kernels.
 *	Sizes shrink as kernels get more, so that memory pressure over time hardly depends on their
 *	number.
 * @seed: of "synthetic": seed of its random numbers.
 * @peak: of "synthetic": bytes that live at its peak (120 GiB).
 * @dtype: the number format.
 * @optimizer: the optimizer.
 */
struct annex_trace_spec {
	const char *model, *gpu;
	uint64_t batch, seq, layers, hidden, image;
	uint64_t kernels, seed, peak;
	enum annex_dtype dtype;
	enum annex_optimizer optimizer;
};

/**
 * annex_trace_generate() - Make the trace.
 * @spec: its parameters.
 * @trace: the trace, to be given back with annex_trace_free().
 *
 * Return: 0; -EINVAL (no such model or GPU, numbers that do not fit each other); -E2BIG (a tensor
 * or the trace beyond ANNEX_TRACE_MAX_*); -ENOMEM.
 */
int annex_trace_generate(const struct annex_trace_spec *spec, struct annex_trace **trace);

/**
 * struct annex_work - Size of a model.
 * @params: trained parameters; a matrix that two layers share counts once.
 * @forward_flops: operations of matrix multiplications and convolutions of one forward pass; two
 *	for a multiply and add.
 * @attention_flops: the part of @forward_flops that multiplies activations with each other.
 */
struct annex_work {
	uint64_t params;
	double forward_flops, attention_flops;
};

/**
 * annex_trace_work() - Size of the model of a specification; all 0 for "synthetic".
 * @spec: the specification.
 * @work: the size.
 *
 * Return: as annex_trace_generate().
 */
int annex_trace_work(const struct annex_trace_spec *spec, struct annex_work *work);

/**
 * struct annex_model - A model by name.
 * @name: name for struct annex_trace_spec.
 * @summary: one line for people.
 * @batch: the usual batch; 0: it has none.
 * @seq: the usual sequence, in tokens; 0: it has none.
 */
struct annex_model {
	const char *name;
	const char *summary;
	uint64_t batch, seq;
};

/**
 * annex_model_at() - Walk over the models.
 * @i: from 0 up to the first NULL.
 *
 * Return: the model, or NULL.
 */
const struct annex_model *annex_model_at(unsigned int i);

/**
 * struct annex_gpu - A GPU by name, from its maker's data sheet (dense rates, no sparsity).
 * @name: name for struct annex_trace_spec.
 * @summary: one line for people.
 * @memory: bytes.
 * @bandwidth: bytes a second.
 * @flops: operations a second, by enum annex_dtype; 0: it cannot.
 * @launch_ns: nanoseconds that each kernel takes besides.
 */
struct annex_gpu {
	const char *name;
	const char *summary;
	uint64_t memory;
	double bandwidth;
	double flops[ANNEX_DTYPES];
	uint32_t launch_ns;
};

/**
 * annex_gpu_at() - Walk over the GPUs.
 * @i: from 0 up to the first NULL.
 *
 * Return: the GPU, or NULL.
 */
const struct annex_gpu *annex_gpu_at(unsigned int i);

/**
 * annex_gpu_find() - A GPU by its name.
 * @name: the name.
 *
 * Return: the GPU, or NULL.
 */
const struct annex_gpu *annex_gpu_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
