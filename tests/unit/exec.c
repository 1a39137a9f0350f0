// SPDX-License-Identifier: MIT
/*
 * Iterations of a small network in whole numbers, in a device tier that is too small for it, beside
 * the same in plain memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/exec.h>
#include "random.h"
#include "unit.h"

#define MIB (1ull << 20)
#define LAYERS 12u
#define WORDS 32768u /* of a tensor */
#define BYTES (WORDS * sizeof(uint64_t))

struct net {
	struct annex_space *space; /* NULL: plain memory */
	struct annex_exec *exec;
	uint64_t *weight[LAYERS], *act[LAYERS + 1];
};

static uint64_t *tensor(struct net *net, const char *name)
{
	void *p = NULL;

	if (!net->space)
		return calloc(1, BYTES);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(net->space, name, BYTES, &p), 0);
	return p;
}

static void drop(struct net *net, uint64_t *p)
{
	if (!net->space)
		free(p);
	else
		CU_ASSERT_EQUAL(annex_free(net->space, p), 0);
}

static void before(struct net *net, const char *name, const uint64_t *a, uint32_t how_a,
		   const uint64_t *b, uint32_t how_b, const uint64_t *c, uint32_t how_c)
{
	struct annex_exec_use uses[] = {{a, how_a}, {b, how_b}, {c, how_c}};

	if (net->exec)
		CU_ASSERT_EQUAL_FATAL(annex_exec_before(net->exec, name, uses, c ? 3 : 2), 0);
}

static void after(struct net *net)
{
	if (net->exec)
		CU_ASSERT_EQUAL(annex_exec_after(net->exec), 0);
}

static void forward(struct net *net, unsigned int l)
{
	uint64_t *in = net->act[l], *w = net->weight[l], *out;

	out = net->act[l + 1] = tensor(net, "activation");
	before(net, "forward", in, ANNEX_USE_READ, w, ANNEX_USE_READ, out, ANNEX_USE_WRITE);
	for (unsigned int i = 0; i < WORDS; i++)
		out[i] = in[i] * 3 + w[(i + 7) % WORDS];
	after(net);
}

static void backward(struct net *net, unsigned int l)
{
	uint64_t *act = net->act[l + 1], *w = net->weight[l];

	before(net, "backward", act, ANNEX_USE_READ, w, ANNEX_USE_READ | ANNEX_USE_WRITE, NULL, 0);
	for (unsigned int i = 0; i < WORDS; i++)
		w[i] += act[i] >> 3;
	after(net);
	drop(net, act);
}

/* @layers of them; fewer is another iteration than that which was planned for. */
static void iterate(struct net *net, uint64_t input, unsigned int layers)
{
	if (net->exec)
		CU_ASSERT_EQUAL_FATAL(annex_exec_begin(net->exec), 0);
	net->act[0] = tensor(net, "input");
	before(net, "read", net->act[0], ANNEX_USE_WRITE, net->weight[0], ANNEX_USE_READ, NULL, 0);
	for (unsigned int i = 0; i < WORDS; i++)
		net->act[0][i] = input * i + net->weight[0][i];
	after(net);
	for (unsigned int l = 0; l < layers; l++)
		forward(net, l);
	for (unsigned int l = layers; l-- > 0;)
		backward(net, l);
	drop(net, net->act[0]);
	if (net->exec)
		CU_ASSERT_EQUAL(annex_exec_end(net->exec), 0);
}

static bool equal(const struct net *a, const struct net *b)
{
	for (unsigned int l = 0; l < LAYERS; l++)
		if (memcmp(a->weight[l], b->weight[l], BYTES))
			return false;
	return true;
}

static void open_net(struct net *net, struct annex_space *space, const char *policy)
{
	struct annex_exec_opts opts = {.policy = policy};

	memset(net, 0, sizeof(*net));
	net->space = space;
	if (space)
		CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &opts, &net->exec), 0);
	for (unsigned int l = 0; l < LAYERS; l++) {
		net->weight[l] = tensor(net, "weight");
		for (unsigned int i = 0; i < WORDS; i++)
			net->weight[l][i] = (uint64_t)l * WORDS + i;
	}
}

static void close_net(struct net *net)
{
	for (unsigned int l = 0; l < LAYERS; l++)
		drop(net, net->weight[l]);
	annex_exec_destroy(net->exec);
}

static void run_policy(const char *policy, uint64_t *state)
{
	struct annex_space_opts opts = {.device = 2 * MIB, .host = 2 * MIB, .n_stores = 1};
	struct annex_exec_stats st;
	struct annex_store *store;
	struct annex_space *space;
	struct net net, plain;
	bool planned = false, strayed = false;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:32M", NULL, &store), 0);
	opts.stores = &store;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	open_net(&net, space, policy);
	open_net(&plain, NULL, NULL);
	for (unsigned int i = 0; i < 40; i++) {
		uint64_t input = random_next(state);
		unsigned int layers = i == 30 ? LAYERS / 2 : LAYERS;

		iterate(&net, input, layers);
		iterate(&plain, input, layers);
		annex_exec_get_stats(net.exec, &st);
		planned |= st.planned;
		strayed |= st.strayed;
		CU_ASSERT_EQUAL(st.iterations, i + 1);
		CU_ASSERT(st.stall_ns <= st.ns);
	}
	CU_ASSERT(equal(&net, &plain));
	CU_ASSERT_EQUAL(planned, strcmp(policy, "none") != 0);
	CU_ASSERT_EQUAL(strayed, planned);
	close_net(&net);
	close_net(&plain);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

static void by_every_policy(void)
{
	uint64_t state = random_seed("by every policy");

	run_policy("none", &state);
	run_policy("annex", &state);
	run_policy("g10", &state);
	run_policy("uvm", &state);
}

UNIT_SUITE(exec, {"by every policy", by_every_policy})
