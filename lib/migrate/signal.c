// SPDX-License-Identifier: MIT
/*
 * A handler that a program installs over ours may call ours for other faults; ours must not call it
 * back then. So each time that ours is installed over another one, it is a new function, which
 * knows the action that it covers: a fault is passed down from one to the next.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include "core/log.h"
#include "guard.h"
#ifdef __aarch64__
#include <asm/sigcontext.h>
#endif

#define LEVELS 8u

/* The actions that ours cover. Each is written before the handler above it is installed. */
static struct sigaction covered[LEVELS];
static unsigned int levels; /* number of handlers of ours that other handlers may call */
static bool told;
static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* If the processor does not report it, a read counts as a write, which is slower. */
static bool is_write(const void *context)
{
#if defined(__x86_64__)
	const ucontext_t *uc = context;

	return uc->uc_mcontext.gregs[REG_ERR] & 2;
#elif defined(__aarch64__)
	const ucontext_t *uc = context;
	const char *at = (const char *)uc->uc_mcontext.__reserved;
	const char *end = at + sizeof(uc->uc_mcontext.__reserved);
	struct esr_context esr;

	for (; at + sizeof(esr) <= end; at += esr.head.size) {
		memcpy(&esr, at, sizeof(esr));
		if (esr.head.magic == ESR_MAGIC)
			return esr.esr & 1 << 6; /* WnR */
		if (!esr.head.magic || !esr.head.size)
			break;
	}
	return true;
#else
	(void)context;
	return true;
#endif
}

/* Call an action as the kernel would. */
static void call(const struct sigaction *action, int sig, siginfo_t *info, void *context)
{
	sigset_t mask = action->sa_mask;

	if (!(action->sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	if (action->sa_flags & (int)SA_RESETHAND)
		signal(sig, SIG_DFL);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(sig, info, context);
	else
		action->sa_handler(sig);
}

static void hand_down(const struct sigaction *action, int sig, siginfo_t *info, void *context)
{
	bool of_kernel = info->si_code > 0, ignored;

	if (action->sa_flags & SA_SIGINFO) {
		call(action, sig, info, context);
		return;
	}
	ignored = action->sa_handler == SIG_IGN;
	if (!ignored && action->sa_handler != SIG_DFL) {
		call(action, sig, info, context);
	} else if (of_kernel || !ignored) {
		/* The access faults again and ends the process, as without our handler. */
		signal(sig, SIG_DFL);
		if (!of_kernel)
			raise(sig);
	}
}

/* Only async-signal-safe calls: the program may be interrupted anywhere. */
static void on_fault(unsigned int level, int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	bool again = info->si_code == SEGV_ACCERR &&
		     annex_guard_touch((uintptr_t)info->si_addr, is_write(context));

	errno = saved;
	if (!again)
		hand_down(&covered[level], sig, info, context);
}

#define HANDLER(level)                                                                             \
	static void handler_##level(int sig, siginfo_t *info, void *context)                       \
	{                                                                                          \
		on_fault(level, sig, info, context);                                               \
	}

HANDLER(0)
HANDLER(1)
HANDLER(2)
HANDLER(3)
HANDLER(4)
HANDLER(5)
HANDLER(6)
HANDLER(7)

static void (*const handlers[LEVELS])(int sig, siginfo_t *info, void *context) = {
	handler_0, handler_1, handler_2, handler_3, handler_4, handler_5, handler_6, handler_7,
};

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static void signal_init(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_atfork(take_lock, drop_lock, drop_lock);
}

/* Return: the level of one of our handlers; LEVELS: another handler. */
static unsigned int level_of(const struct sigaction *action)
{
	unsigned int i = 0;

	if (!(action->sa_flags & SA_SIGINFO))
		return LEVELS;
	while (i < LEVELS && handlers[i] != action->sa_sigaction)
		i++;
	return i;
}

/* Install the next handler over @now; over a default action, which calls none, the last again. */
static int cover(const struct sigaction *now)
{
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	bool calls = now->sa_flags & SA_SIGINFO ||
		     (now->sa_handler != SIG_DFL && now->sa_handler != SIG_IGN);
	unsigned int level = levels && !calls ? levels - 1 : levels;

	if (level == LEVELS)
		return -EMFILE;
	covered[level] = *now;
	ours.sa_sigaction = handlers[level];
	sigemptyset(&ours.sa_mask);
	if (sigaction(SIGSEGV, &ours, NULL))
		return -errno;
	levels = level + 1;
	return 0;
}

int annex_signal_keep(void)
{
	struct sigaction now;
	unsigned int level;
	bool tell;
	int err = 0;

	pthread_once(&once, signal_init);
	take_lock();
	if (sigaction(SIGSEGV, NULL, &now))
		err = -errno;
	level = level_of(&now);
	if (!err && level < LEVELS)
		levels = level + 1; /* handlers above were removed */
	else if (!err)
		err = cover(&now);
	tell = err && !told;
	told |= tell;
	drop_lock();
	if (tell)
		annex_log(ANNEX_LOG_WARNING,
			  "space: another handler has SIGSEGV, and a touch of absent bytes goes "
			  "to it: let it call the one that was there before");
	return err;
}

void annex_signal_end(void)
{
	struct sigaction now;

	if (annex_guard_any())
		return;
	pthread_once(&once, signal_init);
	take_lock();
	if (levels && !sigaction(SIGSEGV, NULL, &now) && level_of(&now) == levels - 1 &&
	    !sigaction(SIGSEGV, &covered[levels - 1], NULL))
		levels--;
	drop_lock();
}
