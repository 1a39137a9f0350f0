/* SPDX-License-Identifier: MIT */
/*
 * Handles that are of one process: after fork() the child has copies of them, which it must not
 * use.
 */
#ifndef ANNEX_CORE_FORK_H
#define ANNEX_CORE_FORK_H

#include <stdbool.h>

/**
 * struct fork_watch - A handle's part in it.
 * @next: the next handle.
 * @in_child: called in a child before fork() returns there; may close descriptors. NULL: nothing is
 *	to be done.
 * @child: this copy is a child's.
 */
struct fork_watch {
	struct fork_watch *next;
	void (*in_child)(struct fork_watch *w);
	bool child;
};

/* fork_watch() - From now on, children have @w->child set. vfork() and posix_spawn() make none. */
void fork_watch(struct fork_watch *w);
/* fork_forget() - No more; nothing happens if @w is not watched. */
void fork_forget(struct fork_watch *w);
/* fork_refuse() - The error of a call in a child, for the handle of that name: -ECHILD. */
int fork_refuse(const char *name);

#endif
