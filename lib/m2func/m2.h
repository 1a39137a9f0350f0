/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client, shared by the files of lib/m2func.
 */
#ifndef ANNEX_M2FUNC_M2_H
#define ANNEX_M2FUNC_M2_H

#include <pthread.h>
#include <annex/clock.h>
#include <annex/m2func.h>
#include "core/bell.h"
#include "core/m2cell.h"

#define M2_LINE 64

/*
 * struct m2_slot - What one thread has while it calls, on a cache line of its own.
 * @state: enum m2_slot_state. @stuck: the function whose answer did not come in time.
 * @completed: ring: its completion has come. @seq: number of each cell's last call.
 */
struct m2_slot {
	uint32_t state;
	uint32_t stuck;
	uint32_t completed;
	uint32_t seq[ANNEX_M2_FUNCTIONS];
} __attribute__((aligned(M2_LINE)));

enum m2_slot_state { M2_FREE, M2_TAKEN, M2_STUCK };

struct annex_m2;

/*
 * struct m2_call - A call under way. @payload: what its cell holds before @word, all of it.
 * @beat, @beat_at: of the device's heart, and when it was seen.
 */
struct m2_call {
	struct annex_m2 *m2;
	uint32_t slot;
	uint32_t function;
	uint64_t deadline;
	uint64_t word;
	uint64_t beat, beat_at;
	uint64_t payload[M2_WORDS];
	struct annex_m2_answer answer;
};

/*
 * struct m2_transport - How the device comes to know of a call, and the host of its answer.
 * @send: store it. @answered: whether its cell is worth a look.
 * @rest: sleep until it may have been answered, at the latest until @until.
 */
struct m2_transport {
	void (*send)(struct m2_call *call);
	bool (*answered)(struct m2_call *call);
	void (*rest)(struct m2_call *call, uint64_t until);
};

/*
 * struct m2_link - What is behind it: a device in this process, or a server.
 * @down: the other side is no more. @close: release it, and the region.
 * @nap_ns: nothing wakes who waits: how long to sleep between looks; 0: the device does.
 */
struct m2_link {
	int (*map)(struct annex_m2 *m2, struct annex_hdm *hdm, char *addr, uint64_t bytes,
		   unsigned int prot);
	int (*unmap)(struct annex_m2 *m2, uint64_t addr, uint64_t bytes);
	bool (*down)(struct annex_m2 *m2);
	void (*close)(struct annex_m2 *m2);
	uint32_t nap_ns;
};

/*
 * struct annex_m2 - @opts: with the defaults filled in. @head: as it was when it was opened.
 * @mine: 1, and in a child of fork() 0.
 * @gone: it was seen that the device is no more.
 * @released, @waiters: threads that wait for a slot.
 * @ring: taken to announce and to reap; @announced, @reaped: how many. @leader: one thread waits
 * for the bell and reaps for all, the others on @reaped_some.
 * @go: registers: calls so far.
 */
struct annex_m2 {
	struct annex_m2_opts opts;
	struct annex_m2_head head;
	struct m2_layout layout;
	const struct m2_transport *transport;
	const struct m2_link *link;
	void *behind;
	char *region;
	struct annex_m2_doors *doors;
	struct bell bell;
	uint32_t *mine;
	uint32_t gone;
	struct m2_slot *slot;
	uint32_t released, waiters;
	pthread_mutex_t ring;
	pthread_cond_t reaped_some;
	uint32_t announced, reaped;
	bool leader;
	uint32_t go;
};

/* open.c: m2_create() - Options checked, nothing attached. m2_attach() - What is behind it, and its
 * region, which m2->link->close releases. m2_free() - All of it. */
int m2_create(const struct annex_m2_opts *opts, struct annex_m2 **out);
int m2_attach(struct annex_m2 *m2, char *region);
void m2_free(struct annex_m2 *m2);

/* remote.c, pci.c: annex_m2_open() for each scheme. */
int m2_open_remote(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);
int m2_open_pci(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);

/* slot.c: m2_slot_take() - For this thread: -EBUSY, -ENODEV. m2_slot_give() - @stuck: its call has
 * not been answered, and may be still. */
int m2_slot_take(struct annex_m2 *m2, uint64_t deadline, uint32_t *slot);
void m2_slot_give(struct annex_m2 *m2, uint32_t slot, bool stuck, uint32_t function);

/*
 * call.c: m2_call() - One function of Table II, with a payload of @bytes and what @more has behind
 * it. 0 and the answer, whatever it says; -EBUSY, -ETIMEDOUT, -ENODEV, -ECHILD, -EIO.
 */
int m2_call(struct annex_m2 *m2, enum annex_m2_function function, const void *payload, size_t bytes,
	    const void *more, size_t nmore, struct annex_m2_answer *out);
/* m2_usable() - 0; -ENODEV, -ECHILD. */
int m2_usable(struct annex_m2 *m2);
char *m2_cell(const struct annex_m2 *m2, uint32_t slot, uint32_t function);
/* m2_read_answer() - Whether the cell has the answer to @seq; false also when it is torn. */
bool m2_read_answer(const struct annex_m2 *m2, uint32_t slot, uint32_t function, uint32_t seq,
		    struct annex_m2_answer *out);

/* wait.c: m2_wait() - Until it is answered: -ETIMEDOUT, -ENODEV, -EIO; -EAGAIN: its cell has lost
 * it. m2_down() - Whether the device is no more, as far as can be told. */
int m2_wait(struct m2_call *call);
bool m2_down(struct annex_m2 *m2);
void m2_delay(uint64_t ns);

/* cells.c, ring.c, regs.c */
extern const struct m2_transport m2_cells_transport, m2_ring_transport, m2_regs_transport;
/* m2_wake_device() - After something was stored, if it sleeps. */
void m2_wake_device(struct annex_m2 *m2);
void m2_rest_on_cell(struct m2_call *call, uint64_t until);

#endif
