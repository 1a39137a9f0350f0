// SPDX-License-Identifier: MIT
/*
 * Detection of accesses: a userfaultfd for each mapping of a space's memory, or signals.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "core/uffd.h"
#include "page.h"
#include "fault.h"
#include "guard.h"

/* Once per process, since the reason is the same for every space. */
static void warn_untracked(const char *why)
{
	static uint32_t told;

	/* Relaxed: it orders no other memory. */
	if (annex_atomic_add(&told, 1u, ANNEX_RELAXED))
		return;
	annex_log(ANNEX_LOG_WARNING,
		  "space: first writes are not detected, so pages that were only read are written "
		  "out too (slower; results are the same): %s",
		  why);
}

static int too_old(void)
{
	return annex_fail(-EOPNOTSUPP,
			  "space: this kernel's userfaultfd is too old (Linux 5.19 has all): %m");
}

int annex_watch_open(struct annex_space *s, uint64_t features)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	enum uffd_way way;
	int err, fd = annex_uffd_open("space", &way);

	if (fd < 0)
		return fd;
	s->watch = way == UFFD_CALL     ? ANNEX_WATCH_SYSCALL
		   : way == UFFD_DEVICE ? ANNEX_WATCH_DEVICE
					: ANNEX_WATCH_USER;
	if (!ioctl(fd, UFFDIO_API, &api))
		return fd;
	err = too_old();
	close(fd);
	return err;
}

int annex_watch_range(const struct annex_space *s, int fd, const void *mapping, uint64_t mode)
{
	struct uffdio_register reg = {
		.range = {.start = (uintptr_t)mapping, .len = s->opts.size},
		.mode = mode,
	};

	return ioctl(fd, UFFDIO_REGISTER, &reg) ? too_old() : 0;
}

/* Return: a userfaultfd that reports accesses to a mapping of the file; a negative errno. */
static int watch_mapping(struct annex_space *s, const void *mapping, uint64_t mode)
{
	int err, fd = annex_watch_open(s, UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
						  UFFD_FEATURE_PAGEFAULT_FLAG_WP |
						  UFFD_FEATURE_WP_HUGETLBFS_SHMEM);

	if (fd < 0)
		return fd;
	err = annex_watch_range(s, fd, mapping, mode);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int watch_all(struct annex_space *s)
{
	uint64_t absent = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR;

	s->uffd = watch_mapping(s, s->base, absent | UFFDIO_REGISTER_MODE_WP);
	if (s->uffd < 0)
		return s->uffd;
	s->user_only = s->watch == ANNEX_WATCH_USER;
	/* Transfers are accesses by the kernel, which would fail on pages that it has reclaimed. */
	if (s->user_only)
		return 0;
	/* For annex_job_map(). Otherwise a page fault would map neighbours, too. */
	s->transfers = watch_mapping(s, s->alias, absent);
	return s->transfers < 0 ? s->transfers : 0;
}

/* Whether pages can be shown write-protected, to detect first writes: since Linux 6.4. */
static void try_tracking(struct annex_space *s)
{
	struct uffdio_continue c = {
		.range = {.start = (uintptr_t)s->base, .len = ANNEX_MEM_PAGE},
		.mode = CONTINUE_MODE_WP,
	};

	s->track = !fallocate(s->file, 0, 0, ANNEX_MEM_PAGE) &&
		   !ioctl(s->uffd, UFFDIO_CONTINUE, &c);
	if (!s->track)
		warn_untracked(errno == EINVAL ? "Linux can tell since 6.4" : strerror(errno));
	fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, ANNEX_MEM_PAGE);
}

/* Once per process, since the reason is the same for every space. */
static void warn_signals(void)
{
	static uint32_t told;

	/* Relaxed: it orders no other memory. */
	if (!annex_atomic_add(&told, 1u, ANNEX_RELAXED))
		annex_log(ANNEX_LOG_WARNING,
			  "touches of tensors are heard of by signals (SIGSEGV), slower: %s",
			  annex_last_error());
}

/* Accesses by the kernel, such as transfers, raise no signal. */
static int watch_by_signals(struct annex_space *s)
{
	int err;

	warn_signals();
	if (mprotect(s->base, s->opts.size, PROT_NONE))
		return annex_fail(-errno, "space: its pages cannot be hidden: %m");
	err = annex_guard_start(s->base, s->opts.size, &s->guard);
	if (err)
		return err;
	err = annex_signal_keep();
	if (err)
		return annex_fail(err, "space: SIGSEGV cannot be caught: %s", strerror(-err));
	s->watch = ANNEX_WATCH_SIGNAL;
	s->user_only = s->track = true;
	return 0;
}

int annex_watch_start(struct annex_space *s)
{
	int err = watch_all(s);

	if (err == -EPERM || err == -ENOSYS)
		return watch_by_signals(s);
	if (!err)
		try_tracking(s);
	return err;
}

void annex_watch_stop(struct annex_space *s)
{
	if (!s->guard)
		return;
	annex_guard_end(s->guard);
	annex_signal_end();
}

void annex_space_get_watch(const struct annex_space *s, enum annex_watch *how, bool *writes)
{
	*how = s->watch;
	*writes = s->track;
}
