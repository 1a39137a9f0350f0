// SPDX-License-Identifier: MIT
/*
 * shm: a shared file, which may be the memory of an emulated device too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "core/log.h"
#include "hdm.h"
#include "lock.h"

/* struct shm - @made: its file was not there before. */
struct shm {
	struct annex_medium m;
	const char *path;
	uint64_t size;
	bool made;
};

static void close_shm(struct annex_medium *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	free(m->poison);
	free(m);
}

/* Of a file on a DAX filesystem, and of one that is in the page cache. */
static const struct annex_medium_ops direct_ops = {.close = close_shm};
static const struct annex_medium_ops cached_ops = {
	.flush = "msync", .persist = hdm_msync, .close = close_shm};

static int say(const struct shm *s, int err)
{
	return annex_fail(err, "shm:%s: %s", s->path, strerror(-err));
}

/* Made only where it is not there and a size is given. */
static int open_file(struct shm *s)
{
	for (int tries = 0; tries < 8; tries++) {
		s->m.fd = open(s->path, O_RDWR | O_CLOEXEC);
		if (s->m.fd >= 0)
			return 0;
		if (errno == ENOENT && !s->size)
			return annex_fail(-ENOENT, "shm:%s: not there; size= makes it", s->path);
		if (errno != ENOENT)
			return say(s, -errno);
		s->m.fd = open(s->path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
		s->made = s->m.fd >= 0;
		if (s->made)
			return 0;
		if (errno != EEXIST)
			return say(s, -errno);
	}
	return say(s, -EBUSY);
}

/* All of it at once: a page that cannot be had later would be a SIGBUS. */
static int grow(struct shm *s)
{
	if (!fallocate(s->m.fd, 0, 0, (off_t)s->size))
		return 0;
	if (errno == EOPNOTSUPP && !ftruncate(s->m.fd, (off_t)s->size))
		return 0;
	return annex_fail(-errno, "shm:%s: no %llu bytes: %m", s->path, (ull)s->size);
}

/* A process that made it and failed has removed it, and perhaps another one has made it anew. */
static bool is_at_path(const struct shm *s, const struct stat *st)
{
	struct stat now;

	return !stat(s->path, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

/* With the lock: processes that wait for it look whether the file is there still. */
static void unmake(struct shm *s)
{
	if (s->made && !lock_taken(s->m.fd, LOCK_OWNER(0), HDM_OWNERS))
		unlink(s->path);
	s->made = false;
}

/* -ESTALE, without a line: it is not there any more. */
static int give_size(struct shm *s, uint32_t timeout_ms)
{
	struct stat st;
	int err;

	if (fstat(s->m.fd, &st))
		return say(s, -errno);
	if (!S_ISREG(st.st_mode))
		return annex_fail(-EINVAL, "shm:%s: no regular file", s->path);
	/* Processes that make it, or find it empty, grow it once between them. */
	err = lock_take(s->m.fd, LOCK_TABLE, annex_deadline_ms(timeout_ms));
	if (err == -ETIMEDOUT)
		return lock_late(s->m.fd, s->path, timeout_ms);
	if (err)
		return say(s, err);
	err = fstat(s->m.fd, &st) ? say(s, -errno) : 0;
	if (!err && !is_at_path(s, &st))
		err = -ESTALE;
	if (!err && !st.st_size && s->size) {
		err = grow(s);
		st.st_size = (off_t)s->size;
		if (err)
			unmake(s);
	}
	lock_drop(s->m.fd, LOCK_TABLE);
	if (err)
		return err;
	if (s->size && (uint64_t)st.st_size != s->size)
		return annex_fail(-EINVAL, "shm:%s: it has %llu bytes, not %llu", s->path,
				  (ull)st.st_size, (ull)s->size);
	if ((uint64_t)st.st_size < ANNEX_HDM_MIN)
		return annex_fail(-EINVAL, "shm:%s: %llu bytes; a range has at least %llu", s->path,
				  (ull)st.st_size, ANNEX_HDM_MIN);
	s->m.bytes = (uint64_t)st.st_size / HDM_PAGE * HDM_PAGE;
	return 0;
}

static int open_sized(struct shm *s, uint32_t timeout_ms)
{
	int err = open_file(s);

	while (!err) {
		err = give_size(s, timeout_ms);
		if (err != -ESTALE)
			return err;
		close(s->m.fd);
		s->m.fd = -1;
		s->made = false;
		err = open_file(s);
	}
	return err;
}

/* MAP_SYNC works where there is no page cache between the program and the medium. */
static int map_file(struct shm *s, const struct annex_uri *uri)
{
	int err;

	s->m.base = annex_medium_map(s->m.fd, s->m.bytes, 0, MAP_SHARED_VALIDATE | MAP_SYNC);
	s->m.persistent = s->m.base;
	s->m.ops = s->m.base ? &direct_ops : &cached_ops;
	if (!s->m.base)
		s->m.base = annex_medium_map(s->m.fd, s->m.bytes, 0, MAP_SHARED);
	err = s->m.base ? annex_hdm_unshare(&s->m) : say(s, -errno);
	return err ? err : annex_uri_bool(uri, "persistent", &s->m.persistent);
}

static int by_address(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The pages that poison= names, as if the medium had said so. */
static int read_poison(struct shm *s, const struct annex_uri *uri)
{
	struct annex_medium *m = &s->m;

	m->poison = calloc(ANNEX_URI_PARAMS, sizeof(*m->poison));
	if (!m->poison)
		return say(s, -ENOMEM);
	for (unsigned int i = 0; i < uri->nparams; i++) {
		uint64_t at;
		int err;

		if (strcmp(uri->params[i].key, "poison"))
			continue;
		err = annex_parse_size(uri->params[i].value, &at);
		if (!err && at >= m->bytes)
			err = -ERANGE;
		if (err)
			return annex_fail(err, "shm: poison=%.32s is no offset in it",
					  uri->params[i].value);
		m->poison[m->npoison++] = (struct range){at / HDM_PAGE * HDM_PAGE, HDM_PAGE};
	}
	qsort(m->poison, m->npoison, sizeof(*m->poison), by_address);
	return 0;
}

int hdm_shm_open(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	static const char *const keys[] = {"size", "persistent", "format", "poison...", NULL};
	struct shm *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "shm: out of memory");
	s->m = (struct annex_medium){.ops = &cached_ops, .fd = -1, .node = -1};
	s->path = uri->body;
	err = *s->path ? annex_uri_check_keys(uri, keys)
		       : annex_fail(-EINVAL, "shm: name a file, as in shm:/dev/shm/range");
	if (!err)
		err = annex_uri_u64(uri, "size", ANNEX_HDM_MIN, INT64_MAX / 2, &s->size);
	if (!err && s->size % HDM_PAGE)
		err = annex_fail(-EINVAL, "shm: size= is no multiple of %u", HDM_PAGE);
	if (!err)
		err = open_sized(s, timeout_ms);
	if (!err)
		err = map_file(s, uri);
	if (!err)
		err = read_poison(s, uri);
	if (err) {
		if (s->made && !lock_take(s->m.fd, LOCK_TABLE, annex_deadline_ms(timeout_ms)))
			unmake(s); /* the lock goes with the file */
		close_shm(&s->m);
		return err;
	}
	*out = &s->m;
	return 0;
}
