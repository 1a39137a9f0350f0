/* SPDX-License-Identifier: MIT */
/*
 * A part of a device that another process serves (unix:, annex/serve.h): entries that are prepared
 * for an io_uring go to it as commands (annex/servewire.h). Data in memory of
 * annex_provider_shared() stays where it is; any other is copied by way of the region's arena.
 *
 * When the process is gone, all that is under way ends with -ESHUTDOWN, and so does what comes
 * later, until somebody serves there again: each attempt begins with a look.
 */
#ifndef ANNEX_EMU_LINK_H
#define ANNEX_EMU_LINK_H

#include <annex/servewire.h>
#include "engine.h"
#include "ring.h"
#include "state.h"

/**
 * struct emu_session - A connection, while there is one.
 * @sock: the socket; -1: there is none.
 * @kick: wakes the daemon.
 * @event: the daemon wakes us.
 * @mute: it did not answer in time: nothing more is asked.
 * @head: the region; NULL: there is none.
 */
struct emu_session {
	int sock, kick, event;
	bool mute;
	struct annex_serve_head *head;
	struct annex_serve_sqe *sq;
	struct annex_serve_cqe *cq;
	char *arena;
};

/* struct emu_link_mem - Memory that stays in place, and whether the daemon knows it. */
struct emu_link_mem {
	struct range range;
	int fd;
	uint64_t offset;
	bool used, known;
};

/* struct emu_link_claim - Bytes of the part that are kept from others, or from writers only. */
struct emu_link_claim {
	uint64_t pos, bytes;
	bool shared;
};

/* struct emu_link_slot - A command under way, and its pages of the arena. */
struct emu_link_slot {
	struct io_uring_sqe sqe;
	uint32_t page, pages;
	uint32_t next;
	bool busy;
};

/**
 * struct emu_link - @entries: a ring of @mask + 1, prepared up to @prepared, sent up to @sent.
 * @done: those that ended here, from @taken to @ended. @slots: of the commands by tag, the free
 * ones from @free on. @map: bits of the arena's pages in use, of which those from @page on are
 * looked at first. @own: eventfd of those that ended here. @risen: somebody has waited for the
 * descriptor.
 * @lock: of the socket, @mem and @claims. @retry_at: when to look for a daemon again. @refusal:
 * what came of the last look.
 */
struct emu_link {
	struct emu_engine engine;
	struct emu_session s;
	char *path;
	char name[ANNEX_SERVE_NAME];
	bool readonly;
	uint64_t blocks, block, largest;
	uint32_t birth;
	struct io_uring_sqe *entries;
	unsigned int mask, prepared, sent;
	struct emu_done *done;
	unsigned int ended, taken;
	struct emu_link_slot *slots;
	uint32_t free;
	uint64_t map[ANNEX_SERVE_ARENA / 4096 / 64];
	uint32_t page;
	uint32_t sq_tail, cq_head;
	uint32_t idle;
	int own;
	uint32_t risen;
	uint64_t copied;
	uint64_t retry_at;
	int refusal;
	pthread_mutex_t lock;
	struct emu_link_mem mem[ANNEX_SERVE_MEMORIES];
	struct emu_link_claim *claims;
	unsigned int nclaims, claims_room;
};

/* link.c: annex_emu_link_open() - By the URI, and the facts of its namespace. */
int annex_emu_link_open(struct annex_emu *emu, const struct annex_uri *uri,
			struct emu_engine **out);

/*
 * session.c: annex_emu_session_begin() - Connect; then the daemon knows memory and claims. -ESTALE:
 * another part, by its size. annex_emu_session_end(). annex_emu_session_ask() - *@m is the
 * question, with the file @fd if that is not -1, and then the answer. annex_emu_session_alive() -
 * Whether the daemon has not hung up. annex_emu_session_tell() - Of memory @mem.
 */
int annex_emu_session_begin(struct emu_link *l);
void annex_emu_session_end(struct emu_link *l);
int annex_emu_session_ask(struct emu_link *l, struct annex_serve_message *m, int fd);
bool annex_emu_session_alive(const struct emu_link *l);
void annex_emu_session_tell(struct emu_link *l, unsigned int mem);

/* arena.c: pages of the arena; UINT32_MAX: there are not so many together. */
uint32_t annex_emu_arena_take(struct emu_link *l, uint32_t pages);
void annex_emu_arena_give(struct emu_link *l, uint32_t page, uint32_t pages);

#endif
