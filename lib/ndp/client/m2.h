/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client, shared by the files of lib/ndp/client.
 */
#ifndef ANNEX_NDP_CLIENT_M2_H
#define ANNEX_NDP_CLIENT_M2_H

#include <pthread.h>
#include <annex/detail/clock.h>
#include <annex/m2func.h>
#include "ndp/bell.h"
#include "ndp/m2cell.h"

#define M2_LINE 64

/*
 * struct m2_slot - State of one thread's call, on a cache line of its own.
 * @state: enum m2_slot_state.
 * @stuck: the function whose answer was late.
 * @seq: number of each cell's last call.
 */
struct m2_slot {
	uint32_t state;
	uint32_t stuck;
	uint32_t seq[ANNEX_M2_FUNCTIONS];
} __attribute__((aligned(M2_LINE)));

enum m2_slot_state { M2_FREE, M2_TAKEN, M2_STUCK };

struct annex_m2;

/* struct m2_text - A payload of @bytes, followed by @nargs bytes of arguments. */
struct m2_text {
	const void *payload;
	size_t bytes;
	const void *args;
	size_t nargs;
};

/* struct m2_heart - The device's last heartbeat, and the time at which it was seen. */
struct m2_heart {
	uint64_t beat, at;
};

/*
 * struct m2_call - A call in flight.
 * @m2: the client.
 * @slot: its slot.
 * @function: its function.
 * @tries: number of times that it was stored.
 * @deadline: its deadline; 0: set at the first reading of the clock.
 * @word: the word of its cell.
 * @text: payload and arguments.
 * @heart: the device's heartbeat.
 * @answer: the answer.
 */
struct m2_call {
	struct annex_m2 *m2;
	uint32_t slot;
	uint32_t function;
	uint32_t tries;
	uint64_t deadline;
	uint64_t word;
	struct m2_text text;
	struct m2_heart heart;
	struct annex_m2_answer answer;
};

/*
 * struct m2_link - The other side of a handle: a device in this process, or a server.
 * @map: map memory for the device.
 * @unmap: unmap it.
 * @down: whether the other side is gone.
 * @close: release it, and the region.
 * @nap_ns: time between polls if the device cannot wake waiting threads; 0: it can.
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
 * struct annex_m2 - A client's handle of a near-data device.
 * @opts: the options, with defaults.
 * @head: copy of the region's head from the open.
 * @layout: layout of the region.
 * @link: operations of the other side.
 * @behind: state of @link.
 * @region: the region.
 * @doors: the words by which both sides sleep, in the region.
 * @bell: wakes the device.
 * @mine: 1; 0 in a child of fork().
 * @gone: the device is known to be gone.
 * @slot: state of each slot.
 * @released: futex word: changes when a slot is freed.
 * @waiters: number of threads that wait for a slot.
 */
struct annex_m2 {
	struct annex_m2_opts opts;
	struct annex_m2_head head;
	struct m2_layout layout;
	const struct m2_link *link;
	void *behind;
	char *region;
	struct annex_m2_doors *doors;
	struct bell bell;
	uint32_t *mine;
	uint32_t gone;
	struct m2_slot *slot;
	uint32_t released, waiters;
};

/* handle.c: annex_m2_create() - Make a handle with checked options; nothing is attached.
 * annex_m2_attach_region() - Attach the device's region; m2->link->close releases it.
 * annex_m2_free() - Release the handle. */
int annex_m2_create(const struct annex_m2_opts *opts, struct annex_m2 **out);
int annex_m2_attach_region(struct annex_m2 *m2, char *region);
void annex_m2_free(struct annex_m2 *m2);

/* remote.c, pci.c: annex_m2_open() for each scheme. */
int m2_open_remote(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);
int m2_open_pci(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);

/*
 * slot.c: m2_slot_take() - Take a slot for this call. -EBUSY if all are taken: with @wait only at
 * the call's deadline, otherwise at once and without a message; -ENODEV. m2_slot_give() - Free it;
 * with @stuck it stays taken, since an answer may still arrive.
 */
int m2_slot_take(struct m2_call *call, bool wait);
void m2_slot_give(const struct m2_call *call, bool stuck);

/*
 * call.c: m2_call_until() - Call a function of Table II, until @deadline; 0: timeout of the
 * options.
 * Return: 0 and the answer, also if that is an error; -EINVAL (no room), -EBUSY, -ETIMEDOUT,
 * -ENODEV, -ECHILD, -EIO. m2_call() - The same with a payload, followed by @args, and the timeout
 * of the options.
 */
int m2_call_until(struct annex_m2 *m2, enum annex_m2_function function, const struct m2_text *text,
		  uint64_t deadline, struct annex_m2_answer *out);
int m2_call(struct annex_m2 *m2, enum annex_m2_function function, const void *payload, size_t bytes,
	    const void *args, size_t nargs, struct annex_m2_answer *out);
/* m2_usable() - 0; -ENODEV, -ECHILD. */
int m2_usable(struct annex_m2 *m2);
/* m2_begin() - Begin a call: take a slot; errors as m2_call().
 * m2_end() - Free the slot of a call that ended with @err. */
int m2_begin(struct m2_call *call, bool wait);
void m2_end(const struct m2_call *call, int err);
/* m2_args_most() - Most bytes of arguments of a launch. */
uint32_t m2_args_most(const struct annex_m2 *m2);

/*
 * wait.c: m2_look() - Poll for the answer of a call; store the call again if it was torn or lost.
 * With @slow, also check whether the device is alive. 0; M2_LATER; -ENODEV, -EIO.
 * m2_wait() - Poll until there is an answer: as m2_look(), and -ETIMEDOUT. The parts of its loop:
 * m2_slow() - Whether to poll with @slow in this round.
 * m2_over() - Whether this round is the last one.
 * m2_back_off() - Pause after this round.
 * m2_late() - Whether the deadline has passed.
 * m2_down() - Whether the device is known to be gone, or, with @heart, has no heartbeat.
 */
#define M2_LATER 1
int m2_look(struct m2_call *call, bool slow);
int m2_wait(struct m2_call *call);
bool m2_slow(unsigned int round);
bool m2_over(struct m2_call *call, unsigned int round);
bool m2_late(struct m2_call *call);
void m2_back_off(struct m2_call *call, unsigned int round, uint64_t nap_ns);
bool m2_down(struct annex_m2 *m2, struct m2_heart *heart);
void m2_delay(uint64_t ns);

/* function.c: m2_verdict() - The errno of an answer, with a message; *@end: the instruction at
 * which the kernel failed. */
int m2_verdict(const char *what, const struct annex_m2_answer *a, struct annex_m2_end *end);
/* m2_launch_ready() - Before a launch: check the arguments' size, and flush the pool's lines. */
int m2_launch_ready(struct annex_m2 *m2, struct annex_m2_launch *ask, size_t nargs);

/*
 * cells.c: m2_cell() - The cell of a function in a slot.
 * m2_store_call() - Store a call in its cell; call m2_wake_device() afterwards.
 * m2_read_answer() - Whether the cell has the answer to @seq; false also when it is torn.
 * m2_wake_device() - Wake the device, if it sleeps, after a store.
 * m2_rest() - Sleep until the device may have answered a call, at most until @until.
 */
char *m2_cell(const struct annex_m2 *m2, uint32_t slot, uint32_t function);
void m2_store_call(struct m2_call *call);
bool m2_read_answer(const struct annex_m2 *m2, uint32_t slot, uint32_t function, uint32_t seq,
		    struct annex_m2_answer *out);
void m2_wake_device(struct annex_m2 *m2);
void m2_rest(struct m2_call *call, uint64_t until);

#endif
