// SPDX-License-Identifier: MIT
/*
 * Iterations of a small network in whole numbers, in a device tier that is too small for it, beside
 * the same in plain memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/cuda.h>
#include <annex/exec.h>
#include <annex/log.h>
#include <annex/simulate.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define LAYERS 12u
#define WORDS (UNIT_SANITIZED ? 16384u : 32768u) /* of a tensor; sanitizers watch every access */
#define BYTES (WORDS * sizeof(uint64_t))
#define ITERATIONS (UNIT_SANITIZED ? 16u : 40u)

struct net {
	struct annex_space *space; /* NULL: plain memory */
	struct annex_exec *exec;
	uint64_t *weight[LAYERS], *act[LAYERS + 1];
	unsigned int again; /* times that forward computes the same once more */
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

/* Without page faults the test brings in tensors outside of kernels, and holds them until
 * release(). */
static void take(struct net *net, const uint64_t *p)
{
	struct annex_move *m;

	if (!net->space)
		return;
	CU_ASSERT_EQUAL(annex_hold(net->space, p), 0);
	CU_ASSERT_EQUAL_FATAL(annex_prefetch(net->space, p, BYTES, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, 20000), 0);
}

static void release(struct net *net, const uint64_t *p)
{
	if (net->space)
		CU_ASSERT_EQUAL(annex_let_go(net->space, p), 0);
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
	for (unsigned int k = 0; k <= net->again; k++)
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

/* An iteration of @layers layers; with fewer it differs from the planned one. */
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

static bool equal(struct net *a, const struct net *b)
{
	bool same = true;

	for (unsigned int l = 0; l < LAYERS; l++) {
		take(a, a->weight[l]);
		same &= !memcmp(a->weight[l], b->weight[l], BYTES);
		release(a, a->weight[l]);
	}
	return same;
}

/* A program's own policy: what a kernel has used leaves at once, and returns when it is used. */
static int leave_at_once(const struct annex_vitality *v, const struct annex_system *sys,
			 struct annex_plan **plan)
{
	const struct annex_trace *t = v->trace;
	int err = annex_plan_create("leave-at-once", t, sys, plan);

	/* Evictions first, to make room. */
	for (unsigned int comes = 0; comes < 2 && !err; comes++) {
		for (uint32_t i = 0; i < v->n_periods && !err; i++) {
			const struct annex_period *p = &v->periods[i];
			struct annex_plan_step step = {.kernel = comes ? p->to : p->from,
						       .tensor = p->tensor,
						       .bytes = t->tensors[p->tensor].bytes};

			step.ns = v->start[step.kernel];
			step.op = comes ? ANNEX_PLAN_PREFETCH : ANNEX_PLAN_EVICT;
			step.tier = comes ? ANNEX_TIER_GPU : ANNEX_TIER_SSD;
			err = annex_plan_add(*plan, &step);
		}
		for (uint32_t i = 0; i < t->n_tensors && !err; i++) {
			const struct annex_life *l = &v->life[i];
			struct annex_plan_step step = {.kernel = comes ? l->birth : l->death + 1,
						       .tensor = i};

			step.ns = v->start[step.kernel];
			step.op = comes ? ANNEX_PLAN_ALLOC : ANNEX_PLAN_FREE;
			if (!t->tensors[i].global && l->used)
				err = annex_plan_add(*plan, &step);
		}
	}
	return err ? err : annex_plan_finish(*plan);
}

static const struct annex_policy own = {"leave-at-once", "nothing stays", leave_at_once};

/* @policy: NULL: the own one. */
static void open_net(struct net *net, struct annex_space *space, const char *policy)
{
	struct annex_exec_opts opts = {.policy = policy, .own = policy ? NULL : &own};

	memset(net, 0, sizeof(*net));
	net->space = space;
	if (space)
		CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &opts, &net->exec), 0);
	for (unsigned int l = 0; l < LAYERS; l++) {
		net->weight[l] = tensor(net, "weight");
		take(net, net->weight[l]);
		for (unsigned int i = 0; i < WORDS; i++)
			net->weight[l][i] = (uint64_t)l * WORDS + i;
		release(net, net->weight[l]);
	}
}

static void close_net(struct net *net)
{
	for (unsigned int l = 0; l < LAYERS; l++)
		drop(net, net->weight[l]);
	annex_exec_destroy(net->exec);
}

/* The plan that is followed is the own policy's, and one that the simulator runs. */
static bool is_own(const struct annex_exec *exec)
{
	const struct annex_system *sys;
	const struct annex_trace *trace;
	const struct annex_plan *plan = annex_exec_plan(exec, &trace, &sys);
	struct annex_sim_job job = {trace, plan};
	struct annex_sim_result r;

	return plan && !strcmp(plan->policy, own.name) && !annex_plan_check(plan, trace, sys) &&
	       !annex_simulate(&job, 1, sys, NULL, &r) && r.out[ANNEX_TIER_SSD] &&
	       r.gpu_peak <= sys->gpu;
}

/* Kernels of the last iteration, by its trace; 0: there is none. */
static uint32_t traced(const struct annex_exec *exec)
{
	struct annex_trace *trace;
	uint32_t n = 0;
	int err = annex_exec_trace(exec, &trace);

	CU_ASSERT(!err || err == -ENODATA);
	if (!err) {
		n = trace->n_kernels;
		annex_trace_free(trace);
	}
	return n;
}

static void run_policy(const char *policy, const struct annex_frames *frames, uint64_t *state)
{
	struct annex_space_opts opts = {
		.device = 8 * BYTES, .host = 8 * BYTES, .n_stores = 1, .frames = frames};
	struct annex_space_stats moved;
	struct annex_exec_stats st;
	struct annex_store *store;
	struct annex_space *space;
	struct net net, plain;
	bool planned = false, strayed = false, by_own = false, planning = false;
	uint32_t kernels = 0;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:32M", NULL, &store), 0);
	opts.stores = &store;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	open_net(&net, space, policy);
	open_net(&plain, NULL, NULL);
	CU_ASSERT_EQUAL(traced(net.exec), 0);
	for (unsigned int i = 0; i < ITERATIONS; i++) {
		uint64_t input = random_next(state);
		unsigned int layers = i == ITERATIONS * 3 / 4 ? LAYERS / 2 : LAYERS;

		iterate(&net, input, layers);
		iterate(&plain, input, layers);
		annex_exec_get_stats(net.exec, &st);
		planned |= st.planned;
		strayed |= st.strayed;
		planning |= st.planning;
		kernels = i ? kernels : traced(net.exec);
		CU_ASSERT((traced(net.exec) == kernels) == (layers == LAYERS));
		by_own |= !policy && is_own(net.exec);
		CU_ASSERT_EQUAL(st.iterations, i + 1);
		CU_ASSERT(st.stall_ns <= st.ns);
	}
	CU_ASSERT(equal(&net, &plain));
	CU_ASSERT_EQUAL(planned, !policy || strcmp(policy, "none"));
	CU_ASSERT_EQUAL(planning, planned);
	CU_ASSERT_EQUAL(by_own, !policy);
	/* Tensors that are only read are not written again; without frames, since Linux 6.4. */
	annex_space_get_stats(space, &moved);
	CU_ASSERT(!frames || moved.clean > 0);
	/* Kernels declare their writes. Under a plan copies may be made meanwhile. */
	CU_ASSERT(!policy || strcmp(policy, "none") || moved.write_faults == 0);
	CU_ASSERT_EQUAL(strayed, planned);
	close_net(&net);
	close_net(&plain);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

static void by_every_policy(void)
{
	uint64_t state = random_seed("by every policy");

	run_policy("none", NULL, &state);
	run_policy("annex", NULL, &state);
	run_policy("g10", NULL, &state);
	run_policy("uvm", NULL, &state);
}

/* As on a GPU, whose kernels cannot fault: an access to an absent tensor ends this process. */
static void without_faults(void)
{
	const struct annex_frames *frames = annex_gpu_memory_host()->frames;
	uint64_t state = random_seed("without faults");

	run_policy("none", frames, &state);
	run_policy("annex", frames, &state);
	run_policy("g10", frames, &state);
	run_policy("uvm", frames, &state);
}

static void by_a_policy_of_ones_own(void)
{
	uint64_t state = random_seed("by a policy of one's own");

	run_policy(NULL, NULL, &state);
	run_policy(NULL, annex_gpu_memory_host()->frames, &state);
}

/* With a name beside it, without a name, without a function: there is nothing to plan by. */
static void no_policy_of_ones_own(void)
{
	static const struct annex_policy nameless = {NULL, "", leave_at_once},
					 idle = {"idle", "", NULL};
	const struct annex_exec_opts bad[] = {
		{.policy = "annex", .own = &own}, {.own = &nameless}, {.own = &idle}};
	struct annex_space_opts opts = {.device = 8 * BYTES};
	struct annex_space *space;
	struct annex_exec *e;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(annex_exec_create(space, &bad[i], &e), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "one's own"));
	}
	annex_space_destroy(space);
}

#define TENSORS 16u
#define WAIT_NS (20 * ANNEX_NSEC_PER_SEC)

/* Links of a larger machine: what there is of each is the space's. */
static void another_system(void)
{
	struct annex_space_opts opts = {.device = 8 * BYTES, .n_stores = 1};
	struct annex_exec_opts with = {.policy = "annex"};
	uint64_t state = random_seed("another system");
	struct annex_system sys;
	struct annex_exec_stats st;
	struct annex_store *store;
	struct net net, plain;
	uint64_t limit = annex_now() + WAIT_NS;
	bool planned = false;

	annex_system_init(&sys);
	sys.gpus = 3;
	sys.ssds = 4;
	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:32M", NULL, &store), 0);
	opts.stores = &store;
	open_net(&plain, NULL, NULL);
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &plain.space), 0);
	open_net(&net, plain.space, "none");
	plain.space = NULL;
	annex_exec_destroy(net.exec);
	with.system = &sys;
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(net.space, &with, &net.exec), 0);
	memset(&sys, 0, sizeof(sys));
	unit_log_begin(UNIT_LOG(FATAL) | UNIT_LOG(ERROR) | UNIT_LOG(WARNING), "");
	for (unsigned int i = 0; i < 20 || (!planned && annex_now() < limit); i++) {
		uint64_t input = random_next(&state);

		iterate(&net, input, LAYERS);
		iterate(&plain, input, LAYERS);
		annex_exec_get_stats(net.exec, &st);
		planned |= st.planned;
	}
	CU_ASSERT_EQUAL(unit_log_end(), 0);
	CU_ASSERT(planned);
	CU_ASSERT(equal(&net, &plain));
	close_net(&net);
	close_net(&plain);
	annex_space_destroy(net.space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

static void one_kernel(struct annex_exec *e, void *p)
{
	const struct annex_exec_use use = {p, ANNEX_USE_READ | ANNEX_USE_WRITE};

	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	CU_ASSERT_EQUAL(annex_exec_before(e, "all", &use, 1), 0);
	memset(p, 1, MIB);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
}

/*
 * A plan leaves some of the device tier free: kernels that need all of it cannot be planned for.
 * The failure is logged once, and planning is tried again when there is more room.
 */
static void no_plan(void)
{
	struct annex_space_opts opts = {.device = MIB, .host = 4 * MIB, .size = 4 * MIB};
	struct annex_exec_opts bad = {.drift = 1}, unknown = {.policy = "annexe"};
	uint64_t end = annex_now() + WAIT_NS;
	struct annex_exec_stats st = {0};
	struct annex_space *space;
	struct annex_exec *e;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL(annex_exec_create(space, &bad, &e), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "a drift of 1,"));
	CU_ASSERT_EQUAL(annex_exec_create(space, &unknown, &e), -EINVAL);
	CU_ASSERT_STRING_EQUAL(annex_last_error(), "exec: there is no policy \"annexe\"");
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, NULL, &e), 0);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "all", MIB, &p), 0);
	while (!st.plan_err && annex_now() < end) {
		one_kernel(e, p);
		annex_exec_get_stats(e, &st);
	}
	CU_ASSERT(st.plan_err < 0);
	unit_log_begin(UNIT_LOG(FATAL) | UNIT_LOG(ERROR) | UNIT_LOG(WARNING), "");
	for (unsigned int i = 0; i < 1000; i++)
		one_kernel(e, p);
	CU_ASSERT_EQUAL(unit_log_end(), 0);
	annex_exec_get_stats(e, &st);
	CU_ASSERT(st.plan_err < 0);
	CU_ASSERT_EQUAL(st.plans, 0);
	CU_ASSERT_EQUAL(annex_space_resize(space, 2 * MIB), 0);
	end = annex_now() + WAIT_NS;
	while (!st.plans && annex_now() < end) {
		one_kernel(e, p);
		annex_exec_get_stats(e, &st);
	}
	CU_ASSERT_EQUAL(st.plans, 1);
	CU_ASSERT_EQUAL(st.plan_err, 0);
	annex_exec_destroy(e);
	annex_space_destroy(space);
}

/* Storage that is slower than any system that plans are made for is planned for all the same. */
static void very_slow(void)
{
	struct annex_store_opts slow = {.read_rate = ANNEX_RATE_MIN * 0.9, .depth = 1};
	struct annex_space_opts opts = {.device = 2 * MIB, .n_stores = 1};
	uint64_t end = annex_now() + WAIT_NS;
	struct annex_exec_stats st = {0};
	struct annex_store *store;
	struct annex_space *space;
	struct annex_exec *e;
	struct annex_move *m;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:4M", &slow, &store), 0);
	opts.stores = &store;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, NULL, &e), 0);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "all", MIB, &p), 0);
	memset(p, 1, MIB);
	CU_ASSERT_EQUAL(annex_pre_evict(space, p, MIB, ANNEX_TIER_SSD, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, 20000), 0);
	while (!st.plans && !st.plan_err && annex_now() < end) {
		one_kernel(e, p);
		annex_exec_get_stats(e, &st);
	}
	CU_ASSERT_EQUAL(st.plans, 1);
	CU_ASSERT_EQUAL(st.plan_err, 0);
	annex_exec_destroy(e);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

/* The time limit is for all tensors together; transfers in flight end nevertheless. */
static void too_slow(void)
{
	struct annex_store_opts slow = {.read_rate = 1e6, .depth = 1};
	struct annex_space_opts opts = {.device = 8 * MIB, .n_stores = 1};
	struct annex_exec_opts soon = {.policy = "none", .timeout_ms = 300};
	struct annex_exec_use uses[TENSORS];
	struct annex_store *store;
	struct annex_space *space;
	struct annex_exec *e;
	struct annex_move *m;
	uint64_t since;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:32M", &slow, &store), 0);
	opts.stores = &store;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &soon, &e), 0);
	for (unsigned int i = 0; i < TENSORS; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "slow", MIB / 4, &p), 0);
		memset(p, (int)i, MIB / 4);
		CU_ASSERT_EQUAL(annex_pre_evict(space, p, MIB / 4, ANNEX_TIER_SSD, &m), 0);
		CU_ASSERT_EQUAL(annex_move_wait(m, 20000), 0);
		uses[i] = (struct annex_exec_use){p, ANNEX_USE_READ};
	}
	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	since = annex_now();
	CU_ASSERT_EQUAL(annex_exec_before(e, "all", uses, TENSORS), -ETIMEDOUT);
	CU_ASSERT(annex_now() - since < 8 * 300 * ANNEX_NSEC_PER_MSEC);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
	annex_exec_destroy(e);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

#define BETWEEN_NS 20000000u /* that the program takes between two kernels */
#define RATE 1e7             /* of the storage */
#define TENSOR_NS 100000000u /* that a tensor's transfer takes at least */

static void read_all(const uint8_t *p)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < MIB; i += ANNEX_MEM_PAGE)
		sum += annex_atomic_load(&p[i], ANNEX_RELAXED);
	CU_ASSERT_EQUAL(sum, 0);
}

/* Two kernels that each need what the other had left no room for, and memory that is new. */
static void take_turns(struct annex_exec *e, struct annex_space *space, uint8_t *const *p)
{
	struct annex_exec_use first[] = {{p[0], ANNEX_USE_READ}, {NULL, ANNEX_USE_WRITE}};
	const struct annex_exec_use second = {p[1], ANNEX_USE_READ};
	struct annex_space_stats before, after;
	uint64_t since;
	void *fresh = NULL;

	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "new", MIB / 4, &fresh), 0);
	first[1].ptr = fresh;
	CU_ASSERT_EQUAL_FATAL(annex_exec_before(e, "first", first, 2), 0);
	annex_space_get_stats(space, &before);
	memset(fresh, 1, MIB / 4);
	annex_space_get_stats(space, &after);
	CU_ASSERT_EQUAL(after.faults, before.faults);
	read_all(p[0]);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_free(space, fresh), 0);
	for (since = annex_now(); annex_now() - since < BETWEEN_NS;)
		;
	CU_ASSERT_EQUAL_FATAL(annex_exec_before(e, "second", &second, 1), 0);
	read_all(p[1]);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
}

/*
 * A kernel's time includes the program's work after it, but neither waits before it starts nor
 * waits for page faults: so plans stay valid.
 */
static void what_kernels_take(void)
{
	struct annex_store_opts slow = {.read_rate = RATE};
	struct annex_space_opts opts = {.device = 3 * MIB / 2, .n_stores = 1};
	/* What a busy machine adds is no drift; waiting for storage takes ten times as long. */
	struct annex_exec_opts uvm = {.policy = "uvm", .drift = 8};
	uint64_t end = annex_now() + WAIT_NS, worked = 0;
	struct annex_exec_stats st = {0};
	const struct annex_system *sys;
	const struct annex_trace *trace;
	struct annex_store *store;
	struct annex_space *space;
	struct annex_exec *e;
	void *p[2];

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:32M", &slow, &store), 0);
	opts.stores = &store;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &uvm, &e), 0);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "old", MIB, &p[i]), 0);
		memset(p[i], 0, MIB);
	}
	while (!st.planned && annex_now() < end) {
		if (st.iterations && st.ns - st.stall_ns > worked)
			worked = st.ns - st.stall_ns;
		take_turns(e, space, (uint8_t *const *)p);
		annex_exec_get_stats(e, &st);
	}
	for (unsigned int i = 0; i < 6; i++)
		take_turns(e, space, (uint8_t *const *)p);
	annex_exec_get_stats(e, &st);
	CU_ASSERT(st.planned);
	CU_ASSERT_EQUAL(st.plans, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(annex_exec_plan(e, &trace, &sys));
	CU_ASSERT(trace->kernels[0].ns >= BETWEEN_NS);
	/* Two threads took turns; even on a busy machine that takes less than a second. */
	CU_ASSERT(sys->fault_ns >= 500 && sys->fault_ns < 1000000000);
	CU_ASSERT_EQUAL(sys->fault_bytes, 65536);
	CU_ASSERT(sys->page_ns > 0 && sys->page_ns < 1000000);
	/* A fault's own latency includes a wake-up after the bytes have passed the slow link. */
	CU_ASSERT(sys->ssd_read_ns > 0 && sys->ssd_read_ns < 1000000000);
	CU_ASSERT(sys->frees);
	/* Two tensors were waited for in the iteration that the plan is made from. */
	CU_ASSERT(trace->kernels[0].ns + trace->kernels[1].ns < worked + TENSOR_NS);
	annex_exec_destroy(e);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

/* Batches of three shapes in turns: each has a plan of its own, and keeps it. */
static void several_kinds(void)
{
	struct annex_space_opts opts = {.device = 8 * BYTES, .host = 40 * BYTES};
	struct annex_exec_opts steady = {.drift = 1e6};
	uint64_t end = annex_now() + WAIT_NS, state = random_seed("several kinds");
	struct annex_exec_stats st = {0};
	struct annex_space *space;
	struct net net, plain;
	unsigned int planned = 0;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	open_net(&net, space, "annex");
	annex_exec_destroy(net.exec);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &steady, &net.exec), 0);
	open_net(&plain, NULL, NULL);
	for (unsigned int i = 0; planned < 9 && annex_now() < end; i++) {
		const uint64_t input = random_next(&state);

		iterate(&net, input, LAYERS - i % 3);
		iterate(&plain, input, LAYERS - i % 3);
		annex_exec_get_stats(net.exec, &st);
		planned = st.planned ? planned + 1 : 0;
	}
	CU_ASSERT(planned >= 9);
	CU_ASSERT_EQUAL(st.plans, 3);
	CU_ASSERT(equal(&net, &plain));
	close_net(&net);
	close_net(&plain);
	annex_space_destroy(space);
}

/* Kernels take much longer than when the plan was made: another one is made. */
static void another_time(void)
{
	struct annex_space_opts opts = {.device = 8 * BYTES, .host = 40 * BYTES};
	uint64_t end = annex_now() + WAIT_NS;
	struct annex_exec_stats st = {0};
	struct annex_space *space;
	struct net net;

	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	open_net(&net, space, "annex");
	while (!st.plans && annex_now() < end) {
		iterate(&net, 1, LAYERS);
		annex_exec_get_stats(net.exec, &st);
	}
	CU_ASSERT_EQUAL(st.plans, 1);
	net.again = 20;
	while (st.plans < 2 && annex_now() < end) {
		iterate(&net, 1, LAYERS);
		annex_exec_get_stats(net.exec, &st);
	}
	CU_ASSERT(st.plans > 1);
	close_net(&net);
	annex_space_destroy(space);
}

UNIT_SUITE(exec, {"by every policy", by_every_policy}, {"without faults", without_faults},
	   {"by a policy of one's own", by_a_policy_of_ones_own},
	   {"no policy of one's own", no_policy_of_ones_own}, {"another system", another_system},
	   {"no plan", no_plan}, {"very slow storage", very_slow}, {"too slow", too_slow},
	   {"what kernels take", what_kernels_take}, {"several kinds", several_kinds},
	   {"another time", another_time})
