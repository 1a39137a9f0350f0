// SPDX-License-Identifier: MIT
/*
 * A process that was stopped (SIGSTOP, Ctrl-Z, a debugger) for longer than its waits may take goes
 * on as if nothing had been: its devices and its moves were stopped with it.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/exec.h>
#include "tests/unit/mem_rig.h"
#include "tests/unit/unit.h"

#define TIMEOUT_MS 1000
#define STOPPED_MS 1500
/* Of every read: so long that the process is stopped meanwhile. */
#define SLOW "mem:4M?fault=delay,us=600000,op=read"

/* Stop this process when thread @tid sleeps, which is about to wait. */
static void *stop_process(void *tid)
{
	char path[64], text[256];
	char state = 'R';

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *(pid_t *)tid);
	while (state != 'S') {
		FILE *f = fopen(path, "r");
		const char *name_end;

		if (!f)
			break;
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
		name_end = strrchr(text, ')');
		state = name_end && name_end[1] ? name_end[2] : 'R';
	}
	kill(getpid(), SIGSTOP);
	return NULL;
}

/* In a child: @wait, which takes a while, is stopped for longer than it may take. */
static void goes_on(int (*wait)(void *), void *arg)
{
	pid_t tid = getpid(); /* of its only thread so far */
	pthread_t thread;
	int err;

	if (pthread_create(&thread, NULL, stop_process, &tid))
		_exit(100);
	err = wait(arg);
	if (err)
		fprintf(stderr, "stopped: %s: %s\n", strerror(-err), annex_last_error());
	pthread_join(thread, NULL);
	_exit(err ? 1 : 0);
}

/* Run @child, and let it go on some time after it has been stopped. */
static void stopped(void (*child)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		child();
		_exit(101);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, WUNTRACED), pid);
	CU_ASSERT_FATAL(WIFSTOPPED(status));
	poll(NULL, 0, STOPPED_MS);
	kill(pid, SIGCONT);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

struct reader {
	struct annex_dev *dev;
	struct annex_io io;
};

static int read_one(void *arg)
{
	struct reader *r = arg;

	return annex_dev_io(r->dev, &r->io, 1, NULL);
}

static void device_child(void)
{
	struct annex_dev_opts opts = {.timeout_ms = TIMEOUT_MS};
	static char block[4096] __attribute__((aligned(4096)));
	struct reader r = {.io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 1, .bytes = 512}};

	if (!annex_dev_open(SLOW, &opts, &r.dev) &&
	    !annex_dev_map(r.dev, block, sizeof(block), &r.io.addr))
		goes_on(read_one, &r);
}

static void device(void)
{
	stopped(device_child);
}

struct kernel {
	struct annex_exec *e;
	struct annex_exec_use use;
};

static int begin_kernel(void *arg)
{
	struct kernel *k = arg;

	return annex_exec_before(k->e, "kernel", &k->use, 1);
}

static void exec_child(void)
{
	struct annex_exec_opts opts = {.policy = "none", .timeout_ms = TIMEOUT_MS};
	struct kernel k = {.use.how = ANNEX_USE_READ};
	struct mem_rig r;
	void *p;

	mem_rig_open(&r, SLOW, (struct annex_space_opts){.device = MIB});
	p = mem_filled(&r, "p", MIB / 4, 1);
	mem_evict(&r, p, MIB / 4, ANNEX_TIER_SSD);
	k.use.ptr = p;
	if (!annex_exec_create(r.space, &opts, &k.e) && !annex_exec_begin(k.e))
		goes_on(begin_kernel, &k);
}

static void kernel(void)
{
	stopped(exec_child);
}

UNIT_SUITE(stopped, {"device", device}, {"kernel", kernel})
