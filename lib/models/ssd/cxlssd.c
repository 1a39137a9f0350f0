// SPDX-License-Identifier: MIT
/*
 * cxlssd: a CXL-SSD (annex/models/cxlssd.h) behind a window of host memory. The process that opens
 * its file first has it; others attach.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "attach.h"
#include "core/log.h"
#include "core/thread.h"
#include "hdm/hdm.h"
#include "ssd.h"
#include "window.h"

#define NAP_NS 1000000l

struct cxlssd {
	struct annex_medium m;
	struct annex_cxlssd *s;
	struct window *w;
	struct attach_owner *others;
	int file; /* that the window has its pages in */
	pid_t owner;
};

static int persist(struct annex_medium *m, void *ptr, size_t len)
{
	struct cxlssd *c = (struct cxlssd *)m;

	return window_persist(c->w, (uint64_t)((char *)ptr - m->base), len);
}

static int hold(struct annex_medium *m, void *ptr, size_t len)
{
	return window_hold(((struct cxlssd *)m)->w, (uint64_t)((char *)ptr - m->base), len);
}

static void let(struct annex_medium *m, void *ptr, size_t len)
{
	window_let(((struct cxlssd *)m)->w, (uint64_t)((char *)ptr - m->base), len);
}

static void close_cxlssd(struct annex_medium *m)
{
	struct cxlssd *c = (struct cxlssd *)m;
	const bool child = c->owner != getpid();
	int err, flushed;

	attach_end(c->others);
	err = c->w ? window_close(c->w) : 0;
	flushed = annex_cxlssd_close(c->s);
	if (err || flushed)
		annex_log(ANNEX_LOG_ERROR,
			  "cxlssd: not all that was stored was written; what was persisted is "
			  "there: %s",
			  annex_last_error());
	/* A child does not have it; its addresses may be another mapping's. */
	if (m->base && !child)
		munmap(m->base, m->bytes);
	if (c->file >= 0)
		close(c->file);
	if (m->fd >= 0)
		close(m->fd);
	free(c);
}

static const struct annex_medium_ops ops = {.flush = "the endpoint's fence",
					    .persist = persist,
					    .hold = hold,
					    .let = let,
					    .close = close_cxlssd};

static int map(struct cxlssd *c)
{
	struct annex_medium *m = &c->m;
	int err;

	m->bytes = annex_cxlssd_bytes(c->s) / HDM_PAGE * HDM_PAGE;
	m->fd = memfd_create("annex-cxlssd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Other processes have it too: none can take memory away by cutting it short. */
	if (m->fd < 0 || ftruncate(m->fd, (off_t)m->bytes) ||
	    fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return annex_fail(-errno, "cxlssd: %m");
	m->base = annex_medium_map(m->fd, m->bytes, 0, MAP_SHARED | MAP_NORESERVE);
	if (!m->base)
		return annex_fail(-errno, "cxlssd: no %llu bytes of addresses: %m", (ull)m->bytes);
	c->file = dup(m->fd);
	err = c->file < 0 ? annex_fail(-errno, "cxlssd: %m") : 0;
	return err ? err : hdm_unshare(m);
}

/* @listener is closed with the range, and also when that fails; -1: no other process attaches. */
static int start(struct cxlssd *c, uint64_t window, int listener)
{
	int err = map(c);

	if (!err)
		err = window_open(c->s, c->file, c->m.base, c->m.bytes, window, &c->w);
	if (err && listener >= 0)
		close(listener);
	/* Without others it is of use still. */
	if (!err && listener >= 0)
		attach_serve(c->w, listener, c->s->file->fd, c->file, c->m.bytes,
			     annex_cxlssd_bytes(c->s), &c->others);
	return err;
}

static int own(const struct annex_uri *uri, uint64_t window, struct annex_medium **out)
{
	struct cxlssd *c = calloc(1, sizeof(*c));
	uint64_t number = 0;
	int listener, err;

	if (!c)
		return annex_fail(-ENOMEM, "cxlssd: out of memory");
	c->m = (struct annex_medium){.ops = &ops, .fd = -1, .node = -1};
	c->file = -1;
	c->owner = getpid();
	c->m.persistent = *uri->body;
	c->m.scratch = !c->m.persistent;
	listener = *uri->body ? attach_listen(&number) : -1;
	if (*uri->body && listener < 0)
		annex_log(ANNEX_LOG_WARNING, "cxlssd: no socket, no other process can attach: %s",
			  strerror(-listener));
	err = ssd_open(uri, true, listener < 0 ? 0 : number, &c->s);
	if (err && listener >= 0)
		close(listener);
	if (!err)
		err = start(c, window, listener);
	if (err) {
		close_cxlssd(&c->m);
		return err;
	}
	*out = &c->m;
	return 0;
}

/* *@number: 0: nobody has the file, or somebody who lets nobody attach. Return: the file, or an
 * error where there is none yet. */
static int look(const char *path, uint64_t *number, bool *taken)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	*taken = fd >= 0 && ssd_file_locked(fd, number);
	if (!*taken || *number < ATTACH_NUMBER)
		*number = 0;
	return fd;
}

static int own_or_attach(const struct annex_uri *uri, uint64_t size, uint64_t window,
			 uint32_t timeout_ms, struct annex_medium **out)
{
	const uint64_t deadline = annex_deadline_ms(timeout_ms);
	const struct timespec nap = {0, NAP_NS};
	int err;

	for (;;) {
		uint64_t number;
		bool taken;
		int fd = look(uri->body, &number, &taken);

		if (number)
			err = attach_open(uri->body, fd, number, size, deadline, timeout_ms, out);
		else
			err = own(uri, window, out);
		if (fd >= 0)
			close(fd);
		/* One that was just closing, or has been faster, is another one's in a moment. */
		if (number ? err != -EAGAIN : err != -EBUSY || taken)
			return err;
		if (annex_now() >= deadline)
			return annex_fail(-EBUSY,
					  "cxlssd:%s: another process has it, and does not answer",
					  uri->body);
		THREAD_KEPT(nanosleep(&nap, NULL));
	}
}

static int open_cxlssd(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	uint64_t window = UINT64_MAX, size;
	int err = ssd_uri_read(uri, &size);

	if (!err)
		err = annex_uri_u64(uri, "window", WINDOW_MIN, INT64_MAX / 2, &window);
	if (err)
		return err;
	return *uri->body ? own_or_attach(uri, size, window, timeout_ms, out)
			  : own(uri, window, out);
}

static struct hdm_scheme kind = {
	.scheme = {"cxlssd", "a CXL-SSD in a file, as cxlssd:/path?size=1G", ANNEX_TRAIT_PATH},
	.open = open_cxlssd,
};

static __attribute__((constructor)) void add_kind(void)
{
	annex_hdm_scheme_add(&kind);
}
