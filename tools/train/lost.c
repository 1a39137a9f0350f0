// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "../cleanup.h"
#include "../cli.h"
#include "../error.h"
#include "../progress.h"
#include "memory.h"

#define WAIT_MS 60000u

static const struct memory *watched;
static uint32_t telling;

/*
 * Why the page does not come: its tensor is asked for once more, since a fault tells nobody. A move
 * that begins while the tensor is held makes pages that were never written, too.
 */
static void explain(const void *at)
{
	const void *cursor = (const void *)((uintptr_t)at / ANNEX_MEM_PAGE * ANNEX_MEM_PAGE);
	struct annex_mem_tensor tensor = {.bytes = 0};
	struct annex_move *move;
	int err;

	annex_mem_next(watched->space, &cursor, &tensor);
	err = annex_hold(watched->space, tensor.ptr);
	if (!err)
		err = annex_prefetch(watched->space, tensor.ptr, tensor.bytes, 0, &move);
	annex_let_go(watched->space, tensor.ptr);
	if (!err)
		err = annex_move_wait(move, WAIT_MS);
	if (err)
		err_lib(err, "cannot go on training");
	else
		err_set(-EIO, "cannot go on training: a tensor could not be read when it was used");
}

/*
 * A kernel touched its tensor, in the midst of arithmetic: the thread holds no lock, so that more
 * may be called here than from a signal that comes at any time. Other faults are bugs.
 */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	(void)context;
	if (!watched || at < watched->first || at >= watched->end) {
		signal(sig, SIG_DFL);
		return;
	}
	while (annex_atomic_add(&telling, 1u, ANNEX_RELAXED))
		pause(); /* another thread ends the process */
	explain(at);
	progress_end();
	fprintf(stderr, "%s: %s\n", cli_name(), err_text());
	cleanup_all();
	_exit(EXIT_FAILURE);
}

void lost_watch(const struct memory *m)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	watched = m;
	if (!m)
		action = (struct sigaction){.sa_handler = SIG_DFL};
	sigaction(SIGSEGV, &action, NULL);
}
