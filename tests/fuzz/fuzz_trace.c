// SPDX-License-Identifier: MIT
/*
 * Any bytes as a trace. An accepted trace is sound as far as planning relies on it, is the same
 * after it was written and read again, and can be analysed. A refusal has a reason of one line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/trace.h>
#include <annex/vitality.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void check_trace(const struct annex_trace *t)
{
	uint64_t bytes = 0, ns = 0;

	require(t->n_kernels && t->kernels[0].first == 0);
	require(t->kernels[t->n_kernels].first == t->n_uses);
	for (uint32_t k = 0; k < t->n_kernels; k++) {
		require(t->kernels[k].first <= t->kernels[k + 1].first);
		ns += t->kernels[k].ns;
		require(t->kernels[k].ns <= ANNEX_TRACE_MAX_NS && ns <= ANNEX_TRACE_MAX_NS);
		require(!t->kernels[k].fault_ns || (t->kernels[k].fault_ns >= t->kernels[k].ns &&
						    t->kernels[k].fault_ns <= ANNEX_TRACE_MAX_NS));
	}
	for (uint32_t i = 0; i < t->n_uses; i++) {
		require(t->uses[i].tensor < t->n_tensors);
		require(t->uses[i].how >= 1 && t->uses[i].how <= 3);
	}
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		bytes += t->tensors[i].bytes;
		require(t->tensors[i].bytes && bytes <= ANNEX_TRACE_MAX_BYTES);
		require(t->tensors[i].role < ANNEX_ROLES);
	}
}

static void check_vitality(const struct annex_trace *t)
{
	struct annex_vitality *v;
	uint32_t periods = 0;

	require(!annex_vitality_create(t, &v));
	for (uint32_t k = 0; k < t->n_kernels; k++)
		require(v->active[k] <= v->live[k] && v->live[k] <= v->peak_bytes);
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		require(v->life[i].period == periods);
		for (uint32_t n = 0; n < v->life[i].n_periods; n++) {
			const struct annex_period *p = &v->periods[periods++];

			require(p->tensor == i && p->ns <= v->start[t->n_kernels]);
			require(p->wraps == (p->to <= p->from) && p->to < t->n_kernels);
			require(p->from <= t->n_kernels && (!p->wraps || t->tensors[i].global));
		}
	}
	require(periods == v->n_periods);
	annex_vitality_destroy(v);
}

static void check_written(const struct annex_trace *t)
{
	struct annex_trace *again;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	require(f && !annex_trace_write(t, f) && !fclose(f));
	require(!annex_trace_parse(text, len, &again));
	require(annex_trace_hash(again) == annex_trace_hash(t));
	annex_trace_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as large as the text, so that a read behind its end is seen. */
	char *text = malloc(size ? size : 1);
	struct annex_trace *t;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	if (!annex_trace_parse(text, size, &t)) {
		check_trace(t);
		check_vitality(t);
		check_written(t);
		annex_trace_free(t);
	} else {
		require(!t && *annex_last_error() && !strchr(annex_last_error(), '\n'));
	}
	free(text);
	return 0;
}
