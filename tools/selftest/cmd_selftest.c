// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <annex/detail/clock.h>
#include <annex/uri.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/newfile.h"
#include "tools/common/progress.h"
#include "tools/common/tempfile.h"
#include "tools/common/uri.h"
#include "selftest.h"

#define PARTS 4u

struct command {
	const char *dir, *overwrite, *range;
	uint64_t seed;
	double seconds;
	unsigned int chosen; /* a bit a part */
	bool json;
	struct tally tally[PARTS];
};

static const char *part_at(unsigned int i, char *summary)
{
	*summary = '\0';
	return selftest_media[i].name;
}

static const struct cli_list part_list = {.arg = "PART", .at = part_at};

static int parse_only(void *o, const char *opt, char *arg)
{
	struct command *c = o;
	char names[128], *rest = NULL, *name = strtok_r(arg, ",", &rest);

	do {
		unsigned int i = 0;

		while (i < PARTS && strcmp(name ? name : "", selftest_media[i].name))
			i++;
		if (i == PARTS)
			return err_set(-EINVAL, "%s: choose some of %s", opt,
				       cli_names(&part_list, names, sizeof(names)));
		c->chosen |= 1u << i;
	} while ((name = strtok_r(NULL, ",", &rest)));
	return 0;
}

/* The files have no names, so that nothing stays of them. */
static int open_file(const char *dir, const char *scheme, struct tempfile *file, char *uri)
{
	char path[ANNEX_URI_MAX], *uses;
	int err;

	snprintf(path, sizeof(path), "%s/annex-selftest", dir);
	err = newfile_room(path, 32 << 20);
	if (!err)
		err = tempfile_open(file, path);
	if (err)
		return err;
	uses = tempfile_uses(file);
	err = path_uri(uri, scheme, uses ? uses : "", "size=32M");
	free(uses);
	return uses ? err : -ENOMEM;
}

/* One round at least, then more until @seconds are over. */
static void run_part(const struct command *c, const struct medium *m, struct tally *t,
		     double seconds)
{
	uint64_t start = annex_now();

	progress_begin(m->name);
	do {
		t->seed = c->seed + t->rounds++;
		selftest_round(m, m->range ? c->range : c->overwrite, t);
		t->seconds = (double)(annex_now() - start) / 1e9;
	} while (!t->err && t->seconds < seconds);
	progress_end();
}

static void report_part(const struct tally *t, const char *name, struct out *o, json_t *list)
{
	const char *result = !t->err ? "ok" : t->err == -EILSEQ ? "failed" : "not run";
	char bytes[OUT_SIZE];

	out_row(o, name, "%-7s %7llu %11llu %10s %8.1f", result, (ull)t->rounds, (ull)t->operations,
		out_size((double)t->bytes, bytes), t->seconds);
	if (t->err)
		out_row(o, "", "%s", t->line);
	json_array_append_new(
		list, json_pack("{ss ss sI sI sI sI sf ss?}", "part", name, "result",
				t->err && t->err != -EILSEQ ? "not_run" : result, "seed",
				(json_int_t)t->seed, "rounds", (json_int_t)t->rounds, "operations",
				(json_int_t)t->operations, "bytes", (json_int_t)t->bytes, "time_s",
				t->seconds, "reason", t->err ? t->line : NULL));
}

static int judge(const struct tally *t, const char *name)
{
	if (!t->err || t->err == -EOPNOTSUPP)
		return 0; /* an old kernel is no failure */
	if (t->err == -EILSEQ)
		return err_set(t->err, "%s: %s. To repeat: --only %s --seed %llu", name, t->line,
			       name, (ull)t->seed);
	return err_set(t->err, "%s: not completed: %s", name, t->line);
}

static int run(struct command *c)
{
	unsigned int left = (unsigned int)__builtin_popcount(c->chosen);
	double rest = c->seconds;
	json_t *list = json_array();
	struct out o;
	int err;

	out_init(&o, cli_name(), c->json);
	out_row(&o, "part", "%-7s %7s %11s %10s %8s", "result", "rounds", "operations", "compared",
		"seconds");
	for (unsigned int i = 0; i < PARTS; i++) {
		struct tally *t = &c->tally[i];

		if (!(c->chosen & 1u << i))
			continue;
		run_part(c, &selftest_media[i], t, rest / left--);
		rest -= t->seconds;
		report_part(t, selftest_media[i].name, &o, list);
		if (t->err && t->err != -EILSEQ && t->err != -EOPNOTSUPP)
			break; /* the others would lack it, too */
	}
	out_json(&o, "parts", list);
	err = out_end(&o);
	for (unsigned int i = 0; i < PARTS && !err; i++)
		err = judge(&c->tally[i], selftest_media[i].name);
	return err;
}

static const struct cli_option options[] = {
	{"dir", 0, "DIR", 1, OPT_TEXT(struct command, dir),
	 "Directory for its unnamed files, up to 64 MiB (.)"},
	{"overwrite", 0, "DEVICE", 1, OPT_TEXT_OF(struct command, overwrite, uri_devices),
	 "Use this device, not a file: ALL DATA ON IT MAY BE LOST"},
	{"range", 0, "RANGE", 1, OPT_TEXT_OF(struct command, range, uri_ranges),
	 "Use this memory range for pieces, up to 5 MiB; existing pieces stay"},
	{"only", 0, "PART,...", 2, OPT_CALL_OF(parse_only, part_list), "Parts to run (all)"},
	{"seconds", 0, "S", 2, OPT_DOUBLE(struct command, seconds, 0, 1e6),
	 "Total time, about; each part does at least one round (60)"},
	{"seed", 0, "N", 2, OPT_SIZE(struct command, seed, 0, 1ull << 53),
	 "Seed of all random inputs (random)"},
	CLI_JSON(struct command, json),
	{0}};

static const char doc[] =
	"Check storage with random work of four kinds, each compared with a plain array: queues, "
	"cache, spaces (tensors that move to it) and ranges. It writes only to files that it "
	"makes."
	"\vExamples:\n"
	"  annex selftest --dir /mnt/nvme\n"
	"  annex selftest --only queues,cache --overwrite file:/dev/nvme1n1\n"
	"  annex selftest --only ranges --range dax:/dev/dax0.0 --seconds 30\n"
	"  annex selftest --only spaces --seed 42 --json";

int cmd_selftest(int argc, char **argv)
{
	static const struct cli_line line = {.options = options, .doc = doc};
	static struct command c = {.dir = ".", .seconds = 60};
	static char storage[ANNEX_URI_MAX], pieces[ANNEX_URI_MAX];
	struct tempfile files[2] = {{.fd = -1}, {.fd = -1}};
	int err;

	if (getrandom(&c.seed, 4, 0) != 4)
		return err_sys("no random numbers");
	err = cli_parse(&line, argc, argv, &c);
	if (!c.chosen)
		c.chosen = (1u << PARTS) - 1;
	if (err)
		return err;
	warn_stop();
	if (!c.overwrite)
		err = open_file(c.dir, "file", &files[0], storage);
	if (!err && !c.range)
		err = open_file(c.dir, "shm", &files[1], pieces);
	c.overwrite = c.overwrite ? c.overwrite : storage;
	c.range = c.range ? c.range : pieces;
	if (!err)
		err = run(&c);
	tempfile_close(&files[0]);
	tempfile_close(&files[1]);
	return err;
}
