// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/error.h"
#include "question.h"

#define YEAR_MAX 9999

static const struct {
	const char *name, *noun;
	int32_t min, max;
	bool span;
} options[ASK_OPTIONS] = {
	[ASK_YEAR] = {"--year", "year", 1, YEAR_MAX, false},
	[ASK_MONTH] = {"--month", "month", 1, 12, false},
	[ASK_WEEK] = {"--week", "week", 1, 53, false},
	[ASK_DISCOUNT] = {"--discount", "discount", 0, 100, true},
	[ASK_QUANTITY] = {"--quantity", "quantity", 0, 1000000, true},
};

/* The benchmarks' queries: TPC-H clauses 2.4.6 and 2.4.14, SSB revision 3. */
static const struct {
	const char *name, *summary;
	enum question_sum sum;
	struct ask ask;
} queries[] = {
	{"q6",
	 "TPC-H 6: revenue lost to discounts",
	 SUM_DISCOUNTS,
	 {{[ASK_YEAR] = {true, false, 1994, 1994},
	   [ASK_DISCOUNT] = {true, false, 5, 7},
	   [ASK_QUANTITY] = {true, true, 24, 24}}}},
	{"q14",
	 "TPC-H 14: share of promoted parts in a month",
	 SUM_PROMO,
	 {{[ASK_YEAR] = {true, false, 1995, 1995}, [ASK_MONTH] = {true, false, 9, 9}}}},
	{"ssb1.1",
	 "SSB 1.1: revenue lost to discounts in a year",
	 SUM_LO_DISCOUNTS,
	 {{[ASK_YEAR] = {true, false, 1993, 1993},
	   [ASK_DISCOUNT] = {true, false, 1, 3},
	   [ASK_QUANTITY] = {true, true, 25, 25}}}},
	{"ssb1.2",
	 "SSB 1.2: the same in a month",
	 SUM_LO_DISCOUNTS,
	 {{[ASK_YEAR] = {true, false, 1994, 1994},
	   [ASK_MONTH] = {true, false, 1, 1},
	   [ASK_DISCOUNT] = {true, false, 4, 6},
	   [ASK_QUANTITY] = {true, false, 26, 35}}}},
	{"ssb1.3",
	 "SSB 1.3: the same in a week",
	 SUM_LO_DISCOUNTS,
	 {{[ASK_YEAR] = {true, false, 1994, 1994},
	   [ASK_WEEK] = {true, false, 6, 6},
	   [ASK_DISCOUNT] = {true, false, 5, 7},
	   [ASK_QUANTITY] = {true, false, 26, 35}}}},
};

#define QUERIES (sizeof(queries) / sizeof(queries[0]))

static const char *query_at(unsigned int i, char *summary)
{
	if (i >= QUERIES)
		return NULL;
	snprintf(summary, CLI_SUMMARY, "%s", queries[i].summary);
	return queries[i].name;
}

const struct cli_list question_list = {.arg = "QUERY", .at = query_at};

static int nonsense(unsigned int which, const char *text)
{
	return err_set(-EINVAL, "%s %s: give a whole number from %d to %d%s", options[which].name,
		       text, options[which].min, options[which].max,
		       options[which].span ? ", or two as in 5..7" : "");
}

static bool one_number(unsigned int which, const char *s, size_t n, int32_t *out)
{
	return !value_i32(s, n, out) && *out >= options[which].min && *out <= options[which].max;
}

int ask_parse(void *ask, const char *opt, char *text)
{
	unsigned int which = 0;
	struct ask_span *s;
	const char *dots;

	while (strcmp(options[which].name, opt))
		which++;
	dots = options[which].span ? strstr(text, "..") : NULL;
	s = &((struct ask *)ask)->of[which];
	*s = (struct ask_span){.given = true, .below = which == ASK_QUANTITY && !dots};
	if (!one_number(which, text, dots ? (size_t)(dots - text) : strlen(text), &s->lo))
		return nonsense(which, text);
	s->hi = s->lo;
	if (dots && !one_number(which, dots + 2, strlen(dots + 2), &s->hi))
		return nonsense(which, text);
	if (s->hi < s->lo)
		return err_set(-EINVAL, "%s %s: the second number is below the first",
			       options[which].name, text);
	return 0;
}

static struct cond *add(struct question *q, const struct tpch_table *t, unsigned int column)
{
	struct cond *c = &q->cond[q->n++];

	*c = (struct cond){.table = t, .column = column};
	return c;
}

static void add_equal(struct question *q, unsigned int column, int32_t value)
{
	struct cond *c = add(q, &tpch_lineitem, column);

	c->lo = c->hi = value;
	snprintf(c->text, sizeof(c->text), "= %d", value);
}

/* Days of a year, or of one month. */
static void add_days(struct question *q, const struct ask_span *year, const struct ask_span *month)
{
	struct cond *c = add(q, &tpch_lineitem, L_SHIPDATE);
	int first = month->given ? month->lo : 1, last = month->given ? month->lo : 12;
	int32_t next = last == 12 ? date_days(year->lo + 1, 1, 1)
				  : date_days(year->lo, last + 1, 1);

	c->lo = date_days(year->lo, first, 1);
	c->hi = next - 1;
	snprintf(c->text, sizeof(c->text), "in %04d%s%.*d", year->lo, month->given ? "-" : "",
		 month->given ? 2 : 0, month->given ? month->lo : 0);
}

/* @scale: stored value of 1. */
static void add_quantity(struct question *q, unsigned int column, const struct ask_span *s,
			 int32_t scale)
{
	struct cond *c = add(q, &tpch_lineitem, column);

	c->lo = (int64_t)s->lo * scale;
	c->hi = (int64_t)s->hi * scale;
	snprintf(c->text, sizeof(c->text), "from %d to %d", s->lo, s->hi);
	if (!s->below)
		return;
	c->hi = c->lo - 1;
	c->lo = scale == 1 ? INT32_MIN : INT64_MIN;
	snprintf(c->text, sizeof(c->text), "< %d", s->hi);
}

static void add_discount(struct question *q, unsigned int column, const struct ask_span *s)
{
	struct cond *c = add(q, &tpch_lineitem, column);

	c->lo = s->lo;
	c->hi = s->hi;
	snprintf(c->text, sizeof(c->text), "from %d %% to %d %%", s->lo, s->hi);
}

static void add_conds(struct question *q, const struct ask_span *of)
{
	bool ssb = q->sum == SUM_LO_DISCOUNTS;

	if (!ssb)
		add_days(q, &of[ASK_YEAR], &of[ASK_MONTH]);
	else if (of[ASK_MONTH].given)
		add_equal(q, D_YEARMONTHNUM, of[ASK_YEAR].lo * 100 + of[ASK_MONTH].lo);
	else
		add_equal(q, D_YEAR, of[ASK_YEAR].lo);
	if (of[ASK_WEEK].given)
		add_equal(q, D_WEEKNUMINYEAR, of[ASK_WEEK].lo);
	if (of[ASK_DISCOUNT].given)
		add_discount(q, ssb ? LO_DISCOUNT : L_DISCOUNT, &of[ASK_DISCOUNT]);
	if (of[ASK_QUANTITY].given)
		add_quantity(q, ssb ? LO_QUANTITY : L_QUANTITY, &of[ASK_QUANTITY], ssb ? 1 : 100);
	if (q->sum == SUM_PROMO) {
		struct cond *c = add(q, &tpch_part, P_TYPE);

		c->prefix = "PROMO";
		snprintf(c->text, sizeof(c->text), "begins with %s", c->prefix);
	}
}

int question_make(const char *name, const struct ask *a, struct question *q)
{
	struct ask_span of[ASK_OPTIONS];
	char names[CLI_SUMMARY];
	unsigned int i = 0;

	while (i < QUERIES && strcmp(queries[i].name, name) != 0)
		i++;
	if (i == QUERIES)
		return err_set(-EINVAL, "no query \"%s\": there are %s", name,
			       cli_names(&question_list, names, sizeof(names)));
	for (unsigned int k = 0; k < ASK_OPTIONS; k++) {
		of[k] = queries[i].ask.of[k];
		if (a->of[k].given && !of[k].given)
			return err_set(-EINVAL, "%s: query %s has no condition on a %s",
				       options[k].name, name, options[k].noun);
		if (a->of[k].given)
			of[k] = a->of[k];
	}
	*q = (struct question){.name = queries[i].name, .sum = queries[i].sum};
	add_conds(q, of);
	return 0;
}
