// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex ndp serve: serve other processes as a near-data processor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/models/m2serve.h>
#include <annex/models/ndp.h>
#include <annex/uri.h>
#include "tools/common/cleanup.h"
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/uri.h"

#define UNCACHED (2ull << 20)

struct serve_opts {
	struct annex_ndp_opts device;
	const char *socket;
	char *made;
	const char *guest;
	uint64_t uncached;
	const char *uri[ANNEX_M2_SERVED];
	unsigned int n;
	bool json;
};

/* struct serve - Open objects. */
struct serve {
	struct annex_ndp *ndp;
	struct annex_hdm *range[ANNEX_M2_SERVED];
	struct annex_m2_server *server;
};

static const struct cli_option options[] = {
	{"socket", 0, "PATH", 0, OPT_TEXT(struct serve_opts, socket),
	 "Socket for clients (annex-ndp.sock in XDG_RUNTIME_DIR, or in /run)"},
	{"guest", 0, "FILE", 0, OPT_TEXT(struct serve_opts, guest),
	 "Serve a virtual machine whose CXL memory is this file, in place of a socket"},
	{"uncached", 0, "SIZE", 0, OPT_SIZE(struct serve_opts, uncached, UNCACHED, UINT64_MAX),
	 "Uncached bytes at the end of the file: m2func= of the guest's range (2M)"},
	{"threads", 0, "N", 0, OPT_U32(struct serve_opts, device.threads, 1, 256),
	 "Threads of the host (one for each processor)"},
	{"units", 0, "N", 0, OPT_U32(struct serve_opts, device.units, 1, 1024), "NDP units (32)"},
	{"vlen", 0, "BITS", 0, OPT_U32(struct serve_opts, device.vlen, 128, 1024),
	 "Bits of a vector register: 128, 256, 512 or 1024 (256)"},
	{"piece", 0, "BYTES", 0, OPT_U32(struct serve_opts, device.piece, 32, 64),
	 "Bytes of the pool region for a micro-thread: 32 or 64 (32)"},
	{"deadline", 0, "MS", 0, OPT_U32(struct serve_opts, device.deadline_ms, 1, UINT32_MAX),
	 "Time limit of a kernel (30000)"},
	{"budget", 0, "N", 0, OPT_SIZE(struct serve_opts, device.budget, 1, UINT64_MAX),
	 "Instruction limit of a kernel (100 billion)"},
	CLI_JSON(struct serve_opts, json),
	{0}};

static int check(struct serve_opts *o)
{
	if (o->guest && (o->n || o->socket))
		return err_set(-EINVAL, "--guest takes neither ranges nor a socket");
	if (o->uncached && !o->guest)
		return err_set(-EINVAL, "--uncached needs --guest");
	if (!o->uncached)
		o->uncached = UNCACHED;
	return o->n || o->guest
		       ? 0
		       : err_set(-EINVAL, "name the range, as in shm:/dev/shm/range?size=256M");
}

static const char doc[] =
	"Serve this user's processes as a near-data processor for one or more memory ranges. "
	"Prints a "
	"line when ready, and runs until SIGINT or SIGTERM.\n\n"
	"Programs open it as ndp:PATH (annex_m2_open()), and map ranges that they can open "
	"themselves."
	"\vExamples:\n"
	"  annex ndp serve --socket /run/annex-ndp.sock 'shm:/dev/shm/range?size=1G' &\n"
	"  annex ndp list /run/annex-ndp.sock\n"
	"  annex ndp serve --guest cxl0      # beside QEMU; inside: pci:ADDRESS?m2func=2M";

static int default_socket(struct serve_opts *o)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (asprintf(&o->made, "%s/annex-ndp.sock", dir && *dir ? dir : "/run") < 0) {
		o->made = NULL;
		return err_set(-ENOMEM, "out of memory");
	}
	o->socket = o->made;
	return 0;
}

static int open_all(struct serve *s, const struct serve_opts *o)
{
	int err = annex_ndp_create(&o->device, &s->ndp);

	if (err)
		return err_lib(err, "cannot make the processor");
	for (unsigned int i = 0; i < o->n; i++) {
		err = annex_hdm_open(o->uri[i], NULL, &s->range[i]);
		if (err)
			return err_lib(err, "cannot open the range");
	}
	err = o->guest ? annex_m2_serve_guest(s->ndp, o->guest, o->uncached, &s->server)
		       : annex_m2_serve(s->ndp, s->range, o->n, o->socket, &s->server);
	return err ? err_lib(err, "cannot serve") : 0;
}

static void close_all(struct serve *s, unsigned int n)
{
	annex_m2_server_close(s->server);
	annex_ndp_destroy(s->ndp);
	while (n)
		annex_hdm_close(s->range[--n]);
}

static int report_ready(const struct serve *s, const struct serve_opts *o)
{
	struct annex_hdm_info info;
	uint64_t bytes = 0;
	struct out out;
	char size[OUT_SIZE], uri[ANNEX_URI_MAX];

	if (o->guest && !o->json) {
		printf("ready: for the guest of %s\n", o->guest);
		return fflush(stdout) ? err_sys("cannot write") : 0;
	}
	for (unsigned int i = 0; i < o->n; i++) {
		annex_hdm_get_info(s->range[i], &info);
		bytes += info.bytes;
	}
	if (!o->json) {
		int err = path_uri(uri, "ndp", o->socket, "");

		if (err)
			return err;
		printf("ready: %s of memory at %s\n", out_size((double)bytes, size), uri);
		return fflush(stdout) ? err_sys("cannot write") : 0;
	}
	out_init(&out, cli_name(), true);
	out_bool(&out, "ready", "ready", true);
	if (o->guest) {
		out_text(&out, "guest", "guest", o->guest);
		return out_end(&out);
	}
	out_text(&out, "socket", "socket", o->socket);
	out_bytes(&out, "range_bytes", "memory", bytes);
	return out_end(&out);
}

/* cleanup_hold() has blocked these signals in all threads. */
static void wait_for_signal(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (sigwait(&set, &sig))
		;
}

int ndp_serve(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "RANGE...",
					     doc,
					     .list = &uri_ranges,
					     CLI_ARGS(struct serve_opts, uri, n, ANNEX_M2_SERVED),
					     .many = "more than 16 ranges"};
	struct serve_opts o = {.socket = NULL};
	struct serve s = {.ndp = NULL};
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = check(&o);
	if (!err && !o.socket && !o.guest)
		err = default_socket(&o);
	if (err)
		return err;
	cleanup_hold();
	err = open_all(&s, &o);
	if (!err)
		err = report_ready(&s, &o);
	if (!err)
		wait_for_signal();
	/* Keep signals blocked: a second one must not interrupt the shutdown. */
	close_all(&s, o.n);
	free(o.made);
	return err;
}
