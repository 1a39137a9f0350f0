// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/array.h"
#include "core/least.h"
#include "core/racy.h"
#include "core/packet.h"
#include "core/shared.h"
#include "core/thread.h"
#include "link.h"
#include "nvme/emu/emu.h"

#define PAGES (ANNEX_SERVE_ARENA / 4096)
#define RETRY_NS (20 * ANNEX_NSEC_PER_MSEC) /* between attempts to find a daemon */
#define IDLE_LOOKS 256u                     /* without a result, before the socket is checked */

static bool is_used(const struct emu_link *l, uint32_t page)
{
	return l->map[page / 64] >> page % 64 & 1;
}

/* Pages become used or free. */
static void arena_mark(struct emu_link *l, uint32_t page, uint32_t pages)
{
	for (uint32_t i = page; i < page + pages; i++)
		l->map[i / 64] ^= 1ull << i % 64;
}

/* The first page of so many free ones, between two pages. */
static uint32_t arena_find(const struct emu_link *l, uint32_t from, uint32_t to, uint32_t pages)
{
	uint32_t run = 0;

	for (uint32_t i = from; i < to; i++) {
		if (!(i % 64) && l->map[i / 64] == UINT64_MAX) {
			run = 0;
			i += 63;
			continue;
		}
		run = is_used(l, i) ? 0 : run + 1;
		if (run == pages)
			return i + 1 - pages;
	}
	return UINT32_MAX;
}

/* The first of @pages free pages of the arena; UINT32_MAX: there are not so many together. */
static uint32_t arena_take(struct emu_link *l, uint32_t pages)
{
	uint32_t page = arena_find(l, l->page, PAGES, pages);

	if (page == UINT32_MAX)
		page = arena_find(l, 0, PAGES, pages);
	if (page == UINT32_MAX)
		return page;
	arena_mark(l, page, pages);
	/* Use a part of the arena again and again: it stays in the processor's caches. */
	l->page = page + pages < PAGES / 8 ? page + pages : 0;
	return page;
}

static int link_issue(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns)
{
	struct emu_link *l = emu->own;

	(void)ns;
	req->next = NULL;
	*(l->first ? &l->last->next : &l->first) = req;
	l->last = req;
	return EMU_PENDING;
}

/* The daemon has the command of a slot no longer. */
static void free_slot(struct emu_link *l, struct emu_link_slot *slot)
{
	if (slot->pages)
		arena_mark(l, slot->page, slot->pages);
	slot->sent = false;
}

/* Every step that has not ended does so now. */
static void end_all(struct annex_emu *emu, int res)
{
	struct emu_link *l = emu->own;
	struct emu_req *req;

	for (uint32_t i = 0; i < EMU_LINK_REQS + 1; i++) {
		if (l->slots[i].sent) {
			free_slot(l, &l->slots[i]);
			annex_emu_step_ended(emu, &emu->reqs[i], res);
		}
	}
	while ((req = l->first)) {
		l->first = req->next;
		annex_emu_step_ended(emu, req, res);
	}
}

static void hang_up(struct annex_emu *emu)
{
	struct emu_link *l = emu->own;

	annex_log(ANNEX_LOG_WARNING, "unix:%s: the daemon is gone: commands in flight have failed",
		  l->path);
	annex_emu_session_end(l);
	end_all(emu, -ESHUTDOWN);
}

/* Look for a daemon, once every RETRY_NS. */
static bool reconnect(struct emu_link *l)
{
	uint64_t now = annex_now();
	int err;

	if (now < l->retry_at)
		return false;
	l->sq_tail = l->cq_head = 0;
	err = annex_emu_session_begin(l);
	if (err) {
		/* The missing daemon was already logged. */
		if (err != l->refusal && err != -ECONNREFUSED && err != -ENOENT)
			annex_log(ANNEX_LOG_WARNING, "%s", annex_last_error());
		l->refusal = err;
		l->retry_at = annex_now() + RETRY_NS;
		return false;
	}
	l->refusal = 0;
	annex_log(ANNEX_LOG_WARNING, "unix:%s: a daemon is there again", l->path);
	return true;
}

/* Copy the data of a step to the arena or from it. */
static void copy(const struct emu_link *l, const struct emu_io *io,
		 const struct emu_link_slot *slot)
{
	char *at = l->s.arena + (size_t)slot->page * 4096;

	annex_racy_begin();
	if (io->opcode == ANNEX_NVM_WRITE)
		annex_emu_from_host(io->v, io->n, at, (uint32_t)io->len);
	else
		annex_emu_to_host(io->v, io->n, at, (uint32_t)io->len);
	annex_racy_end();
}

/* Set the place of the data. Return: false: the arena has no room for it now. */
static bool set_data(struct emu_link *l, const struct emu_req *req, struct emu_link_slot *slot,
		     struct annex_serve_sqe *cmd)
{
	const struct emu_link_mem *m = req->buf < 0 ? NULL : &l->mem[req->buf];
	const struct emu_io *io = &req->io;

	if (m && m->known) {
		cmd->mem = (uint16_t)(req->buf + 1);
		cmd->offset = (uintptr_t)io->one.iov_base - m->range.addr;
		return true;
	}
	slot->pages = (uint32_t)(io->len + 4095) / 4096;
	slot->page = arena_take(l, slot->pages);
	if (slot->page == UINT32_MAX)
		return false;
	cmd->offset = (uint64_t)slot->page * 4096;
	l->copied += io->len;
	if (io->opcode == ANNEX_NVM_WRITE)
		copy(l, io, slot);
	return true;
}

/* Return: false: there is no room now. */
static bool send_step(struct annex_emu *emu, struct emu_link *l, struct emu_req *req)
{
	const struct emu_io *io = &req->io;
	struct annex_serve_sqe cmd = {
		.opcode = io->opcode,
		.flags = io->opcode == ANNEX_NVM_WRITE && io->fua ? ANNEX_SERVE_FUA : 0,
		.tag = (uint32_t)(req - emu->reqs),
		.pos = io->pos,
		.len = io->len,
	};
	struct emu_link_slot *slot = &l->slots[cmd.tag];

	*slot = (struct emu_link_slot){.sent = false};
	if (io->n && !set_data(l, req, slot, &cmd))
		return false;
	slot->sent = true;
	l->s.sq[l->sq_tail++ % ANNEX_SERVE_ENTRIES] = cmd;
	return true;
}

static void link_submit(struct annex_emu *emu)
{
	struct emu_link *l = emu->own;
	struct annex_serve_head *head;
	uint32_t asleep = 1, tail;

	if (!l->first)
		return;
	if (!l->s.head && !reconnect(l)) {
		end_all(emu, -ESHUTDOWN);
		return;
	}
	head = l->s.head;
	tail = l->sq_tail; /* a new session has begun at 0 */
	while (l->first && send_step(emu, l, l->first))
		l->first = l->first->next;
	if (l->sq_tail == tail)
		return;
	/* Release: a daemon that sees the tail sees the commands, and the data in memory. */
	annex_atomic_store(&head->sq_tail.v, l->sq_tail, ANNEX_RELEASE);
	/*
	 * Both sides do a read-modify-write on this word, so one comes first: either this finds
	 * the mark, or the daemon's acquires this one, and with it the tail.
	 */
	if (annex_atomic_add(&head->server_sleeps.v, 0u, ANNEX_SEQ_CST) &&
	    annex_atomic_cas(&head->server_sleeps.v, &asleep, 0u, ANNEX_SEQ_CST))
		THREAD_KEPT(eventfd_write(l->s.kick, 1));
}

/* The daemon can change it while it is read. */
static struct annex_serve_cqe load(const struct annex_serve_cqe *at)
{
	/* Relaxed: take_results() has acquired the tail. */
	uint64_t word = annex_atomic_load((const uint64_t *)(const void *)at, ANNEX_RELAXED);
	struct annex_serve_cqe cqe;

	memcpy(&cqe, &word, sizeof(cqe));
	return cqe;
}

/* A result; one without a command is ignored. */
static void take(struct annex_emu *emu, struct emu_link *l, struct annex_serve_cqe cqe)
{
	struct emu_link_slot *slot = &l->slots[cqe.tag <= EMU_LINK_REQS ? cqe.tag : 0];
	struct emu_req *req = &emu->reqs[slot - l->slots];
	int res = cqe.result < 0 ? cqe.result : 0;

	if (cqe.tag > EMU_LINK_REQS || !slot->sent)
		return;
	if (!res && req->io.n) {
		res = (int)req->io.len;
		if (slot->pages && req->io.opcode == ANNEX_NVM_READ)
			copy(l, &req->io, slot);
	}
	free_slot(l, slot);
	annex_emu_step_ended(emu, req, res);
}

static unsigned int take_results(struct annex_emu *emu, struct emu_link *l)
{
	/* Acquire: pairs with the daemon's release; result and data are visible. */
	uint32_t tail = annex_atomic_load(&l->s.head->cq_tail.v, ANNEX_ACQUIRE), n = 0;

	for (; l->cq_head != tail && n < ANNEX_SERVE_ENTRIES; n++)
		take(emu, l, load(&l->s.cq[l->cq_head++ % ANNEX_SERVE_ENTRIES]));
	/* Release: the daemon may write those entries again. */
	if (n)
		annex_atomic_store(&l->s.head->cq_head.v, l->cq_head, ANNEX_RELEASE);
	return n;
}

static bool link_reap(struct annex_emu *emu)
{
	struct emu_link *l = emu->own;

	if (!l->s.head)
		return true;
	l->idle = take_results(emu, l) ? 0 : l->idle + 1;
	/* Relaxed: a hint to look. */
	if (l->idle > IDLE_LOOKS || annex_atomic_load(&l->risen, ANNEX_RELAXED)) {
		l->idle = 0;
		annex_atomic_store(&l->risen, 0u, ANNEX_RELAXED);
		if (!annex_emu_session_alive(l))
			hang_up(emu);
	}
	return true;
}

/* If results are there already, the wait ends at once. */
static bool link_doze(struct annex_emu *emu)
{
	struct emu_link *l = emu->own;
	struct annex_serve_head *head;

	pthread_mutex_lock(&l->lock);
	head = l->s.head;
	if (head) {
		/* A read-modify-write on both sides, as in link_submit(). */
		annex_atomic_or(&head->client_sleeps.v, 1u, ANNEX_SEQ_CST);
		if (annex_atomic_load(&head->cq_tail.v, ANNEX_SEQ_CST) !=
		    annex_atomic_load(&head->cq_head.v, ANNEX_RELAXED))
			THREAD_KEPT(eventfd_write(l->own, 1));
	}
	pthread_mutex_unlock(&l->lock);
	return true;
}

static void link_rise(struct annex_emu *emu)
{
	struct emu_link *l = emu->own;
	eventfd_t any;

	THREAD_KEPT(eventfd_read(l->own, &any));
	pthread_mutex_lock(&l->lock);
	if (l->s.head) {
		packet_hear(l->s.event);
		annex_atomic_and(&l->s.head->client_sleeps.v, 0u, ANNEX_RELAXED); /* saves events */
	}
	pthread_mutex_unlock(&l->lock);
	annex_atomic_store(&l->risen, 1u, ANNEX_RELAXED);
}

/* Return: the number of the memory for the daemon, or -1: it has as many as it can. */
static int tell_of(struct emu_link *l, const struct emu_link_mem *m)
{
	int i = 0;

	pthread_mutex_lock(&l->told);
	while (i < (int)ANNEX_SERVE_MEMORIES && l->mem[i].used)
		i++;
	if (i < (int)ANNEX_SERVE_MEMORIES) {
		l->mem[i] = *m;
		annex_emu_session_tell(l, (unsigned int)i);
	} else {
		i = -1;
	}
	pthread_mutex_unlock(&l->told);
	return i;
}

static int link_map(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	struct emu_link *l = emu->own;
	struct emu_link_mem m = {.range = {addr, len}, .used = true};
	int i;

	if (!shared_find((const void *)(uintptr_t)addr, len, &m.fd, &m.offset))
		return -1;
	/* Allocate the pages now, so that this process is charged for them, not the daemon. */
	madvise((void *)(uintptr_t)addr, len, MADV_POPULATE_WRITE);
	i = tell_of(l, &m);
	if (i < 0)
		annex_log(ANNEX_LOG_INFO,
			  "unix:%s: slower: %llu bytes of memory are copied: too many", l->path,
			  (ull)len);
	return i;
}

static void link_unmap(struct annex_emu *emu, int buf, uint64_t len)
{
	struct emu_link *l = emu->own;
	struct annex_serve_message m = {.ask = ANNEX_SERVE_UNMAP, .a = (uint64_t)buf + 1};

	(void)len;
	pthread_mutex_lock(&l->told);
	if (l->mem[buf].known)
		annex_emu_session_ask(l, &m, -1);
	l->mem[buf] = (struct emu_link_mem){.used = false};
	pthread_mutex_unlock(&l->told);
}

/* The daemon serves the parent until the last copy of the socket is closed. */
static void link_forked(struct annex_emu *emu)
{
	const struct emu_link *l = emu->own;
	const int files[] = {l->s.sock, l->s.kick, l->s.event, l->own, l->fd};

	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] >= 0)
			close(files[i]);
}

static void link_close(struct annex_emu *emu, bool ended)
{
	struct emu_link *l = emu->own;

	(void)ended;
	if (l->copied)
		annex_log(ANNEX_LOG_INFO, "unix:%s: %llu bytes were copied", l->path,
			  (ull)l->copied);
	annex_emu_session_end(l);
	link_forked(emu);
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->told);
	free(l->claims);
	free(l->path);
}

static uint32_t link_beat(struct annex_emu *emu)
{
	struct emu_link *l = emu->own;
	uint32_t beat = 0;

	pthread_mutex_lock(&l->lock);
	/* Relaxed: a sign of life, which orders nothing. */
	if (l->s.head)
		beat = annex_atomic_load(&l->s.head->beat.v, ANNEX_RELAXED);
	pthread_mutex_unlock(&l->lock);
	return beat;
}

static int link_claim(struct annex_emu *emu, struct emu_ns *ns, uint64_t pos, uint64_t bytes,
		      bool shared)
{
	struct emu_link *l = emu->own;
	struct annex_serve_message m = {
		.ask = ANNEX_SERVE_CLAIM, .a = pos, .b = bytes, .c = shared};
	int err = -ENOMEM;

	(void)ns;
	pthread_mutex_lock(&l->told);
	if (array_grow(l->claims, l->nclaims, l->claims_room))
		err = annex_emu_session_ask(l, &m, -1);
	if (!err)
		l->claims[l->nclaims++] = (struct emu_link_claim){pos, bytes, shared};
	pthread_mutex_unlock(&l->told);
	return err;
}

static int read_uri(struct emu_link *l, const struct annex_uri *uri)
{
	static const char *const keys[] = {"part", "readonly", "serve", "fault...", NULL};
	const char *part = annex_uri_get(uri, "part");
	int err = annex_uri_check_keys(uri, keys);

	if (!err)
		err = annex_uri_bool(uri, "readonly", &l->readonly);
	if (err)
		return err;
	if (!part || !*part || strlen(part) >= sizeof(l->name))
		return annex_fail(-EINVAL,
				  "unix: part= names a part, in up to %zu bytes (annex serve "
				  "--status %s)",
				  sizeof(l->name) - 1, uri->body);
	strcpy(l->name, part);
	l->path = strdup(uri->body);
	return l->path ? 0 : annex_fail(-ENOMEM, "unix: out of memory");
}

static int open_events(struct emu_link *l)
{
	struct epoll_event e = {.events = EPOLLIN};

	l->own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->own < 0 || l->fd < 0 || epoll_ctl(l->fd, EPOLL_CTL_ADD, l->own, &e))
		return annex_fail(-errno, "unix: %m");
	return 0;
}

static int link_open(struct annex_emu *emu, const struct annex_uri *uri, const void *arg)
{
	struct emu_link *l = emu->own;
	int err;

	(void)arg;
	l->s = (struct emu_session){.sock = -1, .kick = -1, .event = -1};
	l->own = l->fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->told, NULL);
	err = read_uri(l, uri);
	if (!err)
		err = open_events(l);
	if (!err)
		err = annex_emu_session_begin(l);
	if (err)
		return err;
	emu->ctrl.provider = annex_provider_shared();
	emu->fd = l->fd;
	emu->chunk = UINT64_MAX;
	emu->nns = 1;
	emu->ns[0] = (struct emu_ns){
		.nsid = 1,
		.shift = (unsigned int)__builtin_ctzll(l->block),
		.blocks = l->blocks,
		.fd = -1,
		.align = 4,
		.pieces = IOV_MAX,
		.most = (uint32_t)(least(l->largest, UINT32_MAX) / l->block * l->block),
		.readonly = l->readonly};
	while (ANNEX_NVME_PAGE << emu->mdts > l->largest)
		emu->mdts--;
	return 0;
}

static const struct emu_backend backend = {
	.scheme = "unix",
	.requests = EMU_LINK_REQS,
	.size = sizeof(struct emu_link),
	.cached = true,
	.bounded = true,
	.open = link_open,
	.prepare = annex_emu_prepare,
	.issue = link_issue,
	.submit = link_submit,
	.reap = link_reap,
	.doze = link_doze,
	.rise = link_rise,
	.map = link_map,
	.unmap = link_unmap,
	.claim = link_claim,
	.beat = link_beat,
	.forked = link_forked,
	.close = link_close,
};

int annex_emu_open_unix(const struct annex_uri *uri, struct annex_ctrl **out)
{
	return annex_emu_open(uri, &backend, NULL, out);
}
