// SPDX-License-Identifier: MIT
/*
 * The near-data device of kernels_rig.h in another process, `annex ndp serve`: nothing of a device
 * is linked with this. ANNEX is the command.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "tests/models/unit/ndp/kernels_rig.h"
#include "tests/unit/unit.h"

static pid_t server;
static char folder[PATH_MAX];

static void serve(const struct kernels_rig *r, const struct annex_ndp_opts *o, int ready)
{
	const char *annex = getenv("ANNEX");
	char range[RIG_URI + 32], vlen[32], piece[32], units[32], threads[32], at[PATH_MAX + 32];

	/* The memory is a file of the process that runs the tests. */
	snprintf(range, sizeof(range), "shm:/proc/%ld%s", (long)getppid(),
		 strstr(r->range.uri, "/fd/"));
	snprintf(vlen, sizeof(vlen), "--vlen=%u", o->vlen);
	snprintf(piece, sizeof(piece), "--piece=%u", o->piece);
	snprintf(units, sizeof(units), "--units=%u", o->units ? o->units : 32);
	snprintf(threads, sizeof(threads), "--threads=%u", o->threads ? o->threads : 2);
	snprintf(at, sizeof(at), "--socket=%s/device", folder);
	dup2(ready, STDOUT_FILENO);
	execl(annex ? annex : "annex", "annex", "ndp", "serve", vlen, piece, units, threads, at,
	      range, (char *)NULL);
	_exit(127);
}

/* It says when it is ready, or ends. */
static bool is_ready(int from)
{
	char line[256];
	FILE *said = fdopen(from, "r");
	bool ready = said && fgets(line, sizeof(line), said) && !strncmp(line, "ready", 5);

	if (said)
		fclose(said);
	return ready;
}

void kernels_device_open(struct kernels_rig *r, const struct annex_ndp_opts *opts)
{
	char uri[PATH_MAX + 32];
	int ends[2];

	snprintf(folder, sizeof(folder), "/tmp/annex-served.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	server = fork();
	if (!server)
		serve(r, opts, ends[1]);
	CU_ASSERT_FATAL(server > 0);
	close(ends[1]);
	CU_ASSERT_FATAL(is_ready(ends[0]));
	snprintf(uri, sizeof(uri), "ndp:%s/device", folder);
	CU_ASSERT_EQUAL_FATAL(annex_m2_open(uri, NULL, &r->m2), 0);
}

void kernels_device_close(struct kernels_rig *r)
{
	int status = -1;

	annex_m2_close(r->m2);
	kill(server, SIGTERM);
	CU_ASSERT_EQUAL(waitpid(server, &status, 0), server);
	CU_ASSERT(WIFEXITED(status) || WTERMSIG(status) == SIGTERM);
	CU_ASSERT_EQUAL(rmdir(folder), 0);
}
