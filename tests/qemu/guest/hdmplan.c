// SPDX-License-Identifier: MIT
/*
 * hdmplan CXL-URI NVME-URI: iterations of a network in whole numbers, planned after two, whose
 * tensors are on a small device budget, CXL memory and an NVMe controller. Its weights are compared
 * with the weights of the same network in plain memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/exec.h>
#include "hdmspace.h"
#include "tests/unit/random.h"

#define LAYERS 10u
#define WORDS 16384u /* of a tensor */
#define BYTES (WORDS * sizeof(uint64_t))
#define PLANNED 3u     /* iterations by a plan, which is made beside others */
#define ITERATIONS 40u /* the most, until there were so many */

struct net {
	struct annex_space *space; /* NULL: plain memory */
	struct annex_exec *exec;
	uint64_t *weight[LAYERS], *act[LAYERS + 1];
	uint64_t in_cxl, stored; /* the most that was seen there */
};

static void drop(struct net *net, uint64_t *p)
{
	if (!net->space)
		free(p);
	else if (annex_free(net->space, p))
		die("%s", annex_last_error());
}

static void before(struct net *net, const char *name, uint64_t *a, uint64_t *w, uint64_t *out)
{
	const struct annex_exec_use uses[] = {
		{w, ANNEX_USE_READ | ANNEX_USE_WRITE}, {a, ANNEX_USE_READ}, {out, ANNEX_USE_WRITE}};

	if (net->exec && annex_exec_before(net->exec, name, uses, out ? 3 : 2))
		die("%s", annex_last_error());
}

static void after(struct net *net)
{
	if (net->exec && annex_exec_after(net->exec))
		die("%s", annex_last_error());
}

/*
 * Between the two halves of an iteration all tensors are live, and more than device and CXL memory
 * hold together: at its end they may not be.
 */
static void look(struct net *net)
{
	struct annex_space_stats st;

	if (!net->space)
		return;
	st = stats_of(net->space);
	net->in_cxl = st.cxl > net->in_cxl ? st.cxl : net->in_cxl;
	net->stored = st.stored > net->stored ? st.stored : net->stored;
}

static void iterate(struct net *net, uint64_t input)
{
	if (net->exec && annex_exec_begin(net->exec))
		die("%s", annex_last_error());
	net->act[0] = alloc(net->space, BYTES);
	for (unsigned int i = 0; i < WORDS; i++)
		net->act[0][i] = input * i;
	for (unsigned int l = 0; l < LAYERS; l++) {
		uint64_t *in = net->act[l], *w = net->weight[l], *out;

		out = net->act[l + 1] = alloc(net->space, BYTES);
		before(net, "forward", in, w, out);
		for (unsigned int i = 0; i < WORDS; i++)
			out[i] = in[i] * 3 + w[(i + 7) % WORDS];
		after(net);
	}
	look(net);
	for (unsigned int l = LAYERS; l-- > 0;) {
		before(net, "backward", net->act[l + 1], net->weight[l], NULL);
		for (unsigned int i = 0; i < WORDS; i++)
			net->weight[l][i] += net->act[l + 1][i] >> 3;
		after(net);
		drop(net, net->act[l + 1]);
	}
	drop(net, net->act[0]);
	if (net->exec && annex_exec_end(net->exec))
		die("%s", annex_last_error());
}

static void start(struct net *net, struct annex_space *s)
{
	const struct annex_exec_opts opts = {.policy = "annex"};

	memset(net, 0, sizeof(*net));
	net->space = s;
	if (s && annex_exec_create(s, &opts, &net->exec))
		die("%s", annex_last_error());
	for (unsigned int l = 0; l < LAYERS; l++) {
		net->weight[l] = alloc(s, BYTES);
		for (unsigned int i = 0; i < WORDS; i++)
			net->weight[l][i] = (uint64_t)l * WORDS + i;
	}
}

static void plan(const char *cxl, const char *nvme)
{
	struct annex_space *s = open_space(cxl, nvme, MIB, MIB);
	uint64_t state = random_seed("plan");
	struct annex_space_stats st;
	struct annex_exec_stats es;
	struct net net, plain;
	unsigned int planned = 0, n;

	start(&net, s);
	start(&plain, NULL);
	for (n = 0; n < ITERATIONS && planned < PLANNED; n++) {
		uint64_t input = random_next(&state);

		iterate(&net, input);
		iterate(&plain, input);
		annex_exec_get_stats(net.exec, &es);
		planned += es.planned;
	}
	st = stats_of(s);
	for (unsigned int l = 0; l < LAYERS; l++)
		if (memcmp(net.weight[l], plain.weight[l], BYTES))
			die("layer %u differs from plain memory", l);
	printf("%u of %u iterations by one of %llu plans (error %d); at most %llu bytes in CXL "
	       "memory, %llu on storage; moved %llu in, %llu out, of which %llu by a buffer\n",
	       planned, n, (unsigned long long)es.plans, es.plan_err,
	       (unsigned long long)net.in_cxl, (unsigned long long)net.stored,
	       (unsigned long long)st.in, (unsigned long long)st.out,
	       (unsigned long long)st.bounced);
	if (planned < PLANNED || !net.stored || !net.in_cxl)
		die("a tier was not used, or no plan");
	annex_exec_destroy(net.exec);
	close_space(s);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		die("usage: hdmplan CXL-URI NVME-URI");
	plan(argv[1], argv[2]);
	return 0;
}
