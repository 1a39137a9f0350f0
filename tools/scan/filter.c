// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "filter.h"

static bool known_op(const char *op)
{
	static const char *const ops[] = {">=", "<=", ">", "<", "==", "!="};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(op, ops[i]))
			return true;
	return false;
}

int filter_parse(const char *text, struct filter *f)
{
	size_t name, op;
	const char *p, *value;
	char *end;

	memset(f, 0, sizeof(*f));
	/* The name may have blanks inside. */
	text += strspn(text, " \t");
	name = strcspn(text, "<>=!");
	p = text + name;
	op = strspn(p, "<>=!");
	while (name && (text[name - 1] == ' ' || text[name - 1] == '\t'))
		name--;
	if (!name || name >= FILTER_NAME || !op || op > 2)
		return err_set(-EINVAL, "--where %s: write COLUMN OP VALUE, as in 'distance>=30'",
			       text);
	memcpy(f->column, text, name);
	memcpy(f->op, p, op);
	if (!known_op(f->op))
		return err_set(-EINVAL, "--where %s: the operator is one of >= <= > < == !=", text);
	value = p + op + strspn(p + op, " \t");
	f->value = strtold(value, &end);
	value += *value == '-';
	if ((!cli_decimal(value) && strncmp(value, "inf", 3)) || end[strspn(end, " \t")] ||
	    isnan(f->value))
		return err_set(-EINVAL, "--where %s: \"%s\" is not a number", text, p + op);
	f->negate = f->op[0] == '!';
	return 0;
}

/* The integers from @min to @max that satisfy the condition, as a range. */
static void bind_integers(struct filter *f, long double min, long double max, long double *low,
			  long double *high)
{
	long double v = f->value, up = ceill(v), down = floorl(v);

	*low = min;
	*high = max;
	if (f->op[0] == '>')
		*low = f->op[1] || up != v ? up : v + 1;
	else if (f->op[0] == '<')
		*high = f->op[1] || down != v ? down : v - 1;
	else
		*low = up, *high = down;
	f->none = *low > *high || *low > max || *high < min;
	if (*low < min)
		*low = min;
	if (*high > max)
		*high = max;
}

static void bind_floats(struct filter *f)
{
	double v = (double)f->value;

	f->low_f = -INFINITY;
	f->high_f = INFINITY;
	if (f->op[0] == '>')
		f->low_f = f->op[1] ? v : nextafter(v, INFINITY);
	else if (f->op[0] == '<')
		f->high_f = f->op[1] ? v : nextafter(v, -INFINITY);
	else
		f->low_f = f->high_f = v;
	f->none = (f->op[0] == '>' && !f->op[1] && v == INFINITY) ||
		  (f->op[0] == '<' && !f->op[1] && v == -INFINITY);
}

void filter_bind(struct filter *f, enum column_type type)
{
	long double low, high;

	switch (type) {
	case COLUMN_F64:
	case COLUMN_F32:
		bind_floats(f);
		return;
	case COLUMN_I64:
	case COLUMN_I32:
		bind_integers(f, type == COLUMN_I64 ? INT64_MIN : INT32_MIN,
			      type == COLUMN_I64 ? INT64_MAX : INT32_MAX, &low, &high);
		f->low_i = f->none ? 0 : (int64_t)low;
		f->high_i = f->none ? 0 : (int64_t)high;
		return;
	default:
		bind_integers(f, 0, type == COLUMN_U64 ? UINT64_MAX : UINT32_MAX, &low, &high);
		f->low_u = f->none ? 0 : (uint64_t)low;
		f->high_u = f->none ? 0 : (uint64_t)high;
	}
}

/* Every index is written, and stays if its element passes: no branch to mispredict. */
#define APPLY(suffix, ctype, ltype, low, high)                                                     \
	static uint32_t apply_##suffix(const struct filter *f, const void *data, uint32_t n,       \
				       uint32_t first, uint32_t *rows)                             \
	{                                                                                          \
		const ctype *x = data;                                                             \
		const ltype lo = f->low, hi = f->high;                                             \
		const bool none = f->none, negate = f->negate;                                     \
		uint32_t k = 0;                                                                    \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			rows[k] = first + i;                                                       \
			k += (!none & (x[i] >= lo) & (x[i] <= hi)) ^ negate;                       \
		}                                                                                  \
		return k;                                                                          \
	}

APPLY(f64, double, double, low_f, high_f)
APPLY(f32, float, double, low_f, high_f)
APPLY(i64, int64_t, int64_t, low_i, high_i)
APPLY(i32, int32_t, int64_t, low_i, high_i)
APPLY(u64, uint64_t, uint64_t, low_u, high_u)
APPLY(u32, uint32_t, uint64_t, low_u, high_u)

uint32_t filter_apply(const struct filter *f, enum column_type type, const void *data, uint32_t n,
		      uint32_t first, uint32_t *rows)
{
	static uint32_t (*const apply[])(const struct filter *, const void *, uint32_t, uint32_t,
					 uint32_t *) = {
		[COLUMN_F64] = apply_f64, [COLUMN_F32] = apply_f32, [COLUMN_I64] = apply_i64,
		[COLUMN_I32] = apply_i32, [COLUMN_U64] = apply_u64, [COLUMN_U32] = apply_u32,
	};

	return apply[type](f, data, n, first, rows);
}
