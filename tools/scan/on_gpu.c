// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "../gpu/scan.h"
#include "tools/common/error.h"
#include "query.h"

static uint32_t type_of(enum column_type type)
{
	static const uint32_t types[] = {
		[COLUMN_F64] = GPU_F64, [COLUMN_F32] = GPU_F32, [COLUMN_I64] = GPU_I64,
		[COLUMN_I32] = GPU_I32, [COLUMN_U64] = GPU_U64, [COLUMN_U32] = GPU_U32,
	};

	return types[type];
}

static void describe(const struct query *q, struct gpu_scan *s)
{
	const struct filter *f = &q->filter;

	s->none = f->none;
	s->negate = f->negate;
	switch (q->col[0].type) {
	case COLUMN_F64:
	case COLUMN_F32:
		s->low.f = f->low_f;
		s->high.f = f->high_f;
		break;
	case COLUMN_I64:
	case COLUMN_I32:
		s->low.i = f->low_i;
		s->high.i = f->high_i;
		break;
	default:
		s->low.u = f->low_u;
		s->high.u = f->high_u;
	}
	for (unsigned int i = 0; i < q->n; i++) {
		s->col[i].uri = q->col[i].uri;
		s->col[i].first = q->col[i].first;
		s->col[i].type = type_of(q->col[i].type);
	}
}

int query_run_gpu(struct query *q, const struct storage_opts *so, uint32_t gpu)
{
	struct gpu_scan s = {
		.n = q->n,
		.rows = q->rows,
		.line = so->line,
		.queues = so->queues,
		.depth = so->depth,
		.cache = storage_useful(so, q->rows * 8, so->cache / q->n),
	};
	struct runner *r = NULL;
	int err = runner_open((int)gpu, &r), closed;

	if (err)
		return err;
	describe(q, &s);
	err = gpu_scan_open(r, &s);
	if (!err)
		err = gpu_scan_run(r, &s);
	closed = gpu_scan_close(&s);
	err = err ? err : closed;
	for (unsigned int i = 1; i < q->n; i++) {
		q->col[i].sum_i = s.col[i].sum_i;
		q->col[i].sum_f = s.col[i].sum_f;
	}
	q->passed = s.passed;
	q->read = s.read;
	q->seconds = s.seconds;
	q->cache = s.cache * s.n;
	snprintf(q->gpu, sizeof(q->gpu), "%s", r->name);
	runner_close(r);
	return err;
}
