/* SPDX-License-Identifier: MIT */
/*
 * Traces of models, computed without running them: memory use follows from the arithmetic of the
 * layers, and kernel times from a roofline of a named GPU.
 *
 * Weights and optimizer state are global. Activations live from their forward kernel to the
 * backward kernels that read them. The optimizer's kernels are at the end, as in PyTorch, and the
 * gradient of a weight is freed after the one for that weight. A specification gives the same trace
 * on every machine.
 */
#ifndef ANNEX_GENERATE_H
#define ANNEX_GENERATE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum annex_dtype - Number format of a model.
 * @ANNEX_DTYPE_USUAL: the model's default.
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
 * enum annex_optimizer - Optimizer that updates the weights.
 * @ANNEX_OPTIMIZER_USUAL: the model's default.
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
 * struct annex_trace_spec - Parameters of a trace. 0 means the model's default. Parameters that the
 * model does not have must be 0.
 * @model: one of annex_model_at().
 * @gpu: one of annex_gpu_at(); NULL: "a100-40".
 * @batch: samples in a batch.
 * @seq: tokens in a sequence.
 * @layers: layers.
 * @hidden: width; feed-forward layers keep their ratio to it.
 * @image: width and height of images, in pixels.
 * @kernels: number of kernels of the model "synthetic", a random trace in the shape of training.
 *	Sizes of tensors are scaled, so that memory pressure over time hardly depends on this
 *	number.
 * @seed: seed of the random numbers of "synthetic".
 * @peak: peak of the live bytes of "synthetic" (default 120 GiB).
 * @dtype: the number format.
 * @optimizer: the optimizer.
 * @accumulate: number of batches that an iteration runs one after another, adding up their
 *	gradients, before the optimizer runs (default 1).
 * @vertical: of these batches, each layer runs all before the next layer does, forward and backward
 *	(GreedySnake). Otherwise each batch runs to its end first.
 * @host_step: parameters a second that the host's processor updates. Optimizer state is then not in
 *	the trace. Its last kernel, which uses no tensor, stands for the host's work; gradients live
 *	until its end. 0: the GPU runs the optimizer.
 */
struct annex_trace_spec {
	const char *model, *gpu;
	uint64_t batch, seq, layers, hidden, image;
	uint64_t kernels, seed, peak;
	enum annex_dtype dtype;
	enum annex_optimizer optimizer;
	uint64_t accumulate;
	bool vertical;
	double host_step;
};

/**
 * annex_trace_generate() - Generate a trace.
 * @spec: its parameters.
 * @trace: the trace; release it with annex_trace_free().
 *
 * Return: 0; -EINVAL (no such model or GPU, or inconsistent parameters); -E2BIG (a tensor or the
 * trace exceeds ANNEX_TRACE_MAX_*); -ENOMEM.
 */
int annex_trace_generate(const struct annex_trace_spec *spec, struct annex_trace **trace);

/**
 * struct annex_work - Size of a model.
 * @params: number of trained parameters; a matrix shared by two layers counts once.
 * @forward_flops: operations of matrix multiplications and convolutions in one forward pass; a
 *	multiply-add counts as two.
 * @attention_flops: the part of @forward_flops that multiplies activations with activations.
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
 * @summary: one line for users.
 * @batch: default batch; 0: not applicable.
 * @seq: default sequence, in tokens; 0: not applicable.
 */
struct annex_model {
	const char *name;
	const char *summary;
	uint64_t batch, seq;
};

/**
 * annex_model_at() - Iterate over the models.
 * @i: from 0 up to the first NULL.
 *
 * Return: the model, or NULL.
 */
const struct annex_model *annex_model_at(unsigned int i);

/**
 * struct annex_gpu - A GPU by name, from its maker's data sheet (dense rates, no sparsity).
 * @name: name for struct annex_trace_spec.
 * @summary: one line for users.
 * @memory: bytes of memory.
 * @bandwidth: memory bandwidth, in bytes per second.
 * @flops: operations per second, by enum annex_dtype; 0: not supported.
 * @launch_ns: overhead of a kernel, in nanoseconds.
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
 * annex_gpu_at() - Iterate over the GPUs.
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

/**
 * annex_gpu_ns() - Time of a kernel by the roofline: of its arithmetic or of its memory traffic,
 * whichever is longer, at the shares of the peak rates that large kernels reach, and its launch.
 * @gpu: the GPU.
 * @dtype: the number format, not ANNEX_DTYPE_USUAL; one that @gpu supports.
 * @flops: operations of matrix multiplications and convolutions.
 * @bytes: bytes that it reads and writes.
 *
 * Return: nanoseconds.
 */
double annex_gpu_ns(const struct annex_gpu *gpu, enum annex_dtype dtype, double flops,
		    double bytes);

#ifdef __cplusplus
}
#endif

#endif
