// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex part: add, change and remove parts of a served device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/serve.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "daemon.h"

#define MODE_DEFAULT 0600u
#define WEIGHT_DEFAULT 100u

/* struct part_opts - @mode, @rate: all ones where not given. @weight: 0 where not given. */
struct part_opts {
	char *arg[3];
	unsigned int n;
	const char *owner;
	uint32_t mode, weight;
	uint64_t rate;
	bool first;
	bool json;
};

#define UNSAID                                                                                     \
	{                                                                                          \
		.mode = UINT32_MAX, .rate = UINT64_MAX                                             \
	}

static int rate_parse(void *member, const char *opt, char *arg)
{
	uint64_t *rate = member;

	if (strcmp(arg, "none") != 0)
		return cli_size(opt, arg, ANNEX_SERVE_RATE_LEAST, INT64_MAX, rate);
	*rate = 0;
	return 0;
}

static const struct cli_option numbers[] = {
	{"owner", 'o', "USER[:GROUP]", 0, OPT_TEXT(struct part_opts, owner),
	 "Owner of the part (a new part: the user of this command)"},
	{"mode", 'm', "MODE", 0, OPT_CALL_AT(struct part_opts, mode, mode_parse),
	 "Permissions to read and write the part, as of a file (a new part: 0600)"},
	{"weight", 'w', "N", 0, OPT_U32(struct part_opts, weight, 1, ANNEX_SERVE_WEIGHTS),
	 "Weight of its share of the device's time (a new part: 100)"},
	{"first", 0, NULL, 0, OPT_FLAG(struct part_opts, first),
	 "Give its commands priority over other parts: for few and small commands"},
	{"rate", 'r', "SIZE|none", 0, OPT_CALL_AT(struct part_opts, rate, rate_parse),
	 "Limit of bytes per second for all its clients together, 1M or more, or none (a new "
	 "part: none)"},
	CLI_JSON(struct part_opts, json),
	{0}};

static const char add_doc[] =
	"Make a part of the device that the daemon at SOCKET serves. It reads as zeroes, and "
	"stays until annex part remove. For root and the daemon's own user."
	"\vExample:\n"
	"  annex part add /run/annex/drive0 scratch 100G --owner alice --mode 0640";

static const char set_doc[] =
	"Change the owner, permissions, weight, priority and rate of a part. Settings that no "
	"option names stay, and so does the size. Processes that have the part open keep it. For "
	"root and the daemon's own user."
	"\vExamples:\n"
	"  annex part set /run/annex/drive0 scratch --rate 200M\n"
	"  annex part set /run/annex/drive0 scratch --owner bob --weight 50 --rate none";

static const struct cli_option remove_options[] = {CLI_JSON(struct part_opts, json), {0}};

static const char remove_doc[] = "Remove a part and its data. No process may have it open."
				 "\vExample:\n"
				 "  annex part remove /run/annex/drive0 scratch";

static int report(const struct part_opts *o, const char *done, uint64_t bytes)
{
	char size[OUT_SIZE];
	struct out out;

	if (!o->json) {
		if (bytes)
			printf("%s: %s of %s\n", o->arg[1], done, out_size((double)bytes, size));
		else
			printf("%s: %s\n", o->arg[1], done);
		return fflush(stdout) ? err_sys("cannot write") : 0;
	}
	out_init(&out, cli_name(), true);
	out_text(&out, "part", "part", o->arg[1]);
	if (bytes)
		out_bytes(&out, "bytes", "size", bytes);
	return out_end(&out);
}

/* The options given, over the present settings of the part. */
static int take_numbers(const struct part_opts *o, struct annex_serve_part *part)
{
	if (!*o->arg[1] || strlen(o->arg[1]) >= sizeof(part->name))
		return err_set(-EINVAL, "\"%s\": a part's name has 1 to %zu bytes", o->arg[1],
			       sizeof(part->name) - 1);
	strcpy(part->name, o->arg[1]);
	if (o->mode != UINT32_MAX)
		part->mode = o->mode;
	if (o->weight)
		part->weight = o->weight;
	if (o->weight || o->first)
		part->first = o->first;
	if (o->rate != UINT64_MAX)
		part->rate = o->rate;
	return o->owner ? mode_find_owner(o->owner, &part->uid, &part->gid) : 0;
}

static void tell(uint64_t done, uint64_t bytes)
{
	progress_update(done, bytes, "bytes");
}

static int check_name(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_.-";

	if (name[strspn(name, good)])
		return err_set(-EINVAL, "%s: a name is letters, digits, '.', '_' and '-'", name);
	if (*name == '.' || *name == '-')
		return err_set(-EINVAL, "%s: a name begins with a letter, a digit or '_'", name);
	return 0;
}

/* The reason why a part could not be added, with the daemon's sizes. */
static int explain(int err, const char *socket, const struct annex_serve_part *part)
{
	struct annex_serve_part *parts = calloc(ANNEX_SERVE_PARTS, sizeof(*parts));
	struct annex_serve_facts facts = {.n = 0};
	char free_size[OUT_SIZE], size[OUT_SIZE], why[512];
	uint64_t used = 0;
	bool known;

	snprintf(why, sizeof(why), "%s", annex_last_error());
	known = parts && !annex_serve_list(socket, &facts, parts);
	for (unsigned int i = 0; i < facts.n; i++)
		used += parts[i].bytes;
	free(parts);
	if (known && err == -EINVAL && part->bytes % facts.block)
		return err_set(err,
			       "cannot add %s: %llu bytes are not a multiple of the block size, "
			       "%llu",
			       part->name, (ull)part->bytes, (ull)facts.block);
	if (!known || err != -ENOSPC)
		return err_set(err, "cannot add %s: %s", part->name, why);
	return err_set(err, "cannot add %s: %s; %s of %s are free, beside %u parts", part->name,
		       why, out_size((double)(facts.bytes - used), free_size),
		       out_size((double)facts.bytes, size), facts.n);
}

int part_add(int argc, char **argv)
{
	static const struct cli_line line = {
		numbers,
		"SOCKET NAME SIZE",
		add_doc,
		CLI_ARGS(struct part_opts, arg, n, 3),
		.none = "name a socket, a part and its size",
		.many = "too many arguments: a socket, a part, a size"};
	struct part_opts o = UNSAID;
	struct annex_serve_part part = {
		.uid = getuid(), .gid = getgid(), .mode = MODE_DEFAULT, .weight = WEIGHT_DEFAULT};
	int err = cli_parse(&line, argc, argv, &o);

	if (!err && o.n != 3)
		err = err_set(-EINVAL, "name a socket, a part and its size");
	if (!err)
		err = socket_path(o.arg[0]);
	if (!err)
		err = cli_size("SIZE", o.arg[2], 1, UINT64_MAX, &part.bytes);
	if (!err)
		err = take_numbers(&o, &part);
	if (!err)
		err = check_name(part.name);
	if (err)
		return err;
	progress_begin("zeroing");
	err = annex_serve_add(o.arg[0], &part, tell);
	progress_end();
	return err ? explain(err, o.arg[0], &part) : report(&o, "a part", part.bytes);
}

/* The part as it is. */
static int find(const char *socket, const char *name, struct annex_serve_part *part)
{
	struct annex_serve_part *parts = calloc(ANNEX_SERVE_PARTS, sizeof(*parts));
	struct annex_serve_facts facts = {.n = 0};
	int err = parts ? annex_serve_list(socket, &facts, parts) : -ENOMEM;

	if (err)
		err = err_lib(err, "cannot ask");
	else
		err = -ENOENT;
	for (unsigned int i = 0; i < facts.n && err == -ENOENT; i++) {
		if (strcmp(parts[i].name, name) != 0)
			continue;
		*part = parts[i];
		err = 0;
	}
	free(parts);
	return err == -ENOENT
		       ? err_set(err, "there is no part %s (annex serve --status %s)", name, socket)
		       : err;
}

/* The arguments are a socket and a part. */
static int check_two(const struct part_opts *o)
{
	return o->n == 2 ? socket_path(o->arg[0]) : err_set(-EINVAL, "name a socket and a part");
}

int part_set(int argc, char **argv)
{
	static const struct cli_line line = {numbers,
					     "SOCKET NAME",
					     set_doc,
					     CLI_ARGS(struct part_opts, arg, n, 2),
					     .none = "name a socket and a part",
					     .many = "too many arguments: a socket and a part"};
	struct part_opts o = UNSAID;
	struct annex_serve_part part = {.bytes = 0};
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check_two(&o);
	if (!err && o.mode == UINT32_MAX && !o.weight && !o.first && o.rate == UINT64_MAX &&
	    !o.owner)
		err = err_set(-EINVAL, "nothing to change: give --owner, --mode, --weight, "
				       "--first or --rate");
	if (!err)
		err = find(o.arg[0], o.arg[1], &part);
	if (!err)
		err = take_numbers(&o, &part);
	if (err)
		return err;
	err = annex_serve_set(o.arg[0], &part);
	return err ? err_lib(err, "cannot change %s", o.arg[1]) : report(&o, "changed", 0);
}

int part_remove(int argc, char **argv)
{
	static const struct cli_line line = {remove_options,
					     "SOCKET NAME",
					     remove_doc,
					     CLI_ARGS(struct part_opts, arg, n, 2),
					     .none = "name a socket and a part",
					     .many = "too many arguments: a socket and a part"};
	struct part_opts o = {.n = 0};
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check_two(&o);
	if (err)
		return err;
	err = annex_serve_remove(o.arg[0], o.arg[1]);
	return err ? err_lib(err, "cannot remove %s", o.arg[1]) : report(&o, "removed", 0);
}

int cmd_part(int argc, char **argv)
{
	static const struct cli_command table[] = {
		{"add", part_add, "make a part of a served device"},
		{"set", part_set, "change its owner, permissions, weight, priority and rate"},
		{"remove", part_remove, "remove a part and its data"},
		{NULL, NULL, NULL}};

	return cli_dispatch(table, "Parts of a device that annex serve owns.", argc, argv);
}
