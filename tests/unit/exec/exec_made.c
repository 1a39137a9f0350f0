// SPDX-License-Identifier: MIT
/*
 * Kernels that make tensors while they run, in a device tier that is too small for all of them,
 * beside the same in plain memory.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define LAYERS 12u
#define WORDS (UNIT_SANITIZED ? 16384u : 32768u) /* of a tensor; sanitizers watch every access */
#define BYTES (WORDS * sizeof(uint64_t))
#define WAIT_NS (20 * ANNEX_NSEC_PER_SEC)

struct net {
	struct annex_space *space; /* NULL: plain memory */
	struct annex_exec *exec;
	uint64_t *weight, *act[LAYERS + 1];
	bool more; /* the first kernel makes one more tensor */
	bool late; /* the last activation is freed in the next iteration */
	uint64_t *left;
	unsigned int plans;                  /* when the iteration began */
	const struct annex_trace *predicted; /* then, that of the plan in use */
};

static uint64_t *make(struct net *net)
{
	void *p = NULL;

	if (!net->space)
		return calloc(1, BYTES);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(net->space, "made", BYTES, &p), 0);
	return p;
}

/* As make(), in a kernel. */
static uint64_t *made(struct net *net)
{
	struct annex_space_stats before, after;
	uint64_t any = 0, *p = make(net);

	if (!net->space)
		return p;
	CU_ASSERT_EQUAL_FATAL(annex_exec_made(net->exec, p), 0);
	annex_space_get_stats(net->space, &before);
	for (unsigned int i = 0; i < WORDS; i++)
		any |= p[i];
	CU_ASSERT_EQUAL(any, 0);
	p[0] = p[WORDS - 1] = 1;
	annex_space_get_stats(net->space, &after);
	CU_ASSERT_EQUAL(after.faults, before.faults);
	return p;
}

static void drop(struct net *net, uint64_t *p)
{
	if (!net->space)
		free(p);
	else
		CU_ASSERT_EQUAL(annex_free(net->space, p), 0);
}

static void before(struct net *net, const char *name, const uint64_t *a, const uint64_t *b)
{
	const struct annex_exec_use uses[] = {{a, ANNEX_USE_READ},
					      {b, ANNEX_USE_READ | ANNEX_USE_WRITE}};

	if (net->exec)
		CU_ASSERT_EQUAL_FATAL(annex_exec_before(net->exec, name, uses, a ? 2 : 0), 0);
}

static void after(struct net *net)
{
	if (net->exec)
		CU_ASSERT_EQUAL(annex_exec_after(net->exec), 0);
}

static void forward(struct net *net, unsigned int l)
{
	uint64_t *in = net->act[l], *out;

	before(net, "forward", in, net->weight);
	drop(net, made(net));
	out = net->act[l + 1] = made(net);
	for (unsigned int i = 0; i < WORDS; i++)
		out[i] = in[i] * 3 + net->weight[(i + 7) % WORDS];
	after(net);
}

static void begin(struct net *net)
{
	const struct annex_system *sys;
	struct annex_exec_stats st;

	CU_ASSERT_EQUAL_FATAL(annex_exec_begin(net->exec), 0);
	annex_exec_get_stats(net->exec, &st);
	net->plans = st.plans;
	net->predicted = NULL;
	annex_exec_plan(net->exec, &net->predicted, &sys);
}

static void iterate(struct net *net, uint64_t input)
{
	uint64_t *more = NULL;

	if (net->exec)
		begin(net);
	if (net->left)
		drop(net, net->left);
	net->left = NULL;
	before(net, "read", NULL, NULL);
	net->act[0] = made(net);
	for (unsigned int i = 0; i < WORDS; i++)
		net->act[0][i] = input * i;
	if (net->more)
		more = made(net);
	after(net);
	for (unsigned int l = 0; l < LAYERS; l++)
		forward(net, l);
	for (unsigned int l = LAYERS; l-- > 0;) {
		before(net, "backward", net->act[l + 1], net->weight);
		for (unsigned int i = 0; i < WORDS; i++)
			net->weight[i] += net->act[l + 1][i] >> 3;
		after(net);
		if (l == LAYERS - 1 && net->late)
			net->left = net->act[LAYERS];
		else
			drop(net, net->act[l + 1]);
	}
	drop(net, net->act[0]);
	if (more)
		drop(net, more);
	if (net->exec)
		CU_ASSERT_EQUAL(annex_exec_end(net->exec), 0);
}

/* Until so many iterations in a row were under a plan. */
static struct annex_exec_stats train(struct net *net, struct net *plain, unsigned int kinds)
{
	uint64_t end = annex_now() + WAIT_NS, state = random_seed("made tensors");
	struct annex_exec_stats st = {0};

	for (unsigned int i = 0, planned = 0; planned < 3 * kinds && annex_now() < end; i++) {
		const uint64_t input = random_next(&state);

		net->more = plain->more = i % kinds;
		iterate(net, input);
		iterate(plain, input);
		annex_exec_get_stats(net->exec, &st);
		planned = st.planned ? planned + 1 : 0;
	}
	return st;
}

static void open_net(struct net *net, struct annex_space *space, const char *policy,
		     const struct annex_policy *own)
{
	/* Another plan is one of another kind of iteration, and of no other time. */
	struct annex_exec_opts opts = {.policy = policy, .own = own, .drift = 1e6};

	memset(net, 0, sizeof(*net));
	net->space = space;
	if (space)
		CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &opts, &net->exec), 0);
	net->weight = make(net);
	for (unsigned int i = 0; i < WORDS; i++)
		net->weight[i] = i;
}

/* Tensors of the plan that die with its last kernel, and not with a use. */
static unsigned int late_ones(const struct annex_exec *e)
{
	const struct annex_trace *trace = NULL;
	const struct annex_system *sys;
	unsigned int n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(annex_exec_plan(e, &trace, &sys));
	for (uint32_t i = 0; i < trace->n_tensors; i++)
		n += trace->tensors[i].death == trace->n_kernels - 1;
	return n;
}

static void run_policy(const char *policy, unsigned int kinds, bool late)
{
	struct annex_space_opts opts = {.device = 8 * BYTES, .n_stores = 1};
	struct annex_store *store, *list;
	struct annex_space_stats moved;
	struct annex_exec_stats st;
	struct annex_space *space;
	struct net net, plain;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:32M", NULL, &store), 0);
	list = store;
	opts.stores = &list;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	list = NULL; /* the array is the program's own, and may be gone */
	open_net(&net, space, policy, NULL);
	open_net(&plain, NULL, NULL, NULL);
	net.late = plain.late = late;
	st = train(&net, &plain, kinds);
	CU_ASSERT_EQUAL(late_ones(net.exec), late);
	CU_ASSERT(st.planned);
	CU_ASSERT_EQUAL(st.plans, kinds);
	CU_ASSERT_FALSE(memcmp(net.weight, plain.weight, BYTES));
	annex_space_get_stats(space, &moved);
	CU_ASSERT(moved.out > 0 && moved.in > 0);
	CU_ASSERT_EQUAL(moved.over, 0);
	drop(&net, net.weight);
	drop(&plain, plain.weight);
	if (late) {
		drop(&net, net.left);
		drop(&plain, plain.left);
	}
	annex_exec_destroy(net.exec);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

/* Plans are made for tensors that kernels make. Scratch memory of a kernel is in none. */
static void made_tensors(void)
{
	run_policy("annex", 1, false);
	run_policy("g10", 1, false);
}

/* A tensor that the program frees in the next iteration takes room until the end of its own. */
static void made_tensors_that_stay(void)
{
	run_policy("annex", 1, true);
}

/* Iterations of two kinds that differ in a kernel's made tensors only. */
static void made_tensors_of_two_kinds(void)
{
	run_policy("annex", 2, false);
}

static sem_t allowed; /* to make a plan */

static int make_when_allowed(const struct annex_vitality *v, const struct annex_system *sys,
			     struct annex_plan **plan)
{
	sem_wait(&allowed);
	return annex_policy_find("annex")->make(v, sys, plan);
}

/* A plan that has been made for another kind does not take the place of the last kind's. */
static void plan_of_the_last_kind(void)
{
	static const struct annex_policy gated = {"gated", "annex's, when it is allowed",
						  make_when_allowed};
	struct annex_space_opts opts = {.device = 8 * BYTES, .host = 64 * BYTES};
	uint64_t end = annex_now() + WAIT_NS;
	struct annex_exec_stats st = {0};
	const struct annex_trace *own;
	struct annex_space *space;
	struct net net;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	sem_init(&allowed, 0, 1);
	open_net(&net, space, NULL, &gated);
	while (!st.planned && annex_now() < end) {
		iterate(&net, 1);
		annex_exec_get_stats(net.exec, &st);
	}
	own = net.predicted;
	CU_ASSERT_PTR_NOT_NULL_FATAL(own);
	for (net.more = true; !st.planning && annex_now() < end;) {
		iterate(&net, 1);
		annex_exec_get_stats(net.exec, &st);
	}
	net.more = false;
	iterate(&net, 1);
	sem_post(&allowed);
	while (net.plans < 2 && annex_now() < end)
		iterate(&net, 1);
	CU_ASSERT_EQUAL(net.plans, 2);
	CU_ASSERT_PTR_EQUAL(net.predicted, own);
	drop(&net, net.weight);
	/* A planner that waits for its plan could not be given back. */
	sem_post(&allowed);
	annex_exec_destroy(net.exec);
	sem_destroy(&allowed);
	annex_space_destroy(space);
}

/* A kernel's tensors are more than the device tier; no kernel runs; nothing is there. */
static void no_made_tensors(void)
{
	struct annex_space_opts opts = {.device = MIB, .host = 8 * MIB};
	struct annex_space *space;
	struct annex_exec *e;
	void *p[3];

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, NULL, &e), 0);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "part", MIB / 2, &p[i]), 0);
	CU_ASSERT_EQUAL(annex_exec_made(e, p[0]), -EINVAL);
	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	CU_ASSERT_EQUAL(annex_exec_made(e, p[0]), -EINVAL);
	CU_ASSERT_EQUAL(annex_exec_before(e, "large", NULL, 0), 0);
	CU_ASSERT_EQUAL(annex_exec_made(e, &opts), -EINVAL);
	CU_ASSERT_EQUAL(annex_exec_made(e, p[0]), 0);
	CU_ASSERT_EQUAL(annex_exec_made(e, p[1]), 0);
	CU_ASSERT_EQUAL(annex_exec_made(e, p[2]), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "large"));
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_exec_before(e, "next", NULL, 0), 0);
	CU_ASSERT_EQUAL(annex_exec_made(e, p[2]), 0);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
	annex_exec_destroy(e);
	annex_space_destroy(space);
}

UNIT_SUITE(exec_made, {"made tensors", made_tensors},
	   {"made tensors that stay", made_tensors_that_stay},
	   {"made tensors of two kinds", made_tensors_of_two_kinds},
	   {"plan of the last kind", plan_of_the_last_kind}, {"no made tensors", no_made_tensors})
