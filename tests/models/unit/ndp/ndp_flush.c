// SPDX-License-Identifier: MIT
/*
 * Where a device does not see the host's caches, the library flushes the pool region before a
 * launch. The test unmaps the pages in this process alone, while the device belongs to another one:
 * flushing a line of such a page faults.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/m2serve.h>
#include <annex/models/ndp.h>
#include "m2_rig.h"

#define PAGE 4096u
#define PAGES 16u

static char *pool;
static unsigned int touched[PAGES], elsewhere;

/* A page that is touched is there again. */
static void touch(int signal, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)pool;

	(void)context;
	if (at >= PAGES * PAGE) {
		elsewhere++;
		sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
		return;
	}
	touched[at / PAGE]++;
	mprotect(pool + at / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static pid_t serve(struct m2_rig *r, const char *path)
{
	int ready[2];
	char c = 0;
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	child = fork();
	if (!child) {
		struct annex_m2_server *s;
		struct annex_hdm *hdm;

		if (annex_hdm_open(r->uri, NULL, &hdm) || annex_ndp_create(NULL, &r->ndp) ||
		    annex_m2_serve(r->ndp, &hdm, 1, path, &s) || write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	CU_ASSERT_EQUAL_FATAL(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return child;
}

/* A launch on so many pages from @first on, and which of all pages were touched for it. */
static void launch(struct annex_m2 *m2, uint32_t id, unsigned int first, unsigned int n, bool sync)
{
	uint64_t one = 1, instance;

	memset(touched, 0, sizeof(touched));
	CU_ASSERT_EQUAL_FATAL(mprotect(pool, (size_t)PAGES * PAGE, PROT_NONE), 0);
	if (sync) {
		CU_ASSERT_EQUAL(annex_m2_run(m2, id, pool + first * PAGE, (uint64_t)n * PAGE, &one,
					     sizeof(one), NULL),
				0);
	} else {
		CU_ASSERT_EQUAL(annex_m2_launch(m2, id, pool + first * PAGE, (uint64_t)n * PAGE,
						&one, sizeof(one), &instance),
				0);
		CU_ASSERT_EQUAL(annex_m2_wait(m2, instance, M2_RIG_LONG_MS, NULL), 0);
	}
	for (unsigned int i = 0; i < PAGES; i++) {
		bool within = !m2->head.coherent && i >= first && i < first + n;

		CU_ASSERT_EQUAL(touched[i], within);
	}
	CU_ASSERT_EQUAL_FATAL(mprotect(pool, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
}

static void before_a_launch(void)
{
	struct sigaction ours = {.sa_sigaction = touch, .sa_flags = SA_SIGINFO}, before;
	char dir[] = "/tmp/annex-test.XXXXXX", path[48], uri[56];
	struct annex_m2 *m2 = NULL;
	struct m2_rig r;
	uint32_t id;
	pid_t child;

	m2_rig_range(&r);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ndp", dir);
	snprintf(uri, sizeof(uri), "ndp:%s", path);
	child = serve(&r, path);
	CU_ASSERT_EQUAL_FATAL(annex_m2_open(uri, NULL, &m2), 0);
	CU_ASSERT_EQUAL_FATAL(annex_m2_map(m2, r.hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE), 0);
	id = m2_rig_register(m2, m2_rig_counter(&r), 8);
	pool = (char *)r.pool;
	CU_ASSERT_EQUAL_FATAL(sigaction(SIGSEGV, &ours, &before), 0);
	launch(m2, id, 0, PAGES, true); /* it sees them: nothing is touched */
	m2->head.coherent = 0;
	launch(m2, id, 0, PAGES, true);
	launch(m2, id, 3, 2, true);
	launch(m2, id, 5, 7, false);
	CU_ASSERT_EQUAL(sigaction(SIGSEGV, &before, NULL), 0);
	CU_ASSERT_EQUAL(elsewhere, 0);
	CU_ASSERT(r.pool[0] == 2 && r.pool[3 * 512] == 3 && r.pool[5 * 512] == 3);
	annex_m2_close(m2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CU_ASSERT(!unlink(path) && !rmdir(dir));
	annex_hdm_close(r.hdm);
	close(r.fd);
}

UNIT_SUITE(ndp_flush, {"before a launch", before_a_launch})
