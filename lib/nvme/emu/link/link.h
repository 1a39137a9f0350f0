/* SPDX-License-Identifier: MIT */
/*
 * A part of a device that another process serves (unix:, annex/serve.h): steps go to it as decoded
 * NVMe commands (annex/servewire.h). Data in memory of annex_provider_shared() stays in place;
 * other data is copied through the arena of the region.
 *
 * When the daemon is gone, all steps end with -ESHUTDOWN, until a daemon serves there again: each
 * submission first looks for one.
 */
#ifndef ANNEX_EMU_LINK_H
#define ANNEX_EMU_LINK_H

#include <annex/servewire.h>
#include "nvme/emu/backend.h"

#define EMU_LINK_REQS 1024u /* all of them, and the flush of closing, fit into the region */

/**
 * struct emu_session - A connection, while there is one.
 * @sock: the socket; -1: there is none.
 * @kick: wakes the daemon.
 * @event: the daemon wakes this process.
 * @mute: the daemon did not answer in time, and is asked nothing any more.
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

/* struct emu_link_mem - Memory that stays in place. @known: the daemon has mapped it. */
struct emu_link_mem {
	struct range range;
	int fd;
	uint64_t offset;
	bool used, known;
};

/* struct emu_link_claim - Claimed bytes of the part. @shared: other readers are allowed. */
struct emu_link_claim {
	uint64_t pos, bytes;
	bool shared;
};

/**
 * struct emu_link_slot - The command of a request's step.
 * @sent: the daemon has it.
 * @page: its first page of the arena.
 * @pages: number of its pages.
 */
struct emu_link_slot {
	bool sent;
	uint32_t page, pages;
};

/**
 * struct emu_link - The state of the backend.
 * @fd: epoll of the socket, @s.event and @own.
 * @s: the connection.
 * @first: the list of requests whose step was not sent, by their member next.
 * @last: its last one.
 * @slots: of the commands by tag, which is the index of the request.
 * @map: a bit for each page of the arena, set if it is in use.
 * @page: the page at which the search for free ones begins.
 * @sq_tail: commands put.
 * @cq_head: results taken.
 * @idle: number of calls of reap() in a row without a result.
 * @own: eventfd that ends a wait.
 * @risen: a thread has waited for @fd.
 * @copied: bytes that went through the arena.
 * @retry_at: time of the next attempt to find a daemon.
 * @refusal: the error of the last attempt.
 * @lock: of @s, while the connection changes or the daemon is asked.
 * @told: of @mem, @claims and their numbers; taken before @lock. Commands read the memory that they
 *	use without it.
 */
struct emu_link {
	int fd;
	struct emu_session s;
	char *path;
	char name[ANNEX_SERVE_NAME];
	bool readonly;
	uint64_t blocks, block, largest;
	uint32_t birth;
	struct emu_req *first, *last;
	struct emu_link_slot slots[EMU_LINK_REQS + 1];
	uint64_t map[ANNEX_SERVE_ARENA / 4096 / 64];
	uint32_t page;
	uint32_t sq_tail, cq_head;
	uint32_t idle;
	int own;
	uint32_t risen;
	uint64_t copied;
	uint64_t retry_at;
	int refusal;
	pthread_mutex_t lock, told;
	struct emu_link_mem mem[ANNEX_SERVE_MEMORIES];
	struct emu_link_claim *claims;
	unsigned int nclaims, claims_room;
};

/*
 * session.c: annex_emu_session_begin() - Connect, and tell the daemon of memory and claims.
 * -ESTALE: the part is another one. annex_emu_session_end(). annex_emu_session_ask() - Send
 * question *@m, with the file @fd if that is not -1, and store the answer there.
 * annex_emu_session_alive() - Whether the connection lasts. annex_emu_session_tell() - Have the
 * daemon map memory @mem.
 */
int annex_emu_session_begin(struct emu_link *l);
void annex_emu_session_end(struct emu_link *l);
int annex_emu_session_ask(struct emu_link *l, struct annex_serve_message *m, int fd);
bool annex_emu_session_alive(struct emu_link *l);
void annex_emu_session_tell(struct emu_link *l, unsigned int mem);

#endif
