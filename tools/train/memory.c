// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "../error.h"
#include "memory.h"

static int open_stores(struct memory *m, const struct memory_opts *o)
{
	struct annex_store_opts opts = {.read_rate = o->rate, .write_rate = o->rate};

	for (; m->n_stores < o->n_stores; m->n_stores++) {
		const char *uri = o->stores[m->n_stores];
		int err = scratch_make(uri, &m->made[m->n_stores]);

		if (err)
			return err;
		err = annex_store_open(uri, &opts, &m->stores[m->n_stores]);
		if (err)
			return err_lib(err, "cannot store tensors on %s", uri);
	}
	return 0;
}

int memory_open(struct memory *m, const struct memory_opts *o)
{
	struct annex_space_opts space = {
		.device = o->device ? o->device : o->size,
		.host = o->host,
		.stores = m->stores,
		.n_stores = o->n_stores,
		.size = o->size,
		.host_rate = o->rate,
		.checksum = o->checksum,
	};
	struct annex_exec_opts exec = {.policy = o->policy};
	int err;

	memset(m, 0, sizeof(*m));
	if (o->plain)
		return 0;
	err = open_stores(m, o);
	if (err)
		goto fail;
	err = annex_space_create(&space, &m->space);
	if (err) {
		err_lib(err, "cannot make the memory for tensors");
		goto fail;
	}
	err = annex_exec_create(m->space, &exec, &m->exec);
	if (err) {
		err_lib(err, "cannot plan");
		goto fail;
	}
	return 0;
fail:
	memory_close(m);
	return err;
}

int memory_close(struct memory *m)
{
	int first = 0;

	annex_exec_destroy(m->exec);
	annex_space_destroy(m->space);
	while (m->n_stores)
		annex_store_close(m->stores[--m->n_stores]);
	for (unsigned int i = 0; i < ANNEX_MAX_SSDS; i++) {
		int err = scratch_end(m->made[i]);

		first = first ? first : err;
	}
	memset(m, 0, sizeof(*m));
	return first;
}

int memory_alloc(struct memory *m, const char *name, uint64_t n, float **p)
{
	void *at = m->space ? NULL : calloc(n, sizeof(float));
	int err = m->space ? annex_alloc(m->space, name, n * sizeof(float), &at) : 0;

	if (!m->space && !at)
		return err_set(-ENOMEM, "out of memory for %s", name);
	if (err)
		return err_lib(err, "cannot allocate %s", name);
	*p = at;
	m->now += n * sizeof(float);
	m->peak = m->now > m->peak ? m->now : m->peak;
	m->first = m->first && m->first < (char *)at ? m->first : at;
	m->end = m->end > (char *)(*p + n) ? m->end : (char *)(*p + n);
	return 0;
}

int memory_free(struct memory *m, uint64_t n, float **p)
{
	int err = m->space ? annex_free(m->space, *p) : 0;

	if (err)
		return err_lib(err, "cannot free a tensor");
	if (!m->space)
		free(*p);
	*p = NULL;
	m->now -= n * sizeof(float);
	return 0;
}

int memory_begin(struct memory *m)
{
	int err = m->exec ? annex_exec_begin(m->exec) : 0;

	m->began = annex_now();
	return err ? err_lib(err, "cannot train") : 0;
}

int memory_end(struct memory *m, struct annex_exec_stats *stats)
{
	int err = m->exec ? annex_exec_end(m->exec) : 0;

	if (err)
		return err_lib(err, "cannot train");
	*stats = (struct annex_exec_stats){.ns = annex_now() - m->began};
	if (m->exec)
		annex_exec_get_stats(m->exec, stats);
	return 0;
}

void memory_stats(const struct memory *m, struct annex_space_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	if (m->space)
		annex_space_get_stats(m->space, stats);
}
