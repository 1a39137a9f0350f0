// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex bench block: how many commands a second a device carries out, and what each costs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/detail/random.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/target.h"
#include "tools/common/uri.h"
#include "hist.h"
#include "opts.h"
#include "pattern.h"
#include "stamp.h"

/*
 * struct cpu_use - Seconds of processors, up to now. Only differences mean something.
 * @own: of this process, in user space and in the kernel.
 * @machine: of the whole machine, all but idle time and waits for I/O; negative: unknown.
 */
struct cpu_use {
	double own, machine;
};

/*
 * Elapsed time less the idle time of /proc/stat. Not the sum of its busy times, which are counted
 * in whole ticks and miss a thread that works and sleeps between two of them.
 */
static double machine(void)
{
	unsigned long long idle, iowait, steal;
	FILE *f = fopen("/proc/stat", "re");
	double tick = (double)sysconf(_SC_CLK_TCK), cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double now = (double)annex_now() / 1e9;
	int n;

	if (!f)
		return -1;
	n = fscanf(f, "cpu %*u %*u %*u %llu %llu %*u %*u %llu", &idle, &iowait, &steal);
	fclose(f);
	if (n != 3)
		return -1;
	/* Time that the hypervisor took away is no work on this machine. */
	return cpus * now - (double)(idle + iowait + steal) / tick;
}

static struct cpu_use cpu_now(void)
{
	struct cpu_use use = {.machine = machine()};
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	use.own = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		  (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	return use;
}

#define CLOCK_EVERY 64u /* commands between two looks at the clock */

struct bench {
	struct block_opts block;
	bool write, verify;
	double seconds;
	uint64_t ios;
	const char *uri;
};

/* The state of a thread; no other thread writes near it. */
struct worker {
	ANNEX_CACHE_ALIGNED struct run *run;
	uint64_t rng, place, left, done, since_look;
	struct hist hist;
};

/* struct run - @slots: places on the device where a command can begin. */
struct run {
	const struct bench *b;
	struct lanes *ls;
	struct worker *workers;
	uint64_t slots, start, end;
	uint32_t sectors, stop;
};

/* Whether the time is over; the first thread shows how far it is. */
static bool over(struct worker *w)
{
	struct run *r = w->run;
	uint64_t now;

	if (++w->since_look % CLOCK_EVERY)
		return false;
	if (annex_atomic_load(&r->stop, ANNEX_RELAXED))
		return true;
	if (r->end == UINT64_MAX)
		return false;
	now = annex_now();
	if (w == r->workers)
		progress_update((now - r->start) / ANNEX_NSEC_PER_MSEC,
				(r->end - r->start) / ANNEX_NSEC_PER_MSEC, "ms");
	return now >= r->end;
}

static bool next(void *ctx, struct annex_io *io, void *data)
{
	struct worker *w = ctx;
	struct run *r = w->run;
	uint64_t place;

	if (!w->left || over(w))
		return false;
	w->left--;
	if (r->b->block.order == BLOCK_RANDOM)
		/* The upper half of a product: no division. */
		place = (uint64_t)((unsigned __int128)annex_random(&w->rng) * r->slots >> 64);
	else
		place = w->place = w->place + 1 < r->slots ? w->place + 1 : 0;
	io->nlb = r->b->block.lanes.size / r->ls->ns.block;
	io->slba = place * io->nlb;
	io->opcode = r->b->write ? ANNEX_NVM_WRITE : ANNEX_NVM_READ;
	if (r->b->write)
		pattern_fill(data, place * r->sectors, r->sectors, r->b->block.seed);
	else if (r->b->verify)
		for (uint32_t i = 0; i < r->sectors; i++)
			memset((char *)data + i * PATTERN_SECTOR, 0xa5, sizeof(uint64_t));
	return true;
}

static int done(void *ctx, const struct lane_flight *f, const void *data, uint64_t ns)
{
	struct worker *w = ctx;
	struct run *r = w->run;
	uint64_t sector = f->slba * (r->ls->ns.block / PATTERN_SECTOR);

	w->done++;
	hist_add(&w->hist, ns);
	for (uint32_t i = 0; r->b->verify && i < r->sectors; i++)
		if (!pattern_stamped((const char *)data + i * PATTERN_SECTOR, sector + i,
				     r->b->block.seed))
			return stamp_wrong(r->ls, f, data, i, r->b->block.seed);
	return 0;
}

static int work(void *ctx, unsigned int id, unsigned int n)
{
	struct run *r = ctx;
	struct worker *w = &r->workers[id];
	struct lane_job job = {w, next, done};
	uint64_t ios = r->b->ios;
	int err;

	w->run = r;
	w->rng = r->b->block.seed * 1024 + id;
	w->place = r->slots / n * id;
	w->left = ios ? ios / n + (id < ios % n) : UINT64_MAX;
	r->ls->lane[id].timed = true;
	err = lane_run(&r->ls->lane[id], &job, r->ls->ns.block);
	if (err)
		annex_atomic_store(&r->stop, 1u, ANNEX_RELAXED);
	return err;
}

static void report_cost(struct out *out, struct cpu_use from, struct cpu_use to, double ios)
{
	double own = (to.own - from.own) / ios, machine = (to.machine - from.machine) / ios;

	out_json(out, "cpu_s_per_io", json_real(own));
	out_row(out, "own CPU time per I/O", "%.0f ns", own * 1e9);
	if (from.machine < 0 || to.machine < 0)
		return;
	out_json(out, "machine_cpu_s_per_io", json_real(machine));
	out_row(out, "the machine's CPU time per I/O", "%.0f ns", machine * 1e9);
}

static int report(const struct run *r, struct cpu_use from, struct cpu_use to, double s)
{
	const struct bench *b = r->b;
	struct hist *h = &r->workers[0].hist;
	uint64_t ios = r->workers[0].done;
	struct out out;

	for (unsigned int i = 1; i < b->block.lanes.threads; i++) {
		ios += r->workers[i].done;
		hist_merge(h, &r->workers[i].hist);
	}
	out_init(&out, cli_name(), b->block.json);
	out_text(&out, "device", "device", b->uri);
	out_text(&out, "operation", "operation", b->write ? "write" : "read");
	block_report(&out, &b->block, r->ls);
	out_text(&out, "verified", "verified",
		 b->verify  ? "stamps"
		 : b->write ? "no: annex verify --read-only"
			    : "no");
	out_count(&out, "ios", "I/Os", ios);
	out_seconds(&out, "time_s", "time", s);
	out_rate(&out, "iops", "rate", (double)ios / s, "");
	out_rate(&out, "bytes_per_s", "speed", (double)ios * b->block.lanes.size / s, "B");
	out_seconds(&out, "latency_p50_s", "latency, median", hist_at(h, 0.5));
	out_seconds(&out, "latency_p99_s", "latency, 99 %", hist_at(h, 0.99));
	out_seconds(&out, "latency_p999_s", "latency, 99.9 %", hist_at(h, 0.999));
	out_seconds(&out, "latency_max_s", "latency, most", (double)h->most / 1e9);
	report_cost(&out, from, to, (double)ios);
	return out_end(&out);
}

static int measure(const struct bench *b, struct lanes *ls, struct pool *pool, uint64_t bytes)
{
	struct run r = {.b = b,
			.ls = ls,
			.slots = bytes / b->block.lanes.size,
			.sectors = b->block.lanes.size / PATTERN_SECTOR,
			.end = UINT64_MAX};
	struct cpu_use from, to;
	double s;
	int err = 0;

	if (!r.slots)
		return err_set(-EINVAL, "%s is smaller than one command of --size %u", b->uri,
			       b->block.lanes.size);
	/* A device in memory holds nothing yet. */
	if (b->verify && annex_dev_traits(b->uri) & ANNEX_TRAIT_VOLATILE)
		err = stamp_pass(ls, pool, bytes, b->block.seed, ORDER_UP, true);
	if (err)
		return err;
	r.workers = aligned_alloc(64, b->block.lanes.threads * sizeof(*r.workers));
	if (!r.workers)
		return err_set(-ENOMEM, "out of memory");
	memset(r.workers, 0, b->block.lanes.threads * sizeof(*r.workers));
	progress_begin("measuring");
	from = cpu_now();
	r.start = annex_now();
	if (b->seconds > 0)
		r.end = r.start + (uint64_t)(b->seconds * 1e9);
	err = pool_run(pool, work, &r);
	/* Commands that are only in a cache of the device are not written yet. */
	if (!err && b->write)
		err = block_flush(ls);
	s = (double)(annex_now() - r.start) / 1e9;
	to = cpu_now();
	progress_end();
	if (!err)
		err = report(&r, from, to, s);
	free(r.workers);
	return err;
}

static int check_opts(struct bench *b)
{
	if (b->write && b->verify)
		return err_set(-EINVAL, "--verify is for reads: check written data with annex "
					"verify --read-only");
	if (!b->write && b->block.overwrite)
		return err_set(-EINVAL, "--overwrite needs --write");
	if (!b->ios && b->seconds == 0)
		b->seconds = 5;
	return 0;
}

static const struct cli_option options[] = {
	{"write", 0, NULL, 1, OPT_FLAG(struct bench, write),
	 "Write the pattern of annex verify (needs --overwrite)"},
	{"verify", 0, NULL, 1, OPT_FLAG(struct bench, verify),
	 "Check the stamps of the data read: the place, the seed and their checksum in each 512 "
	 "bytes, but not the words between. annex verify must have written the device with this "
	 "--seed; mem: is written first"},
	{"nap", 0, "US", 2, OPT_U32(struct bench, block.lanes.nap_us, 0, 100000),
	 "Sleep US microseconds when no command has completed, instead of polling again at once "
	 "(0): saves CPU time and adds latency"},
	{"seconds", 0, "S", 3, OPT_DOUBLE(struct bench, seconds, 0.01, 86400), "Time to run (5)"},
	{"ios", 0, "N", 3, OPT_SIZE(struct bench, ios, 1, INT64_MAX),
	 "Commands in all: in place of --seconds, or a limit beside it"},
	CLI_TABLE(struct bench, block, block_options),
	{0}};

static const char doc[] =
	"Read from a device, or write to it, at random or sequential places, and report commands "
	"and bytes per second, latencies (from submission to the poll that found the completion) "
	"and the CPU time of each command. Time and CPU time of writes include the flush at their "
	"end."
	"\vExamples:\n"
	"  annex bench block file:/dev/nvme1n1?readonly=1\n"
	"  annex bench block pci:0000:00:04.0 --size 512 --depth 256 --threads 4\n"
	"  annex verify pci:0000:00:04.0 --overwrite && annex bench block pci:0000:00:04.0 "
	"--verify\n"
	"  annex bench block file:new.img --bytes 1G --write --order sequential --size 128K";

static int bench_block(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "DEVICE",
					     doc,
					     .list = &uri_devices,
					     CLI_ARG(struct bench, uri),
					     .none = "name the device, as pci:0000:00:04.0",
					     .many = "\"%s\" is one device too many"};
	struct bench b = {.block = BLOCK_OPTS};
	struct pool *pool = NULL;
	struct lanes ls = {.n = 0};
	struct target t;
	uint64_t bytes = 0;
	int err = cli_parse(&line, argc, argv, &b);

	if (!err)
		err = check_opts(&b);
	if (err)
		return err;
	err = pool_create(b.block.lanes.threads, &pool);
	if (err)
		return err;
	err = block_open(&ls, &t, &b.block, b.uri, b.write, b.verify, &bytes);
	if (!err)
		err = measure(&b, &ls, pool, bytes);
	block_close(&ls, &t, err);
	pool_destroy(pool);
	return err;
}

int cmd_bench(int argc, char **argv)
{
	static const struct cli_command commands[] = {
		{"block", bench_block, "reads or writes of a device, as fast as it serves them"},
		{"hdm", bench_hdm, "loads, stores and pieces of a memory range"},
		{"cuda", bench_cuda, "queues, misses and hits of GPU threads"},
		{NULL, NULL, NULL}};

	return cli_dispatch(commands,
			    "Measure how fast devices, memory ranges and GPU threads are.", argc,
			    argv);
}
