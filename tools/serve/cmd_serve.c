// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex serve: a device for many processes, until a signal ends it; and the status of a daemon.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <annex/serve.h>
#include "tools/common/cleanup.h"
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/target.h"
#include "tools/common/uri.h"
#include "daemon.h"

#define QUEUE_DEPTH 2048u /* of the worker's queue pair: all its commands in flight */

struct serve_opts {
	struct annex_serve_opts serve;
	char *uri, *socket;
	const char *table, *metrics;
	char *made_socket, *made_table;
	bool overwrite;
	bool status;
	bool json;
};

/* To the library, 0 is the default. */
static int connect_parse(void *member, const char *opt, char *arg)
{
	const uint32_t *mode = member;
	int err = mode_parse(member, opt, arg);

	if (err || *mode)
		return err;
	return err_set(-EINVAL,
		       "%s %s: only root could connect; with 0600 the daemon's user could, too",
		       opt, arg);
}

static const struct cli_option options[] = {
	{"socket", 's', "PATH", 0, OPT_TEXT(struct serve_opts, socket),
	 "Socket for clients (the one that systemd passes, or annex-serve.sock in XDG_RUNTIME_DIR "
	 "or /run)"},
	{"table", 0, "FILE", 0, OPT_TEXT(struct serve_opts, table),
	 "Table of parts, created if missing (parts in systemd's STATE_DIRECTORY; mem: needs "
	 "none, as its parts end with the daemon)"},
	{"overwrite", 0, NULL, 0, OPT_FLAG(struct serve_opts, overwrite),
	 "Create a table for a device that holds data, which is overwritten"},
	{"mode", 0, "MODE", 0, OPT_CALL_AT(struct serve_opts, serve.mode, connect_parse),
	 "Permissions to connect, as of a file (0666: parts have permissions of their own)"},
	{"clients", 0, "N", 0, OPT_U32(struct serve_opts, serve.clients, 1, ANNEX_SERVE_CLIENTS),
	 "Limit of clients at a time, up to 64 (64)"},
	{"memory", 0, "SIZE", 0, OPT_SIZE(struct serve_opts, serve.memory, 4096, UINT64_MAX),
	 "Bytes that each client may have mapped; data beyond them is copied (1G)"},
	{"metrics", 0, "FILE", 0, OPT_TEXT(struct serve_opts, metrics),
	 "Write counters to this file every ten seconds and on SIGUSR1, in Prometheus' text "
	 "format"},
	{"status", 0, NULL, 0, OPT_FLAG(struct serve_opts, status),
	 "Show the device, parts and clients of the daemon at a socket"},
	CLI_JSON(struct serve_opts, json),
	{0}};

static const char doc[] =
	"Own a device, and give parts of it to processes that have no rights on it. The daemon "
	"prints a line when it is ready, and runs until SIGINT or SIGTERM. annex part add makes "
	"parts; programs open one as unix:SOCKET?part=NAME.\n\n"
	"With --status: show the parts and counters of the daemon at a socket, which takes the "
	"place of DEVICE. The default is that of --socket."
	"\vannex-serve@NAME.service serves the DEVICE= of /etc/annex/NAME.conf, with OPTIONS= for "
	"more,\n"
	"at /run/annex/NAME. A device that is a file, and metrics, need ReadWritePaths= with "
	"their\n"
	"folders in a drop-in of the service.\n\n"
	"Examples:\n"
	"  annex serve file:/dev/nvme1n1 --socket /run/annex/drive0 --table "
	"/var/lib/annex/drive0.parts --overwrite "
	"&\n"
	"  annex part add /run/annex/drive0 scratch 100G --owner alice\n"
	"  annex bench block 'unix:/run/annex/drive0?part=scratch'\n"
	"  annex serve --status /run/annex/drive0";

/* An option that another one makes useless is an error. */
static int find_socket(struct serve_opts *o)
{
	int err = o->socket ? socket_path(o->socket) : 0;

	if (!err)
		err = socket_passed(&o->made_socket, &o->serve.listener);
	if (!err && o->serve.listener && o->socket)
		err = err_set(-EINVAL, "--socket %s: systemd made the socket: %s", o->socket,
			      o->made_socket);
	if (!err && o->serve.listener && o->serve.mode)
		err = err_set(-EINVAL, "--mode: systemd made the socket: set SocketMode= in its "
				       "unit");
	if (!err && !o->socket && !o->made_socket)
		err = socket_default(&o->made_socket);
	if (!o->socket)
		o->socket = o->made_socket;
	return err;
}

/* Data that outlives the daemon needs a table that outlives it, too. */
static int default_table(struct serve_opts *o)
{
	const char *dir = getenv("STATE_DIRECTORY");
	unsigned int traits = annex_dev_traits(o->uri);

	/* A URI that is no device is refused when it is opened. */
	if (o->table || !traits || traits & ANNEX_TRAIT_VOLATILE)
		return 0;
	if (!dir || !*dir)
		return err_set(-EINVAL,
			       "--table FILE is needed: without it, the data of %s could not be "
			       "found after a restart",
			       o->uri);
	if (asprintf(&o->made_table, "%s/parts", dir) < 0) {
		o->made_table = NULL;
		return err_set(-ENOMEM, "out of memory");
	}
	o->table = o->made_table;
	return 0;
}

static json_t *part_json(const struct annex_serve_part *p)
{
	json_t *one = json_object();
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", p->mode & 0777);
	json_object_set_new(one, "name", json_string(p->name));
	json_object_set_new(one, "bytes", json_integer((json_int_t)p->bytes));
	json_object_set_new(one, "uid", json_integer(p->uid));
	json_object_set_new(one, "gid", json_integer(p->gid));
	json_object_set_new(one, "mode", json_string(mode));
	json_object_set_new(one, "weight", json_integer(p->weight));
	json_object_set_new(one, "first", json_boolean(p->first));
	json_object_set_new(one, "rate", json_integer((json_int_t)p->rate));
	json_object_set_new(one, "clients", json_integer(p->clients));
	json_object_set_new(one, "commands", json_integer((json_int_t)p->commands));
	json_object_set_new(one, "moved_bytes", json_integer((json_int_t)p->moved));
	json_object_set_new(one, "copied_bytes", json_integer((json_int_t)p->copied));
	json_object_set_new(one, "failed", json_integer((json_int_t)p->failed));
	return one;
}

static int widest(int width, const char *text)
{
	int n = (int)strlen(text);

	return n > width ? n : width;
}

static void print_table(const struct annex_serve_facts *facts, const struct annex_serve_part *parts)
{
	char size[OUT_SIZE], rate[OUT_SIZE], moved[OUT_SIZE], copied[OUT_SIZE], piece[OUT_SIZE];
	char owner[MODE_OWNER], weight[12];
	int name_width = 12, owner_width = 12;
	uint64_t used = 0;
	bool first = false;

	for (unsigned int i = 0; i < facts->n; i++) {
		mode_owner(parts[i].uid, parts[i].gid, owner);
		name_width = widest(name_width, parts[i].name);
		owner_width = widest(owner_width, owner);
	}
	printf("%-*s %10s %-*s %4s %6s %10s %7s %12s %10s %10s %7s\n", name_width, "PART", "SIZE",
	       owner_width, "OWNER", "MODE", "WEIGHT", "RATE", "CLIENTS", "COMMANDS", "MOVED",
	       "COPIED", "FAILED");
	for (unsigned int i = 0; i < facts->n; i++) {
		const struct annex_serve_part *p = &parts[i];

		used += p->bytes;
		first |= p->first;
		snprintf(weight, sizeof(weight), p->first ? "first" : "%u", p->weight);
		printf("%-*s %10s %-*s %04o %6s %10s %7u %12llu %10s %10s %7llu\n", name_width,
		       p->name, out_size((double)p->bytes, size), owner_width,
		       mode_owner(p->uid, p->gid, owner), p->mode & 0777, weight,
		       p->rate ? out_size((double)p->rate, rate) : "any", p->clients,
		       (ull)p->commands, out_size((double)p->moved, moved),
		       out_size((double)p->copied, copied), (ull)p->failed);
	}
	printf("%u part%s, %s of %s\n", facts->n, facts->n == 1 ? "" : "s",
	       out_size((double)used, moved), out_size((double)facts->bytes, size));
	if (first)
		printf("beside parts with priority: at most %s in flight\n",
		       out_size((double)facts->piece, piece));
}

/* The socket is the argument, or the default. */
static int find_daemon(struct serve_opts *o)
{
	int err;

	if (o->socket || o->table || o->overwrite || o->metrics || o->serve.mode ||
	    o->serve.clients || o->serve.memory)
		return err_set(-EINVAL, "--status takes a socket, and no other option but --json: "
					"annex serve --status SOCKET");
	if (o->uri)
		return socket_path(o->uri);
	err = socket_default(&o->made_socket);
	o->uri = o->made_socket;
	return err;
}

static int show_status(const struct serve_opts *o)
{
	struct annex_serve_part *parts = calloc(ANNEX_SERVE_PARTS, sizeof(*parts));
	struct annex_serve_facts facts;
	struct out out;
	int err = parts ? annex_serve_list(o->uri, &facts, parts) : -ENOMEM;

	if (err) {
		err = err_lib(err, "cannot ask");
	} else if (!o->json) {
		print_table(&facts, parts);
		err = fflush(stdout) ? err_sys("cannot write") : 0;
	} else {
		json_t *list = json_array();

		for (unsigned int i = 0; i < facts.n; i++)
			json_array_append_new(list, part_json(&parts[i]));
		out_init(&out, cli_name(), true);
		out_bytes(&out, "device_bytes", "device", facts.bytes);
		out_bytes(&out, "block_bytes", "block", facts.block);
		out_bytes(&out, "piece_bytes", "piece", facts.piece);
		out_json(&out, "parts", list);
		err = out_end(&out);
	}
	free(parts);
	return err;
}

/* Number of parts; -1: the mode does not let this user connect. */
static int count_parts(const char *socket)
{
	struct annex_serve_part *parts = calloc(ANNEX_SERVE_PARTS, sizeof(*parts));
	struct annex_serve_facts facts;
	int n = parts && !annex_serve_list(socket, &facts, parts) ? (int)facts.n : -1;

	free(parts);
	return n;
}

static int say_ready(const struct serve_opts *o, struct annex_dev *dev)
{
	struct annex_ns ns;
	char uri[ANNEX_URI_MAX], size[OUT_SIZE];
	struct out out;
	int err = annex_dev_ns(dev, 1, &ns), parts;

	if (err)
		return err_lib(err, "cannot serve");
	parts = count_parts(o->socket);
	if (o->json) {
		out_init(&out, cli_name(), true);
		out_bool(&out, "ready", "ready", true);
		out_text(&out, "socket", "socket", o->socket);
		out_bytes(&out, "device_bytes", "device", ns.blocks * ns.block);
		if (parts >= 0)
			out_count(&out, "parts", "parts", (uint64_t)parts);
		return out_end(&out);
	}
	err = path_uri(uri, "unix", o->socket, "part=NAME");
	if (err)
		return err;
	printf("ready: %s at %s", out_size((double)(ns.blocks * ns.block), size), uri);
	if (parts >= 0)
		printf(", %d part%s", parts, parts == 1 ? "" : "s");
	putchar('\n');
	return fflush(stdout) ? err_sys("cannot write") : 0;
}

/* Signals that end the daemon, and SIGUSR1, which writes the counters at once. */
static void fill(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1);
}

/* All threads block these signals, so they are taken here. */
static void wait_for_the_end(const struct serve_opts *o)
{
	const struct timespec period = {.tv_sec = 10};
	bool lost = false;
	sigset_t set;
	int sig;

	fill(&set);
	for (;;) {
		sig = o->metrics ? sigtimedwait(&set, NULL, &period) : sigwaitinfo(&set, NULL);
		if (sig > 0 && sig != SIGUSR1)
			return;
		if (o->metrics)
			metrics_renew(o->metrics, o->socket, &lost);
	}
}

/* A client may send 253 files in a message, and must not use up the files of other clients. */
static void allow_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int serve(struct serve_opts *o)
{
	const struct annex_dev_opts opts = {.depth = QUEUE_DEPTH, .alone = true};
	struct annex_server *server = NULL;
	struct annex_dev *dev = NULL;
	int err = annex_dev_open(o->uri, &opts, &dev), end;

	if (err)
		return err_lib(err, "cannot open the device");
	allow_files();
	o->serve.path = o->socket;
	o->serve.table = o->table;
	err = annex_serve(dev, &o->serve, &server);
	if (err)
		err = err_lib(err, "cannot serve");
	if (!err && o->metrics)
		err = metrics_write(o->metrics, o->socket);
	if (!err)
		err = say_ready(o, dev);
	if (!err)
		wait_for_the_end(o);
	/* Signals stay blocked: a second one must not interrupt the orderly end. */
	end = annex_server_close(server);
	if (end && !err)
		err = err_lib(end, "the last writes may be lost");
	annex_dev_close(dev);
	return err;
}

/* A device without a table is given away as a whole. With one, its parts alone are written. */
static int look(const struct serve_opts *o)
{
	if (!o->table || !access(o->table, F_OK))
		return 0;
	return target_look(o->uri, o->overwrite);
}

static int find_all(struct serve_opts *o)
{
	int err;

	if (!o->uri)
		return err_set(-EINVAL, "name the device to serve, or with --status a socket");
	err = find_socket(o);
	if (!err)
		err = default_table(o);
	return err ? err : look(o);
}

int cmd_serve(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "DEVICE",
					     doc,
					     .list = &uri_devices,
					     CLI_ARG(struct serve_opts, uri),
					     .many = "too many arguments: one device"};
	struct serve_opts o = {.uri = NULL};
	int err = cli_parse(&line, argc, argv, &o);
	sigset_t set;

	if (err)
		return err;
	err = o.status ? find_daemon(&o) : find_all(&o);
	if (!err && o.status) {
		err = show_status(&o);
	} else if (!err) {
		cleanup_hold();
		fill(&set);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		err = serve(&o);
	}
	free(o.made_socket);
	free(o.made_table);
	return err;
}
