// SPDX-License-Identifier: MIT
/*
 * Mappings are known by a table that a signal handler can read: slots in chunks, which are added
 * and never freed. A slot's sequence number is odd while its owner changes it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>
#include <annex/detail/atomic.h>
#include "log.h"
#include "mapping.h"

#define CHUNK 64
#define STAT_BLOCK 512 /* bytes of st_blocks */

enum loss { LOSS_NONE, LOSS_GONE, LOSS_POISON };

/*
 * struct annex_mapping - A mapping. The handler uses the first four members; the lock protects the
 * others.
 * @seq: sequence number of @base and @end; odd while they change.
 * @loss: enum loss.
 * @base: its first address; 0: the slot is free.
 * @end: the address after it.
 * @name: name of the file.
 * @fd: the file, or -1.
 * @dev: device of the file.
 * @ino: inode number of the file.
 * @regular: it is a regular file.
 * @sized: that file was as large as the mapping.
 * @whole: all of its blocks were allocated, on a file system that does not free blocks by itself.
 */
struct annex_mapping {
	uint32_t seq;
	uint32_t loss;
	uintptr_t base, end;
	char *name;
	int fd;
	dev_t dev;
	ino_t ino;
	bool regular, sized, whole;
};

struct chunk {
	struct annex_mapping slot[CHUNK];
	struct chunk *next;
};

static struct chunk chunks;
static uint32_t losses; /* number of losses that the handler has found */
static char ever[512];  /* message of a lost mapping that is no longer watched */
static uintptr_t page;
static struct sigaction before;
static bool caught;
static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static void mapping_init(void)
{
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	pthread_mutex_init(&lock, NULL);
	pthread_atfork(take_lock, drop_lock, drop_lock);
}

/* Read a slot. Return: whether it is in use. */
static bool read_slot(const struct annex_mapping *m, uintptr_t *base, uintptr_t *end)
{
	/* Acquire, and the fence: both addresses have the same sequence number. */
	uint32_t seq = annex_atomic_load(&m->seq, ANNEX_ACQUIRE);

	*base = annex_atomic_load(&m->base, ANNEX_RELAXED);
	*end = annex_atomic_load(&m->end, ANNEX_RELAXED);
	annex_atomic_fence(ANNEX_ACQUIRE);
	return !(seq & 1) && annex_atomic_load(&m->seq, ANNEX_RELAXED) == seq && *base;
}

static void write_slot(struct annex_mapping *m, uintptr_t base, uintptr_t end)
{
	uint32_t seq = annex_atomic_load(&m->seq, ANNEX_RELAXED);

	annex_atomic_store(&m->seq, seq + 1, ANNEX_RELAXED);
	/* Pairs with read_slot(): no address is seen with the previous number. */
	annex_atomic_fence(ANNEX_RELEASE);
	annex_atomic_store(&m->base, base, ANNEX_RELAXED);
	annex_atomic_store(&m->end, end, ANNEX_RELAXED);
	annex_atomic_store(&m->loss, LOSS_NONE, ANNEX_RELAXED);
	annex_atomic_store(&m->seq, seq + 2, ANNEX_RELEASE);
}

static struct chunk *chunk_behind(const struct chunk *c)
{
	/* Acquire: pairs with add_chunk(). */
	return annex_atomic_load(&c->next, ANNEX_ACQUIRE);
}

/* The mapping that has a byte of [@from, @to), or NULL. @lost: only lost mappings. */
static struct annex_mapping *find(uintptr_t from, uintptr_t to, bool lost, uintptr_t *base,
				  uintptr_t *end)
{
	for (struct chunk *c = &chunks; c; c = chunk_behind(c)) {
		for (unsigned int i = 0; i < CHUNK; i++) {
			struct annex_mapping *m = &c->slot[i];

			/* Relaxed: a thread that reads lost bytes ran the handler itself, or is
			 * ordered by locks after a thread that did. */
			if (lost && !annex_atomic_load(&m->loss, ANNEX_RELAXED))
				continue;
			if (read_slot(m, base, end) && *base < to && from < *end)
				return m;
		}
	}
	return NULL;
}

static bool replace(uintptr_t from, uintptr_t to)
{
	return mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
		    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

/* Replace lost memory: a poisoned page, or everything behind the new end of a file. If a huge page
 * prevents that, replace the whole mapping. */
static bool lose(const void *addr, bool poison)
{
	uintptr_t at = (uintptr_t)addr & ~(page - 1), base, end, to;
	struct annex_mapping *m = find(at, at + 1, false, &base, &end);

	if (!m)
		return false;
	to = poison ? at + page : end;
	if (!replace(at, to) && !replace(base, end))
		return false;
	annex_atomic_store(&m->loss, poison ? LOSS_POISON : LOSS_GONE, ANNEX_RELAXED);
	/* Release: pairs with annex_mapping_any_lost(). */
	annex_atomic_add(&losses, 1, ANNEX_RELEASE);
	return true;
}

/* Only async-signal-safe calls: the program may be interrupted anywhere. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	/* The kernel sets codes above 0 for an access; any process may send the others. */
	if (info->si_code > 0 && lose(info->si_addr, info->si_code == BUS_MCEERR_AR)) {
		errno = saved;
	} else if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else if (info->si_code > 0 || before.sa_handler == SIG_DFL) {
		/* The access faults again and ends the process, as without this handler. */
		signal(sig, SIG_DFL);
		if (info->si_code <= 0)
			raise(sig);
	}
}

int annex_mapping_catch(void)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	int err = 0;

	pthread_once(&once, mapping_init);
	take_lock();
	sigemptyset(&sa.sa_mask);
	if (!caught && (sigaction(SIGBUS, NULL, &before) || sigaction(SIGBUS, &sa, NULL)))
		err = annex_fail(-errno, "SIGBUS cannot be caught: %m");
	caught |= !err;
	drop_lock();
	return err;
}

bool annex_mapping_poison(const void *addr)
{
	bool catches;

	pthread_once(&once, mapping_init);
	take_lock();
	catches = caught;
	drop_lock();
	return catches && lose(addr, true);
}

static struct annex_mapping *free_slot(void)
{
	struct chunk *c = &chunks, *next;

	for (;;) {
		for (unsigned int i = 0; i < CHUNK; i++)
			if (!c->slot[i].base)
				return &c->slot[i];
		next = chunk_behind(c);
		if (!next) {
			next = calloc(1, sizeof(*next));
			if (!next)
				return NULL;
			/* Release: with chunk_behind(). */
			annex_atomic_store(&c->next, next, ANNEX_RELEASE);
		}
		c = next;
	}
}

/* Elsewhere a file loses blocks to compression, or they are counted late. */
static bool keeps_blocks(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == EXT4_SUPER_MAGIC ||
				     fs.f_type == XFS_SUPER_MAGIC);
}

static bool is_whole(const struct stat *st, uint64_t bytes)
{
	return (uint64_t)st->st_blocks * STAT_BLOCK >= bytes;
}

static void look_at_file(struct annex_mapping *m, int fd, size_t bytes)
{
	struct stat st;

	m->fd = fd;
	m->regular = m->sized = m->whole = false;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	m->regular = true;
	m->sized = (uint64_t)st.st_size >= bytes;
	m->whole = m->sized && is_whole(&st, bytes) && keeps_blocks(fd);
}

int annex_mapping_watch(const char *name, int fd, const void *addr, size_t bytes,
			struct annex_mapping **out)
{
	char *copy = strdup(name);
	struct annex_mapping *m;

	pthread_once(&once, mapping_init);
	take_lock();
	m = copy ? free_slot() : NULL;
	if (m) {
		m->name = copy;
		look_at_file(m, fd, bytes);
		write_slot(m, (uintptr_t)addr, (uintptr_t)addr + bytes);
	}
	drop_lock();
	if (!m) {
		free(copy);
		return annex_fail(-ENOMEM, "%.64s: out of memory", name);
	}
	*out = m;
	return 0;
}

/* The number may be of another file by now, as in a child that has closed its parent's file. */
static bool is_cut(const struct annex_mapping *m)
{
	uint64_t bytes = m->end - m->base;
	struct stat st;

	if (!m->sized || fstat(m->fd, &st) || st.st_dev != m->dev || st.st_ino != m->ino)
		return false;
	return (uint64_t)st.st_size < bytes || (m->whole && !is_whole(&st, bytes));
}

/* With the lock. */
static int check(struct annex_mapping *m)
{
	uint32_t loss = annex_atomic_load(&m->loss, ANNEX_RELAXED);

	if (!m->base)
		return 0;
	if (!loss && is_cut(m)) {
		loss = LOSS_GONE;
		annex_atomic_store(&m->loss, loss, ANNEX_RELAXED);
		annex_atomic_add(&losses, 1, ANNEX_RELEASE);
	}
	if (loss == LOSS_POISON)
		return annex_fail(-EIO, "%s: its memory is poisoned", m->name);
	if (loss && m->regular)
		return annex_fail(-EIO, "%s: it was truncated while it was mapped", m->name);
	return loss ? annex_fail(-EIO, "%s: its memory is gone", m->name) : 0;
}

int annex_mapping_check(struct annex_mapping *m)
{
	int err;

	if (!m)
		return 0;
	take_lock();
	err = check(m);
	drop_lock();
	return err;
}

int annex_mapping_check_all(void)
{
	int err = 0;

	pthread_once(&once, mapping_init);
	take_lock();
	for (struct chunk *c = &chunks; c && !err; c = c->next)
		for (unsigned int i = 0; i < CHUNK && !err; i++)
			err = check(&c->slot[i]);
	if (!err && ever[0])
		err = annex_fail(-EIO, "%s", ever);
	drop_lock();
	return err;
}

void annex_mapping_end(struct annex_mapping *m)
{
	KEEP_LAST_ERROR(true);

	if (!m)
		return;
	take_lock();
	if (check(m) && !ever[0])
		snprintf(ever, sizeof(ever), "%s", annex_last_error());
	write_slot(m, 0, 0);
	free(m->name);
	m->name = NULL;
	drop_lock();
}

bool annex_mapping_any_lost(void)
{
	/* Acquire: with lose(). */
	return annex_atomic_load(&losses, ANNEX_ACQUIRE);
}

bool annex_mapping_lost(const void *addr, size_t bytes)
{
	uintptr_t from = (uintptr_t)addr, base, end;

	return annex_mapping_any_lost() && find(from, from + bytes, true, &base, &end);
}
