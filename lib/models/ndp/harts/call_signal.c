// SPDX-License-Identifier: MIT
/*
 * Signals: kept, blocked and ignored as Linux does. Handlers are not run: a signal that has one
 * ends the program with a line that says so.
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "core/log.h"
#include "call.h"

enum { DEFAULT = 0, IGNORE = 1 };

static uint64_t bit(unsigned int signal)
{
	return 1ull << (signal - 1);
}

static bool is_ignored(const struct user *u, unsigned int signal)
{
	uint64_t handler = u->action[signal].handler;

	return handler == IGNORE ||
	       (handler == DEFAULT &&
		(signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH));
}

/* Standard signals have names, those for real time have numbers. */
static const char *name_of(unsigned int signal)
{
	const char *name = sigabbrev_np((int)signal);

	return name ? name : "RT";
}

void user_kill(struct user *u, int signal, int err, const char *fmt, ...)
{
	char line[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	u->ended = true;
	u->signal = signal;
	u->err = annex_fail(err, "%s at pc 0x%llx", line, (ull)rv_pc(u->batch)[0]);
}

void user_signal(struct user *u, unsigned int signal)
{
	if (u->blocked & bit(signal))
		u->pending |= bit(signal);
	else if (!is_ignored(u, signal))
		user_kill(u, (int)signal, -EINTR,
			  u->action[signal].handler == DEFAULT
				  ? "signal %u (SIG%s)"
				  : "signal %u (SIG%s), which has a handler: handlers are not run",
			  signal, name_of(signal));
}

static int64_t send_to(struct user *u, uint64_t to, uint64_t signal)
{
	if (signal > USER_SIGNALS)
		return -EINVAL;
	if (to != 1)
		return -ESRCH;
	if (signal)
		user_signal(u, (unsigned int)signal);
	return 0;
}

/* 0, -1 and -pid: groups, in which it is alone; nobody gets what is sent to all others (-1). */
int64_t call_kill(struct user *u, const uint64_t *a)
{
	int32_t pid = (int32_t)a[0];

	return send_to(u, pid == 0 || pid == 1 ? 1 : 0, (uint32_t)a[1]);
}

int64_t call_tkill(struct user *u, const uint64_t *a)
{
	return (int32_t)a[0] <= 0 ? -EINVAL : send_to(u, (uint32_t)a[0], (uint32_t)a[1]);
}

int64_t call_tgkill(struct user *u, const uint64_t *a)
{
	if ((int32_t)a[0] <= 0 || (int32_t)a[1] <= 0)
		return -EINVAL;
	return send_to(u, (uint32_t)a[0] == 1 ? (uint32_t)a[1] : 0, (uint32_t)a[2]);
}

int64_t call_sigaction(struct user *u, const uint64_t *a)
{
	uint64_t signal = (uint32_t)a[0];
	struct user_action next, last;

	if (a[3] != sizeof(uint64_t))
		return -EINVAL;
	if (a[1] && rv_space_read(&u->space, a[1], &next, sizeof(next)))
		return -EFAULT;
	if (!signal || signal > USER_SIGNALS || (a[1] && (signal == SIGKILL || signal == SIGSTOP)))
		return -EINVAL;
	last = u->action[signal];
	if (a[1]) {
		u->action[signal] = next;
		if (is_ignored(u, (unsigned int)signal))
			u->pending &= ~bit((unsigned int)signal);
	}
	return a[2] ? rv_space_write(&u->space, a[2], &last, sizeof(last)) : 0;
}

static void send_pending(struct user *u)
{
	uint64_t now = u->pending & ~u->blocked;

	u->pending &= ~now;
	for (; now && !u->ended; now &= now - 1)
		user_signal(u, (unsigned int)__builtin_ctzll(now) + 1);
}

int64_t call_sigpending(struct user *u, const uint64_t *a)
{
	if (a[1] > sizeof(u->pending))
		return -EINVAL;
	return rv_space_write(&u->space, a[0], &u->pending, a[1]);
}

int64_t call_sigprocmask(struct user *u, const uint64_t *a)
{
	uint64_t last = u->blocked, set = 0;

	if (a[3] != sizeof(set))
		return -EINVAL;
	if (a[1] && rv_space_read(&u->space, a[1], &set, sizeof(set)))
		return -EFAULT;
	if (a[1] && (uint32_t)a[0] > SIG_SETMASK)
		return -EINVAL;
	if (a[1]) {
		u->blocked = (uint32_t)a[0] == SIG_BLOCK     ? last | set
			     : (uint32_t)a[0] == SIG_UNBLOCK ? last & ~set
							     : set;
		u->blocked &= ~(bit(SIGKILL) | bit(SIGSTOP));
		send_pending(u);
	}
	return a[2] ? rv_space_write(&u->space, a[2], &last, sizeof(last)) : 0;
}
