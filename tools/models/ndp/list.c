// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex ndp list: list the processes that a near-data processor serves.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <annex/models/m2serve.h>
#include <annex/uri.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/uri.h"

#define ROWS 48u /* processes in the table; JSON has all */

struct list_opts {
	const char *socket;
	bool json;
};

static const struct cli_option options[] = {CLI_JSON(struct list_opts, json), {0}};

static const char doc[] = "List the processes that a near-data processor serves: their kernels, "
			  "launches, calls and mapped memory."
			  "\vExample:\n"
			  "  annex ndp list /run/annex-ndp.sock";

static json_t *kernels_json(const char *uri, const struct annex_m2_listed *l)
{
	struct annex_m2_record all[ANNEX_M2_RECORDS_MAX];
	json_t *list = json_array();
	/* The process may be gone by now; its list is empty then. */
	int n = annex_m2_list_kernels(uri, l->asid, all);

	for (int i = 0; i < n; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "id", json_integer(all[i].id));
		json_object_set_new(one, "launches", json_integer((json_int_t)all[i].launches));
		json_object_set_new(one, "running", json_integer(all[i].running));
		json_object_set_new(one, "scratchpad_bytes", json_integer(all[i].scratchpad));
		json_object_set_new(one, "argument_bytes", json_integer(all[i].args));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *client_json(const char *uri, const struct annex_m2_listed *l)
{
	json_t *one = json_object();

	json_object_set_new(one, "asid", json_integer(l->asid));
	json_object_set_new(one, "pid", json_integer(l->pid));
	json_object_set_new(one, "uid", json_integer(l->uid));
	json_object_set_new(one, "maps", json_integer(l->maps));
	json_object_set_new(one, "mapped_bytes", json_integer((json_int_t)l->mapped));
	json_object_set_new(one, "calls", json_integer((json_int_t)l->calls));
	json_object_set_new(one, "launches", json_integer((json_int_t)l->launches));
	json_object_set_new(one, "torn", json_integer((json_int_t)l->torn));
	json_object_set_new(one, "lost", json_integer((json_int_t)l->lost));
	json_object_set_new(one, "repeated", json_integer((json_int_t)l->repeated));
	json_object_set_new(one, "kernels", kernels_json(uri, l));
	return one;
}

static void report(struct out *out, const char *uri, const struct annex_m2_listed *all,
		   unsigned int n)
{
	uint64_t launches = 0, calls = 0;
	json_t *list = json_array();
	char size[OUT_SIZE];

	for (unsigned int i = 0; i < n; i++) {
		const struct annex_m2_listed *l = &all[i];

		launches += l->launches;
		calls += l->calls;
		json_array_append_new(list, client_json(uri, l));
		if (i < ROWS)
			out_row(out, "process",
				"%u: %u kernels, %llu launches, %llu calls, %s mapped", l->pid,
				l->kernels, (ull)l->launches, (ull)l->calls,
				out_size((double)l->mapped, size));
	}
	out_count(out, "processes", "processes", n);
	out_count(out, "launches", "launches", launches);
	out_count(out, "calls", "calls", calls);
	out_json(out, "clients", list);
}

int ndp_list(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "SOCKET",
					     doc,
					     CLI_ARG(struct list_opts, socket),
					     .none = "name the socket of the processor",
					     .many = "too many arguments: one socket"};
	struct annex_m2_listed all[ANNEX_M2_CLIENTS];
	struct list_opts o = {.socket = NULL};
	char uri[ANNEX_URI_MAX];
	struct out out;
	int err = cli_parse(&line, argc, argv, &o), n;

	if (!err)
		err = path_uri(uri, "ndp", o.socket, "");
	if (err)
		return err;
	n = annex_m2_list(uri, all);
	if (n < 0) {
		err = err_lib(n, "cannot list");
	} else {
		out_init(&out, cli_name(), o.json);
		report(&out, uri, all, (unsigned int)n);
		err = out_end(&out);
	}
	return err;
}
