// SPDX-License-Identifier: MIT
/*
 * Train a network by a plan, with less memory than its tensors take, and once more in plain memory:
 * losses must be equal, bit for bit. The network learns to put its input in reverse order. Each of
 * its layers is a square matrix. An activation has a row for each number of WIDTH, and a column for
 * each sample of BATCH. The report is JSON; its times are of an iteration in the second half.
 *
 *	train 8 256 64 8 'file:/data/tensors?size=64M' 1327104
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <annex/device.h>
#include <annex/exec.h>
#include <annex/simulate.h>

#define USAGE                                                                                      \
	"usage: train LAYERS WIDTH BATCH STEPS STORAGE DEVICE_BYTES"                               \
	" [none|uvm|g10|annex [LINK_BYTES_PER_S]]\n"
#define LAYERS_MAX 64
#define STEPS_MAX 1000
#define RATE 0.0005f
#define KEPT 0.9f   /* of the momentum, from one iteration to the next */
#define SLOPE 0.25f /* of the activation function where its input is negative */

enum { READS = ANNEX_USE_READ, WRITES = ANNEX_USE_WRITE, CHANGES = READS | WRITES };

static size_t layers, width, batch, steps, rows, square; /* the last two: width by the others */

/* struct layer - @in: its input, which forward leaves for backward. */
struct layer {
	float *weights, *momentum, *in;
};

/*
 * struct net - And how its training went.
 * @space, @exec: NULL in plain memory.
 * @slope: of the loss by the activation that is at hand.
 * @s, @stall_s, @moved: seconds, and bytes in and out, of all iterations in the second half.
 */
struct net {
	struct annex_store *store;
	struct annex_space *space;
	struct annex_exec *exec;
	struct layer layer[LAYERS_MAX];
	float *out, *target, *slope;
	double losses[STEPS_MAX], s, stall_s, moved;
	unsigned int planned;
};

static void must(int err, const char *what)
{
	if (err)
		exit((fprintf(stderr, "train: %s: %s\n", what, annex_last_error()), 1));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (float)(int32_t)(*state >> 32) / 2147483648.0f;
}

static float *tensor(struct net *net, const char *name, size_t n)
{
	void *p = NULL;

	if (net->space)
		must(annex_alloc(net->space, name, n * sizeof(float), &p), name);
	else if (!(p = calloc(n, sizeof(float))))
		exit((perror("train"), 1));
	return (float *)p;
}

static void drop(struct net *net, float *p)
{
	if (net->space)
		must(annex_free(net->space, p), "free");
	else
		free(p);
}

static void before(struct net *net, const char *name, const struct annex_exec_use *uses,
		   unsigned int n)
{
	if (net->exec)
		must(annex_exec_before(net->exec, name, uses, n), name);
}

static void after(struct net *net)
{
	if (net->exec)
		must(annex_exec_after(net->exec), "after");
}

/* out[r][c] = sum over k of a[r * row + k * step] * b[k][c]. @inner is a multiple of four. */
static void multiply(float *out, const float *a, size_t row, size_t step, const float *b,
		     size_t inner, size_t columns)
{
	for (size_t r = 0; r < width; r++) {
		float *o = out + r * columns;

		memset(o, 0, columns * sizeof(*o));
		for (size_t k = 0; k < inner; k += 4) {
			const float *x = a + r * row + k * step, *y = b + k * columns;
			const float x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step];

			for (size_t c = 0; c < columns; c++)
				o[c] += x0 * y[c] + x1 * y[c + columns] + x2 * y[c + 2 * columns] +
					x3 * y[c + 3 * columns];
		}
	}
}

static void make_batch(struct net *net, size_t step)
{
	float *in = net->layer[0].in = tensor(net, "input", rows);
	float *target = net->target = tensor(net, "target", rows);
	const struct annex_exec_use uses[] = {{in, WRITES}, {target, WRITES}};
	uint64_t state = step + 1;

	before(net, "batch", uses, 2);
	for (size_t i = 0; i < rows; i++)
		in[i] = target[(width - 1 - i / batch) * batch + i % batch] = draw(&state);
	after(net);
}

static void forward(struct net *net, size_t l)
{
	const int last = l + 1 == layers;
	const struct layer *y = &net->layer[l];
	float *out = tensor(net, "activation", rows);
	const struct annex_exec_use uses[] = {{y->weights, READS}, {y->in, READS}, {out, WRITES}};

	before(net, "forward", uses, 3);
	multiply(out, y->weights, width, 1, y->in, width, batch);
	for (size_t i = 0; i < rows && !last; i++)
		out[i] = out[i] > 0 ? out[i] : SLOPE * out[i];
	after(net);
	*(last ? &net->out : &net->layer[l + 1].in) = out;
}

static double find_loss(struct net *net)
{
	float *slope = net->slope = tensor(net, "slope", rows);
	const struct annex_exec_use uses[] = {
		{net->out, READS}, {net->target, READS}, {slope, WRITES}};
	double sum = 0;

	before(net, "loss", uses, 3);
	for (size_t i = 0; i < rows; i++) {
		slope[i] = net->out[i] - net->target[i];
		sum += (double)slope[i] * (double)slope[i];
	}
	after(net);
	drop(net, net->out);
	drop(net, net->target);
	return sum / (double)rows;
}

/* Return the slope of the loss by the layer's input. */
static float *backward(struct net *net, const struct layer *y)
{
	float *slope = tensor(net, "slope", rows);
	const struct annex_exec_use uses[] = {
		{y->weights, READS}, {net->slope, READS}, {y->in, READS}, {slope, WRITES}};

	before(net, "backward", uses, 4);
	multiply(slope, y->weights, 1, width, net->slope, width, batch);
	for (size_t i = 0; i < rows; i++)
		slope[i] *= y->in[i] > 0 ? 1 : SLOPE;
	after(net);
	return slope;
}

static void learn(struct net *net, const struct layer *y, const float *slope)
{
	float *gradient = tensor(net, "gradient", square), *turned = tensor(net, "turned", rows);
	const struct annex_exec_use found[] = {
		{slope, READS}, {y->in, READS}, {turned, WRITES}, {gradient, WRITES}};
	const struct annex_exec_use used[] = {
		{y->weights, CHANGES}, {y->momentum, CHANGES}, {gradient, READS}};

	before(net, "gradient", found, 4);
	for (size_t i = 0; i < width; i++)
		for (size_t c = 0; c < batch; c++)
			turned[c * width + i] = y->in[i * batch + c];
	multiply(gradient, slope, batch, 1, turned, batch, width);
	after(net);
	before(net, "update", used, 3);
	for (size_t i = 0; i < square; i++) {
		y->momentum[i] = KEPT * y->momentum[i] + gradient[i];
		y->weights[i] -= RATE / (float)batch * y->momentum[i];
	}
	after(net);
	drop(net, turned);
	drop(net, gradient);
}

static double iterate(struct net *net, size_t step)
{
	double loss;

	if (net->exec)
		must(annex_exec_begin(net->exec), "begin");
	make_batch(net, step);
	for (size_t l = 0; l < layers; l++)
		forward(net, l);
	loss = find_loss(net);
	for (size_t l = layers; l-- > 0;) {
		float *slope = net->slope;

		net->slope = l ? backward(net, &net->layer[l]) : NULL;
		learn(net, &net->layer[l], slope);
		drop(net, slope);
		drop(net, net->layer[l].in);
	}
	if (net->exec)
		must(annex_exec_end(net->exec), "end");
	return loss;
}

static void open_space(struct net *net, const char *storage, uint64_t bytes, uint64_t device,
		       const char *policy, double rate)
{
	static struct annex_store_opts link; /* zeroes are defaults */
	static struct annex_space_opts opts;
	static struct annex_exec_opts plan;

	link.read_rate = link.write_rate = rate;
	must(annex_store_open(storage, &link, &net->store), storage);
	opts.device = device;
	opts.stores = &net->store;
	opts.n_stores = 1;
	opts.size = 2 * bytes;
	must(annex_space_create(&opts, &net->space), "space");
	plan.policy = policy;
	must(annex_exec_create(net->space, &plan, &net->exec), policy);
}

/* Weights are drawn outside of kernels: a touch brings a page. */
static void make_layers(struct net *net)
{
	uint64_t state = 88172645463325252u;
	float most = 1;

	while (most * most * (float)width > 6)
		most *= 0.98f;
	for (size_t l = 0; l < layers; l++) {
		net->layer[l].weights = tensor(net, "weights", square);
		net->layer[l].momentum = tensor(net, "momentum", square);
		for (size_t i = 0; i < square; i++)
			net->layer[l].weights[i] = most * draw(&state);
	}
}

/* Read the counters after iteration @step. */
static void count(struct net *net, size_t step)
{
	struct annex_space_stats space;
	struct annex_exec_stats exec;

	annex_exec_get_stats(net->exec, &exec);
	annex_space_get_stats(net->space, &space);
	net->planned += exec.planned;
	net->stall_s += step < steps / 2 ? 0 : (double)exec.stall_ns * 1e-9;
	net->moved += ((step + 1 == steps) - (step + 1 == steps / 2)) *
		      (double)(space.in + space.out);
}

/* Return seconds of an iteration by the plan, as the simulator has it; 0: there is no plan. */
static double predict(struct net *net)
{
	static struct annex_sim_result sim;
	const struct annex_system *sys;
	struct annex_sim_job job;

	job.plan = annex_exec_plan(net->exec, &job.trace, &sys);
	if (job.plan)
		must(annex_simulate(&job, 1, sys, NULL, &sim), "simulate");
	return sim.iteration;
}

static void train(struct net *net)
{
	make_layers(net);
	for (size_t i = 0; i < steps; i++) {
		const double start = now();

		net->losses[i] = iterate(net, i);
		net->s += i < steps / 2 ? 0 : now() - start;
		if (net->exec)
			count(net, i);
	}
	for (size_t l = 0; l < layers; l++) {
		drop(net, net->layer[l].weights);
		drop(net, net->layer[l].momentum);
	}
}

int main(int argc, char **argv)
{
	static struct net net, plain;
	double predicted, n;
	bool wrong = false;
	size_t bytes;

	if (argc < 7 || argc > 9)
		return fputs(USAGE, stderr), 2;
	layers = strtoul(argv[1], NULL, 0);
	width = strtoul(argv[2], NULL, 0);
	batch = strtoul(argv[3], NULL, 0);
	steps = strtoul(argv[4], NULL, 0);
	if (layers - 1 >= LAYERS_MAX || width - 1 >= 65536 || width % 4 || batch - 1 >= 65536 ||
	    batch % 4 || steps < 2 || steps > STEPS_MAX)
		return fputs("train: no such network\n", stderr), 2;
	rows = width * batch;
	square = width * width;
	n = (double)(steps - (steps >> 1));
	bytes = sizeof(float) * (layers * (2 * square + rows) + square + 4 * rows);
	open_space(&net, argv[5], bytes, strtoull(argv[6], NULL, 0), argc > 7 ? argv[7] : "annex",
		   argc > 8 ? strtod(argv[8], NULL) : 0);
	train(&net);
	predicted = predict(&net);
	annex_exec_destroy(net.exec);
	annex_space_destroy(net.space);
	must(annex_store_close(net.store), argv[5]);
	train(&plain);
	printf("{\"tensors_bytes\": %zu, \"moved_bytes\": %.0f, \"planned\": %u,\n"
	       " \"plain_s\": %g, \"iteration_s\": %g, \"stall_s\": %g, \"predicted_s\": %g,\n"
	       " \"losses\": [",
	       bytes, net.moved / n, net.planned, plain.s / n, net.s / n, net.stall_s / n,
	       predicted);
	for (size_t i = 0; i < steps; wrong |= net.losses[i] != plain.losses[i], i++)
		printf("%s%.17g", i ? ", " : "", net.losses[i]);
	puts("]}");
	return wrong ? fputs("train: losses differ from plain memory's\n", stderr), 1 : 0;
}
