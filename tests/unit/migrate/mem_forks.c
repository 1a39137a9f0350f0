// SPDX-License-Identifier: MIT
/*
 * Spaces, stores and planners across fork(): a child that uses or releases its copies is refused at
 * once, also if a thread of its parent had a lock, and its parent never notices.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/exec.h>
#include "tests/unit/mem_rig.h"
#include "migrate/space.h"
#include "migrate/store.h"
#include "tests/unit/unit.h"

/* struct fixture - @p: a tensor of ones; @move: a move of it; @go: a child waits for its end. */
struct fixture {
	struct mem_rig r;
	struct annex_exec *e;
	char *p;
	struct annex_move *move;
	int go[2];
};

static void begin(struct fixture *f)
{
	struct annex_space_opts opts = {.device = 2 * MIB, .host = MIB};
	struct annex_exec_use use;

	mem_rig_open(&f->r, "mem:16M", opts);
	f->p = mem_filled(&f->r, "p", MIB, 1);
	use = (struct annex_exec_use){f->p, ANNEX_USE_READ};
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(f->r.space, NULL, &f->e), 0);
	CU_ASSERT_EQUAL(annex_exec_begin(f->e), 0);
	CU_ASSERT_EQUAL(annex_exec_before(f->e, "k", &use, 1), 0);
	CU_ASSERT_EQUAL(annex_prefetch(f->r.space, f->p, MIB, 0, &f->move), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(f->go), 0);
}

static bool all_ones(const char *p)
{
	return *p == 1 && !memcmp(p, p + 1, MIB - 1);
}

/* Everything goes on as if there had been no child. */
static void end(struct fixture *f)
{
	CU_ASSERT(all_ones(f->p));
	CU_ASSERT_EQUAL(annex_move_wait(f->move, WAIT_MS), 0);
	CU_ASSERT_EQUAL(annex_exec_after(f->e), 0);
	CU_ASSERT_EQUAL(annex_exec_end(f->e), 0);
	mem_evict(&f->r, f->p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT(all_ones(f->p));
	CU_ASSERT_EQUAL(annex_free(f->r.space, f->p), 0);
	mem_wait_empty(&f->r);
	annex_exec_destroy(f->e);
	mem_rig_close(&f->r);
	close(f->go[0]);
}

/* Fork a child that calls @run, which returns its number of failures. SIGALRM ends a slow child. */
static pid_t child_of(struct fixture *f, int (*run)(struct fixture *f))
{
	pid_t child = fork();

	if (!child) {
		alarm(WAIT_MS / 1000);
		close(f->go[1]);
		_exit(run(f));
	}
	CU_ASSERT_FATAL(child > 0);
	return child;
}

static void ends_well(pid_t child)
{
	int status = -1;

	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
}

/* Return: how many calls were not refused as they should be. */
static int use_space(struct fixture *f)
{
	struct annex_space *s = f->r.space, *other;
	struct annex_space_opts opts = {.device = MIB, .stores = f->r.stores, .n_stores = 1};
	struct annex_mem_tensor tensor;
	struct annex_mem_page page;
	struct annex_space_stats stats;
	const void *cursor = NULL;
	struct annex_move *move;
	void *p;

	annex_move_forget(f->move);
	annex_space_trim(s);
	annex_space_get_stats(s, &stats);
	return (annex_alloc(s, "q", MIB, &p) != -ECHILD) +
	       !strstr(annex_last_error(), "space: opened before fork()") +
	       (annex_alloc(s, "q", 1, &p) != -ECHILD) +
	       (annex_alloc_uninit(s, "q", MIB, &p) != -ECHILD) +
	       (annex_prefetch(s, f->p, MIB, 0, &move) != -ECHILD) +
	       (annex_pre_evict(s, f->p, MIB, ANNEX_TIER_SSD, NULL) != -ECHILD) +
	       (annex_move_wait(f->move, 1) != -ECHILD) + (annex_hold(s, f->p) != -ECHILD) +
	       (annex_let_go(s, f->p) != -ECHILD) + (annex_space_resize(s, MIB) != -ECHILD) +
	       (annex_mem_lookup(s, f->p, &page) != -ECHILD) +
	       (annex_mem_next(s, &cursor, &tensor) != 0) + (stats.device != 0) +
	       (annex_free(s, f->p) != -ECHILD) + (annex_space_create(&opts, &other) != -ECHILD);
}

static int use_planner(struct fixture *f)
{
	const struct annex_exec_use use = {f->p, ANNEX_USE_READ};
	const struct annex_system *sys;
	const struct annex_trace *made;
	struct annex_trace *trace;
	struct annex_exec *e;

	return (annex_exec_create(f->r.space, NULL, &e) != -ECHILD) +
	       (annex_exec_made(f->e, f->p) != -ECHILD) + (annex_exec_after(f->e) != -ECHILD) +
	       (annex_exec_before(f->e, "k", &use, 1) != -ECHILD) +
	       (annex_exec_before_on(f->e, NULL, "k", &use, 1) != -ECHILD) +
	       (annex_exec_end(f->e) != -ECHILD) + (annex_exec_restart(f->e) != -ECHILD) +
	       (annex_exec_begin(f->e) != -ECHILD) +
	       (annex_exec_give(f->e, NULL, NULL) != -ECHILD) +
	       (annex_exec_trace(f->e, &trace) != -ECHILD) +
	       (annex_exec_plan(f->e, &made, &sys) != NULL);
}

static int release(struct fixture *f)
{
	annex_exec_destroy(f->e);
	annex_space_destroy(f->r.space);
	return (annex_store_close(f->r.stores[0]) != 0) + (annex_store_close(f->r.stores[1]) != 0);
}

static int use_and_release(struct fixture *f)
{
	int wrong = use_space(f);

	wrong += use_planner(f);
	return wrong + release(f);
}

static void refused(void)
{
	struct fixture f;
	pid_t child;

	begin(&f);
	child = child_of(&f, use_and_release);
	ends_well(child);
	close(f.go[1]);
	end(&f);
}

/* As if other threads had the locks at the fork. */
static void under_locks(void)
{
	struct fixture f;
	pid_t child;

	begin(&f);
	pthread_mutex_lock(&f.r.space->lock);
	pthread_mutex_lock(&f.r.stores[0]->link.lock);
	pthread_mutex_lock(&f.r.stores[0]->lock);
	child = child_of(&f, use_and_release);
	ends_well(child);
	pthread_mutex_unlock(&f.r.stores[0]->lock);
	pthread_mutex_unlock(&f.r.stores[0]->link.lock);
	pthread_mutex_unlock(&f.r.space->lock);
	close(f.go[1]);
	end(&f);
}

/* Descriptors of a space's memory, and of what observes it. */
static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *at;
	char target[64];
	int n = 0;

	while (dir && (at = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), at->d_name, target, sizeof(target) - 1);

		target[len < 0 ? 0 : len] = '\0';
		n += strstr(target, "annex-space") || strstr(target, "userfaultfd");
	}
	if (dir)
		closedir(dir);
	return n;
}

static int use_later(struct fixture *f)
{
	char go;

	return (int)read(f->go[0], &go, 1) + descriptors() + use_and_release(f);
}

/* A child that outlives all of it keeps no memory, and its copies are no less refused. */
static void outlived(void)
{
	struct fixture f;
	pid_t child;
	int go;

	begin(&f);
	child = child_of(&f, use_later);
	go = f.go[1];
	end(&f);
	close(go);
	ends_well(child);
}

UNIT_SUITE(mem_forks, {"calls are refused", refused}, {"under locks", under_locks},
	   {"outlived", outlived})
