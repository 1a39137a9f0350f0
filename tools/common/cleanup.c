// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "cleanup.h"
#include "error.h"

#define SLOTS 128

static char *slots[SLOTS];

static int slot_of(const char *path)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i] && !strcmp(slots[i], path))
			return i;
	return -1;
}

static int remove_path(const char *path)
{
	int rc = unlink(path);

	return rc && errno == EISDIR ? rmdir(path) : rc;
}

/* Only async-signal-safe calls here: the program may be anywhere. */
void cleanup_all(void)
{
	for (int i = SLOTS - 1; i >= 0; i--) {
		char *path = annex_atomic_load(&slots[i], ANNEX_ACQUIRE);

		if (path)
			remove_path(path);
	}
}

static void on_signal(int sig)
{
	cleanup_all();
	signal(sig, SIG_DFL);
	raise(sig);
}

static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
#define NSIGS (sizeof(sigs) / sizeof(sigs[0]))

void cleanup_init(void)
{
	struct sigaction sa = {.sa_handler = on_signal}, old;

	for (unsigned int i = 0; i < NSIGS; i++) {
		sigaction(sigs[i], NULL, &old);
		if (old.sa_handler != SIG_IGN) /* nohup's wish is respected */
			sigaction(sigs[i], &sa, NULL);
	}
	/* A file that would be larger than RLIMIT_FSIZE is an error like others: EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned int i = 0; i < NSIGS; i++)
		sigaddset(&set, sigs[i]);
	pthread_sigmask(how, &set, NULL);
}

static _Thread_local unsigned int holds;

void cleanup_hold(void)
{
	if (!holds++)
		mask(SIG_BLOCK);
}

void cleanup_release(void)
{
	if (!--holds)
		mask(SIG_UNBLOCK);
}

int cleanup_add(const char *path)
{
	char *copy = strdup(path);
	int free_slot = 0;

	if (!copy)
		return err_set(-ENOMEM, "out of memory");
	/* A directory is added before its files: order counts, so gaps are not reused. */
	for (int i = 0; i < SLOTS; i++)
		if (slots[i])
			free_slot = i + 1;
	if (free_slot == SLOTS) {
		free(copy);
		return err_set(-ENOSPC, "more than %d temporary files at once", SLOTS);
	}
	annex_atomic_store(&slots[free_slot], copy, ANNEX_RELEASE);
	return 0;
}

void cleanup_forget(const char *path)
{
	int i = slot_of(path);
	char *copy;

	if (i < 0)
		return;
	copy = slots[i];
	annex_atomic_store(&slots[i], NULL, ANNEX_RELEASE);
	free(copy);
}

int cleanup_remove(const char *path)
{
	int err = remove_path(path) && errno != ENOENT ? err_sys("cannot remove %s", path) : 0;

	cleanup_forget(path);
	return err;
}
