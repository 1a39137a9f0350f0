// SPDX-License-Identifier: MIT
/*
 * A plan, executed: iterations over 16 tensors of 1 MiB with 4 MiB of memory for them. The executor
 * records an iteration, plans, and then moves tensors before they are needed. It overwrites the
 * storage: plan 'file:/data/tensors?size=64M'
 */
#include <stdio.h>
#include <stdlib.h>
#include <annex/exec.h>
#include <annex/mem.h>

#define TENSORS 16u
#define NUMBERS (1u << 18)
#define ITERATIONS 1000u

static void must(int err)
{
	if (err)
		exit((fprintf(stderr, "plan: %s\n", annex_last_error()), 1));
}

/*
 * A kernel that reads tensor a and overwrites tensor b with a plus 1. From annex_exec_before() to
 * annex_exec_after() both are in memory.
 */
static void next(struct annex_exec *exec, float *a, float *b)
{
	struct annex_exec_use uses[2];

	uses[0].ptr = a;
	uses[0].how = ANNEX_USE_READ;
	uses[1].ptr = b;
	uses[1].how = ANNEX_USE_WRITE;
	must(annex_exec_before(exec, "next", uses, 2));
	for (unsigned int i = 0; i < NUMBERS; i++)
		b[i] = a[i] + 1;
	must(annex_exec_after(exec));
}

int main(int argc, char **argv)
{
	static struct annex_space_opts opts; /* zeroes are defaults */
	struct annex_space *space = NULL;
	struct annex_store *store = NULL;
	struct annex_exec *exec = NULL;
	struct annex_exec_stats stats;
	float *t[TENSORS];
	unsigned int n = 0;

	if (argc != 2)
		return fputs("usage: plan STORAGE\n", stderr), 2;
	must(annex_store_open(argv[1], NULL, &store));
	opts.device = TENSORS / 4 * NUMBERS * sizeof(float);
	opts.size = TENSORS * NUMBERS * sizeof(float);
	opts.stores = &store;
	opts.n_stores = 1;
	must(annex_space_create(&opts, &space));
	must(annex_exec_create(space, NULL, &exec)); /* policy "annex" */
	for (unsigned int k = 0; k < TENSORS; k++) {
		char name[16];
		void *p;

		snprintf(name, sizeof(name), "tensor %u", k);
		must(annex_alloc(space, name, NUMBERS * sizeof(float), &p)); /* zeroes */
		t[k] = (float *)p;
	}

	/* Around the ring of tensors, until an iteration has followed a plan. */
	do {
		must(annex_exec_begin(exec));
		for (unsigned int k = 0; k < TENSORS; k++)
			next(exec, t[k], t[(k + 1) % TENSORS]);
		must(annex_exec_end(exec));
		annex_exec_get_stats(exec, &stats);
		n++;
	} while (!stats.planned && n < ITERATIONS);

	/* Outside of kernels, tensors are ordinary memory: an access brings them back. */
	printf("planned: %d, right: %d\n", stats.planned,
	       t[0][NUMBERS - 1] == (float)(n * TENSORS));
	fprintf(stderr, "iteration %u: %.1f ms, %.1f of them waiting\n", n, (double)stats.ns / 1e6,
		(double)stats.stall_ns / 1e6);
	annex_exec_destroy(exec);
	annex_space_destroy(space);
	must(annex_store_close(store));
	return 0;
}
