/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * c = a + b, all three on storage (BaM section 5.4). Each lane of a warp has another line of the
 * inputs read ahead while the warp adds; whole lines of the output are not read first.
 */
#ifndef TOOLS_GPU_K_VADD_H
#define TOOLS_GPU_K_VADD_H

#include "args.h"
#include "k_lines.h"

#define GPU_ADD(name, ctype)                                                                       \
	static inline ANNEX_HD void gpu_add_##name(void *to, const void *a, const void *b,         \
						   uint64_t n)                                     \
	{                                                                                          \
		const ctype *x = (const ctype *)a, *y = (const ctype *)b;                          \
		ctype *z = (ctype *)to;                                                            \
		for (uint64_t k = annex_lane(); k < n; k += ANNEX_WARP_LANES)                      \
			z[k] = x[k] + y[k];                                                        \
	}

GPU_ADD(f64, double)
GPU_ADD(f32, float)
GPU_ADD(u64, uint64_t)
GPU_ADD(u32, uint32_t)

static inline ANNEX_HD void gpu_add(uint32_t type, void *to, const void *a, const void *b,
				    uint64_t n)
{
	if (type == GPU_F64)
		gpu_add_f64(to, a, b, n);
	else if (type == GPU_F32)
		gpu_add_f32(to, a, b, n);
	else if (type == GPU_U64)
		gpu_add_u64(to, a, b, n);
	else
		gpu_add_u32(to, a, b, n);
}

static inline ANNEX_HD int gpu_vadd_line(const struct gpu_args_vadd *v, uint64_t i)
{
	struct annex_gpu_span a, b, c;
	int err = gpu_span_all(&v->a, i, 0, 0, &a);

	if (err)
		return err;
	err = gpu_span_all(&v->b, i, 0, 0, &b);
	if (!err) {
		err = gpu_span_all(&v->c, i, 0, ANNEX_PIN_WRITE | ANNEX_PIN_NEW, &c);
		if (!err) {
			gpu_add(v->type, c.data, a.data, b.data, c.count);
			annex_gpu_span_end(&v->c, &c);
		}
		annex_gpu_span_end(&v->b, &b);
	}
	annex_gpu_span_end(&v->a, &a);
	return err;
}

/* Lane @k asks for the @k-th line from @s on. */
static inline ANNEX_HD void gpu_vadd_ahead(const struct gpu_args_vadd *v,
					   const struct gpu_stride *s, uint64_t line)
{
	uint64_t mine = line + annex_lane() * s->step;

	annex_warp_sync(GPU_WARP_ALL);
	if (annex_lane() >= v->ahead || mine >= s->end)
		return;
	annex_gpu_prefetch(&v->a, mine * s->per_line);
	annex_gpu_prefetch(&v->b, mine * s->per_line);
}

static inline ANNEX_HD void gpu_body_vadd(const struct gpu_args_vadd *v, struct gpu_thread t)
{
	struct gpu_stride s = gpu_stride_of(&v->c, t, 0, v->c.count);
	uint64_t next = s.line + v->ahead * s.step;
	int err = 0;

	gpu_vadd_ahead(v, &s, s.line);
	while (!err && s.line < s.end) {
		gpu_vadd_ahead(v, &s, next);
		for (uint32_t k = 0; !err && k < v->ahead && s.line < s.end; k++) {
			err = gpu_vadd_line(v, s.line * s.per_line);
			s.line += s.step;
		}
		next += v->ahead * s.step;
	}
}

#endif
