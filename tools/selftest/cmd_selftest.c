// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex selftest: does all of it do what plain arrays and loops do, on this machine?
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <annex/detail/clock.h>
#include "../cli.h"
#include "../commands.h"
#include "../error.h"
#include "../newfile.h"
#include "../out.h"
#include "../progress.h"
#include "../uri.h"
#include "../warn.h"
#include "selftest.h"
#include "place.h"

#define THREADS 4u
#define SEED_MAX (1ull << 53)

static const struct selftest_part parts[] = {
	{"queues", selftest_queues}, {"cache", selftest_cache}, {"spaces", selftest_spaces},
	{"ranges", selftest_ranges}, {"plans", selftest_plans},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct command {
	struct selftest s;
	const char *dir, *report;
	uint64_t seed;
	double seconds;
	unsigned int chosen; /* a bit a part */
	bool json;
	struct tally tally[PARTS];
};

static const char *part_at(unsigned int i, char *summary)
{
	*summary = '\0';
	return i < PARTS ? parts[i].name : NULL;
}

static const struct cli_list part_list = {.arg = "PART", .at = part_at};

static int parse_only(void *o, const char *opt, char *arg)
{
	struct command *c = o;
	char names[128];

	(void)opt;
	while (*arg) {
		size_t n = strcspn(arg, ",");
		unsigned int i = 0;

		while (i < PARTS && (strlen(parts[i].name) != n || strncmp(arg, parts[i].name, n)))
			i++;
		if (i == PARTS)
			break;
		c->chosen |= 1u << i;
		arg += n + (arg[n] == ',' && arg[n + 1]);
	}
	if (*arg || !c->chosen)
		return err_set(-EINVAL, "--only %s: choose some of %s", arg,
			       cli_names(&part_list, names, sizeof(names)));
	return 0;
}

/* A file that is not there would be made, and stay. */
static int check_overwrite(const char *text)
{
	struct annex_uri *uri = malloc(sizeof(*uri));
	struct stat st;
	int err;

	if (!uri)
		return err_set(-ENOMEM, "out of memory");
	err = annex_uri_parse(text, uri);
	if (err)
		err = err_lib(err, "--overwrite %s", text);
	else if (annex_dev_traits(text) & ANNEX_TRAIT_PATH && stat(uri->body, &st))
		err = err_sys("--overwrite %s", text);
	free(uri);
	return err;
}

static double since(uint64_t start)
{
	return (double)(annex_now() - start) / 1e9;
}

/* One round at least, then more until @seconds are over. The first that fails is the last. */
static void run_part(const struct command *c, unsigned int i, struct tally *t, double seconds)
{
	uint64_t start = annex_now();
	int err = 0;

	progress_begin(parts[i].name);
	do {
		uint64_t mixed;

		t->seed = c->seed + t->rounds;
		mixed = t->seed ^ (uint64_t)(i + 1) << 56;
		err = parts[i].round(&c->s, t, annex_random(&mixed));
		t->rounds++;
		t->seconds = since(start);
		progress_update((uint64_t)t->seconds, (uint64_t)seconds, "s");
	} while (!err && !t->skipped && t->seconds < seconds);
	progress_end();
	if (err && !t->mismatches && !t->scarce)
		tally_wrong(t, "%s", annex_strerror(err));
	if (t->scarce && !t->mismatches)
		tally_skip(t, t->first, "end other programs, or raise this user's limits (ulimit)");
}

static void run_parts(struct command *c)
{
	uint64_t start = annex_now();
	unsigned int left = (unsigned int)__builtin_popcount(c->chosen);

	for (unsigned int i = 0; i < PARTS; i++) {
		double rest = c->seconds - since(start);

		if (c->chosen & 1u << i)
			run_part(c, i, &c->tally[i], (rest > 0 ? rest : 0) / left--);
	}
}

static const char *result_of(const struct tally *t)
{
	return t->mismatches ? "failed" : t->skipped ? "not run" : "ok";
}

/* How to have that round again. */
static void repeat(const struct command *c, unsigned int i, char *buf, size_t size)
{
	const struct selftest *s = &c->s;

	snprintf(buf, size, "annex selftest --only %s --seed %llu --seconds 0%s%s%s%s%s%s",
		 parts[i].name, (ull)c->tally[i].seed, c->dir ? " --dir " : "",
		 c->dir ? c->dir : "", s->overwrite ? " --overwrite " : "",
		 s->overwrite ? s->overwrite : "", s->range ? " --range " : "",
		 s->range ? s->range : "");
}

static json_t *part_json(const struct command *c, unsigned int i)
{
	const struct tally *t = &c->tally[i];
	json_t *o = json_object();
	char again[1024];

	json_object_set_new(o, "part", json_string(parts[i].name));
	json_object_set_new(o, "result", json_string(t->skipped ? "not_run" : result_of(t)));
	json_object_set_new(o, "rounds", json_integer((json_int_t)t->rounds));
	json_object_set_new(o, "operations", json_integer((json_int_t)t->operations));
	json_object_set_new(o, "bytes", json_integer((json_int_t)t->bytes));
	json_object_set_new(o, "faults", json_integer((json_int_t)t->faults));
	json_object_set_new(o, "mismatches", json_integer((json_int_t)t->mismatches));
	json_object_set_new(o, "time_s", json_real(t->seconds));
	if (t->mismatches) {
		repeat(c, i, again, sizeof(again));
		json_object_set_new(o, "first_mismatch", json_string(t->first));
		json_object_set_new(o, "repeat", json_string(again));
	}
	if (t->skipped) {
		json_object_set_new(o, "reason", json_string(t->skipped));
		json_object_set_new(o, "mend", json_string(t->mend));
	}
	return o;
}

static void part_row(const struct command *c, unsigned int i, struct out *o)
{
	const struct tally *t = &c->tally[i];
	char bytes[OUT_SIZE];

	if (t->skipped) {
		out_row(o, parts[i].name, "not run: %s", t->skipped);
		out_row(o, "", "mend: %s", t->mend);
		return;
	}
	out_row(o, parts[i].name, "%-6s %7llu %11llu %10s %7llu %6llu %8.1f", result_of(t),
		(ull)t->rounds, (ull)t->operations, out_size((double)t->bytes, bytes),
		(ull)t->faults, (ull)t->mismatches, t->seconds);
}

static void report(const struct command *c, struct out *o)
{
	json_t *list = json_array();

	out_init(o, cli_name(), c->json);
	out_count(o, "seed", "seed", c->seed);
	o->rows = 0; /* without commas, as it is typed */
	out_row(o, "seed", "%llu", (ull)c->seed);
	out_text(o, "directory", "directory", c->dir ? c->dir : ".");
	out_text(o, "storage", "storage",
		 c->s.overwrite ? c->s.overwrite
		 : c->s.direct  ? "memory, a file (O_DIRECT)"
				: "memory, a file");
	out_row(o, "part", "%-6s %7s %11s %10s %7s %6s %8s", "result", "rounds", "operations",
		"compared", "faults", "wrong", "seconds");
	for (unsigned int i = 0; i < PARTS; i++) {
		if (!(c->chosen & 1u << i))
			continue;
		part_row(c, i, o);
		json_array_append_new(list, part_json(c, i));
	}
	out_json(o, "parts", list);
	facts_report(o, c->dir ? c->dir : ".");
}

static int write_report(const struct command *c, const struct out *o)
{
	struct newfile n;
	int err = newfile_open(&n, c->report, false);

	if (err)
		return err;
	if (json_dumpf(o->obj, n.f, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) ||
	    fputc('\n', n.f) == EOF)
		err = err_sys("cannot write %s", c->report);
	return newfile_close(&n, 1, err);
}

/* The line of the first part that failed, or of the first that could not go on. */
static int judge(const struct command *c)
{
	char again[1024];

	for (unsigned int i = 0; i < PARTS; i++) {
		if (!c->tally[i].mismatches)
			continue;
		repeat(c, i, again, sizeof(again));
		return err_set(-EILSEQ, "%s: %s. Send a report with the output of: %s --json",
			       parts[i].name, c->tally[i].first, again);
	}
	for (unsigned int i = 0; i < PARTS; i++)
		if (c->tally[i].scarce)
			return err_set(c->tally[i].scarce, "%s: not run to its end: %s",
				       parts[i].name, c->tally[i].first);
	return 0;
}

static int run_and_report(struct command *c)
{
	struct out out;
	int err = 0;

	run_parts(c);
	report(c, &out);
	if (c->report)
		err = write_report(c, &out);
	if (out_end(&out) || err)
		return err ? err : -EIO;
	return judge(c);
}

static const struct cli_option options[] = {
	{"dir", 0, "DIR", 1, OPT_TEXT(struct command, dir),
	 "Where its files are made, 64 MiB, and removed (.)"},
	{"overwrite", 0, "DEVICE", 1, OPT_TEXT_OF(struct command, s.overwrite, uri_devices),
	 "Use this device, not files: ALL DATA ON IT MAY BE LOST"},
	{"range", 0, "RANGE", 1, OPT_TEXT_OF(struct command, s.range, uri_ranges),
	 "Use this memory range for pieces, up to 4 MiB; what others have there stays"},
	{"only", 0, "PART,...", 2, OPT_CALL_OF(parse_only, part_list), "Some of the parts (all)"},
	{"seconds", 0, "S", 2, OPT_DOUBLE(struct command, seconds, 0, 1e6),
	 "About how long all takes; each part does one round at least (120)"},
	{"seed", 0, "N", 2, OPT_SIZE(struct command, seed, 0, SEED_MAX),
	 "Of all random inputs (random)"},
	{"report", 0, "FILE", 3, OPT_TEXT(struct command, report),
	 "Write the report as JSON to a new file as well"},
	CLI_JSON(struct command, json),
	{0}};

static const char doc[] =
	"Check the library on this machine and its storage: queues, cache, spaces, ranges "
	"and plans, on random inputs and with injected faults, each compared with "
	"a plain computation. It writes only to files that it makes, and removes."
	"\vExamples:\n"
	"  annex selftest --dir /mnt/nvme\n"
	"  annex selftest --only queues,cache --overwrite file:/dev/nvme1n1\n"
	"  annex selftest --only ranges --range dax:/dev/dax0.0 --seconds 30\n"
	"  annex selftest --only spaces --seed 42 --json";

int cmd_selftest(int argc, char **argv)
{
	static const struct cli_line line = {.options = options, .doc = doc};
	struct command c = {.s.threads = THREADS, .seconds = 120};
	int err, left;

	if (getrandom(&c.seed, sizeof(c.seed), 0) != sizeof(c.seed))
		return err_sys("no random numbers");
	c.seed >>= 32;
	err = cli_parse(&line, argc, argv, &c);
	if (!c.chosen)
		c.chosen = (1u << PARTS) - 1;
	if (!err && c.report)
		err = newfile_check(c.report, false);
	if (!err && c.s.overwrite)
		err = check_overwrite(c.s.overwrite);
	if (err)
		return err;
	/* Faults are injected: each part looks at what comes of them itself. */
	warn_stop();
	err = place_open(&c.s, c.dir ? c.dir : ".");
	if (!err)
		err = run_and_report(&c);
	left = place_close(&c.s);
	return err ? err : left;
}
