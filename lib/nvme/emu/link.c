// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/array.h"
#include "core/racy.h"
#include "core/packet.h"
#include "core/shared.h"
#include "core/thread.h"
#include "link.h"

#define ENTRIES (2 * EMU_LINK_REQS) /* one of each request, and what ended before it was sent */
#define NO_SLOT UINT32_MAX
#define RETRY_NS (20 * ANNEX_NSEC_PER_MSEC) /* between looks for a daemon */
#define IDLE_LOOKS 256u                     /* that find nothing, until the socket is looked at */
#define WRITE_DSYNC 0x2u                    /* RWF_DSYNC: see file_io.c */

static struct emu_link *link_of(struct emu_engine *e)
{
	return (struct emu_link *)e; /* its first member */
}

static struct io_uring_sqe *link_entry(struct emu_engine *e)
{
	struct emu_link *l = link_of(e);
	struct io_uring_sqe *sqe = &l->entries[l->prepared++ & l->mask];

	memset(sqe, 0, sizeof(*sqe));
	return sqe;
}

static void end(struct emu_link *l, const struct io_uring_sqe *sqe, int res)
{
	l->done[l->ended++ & (2 * l->mask + 1)] =
		(struct emu_done){(void *)(uintptr_t)sqe->user_data, res};
}

/* Everything that has not ended does so now. */
static void end_all(struct emu_link *l, int res)
{
	for (uint32_t i = 0; i < EMU_LINK_REQS + 1; i++) {
		struct emu_link_slot *slot = &l->slots[i];

		if (!slot->busy)
			continue;
		end(l, &slot->sqe, res);
		if (slot->pages)
			annex_emu_arena_give(l, slot->page, slot->pages);
		slot->busy = false;
		slot->next = l->free;
		l->free = i;
	}
	while (l->sent != l->prepared)
		end(l, &l->entries[l->sent++ & l->mask], res);
	THREAD_KEPT(eventfd_write(l->own, 1));
}

static void hang_up(struct emu_link *l)
{
	annex_log(ANNEX_LOG_WARNING, "unix:%s: the daemon is gone: what was under way has failed",
		  l->path);
	annex_emu_session_end(l);
	end_all(l, -ESHUTDOWN);
}

/* Look for a daemon, now and then. */
static bool reconnect(struct emu_link *l)
{
	uint64_t now = annex_now();
	int err;

	if (now < l->retry_at)
		return false;
	l->sq_tail = l->cq_head = 0;
	err = annex_emu_session_begin(l);
	if (err) {
		/* That nobody is there yet has been said. */
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

static bool is_write(const struct io_uring_sqe *sqe)
{
	return sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITEV ||
	       sqe->opcode == IORING_OP_WRITE_FIXED;
}

/* The pieces of its data; *@one has room for a single one. */
static const struct iovec *pieces(const struct io_uring_sqe *sqe, struct iovec *one,
				  unsigned int *n)
{
	if (sqe->opcode == IORING_OP_READV || sqe->opcode == IORING_OP_WRITEV) {
		*n = sqe->len;
		return (const struct iovec *)(uintptr_t)sqe->addr;
	}
	*one = (struct iovec){(void *)(uintptr_t)sqe->addr, sqe->len};
	*n = 1;
	return one;
}

static uint32_t bytes_of(const struct io_uring_sqe *sqe)
{
	struct iovec one;
	unsigned int n;
	const struct iovec *v = pieces(sqe, &one, &n);
	uint32_t bytes = 0;

	while (n)
		bytes += (uint32_t)v[--n].iov_len;
	return bytes;
}

static void copy(const struct emu_link *l, const struct emu_link_slot *slot, bool out)
{
	char *at = l->s.arena + (size_t)slot->page * 4096;
	struct iovec one;
	unsigned int n;
	const struct iovec *v = pieces(&slot->sqe, &one, &n);

	annex_racy_begin();
	if (out)
		annex_emu_from_host(v, n, at, bytes_of(&slot->sqe));
	else
		annex_emu_to_host(v, n, at, bytes_of(&slot->sqe));
	annex_racy_end();
}

/* Where the data is. Return: false: the arena has no room for it now. */
static bool set_data(struct emu_link *l, struct emu_link_slot *slot, struct annex_serve_sqe *cmd)
{
	const struct io_uring_sqe *sqe = &slot->sqe;
	const bool fixed = sqe->opcode == IORING_OP_READ_FIXED ||
			   sqe->opcode == IORING_OP_WRITE_FIXED;

	cmd->op = is_write(sqe) ? ANNEX_SERVE_WRITE : ANNEX_SERVE_READ;
	cmd->flags = is_write(sqe) && sqe->fsync_flags & WRITE_DSYNC ? ANNEX_SERVE_FUA : 0;
	cmd->len = bytes_of(sqe);
	slot->pages = 0;
	if (fixed && l->mem[sqe->buf_index].known) {
		cmd->mem = sqe->buf_index + 1;
		cmd->offset = sqe->addr - l->mem[sqe->buf_index].range.addr;
		return true;
	}
	slot->pages = (uint32_t)((cmd->len + 4095) / 4096);
	slot->page = annex_emu_arena_take(l, slot->pages);
	if (slot->page == UINT32_MAX)
		return false;
	cmd->offset = (uint64_t)slot->page * 4096;
	l->copied += cmd->len;
	if (is_write(sqe))
		copy(l, slot, true);
	return true;
}

/* Return: false: there is no room now. */
static bool put(struct emu_link *l, const struct io_uring_sqe *sqe)
{
	struct annex_serve_sqe cmd = {.pos = sqe->off, .tag = l->free};
	struct emu_link_slot *slot = &l->slots[l->free];

	slot->sqe = *sqe;
	slot->pages = 0;
	if (sqe->opcode == IORING_OP_FSYNC) {
		cmd.op = ANNEX_SERVE_FLUSH;
		cmd.pos = 0;
	} else if (sqe->opcode == IORING_OP_FALLOCATE) {
		cmd.op = sqe->len & FALLOC_FL_PUNCH_HOLE ? ANNEX_SERVE_DISCARD : ANNEX_SERVE_ZERO;
		cmd.len = sqe->addr;
	} else if (!set_data(l, slot, &cmd)) {
		return false;
	}
	l->free = slot->next;
	slot->busy = true;
	l->s.sq[l->sq_tail++ % ANNEX_SERVE_ENTRIES] = cmd;
	return true;
}

static void link_submit(struct emu_engine *e)
{
	struct emu_link *l = link_of(e);
	const uint32_t tail = l->sq_tail;
	struct annex_serve_head *head;
	uint32_t asleep = 1;

	if (l->sent == l->prepared)
		return;
	if (!l->s.head && !reconnect(l)) {
		end_all(l, -ESHUTDOWN);
		return;
	}
	head = l->s.head;
	while (l->sent != l->prepared && l->free != NO_SLOT &&
	       put(l, &l->entries[l->sent & l->mask]))
		l->sent++;
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

/* A result. One for no command is not taken. */
static void take(struct emu_link *l, struct annex_serve_cqe cqe)
{
	struct emu_link_slot *slot;
	int res = cqe.result < 0 ? cqe.result : 0;

	if (cqe.tag > EMU_LINK_REQS || !l->slots[cqe.tag].busy)
		return;
	slot = &l->slots[cqe.tag];
	if (!res && slot->sqe.opcode != IORING_OP_FSYNC &&
	    slot->sqe.opcode != IORING_OP_FALLOCATE) {
		res = (int)bytes_of(&slot->sqe);
		if (slot->pages && !is_write(&slot->sqe))
			copy(l, slot, false);
	}
	end(l, &slot->sqe, res);
	if (slot->pages)
		annex_emu_arena_give(l, slot->page, slot->pages);
	slot->busy = false;
	slot->next = l->free;
	l->free = cqe.tag;
}

static unsigned int take_results(struct emu_link *l)
{
	/* Acquire: pairs with the daemon's release; the result, and the data, are there. */
	uint32_t tail = annex_atomic_load(&l->s.head->cq_tail.v, ANNEX_ACQUIRE), n = 0;

	for (; l->cq_head != tail && n < ENTRIES; n++)
		take(l, l->s.cq[l->cq_head++ % ANNEX_SERVE_ENTRIES]);
	/* Release: the daemon may write those entries again. */
	if (n)
		annex_atomic_store(&l->s.head->cq_head.v, l->cq_head, ANNEX_RELEASE);
	return n;
}

static unsigned int link_reap(struct emu_engine *e, struct emu_done *out, unsigned int n)
{
	struct emu_link *l = link_of(e);
	unsigned int got = 0;

	if (l->s.head && l->taken == l->ended)
		l->idle = take_results(l) ? 0 : l->idle + 1;
	/* Relaxed: only whether to look. */
	if (l->s.head && (l->idle > IDLE_LOOKS || annex_atomic_load(&l->risen, ANNEX_RELAXED))) {
		l->idle = 0;
		annex_atomic_store(&l->risen, 0u, ANNEX_RELAXED);
		if (!annex_emu_session_alive(l))
			hang_up(l);
	}
	while (got < n && l->taken != l->ended)
		out[got++] = l->done[l->taken++ & (2 * l->mask + 1)];
	if (l->taken != l->ended)
		THREAD_KEPT(eventfd_write(l->own, 1));
	return got;
}

/* Results may have come already: whoever waits then does not wait. */
static void link_doze(struct emu_engine *e)
{
	struct emu_link *l = link_of(e);
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
}

static void link_rise(struct emu_engine *e)
{
	struct emu_link *l = link_of(e);
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

static int link_add(struct emu_engine *e, uint64_t addr, uint64_t len)
{
	struct emu_link *l = link_of(e);
	struct emu_link_mem m = {.range = {addr, len}, .used = true};

	if (!shared_find((const void *)(uintptr_t)addr, len, &m.fd, &m.offset))
		return -1;
	/* The daemon takes what is there already, so that it is this process' memory; or none. */
	madvise((void *)(uintptr_t)addr, len, MADV_POPULATE_WRITE);
	for (unsigned int i = 0; i < ANNEX_SERVE_MEMORIES; i++) {
		if (l->mem[i].used)
			continue;
		l->mem[i] = m;
		annex_emu_session_tell(l, i);
		return (int)i;
	}
	annex_log(ANNEX_LOG_INFO, "unix:%s: slower: %llu bytes of memory are copied: too many",
		  l->path, (ull)len);
	return -1;
}

static void link_remove(struct emu_engine *e, int buf)
{
	struct emu_link *l = link_of(e);
	struct annex_serve_message m = {.ask = ANNEX_SERVE_UNMAP, .a = (uint64_t)buf + 1};

	if (l->mem[buf].known)
		annex_emu_session_ask(l, &m, -1);
	l->mem[buf] = (struct emu_link_mem){.used = false};
}

static void link_close(struct emu_engine *e)
{
	struct emu_link *l = link_of(e);

	if (l->copied)
		annex_log(ANNEX_LOG_INFO, "unix:%s: %llu bytes were copied", l->path,
			  (ull)l->copied);
	annex_emu_session_end(l);
	if (l->own >= 0)
		close(l->own);
	if (l->engine.fd >= 0)
		close(l->engine.fd);
	pthread_mutex_destroy(&l->lock);
	free(l->claims);
	free(l->slots);
	free(l->entries);
	free(l->done);
	free(l->path);
	free(l);
}

/* The daemon serves the parent for as long as that has the socket. */
static void link_forked(struct emu_engine *e)
{
	const struct emu_link *l = link_of(e);
	const int files[] = {l->s.sock, l->s.kick, l->s.event, l->own, e->fd};

	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] >= 0)
			close(files[i]);
}

static const struct emu_engine_ops link_ops = {
	.entry = link_entry,
	.submit = link_submit,
	.reap = link_reap,
	.doze = link_doze,
	.rise = link_rise,
	.add = link_add,
	.remove = link_remove,
	.forked = link_forked,
	.close = link_close,
};

uint32_t annex_emu_link_beat(struct emu_link *l)
{
	uint32_t beat = 0;

	pthread_mutex_lock(&l->lock);
	/* Relaxed: a sign of life, which orders nothing. */
	if (l->s.head)
		beat = annex_atomic_load(&l->s.head->beat.v, ANNEX_RELAXED);
	pthread_mutex_unlock(&l->lock);
	return beat;
}

int annex_emu_link_claim(struct emu_link *l, uint64_t pos, uint64_t bytes, bool shared)
{
	struct annex_serve_message m = {
		.ask = ANNEX_SERVE_CLAIM, .a = pos, .b = bytes, .c = shared};
	int err;

	if (!array_grow(l->claims, l->nclaims, l->claims_room))
		return -ENOMEM;
	err = annex_emu_session_ask(l, &m, -1);
	if (!err)
		l->claims[l->nclaims++] = (struct emu_link_claim){pos, bytes, shared};
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

static int allocate(struct emu_link *l)
{
	struct epoll_event e = {.events = EPOLLIN};

	l->mask = ENTRIES - 1;
	l->entries = calloc(ENTRIES, sizeof(*l->entries));
	l->done = calloc(2 * (size_t)ENTRIES, sizeof(*l->done));
	l->slots = calloc(EMU_LINK_REQS + 1, sizeof(*l->slots));
	l->own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->engine.fd = epoll_create1(EPOLL_CLOEXEC);
	if (!l->entries || !l->done || !l->slots)
		return annex_fail(-ENOMEM, "unix: out of memory");
	if (l->own < 0 || l->engine.fd < 0 || epoll_ctl(l->engine.fd, EPOLL_CTL_ADD, l->own, &e))
		return annex_fail(-errno, "unix: %m");
	for (uint32_t i = 0; i < EMU_LINK_REQS; i++)
		l->slots[i].next = i + 1;
	l->slots[EMU_LINK_REQS].next = NO_SLOT;
	return 0;
}

int annex_emu_link_open(struct annex_emu *emu, const struct annex_uri *uri, struct emu_engine **out)
{
	struct emu_link *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return annex_fail(-ENOMEM, "unix: out of memory");
	l->engine = (struct emu_engine){&link_ops, -1};
	l->s = (struct emu_session){.sock = -1, .kick = -1, .event = -1};
	l->own = -1;
	pthread_mutex_init(&l->lock, NULL);
	err = read_uri(l, uri);
	if (!err)
		err = allocate(l);
	if (!err)
		err = annex_emu_session_begin(l);
	if (err) {
		link_close(&l->engine);
		return err;
	}
	emu->nns = 1;
	emu->ns[0] = (struct emu_ns){.nsid = 1,
				     .shift = l->block == 512 ? 9 : 12,
				     .blocks = l->blocks,
				     .fd = -1,
				     .link = l,
				     .direct = true,
				     .mem_align = 4,
				     .readonly = l->readonly};
	while (ANNEX_NVME_PAGE << emu->mdts > l->largest)
		emu->mdts--;
	*out = &l->engine;
	return 0;
}
