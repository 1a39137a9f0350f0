// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <annex/detail/clock.h>
#include "cxlssd_attach_rig.h"
#include "tests/unit/unit.h"

void attached_make(struct attached_place *p, const char *more)
{
	p->fd = memfd_create("cxlssd-attach", MFD_CLOEXEC);
	CU_ASSERT_FATAL(p->fd >= 0);
	snprintf(p->uri, sizeof(p->uri), "cxlssd:/proc/self/fd/%d?size=16M&dram=1M%s", p->fd, more);
}

void attached_tell(int fd, char word)
{
	(void)!send(fd, &word, 1, MSG_NOSIGNAL);
}

char attached_hear(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char word = 0;

	return poll(&p, 1, ATTACHED_MS) == 1 && read(fd, &word, 1) == 1 ? word : 0;
}

void attached_spawn(struct attached_other *o, void (*run)(int fd, const struct attached_place *p),
		    const struct attached_place *p)
{
	int fds[2];

	CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	o->pid = fork();
	CU_ASSERT_FATAL(o->pid >= 0);
	if (!o->pid) {
		close(fds[0]);
		run(fds[1], p);
		_exit(0);
	}
	close(fds[1]);
	o->fd = fds[0];
}

void attached_join(struct attached_other *o)
{
	int status = -1;

	close(o->fd);
	CU_ASSERT_EQUAL(waitpid(o->pid, &status, 0), o->pid);
	CU_ASSERT(WIFEXITED(status) && !WEXITSTATUS(status));
}

void attached_kill(struct attached_other *o)
{
	CU_ASSERT_EQUAL(kill(o->pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(o->pid, NULL, 0), o->pid);
	close(o->fd);
}

void attached_halt(const struct attached_other *o)
{
	CU_ASSERT_EQUAL(kill(o->pid, SIGSTOP), 0);
	CU_ASSERT_EQUAL(waitpid(o->pid, NULL, WUNTRACED), o->pid);
}

struct annex_hdm *attached_range(const struct attached_place *p)
{
	struct annex_hdm *h = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(p->uri, NULL, &h), 0);
	return h;
}

struct annex_hdm *attached_open(const struct attached_place *p)
{
	struct annex_hdm *h = NULL;

	ATTACHED_NEED(!annex_hdm_open(p->uri, NULL, &h));
	return h;
}

char *attached_find(struct annex_hdm *h, const char *name)
{
	struct annex_hdm_block b;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_find(h, name, &b), 0);
	return annex_hdm_at(h, b.offset);
}

void attached_expect_gone(struct annex_hdm *h)
{
	const uint64_t deadline = annex_deadline_ms(ATTACHED_MS);

	while (!annex_hdm_check(h) && annex_now() < deadline)
		sched_yield();
	CU_ASSERT_EQUAL(annex_hdm_check(h), -EIO);
}

void attached_own(int fd, const struct attached_place *p)
{
	struct annex_hdm *h = attached_open(p);
	void *data;

	ATTACHED_NEED(!annex_hdm_alloc(h, ATTACHED_DATA, 0, "data", &data));
	strcpy(data, "of the owner");
	attached_tell(fd, 'r');
	while (attached_hear(fd) == 'c') {
		ATTACHED_NEED(!annex_hdm_check(h));
		attached_tell(fd, strcmp(data, "of the other") ? 'n' : 'y');
	}
	annex_hdm_close(h);
}
