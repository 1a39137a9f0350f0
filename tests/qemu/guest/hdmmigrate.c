// SPDX-License-Identifier: MIT
/*
 * Unified memory whose tiers are a small device budget, CXL memory and an NVMe controller:
 *
 *	hdmmigrate ways CXL-URI NVME-URI	a tensor on all ways between the three, compared
 *						byte by byte; what of it passes a buffer
 *	hdmmigrate plan CXL-URI NVME-URI	iterations of a network in whole numbers, which
 *						are planned after two, beside the same in plain
 *						memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/exec.h>
#include <annex/log.h>
#include "die.h"
#include "tests/unit/random.h"

#define MIB (1ull << 20)
#define WAIT_MS 60000u
#define LAYERS 10u
#define WORDS 16384u /* of a tensor */
#define BYTES (WORDS * sizeof(uint64_t))
#define PLANNED 3u     /* iterations by a plan, which is made beside others */
#define ITERATIONS 40u /* the most, until there were so many */

static struct annex_hdm *range;
static struct annex_store *store;

static void *alloc(struct annex_space *s, uint64_t bytes)
{
	void *p;

	if (!s)
		return calloc(1, bytes);
	if (annex_alloc(s, "tensor", bytes, &p))
		die("%s", annex_last_error());
	return p;
}

static struct annex_space *open_space(const char *cxl, const char *nvme, uint64_t device,
				      uint64_t cxl_bytes)
{
	struct annex_space_opts opts = {
		.device = device, .cxl_bytes = cxl_bytes, .n_stores = 1, .checksum = true};
	struct annex_space *s;

	if (annex_hdm_open(cxl, NULL, &range) || annex_store_open(nvme, NULL, &store))
		die("%s", annex_last_error());
	opts.cxl = range;
	opts.stores = &store;
	if (annex_space_create(&opts, &s))
		die("%s", annex_last_error());
	return s;
}

static void close_space(struct annex_space *s)
{
	annex_space_destroy(s);
	if (annex_store_close(store))
		die("%s", annex_last_error());
	annex_hdm_close(range);
}

static struct annex_space_stats stats_of(struct annex_space *s)
{
	struct annex_space_stats st;

	annex_space_get_stats(s, &st);
	return st;
}

/* Return: bytes of it that passed a buffer. */
static uint64_t move_to(struct annex_space *s, void *p, uint64_t bytes, unsigned int tier)
{
	uint64_t before = stats_of(s).bounced;
	struct annex_mem_page page;
	struct annex_move *m;
	int err = tier == ANNEX_TIER_GPU ? annex_prefetch(s, p, bytes, 0, &m)
					 : annex_pre_evict(s, p, bytes, tier, &m);

	if (err || annex_move_wait(m, WAIT_MS) || annex_mem_lookup(s, p, &page))
		die("%s", annex_last_error());
	if (page.device != (tier == ANNEX_TIER_GPU) || (!page.device && page.tier != tier))
		die("it is not in tier %u", tier);
	return stats_of(s).bounced - before;
}

static int ways(const char *cxl, const char *nvme)
{
	static const unsigned int tiers[] = {
		ANNEX_TIER_SSD, ANNEX_TIER_CXL, ANNEX_TIER_GPU, ANNEX_TIER_CXL,
		ANNEX_TIER_SSD, ANNEX_TIER_GPU, ANNEX_TIER_SSD, ANNEX_TIER_CXL,
	};
	static const char *const names[] = {"device", "host", "CXL", "NVMe"};
	uint64_t state = random_seed("ways"), bytes = MIB + 4096;
	struct annex_space *s = open_space(cxl, nvme, 4 * MIB, 2 * MIB);
	unsigned int n = sizeof(tiers) / sizeof(*tiers), from = ANNEX_TIER_GPU;
	char *p = alloc(s, bytes), *plain = malloc(bytes);

	for (unsigned int i = 0; i < n; i++) {
		uint64_t bounced;

		random_fill(&state, plain, bytes);
		memcpy(p, plain, bytes);
		/* Now it is in the device tier; it goes back to where it was, then on. */
		if (from != ANNEX_TIER_GPU)
			move_to(s, p, bytes, from);
		bounced = move_to(s, p, bytes, tiers[i]);
		printf("%s to %s: %llu bytes of %llu by a buffer\n", names[from], names[tiers[i]],
		       (unsigned long long)bounced, (unsigned long long)bytes);
		if (from != ANNEX_TIER_GPU && tiers[i] != ANNEX_TIER_GPU && bounced)
			die("between CXL memory and storage nothing else is needed");
		if (memcmp(p, plain, bytes))
			die("it is not what it was");
		from = tiers[i];
	}
	close_space(s);
	free(plain);
	return 0;
}

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

static int plan(const char *cxl, const char *nvme)
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
			die("layer %u is not what it is in plain memory", l);
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
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "ways"))
		return ways(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "plan"))
		return plan(argv[2], argv[3]);
	die("usage: hdmmigrate ways|plan CXL-URI NVME-URI");
}
