/* SPDX-License-Identifier: MIT */
/*
 * Families of models. Each knows its models by number, their defaults, and how to build one.
 */
#ifndef ANNEX_PLAN_GENERATE_GENERATE_H
#define ANNEX_PLAN_GENERATE_GENERATE_H

#include <errno.h>
#include "core/log.h"
#include "net.h"

/**
 * struct gen_family - Models that one file builds.
 * @at: its models, as annex_model_at().
 * @usual: put the model's default in the place of each number that is 0.
 *	-EINVAL: numbers that it does not have, or that do not fit each other.
 * @build: add its layers. Return: the loss.
 */
struct gen_family {
	const struct annex_model *(*at)(unsigned int i);
	int (*usual)(unsigned int i, struct annex_trace_spec *spec);
	uint32_t (*build)(unsigned int i, struct gen_net *net, const struct annex_trace_spec *spec);
};

extern const struct gen_family annex_gen_transformers;
extern const struct gen_family annex_gen_cnns;

/**
 * annex_gen_without() - -EINVAL when @value, an option that @model does not have, is not 0.
 */
static inline int annex_gen_without(const char *model, const char *what, uint64_t value)
{
	return value ? annex_fail(-EINVAL, "%s has no %s", model, what) : 0;
}

/**
 * annex_gen_synthetic() - The model "synthetic"; as annex_trace_generate().
 */
extern const struct annex_model annex_gen_synthetic_model;
int annex_gen_synthetic(const struct annex_trace_spec *spec, struct annex_trace **trace);

#endif
