// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/error.h"
#include "tools/common/pool.h"
#include "tools/common/progress.h"
#include "gpu.h"
#include "matrix.h"
#include "sky.h"

const struct work_kind *const work_kinds[] = {
	&work_rsum,  &work_stencil, &work_sort, &work_gemm, &work_vadd,
	&work_saxpy, &work_conv3,   &work_path, &work_cfd,  &work_gauss,
	&work_bfs,   &work_gnn,     &work_mri,  &work_bc,   &work_bfs_dense,
	&work_dlrm,  &work_radix,   &work_srad, &work_tpcc, &work_ycsb,
	NULL,
};

static int too_many(const char *what)
{
	return err_set(-E2BIG, "more than %d %s", MATRIX_NAMES, what);
}

static int add_work(struct matrix *m, const struct work_kind *k)
{
	for (unsigned int i = 0; i < m->n_works; i++)
		if (m->works[i] == k)
			return err_set(-EINVAL, "workload %s is named twice", k->name);
	if (m->n_works == MATRIX_NAMES)
		return too_many("workloads");
	m->works[m->n_works++] = k;
	return 0;
}

int matrix_work(struct matrix *m, const char *name)
{
	unsigned int found = 0;
	int err = 0;

	for (unsigned int i = 0; work_kinds[i] && !err; i++) {
		if (strcmp(name, work_kinds[i]->name) && strcmp(name, work_kinds[i]->set))
			continue;
		found++;
		err = add_work(m, work_kinds[i]);
	}
	if (!found)
		err = err_set(-EINVAL, "no workload \"%s\": see annex cxl simulate --help", name);
	return err;
}

static int add_config(struct matrix *m, const char *name)
{
	unsigned int i = 0;

	while (configs[i].name && strcmp(configs[i].name, name))
		i++;
	if (!configs[i].name)
		return err_set(-EINVAL, "no configuration \"%s\": see annex cxl simulate --help",
			       name);
	for (unsigned int j = 0; j < m->n_configs; j++)
		if (m->configs[j] == &configs[i])
			return err_set(-EINVAL, "configuration %s is named twice", name);
	if (m->n_configs == MATRIX_NAMES)
		return too_many("configurations");
	m->configs[m->n_configs++] = &configs[i];
	return 0;
}

/* Copy a text for the lifetime of the matrix. */
static char *copy_text(struct matrix *m, const char *text)
{
	char *copy = m->n_texts < MATRIX_NAMES ? strdup(text) : NULL;

	if (copy)
		m->text[m->n_texts++] = copy;
	else
		err_set(-ENOMEM, "out of memory");
	return copy;
}

int matrix_configs(struct matrix *m, const char *names)
{
	char *rest = copy_text(m, names), *name;
	int err = rest ? 0 : -ENOMEM;

	while (!err && (name = strsep(&rest, ",")))
		err = add_config(m, name);
	return err;
}

int matrix_option(struct matrix *m, const char *name, const char *value)
{
	unsigned int at = 0, i = 0;
	int err = board_check_value("--", name, value);

	if (err)
		return err;
	while (at < m->n_options && strcmp(m->option[at], name))
		at++;
	if (at == MATRIX_NAMES)
		return too_many("options");
	while (strcmp(board_name(i), name))
		i++;
	m->option[at] = board_name(i);
	m->value[at] = value;
	m->n_options += at == m->n_options;
	return 0;
}

static int add_value(struct matrix_axis *a, const char *value)
{
	int err = board_check_value("--sweep ", a->name, value);

	if (err == -ENOENT)
		return err_set(-EINVAL, "--sweep %s: not an option of boards", a->name);
	if (err)
		return err;
	for (unsigned int i = 0; i < a->n; i++)
		if (!strcmp(a->value[i], value))
			return err_set(-EINVAL, "--sweep %s: %s is given twice", a->name, value);
	if (a->n == MATRIX_VALUES)
		return err_set(-E2BIG, "--sweep %s: more than %d values", a->name, MATRIX_VALUES);
	a->value[a->n++] = value;
	return 0;
}

static int add_values(struct matrix_axis *a, char *values)
{
	char *value;
	int err = 0;

	while (!err && (value = strsep(&values, ",")))
		err = add_value(a, value);
	return err;
}

int matrix_sweep(struct matrix *m, const char *word)
{
	struct matrix_axis *a = &m->axes[m->n_axes];
	char *name = copy_text(m, word), *values;

	if (!name)
		return -ENOMEM;
	values = strchr(name, '=');
	if (!values)
		return err_set(-EINVAL, "--sweep %s: write KEY=VALUE,VALUE", word);
	*values++ = '\0';
	if (m->n_axes == MATRIX_AXES)
		return err_set(-E2BIG, "--sweep: more than %d options", MATRIX_AXES);
	for (unsigned int i = 0; i < m->n_axes; i++)
		if (!strcmp(m->axes[i].name, name))
			return err_set(-EINVAL, "--sweep %s: given twice", name);
	for (unsigned int i = 0; i < m->n_options; i++)
		if (!strcmp(m->option[i], name))
			return err_set(-EINVAL, "--sweep %s: an option sets that already", name);
	a->name = name;
	m->n_axes++;
	return add_values(a, values);
}

static bool fits(const struct work_kind *k, const struct config *c)
{
	return !strcmp(k->set, c->set);
}

/* Set up the board of a run: its configuration, and options and axes that apply to it. */
static int set_board(const struct matrix *m, struct matrix_run *r, size_t combination)
{
	int err = 0;

	config_board(r->config, &r->board);
	for (unsigned int i = 0; i < m->n_options && !err; i++)
		if (config_takes(r->config, m->option[i]))
			err = board_set(&r->board, m->option[i], m->value[i]);
	for (unsigned int i = m->n_axes; i-- > 0 && !err; combination /= m->axes[i].n) {
		const struct matrix_axis *a = &m->axes[i];

		r->at[i] = (unsigned int)(combination % a->n);
		if (config_takes(r->config, a->name))
			err = board_set(&r->board, a->name, a->value[r->at[i]]);
	}
	return err ? err : board_check(r->config->name, &r->board);
}

static unsigned int count_fits(const struct matrix *m, const struct work_kind *k,
			       const struct config *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; k && i < m->n_configs; i++)
		n += fits(k, m->configs[i]);
	for (unsigned int i = 0; c && i < m->n_works; i++)
		n += fits(m->works[i], c);
	return n;
}

/* Without names take all workloads or configurations. A name without any run is an error. */
static int complete_names(struct matrix *m)
{
	const bool both = m->n_works && m->n_configs;

	for (unsigned int i = 0; both && i < m->n_works; i++)
		if (!count_fits(m, m->works[i], NULL))
			return err_set(-EINVAL,
				       "workload %s of %s runs on none of the "
				       "configurations in --config",
				       m->works[i]->name, m->works[i]->set);
	for (unsigned int i = 0; both && i < m->n_configs; i++)
		if (!count_fits(m, NULL, m->configs[i]))
			return err_set(-EINVAL, "--config %s: it is for workloads of %s",
				       m->configs[i]->name, m->configs[i]->set);
	if (!m->n_works)
		for (; work_kinds[m->n_works]; m->n_works++)
			m->works[m->n_works] = work_kinds[m->n_works];
	if (!m->n_configs)
		for (; configs[m->n_configs].name; m->n_configs++)
			m->configs[m->n_configs] = &configs[m->n_configs];
	return 0;
}

/* Refuse an option that changes nothing. */
static int check_taken(const struct matrix *m, const char *front, const char *option)
{
	for (unsigned int i = 0; i < m->n_configs; i++)
		if (count_fits(m, NULL, m->configs[i]) && config_takes(m->configs[i], option))
			return 0;
	return err_set(-EINVAL, "%s%s: no effect on these configurations", front, option);
}

/* Return: the number of runs, up to one more than MATRIX_RUNS. */
static size_t count_runs(const struct matrix *m)
{
	size_t n = 0;

	for (unsigned int i = 0; i < m->n_works; i++)
		n += count_fits(m, m->works[i], NULL);
	for (unsigned int i = 0; i < m->n_axes && n <= MATRIX_RUNS; i++)
		n *= m->axes[i].n;
	return n > MATRIX_RUNS ? MATRIX_RUNS + 1 : n;
}

/* Add the runs of one line of the table. */
static int add_runs(struct matrix *m, const struct work_kind *k, size_t combination)
{
	int err = 0;

	for (unsigned int c = 0; c < m->n_configs && !err; c++) {
		struct matrix_run *r = &m->runs[m->n_runs];

		if (!fits(k, m->configs[c]))
			continue;
		r->kind = k;
		r->config = m->configs[c];
		err = set_board(m, r, combination);
		m->n_runs++;
	}
	return err;
}

int matrix_make(struct matrix *m)
{
	size_t combinations = 1, n;
	int err = complete_names(m);

	for (unsigned int i = 0; i < m->n_options && !err; i++)
		err = check_taken(m, "--", m->option[i]);
	for (unsigned int i = 0; i < m->n_axes && !err; i++)
		err = check_taken(m, "--sweep ", m->axes[i].name);
	if (err)
		return err;
	n = count_runs(m);
	if (n > MATRIX_RUNS)
		return err_set(-E2BIG, "--sweep: more than %d runs", MATRIX_RUNS);
	m->runs = calloc(n, sizeof(*m->runs));
	if (!m->runs)
		return err_set(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < m->n_axes; i++)
		combinations *= m->axes[i].n;
	for (unsigned int w = 0; w < m->n_works; w++)
		for (size_t i = 0; i < combinations && !err; i++)
			err = add_runs(m, m->works[w], i);
	return err;
}

/*
 * struct queue - Runs for threads.
 * @m: the matrix.
 * @next: index of the next run.
 * @done: number of runs done.
 */
struct queue {
	struct matrix *m;
	size_t next, done;
};

static int work_on(void *ctx, unsigned int id, unsigned int n)
{
	struct queue *l = ctx;
	int err = 0;

	(void)id;
	(void)n;
	while (!err) {
		/* Relaxed: a counter only. pool_run() orders the results. */
		const size_t i = annex_atomic_add(&l->next, 1, ANNEX_RELAXED);

		if (i >= l->m->n_runs)
			break;
		err = sim_run(&l->m->runs[i].board, l->m->runs[i].kind, &l->m->runs[i].result);
		progress_update(annex_atomic_add(&l->done, 1, ANNEX_RELAXED) + 1, l->m->n_runs,
				"runs");
	}
	return err;
}

int matrix_run(struct matrix *m, unsigned int threads)
{
	struct queue line = {.m = m};
	struct pool *pool;
	int err;

	if (threads > m->n_runs)
		threads = (unsigned int)m->n_runs;
	err = pool_create(threads, &pool);
	if (err)
		return err_set(err, "cannot start %u threads", threads);
	progress_begin("simulating");
	err = pool_run(pool, work_on, &line);
	progress_end();
	pool_destroy(pool);
	return err;
}

void matrix_free(struct matrix *m)
{
	for (unsigned int i = 0; i < m->n_texts; i++)
		free(m->text[i]);
	free(m->runs);
}

bool matrix_same_line(const struct matrix_run *a, const struct matrix_run *b)
{
	return a->kind == b->kind && !memcmp(a->at, b->at, sizeof(a->at));
}

/* Runs of a line are neighbours in the list. */
const struct matrix_run *matrix_reference(const struct matrix *m, const struct matrix_run *r)
{
	const struct matrix_run *i = r;

	while (i > m->runs && matrix_same_line(&i[-1], r))
		i--;
	for (; i < m->runs + m->n_runs && matrix_same_line(i, r); i++)
		if (i->config->reference)
			return i;
	return NULL;
}

int matrix_can_show(const struct matrix *m, const struct matrix_quantity *q)
{
	const struct config *c = configs;

	for (size_t i = 0; q->relative && i < m->n_runs; i++) {
		if (matrix_reference(m, &m->runs[i]))
			continue;
		while (!c->reference || !fits(m->runs[i].kind, c))
			c++;
		return err_set(-EINVAL,
			       "--show %s compares with %s, which is not in --config: add it, or "
			       "choose another quantity, as --show time",
			       q->name, c->name);
	}
	return 0;
}
