// SPDX-License-Identifier: MIT
#include <strings.h>
#include <annex/generate.h>

#define GIB (1ull << 30)
#define T 1e12

/* Shares of a data sheet's figures that large kernels reach, as measured. */
#define COMPUTE_EFFICIENCY 0.6
#define MEMORY_EFFICIENCY 0.8

/* By dtype: fp32, tf32 (the rate of fp32 where there is none), fp16 and bf16 with fp32 sums. */
static const struct annex_gpu gpus[] = {
	{"t4", "Tesla T4", 16 * GIB, 320e9, {0, 8.1 * T, 8.1 * T, 65 * T, 0}, 5000},
	{"v100-16", "V100 SXM2", 16 * GIB, 900e9, {0, 15.7 * T, 15.7 * T, 125 * T, 0}, 5000},
	{"v100-32", "V100 SXM2", 32 * GIB, 900e9, {0, 15.7 * T, 15.7 * T, 125 * T, 0}, 5000},
	{"a10", "A10", 24 * GIB, 600e9, {0, 31.2 * T, 62.5 * T, 125 * T, 125 * T}, 5000},
	{"a100-40", "A100 SXM4", 40 * GIB, 1555e9, {0, 19.5 * T, 156 * T, 312 * T, 312 * T}, 5000},
	{"a100-80", "A100 SXM4", 80 * GIB, 2039e9, {0, 19.5 * T, 156 * T, 312 * T, 312 * T}, 5000},
	{"rtx4090",
	 "GeForce RTX 4090",
	 24 * GIB,
	 1008e9,
	 {0, 82.6 * T, 82.6 * T, 165 * T, 165 * T},
	 4000},
	{"l40s", "L40S", 48 * GIB, 864e9, {0, 91.6 * T, 183 * T, 362 * T, 362 * T}, 4000},
	{"h100", "H100 SXM5", 80 * GIB, 3350e9, {0, 67 * T, 494 * T, 989 * T, 989 * T}, 4000},
	{"h100-nvl", "H100 NVL", 94 * GIB, 3900e9, {0, 60 * T, 418 * T, 835 * T, 835 * T}, 4000},
	{"h200", "H200 SXM5", 141 * GIB, 4800e9, {0, 67 * T, 494 * T, 989 * T, 989 * T}, 4000},
};

const struct annex_gpu *annex_gpu_at(unsigned int i)
{
	return i < sizeof(gpus) / sizeof(gpus[0]) ? &gpus[i] : NULL;
}

const struct annex_gpu *annex_gpu_find(const char *name)
{
	const struct annex_gpu *gpu;

	for (unsigned int i = 0; (gpu = annex_gpu_at(i)); i++)
		if (!strcasecmp(gpu->name, name))
			return gpu;
	return NULL;
}

double annex_gpu_ns(const struct annex_gpu *gpu, enum annex_dtype dtype, double flops, double bytes)
{
	double compute = flops / (gpu->flops[dtype] * COMPUTE_EFFICIENCY);
	double memory = bytes / (gpu->bandwidth * MEMORY_EFFICIENCY);

	return (compute > memory ? compute : memory) * 1e9 + gpu->launch_ns;
}
