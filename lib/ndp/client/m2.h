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
 * struct m2_slot - The state of one thread's call, on a cache line of its own.
 * @state: enum m2_slot_state.
 * @stuck: the function whose answer did not come in time.
 * @seq: number of each cell's last call.
 */
struct m2_slot {
	uint32_t state;
	uint32_t stuck;
	uint32_t seq[ANNEX_M2_FUNCTIONS];
} __attribute__((aligned(M2_LINE)));

enum m2_slot_state { M2_FREE, M2_TAKEN, M2_STUCK };

struct annex_m2;

/* struct m2_text - A payload, and behind it @nmore bytes of arguments. */
struct m2_text {
	const void *payload;
	size_t bytes;
	const void *args;
	size_t nargs;
};

/* struct m2_heart - When the device's heart was seen to beat. */
struct m2_heart {
	uint64_t beat, at;
};

/*
 * struct m2_call - A call under way.
 * @tries: how often it was stored.
 * @deadline: 0: it begins when a clock is first looked at.
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
 * @down: the other side is no more.
 * @close: release it, and the region.
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
 * struct annex_m2 - A client's handle of a near-data device.
 * @opts: the options, defaults filled in.
 * @head: the head of the region as it was when the device was opened.
 * @mine: 1; 0 in a child of fork().
 * @gone: the device was seen to have gone.
 * @released: futex word: changes when a slot is given back.
 * @waiters: threads that wait for a slot.
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
 * slot.c: m2_slot_take() - Take a slot for this call: -EBUSY when all are taken, with @wait only at
 * the call's deadline, else at once and without a line; -ENODEV.
 * m2_slot_give() - Give it back; with @stuck it stays taken, since an answer may still come.
 */
int m2_slot_take(struct m2_call *call, bool wait);
void m2_slot_give(const struct m2_call *call, bool stuck);

/*
 * call.c: m2_call_until() - One function of Table II, until @deadline; 0: as options say. 0 and the
 * answer, whatever it says; -EINVAL (no room), -EBUSY, -ETIMEDOUT, -ENODEV, -ECHILD, -EIO.
 * m2_call() - With a payload of @bytes and what @args has behind it, as options say.
 */
int m2_call_until(struct annex_m2 *m2, enum annex_m2_function function, const struct m2_text *text,
		  uint64_t deadline, struct annex_m2_answer *out);
int m2_call(struct annex_m2 *m2, enum annex_m2_function function, const void *payload, size_t bytes,
	    const void *args, size_t nargs, struct annex_m2_answer *out);
/* m2_usable() - 0; -ENODEV, -ECHILD. */
int m2_usable(struct annex_m2 *m2);
/* m2_begin() - Begin a call: take a slot; errors as m2_call().
 * m2_end() - Give the slot of a call back that ended with @err. */
int m2_begin(struct m2_call *call, bool wait);
void m2_end(const struct m2_call *call, int err);
/* m2_args_most() - Bytes of arguments that a launch takes. */
uint32_t m2_args_most(const struct annex_m2 *m2);

/*
 * wait.c: m2_look() - Look for the answer of a call; store the call again if it was torn or lost on
 * the way. With @slow, also look whether the device lives. 0; M2_LATER; -ENODEV, -EIO.
 * m2_wait() - Look until there is an answer: -ETIMEDOUT too. The parts of its loop:
 * m2_slow() - Whether to look slowly in this round.
 * m2_over() - Whether this round is the last one.
 * m2_back_off() - Pause after this round.
 * m2_late() - Whether the deadline has come.
 * m2_down() - Whether the device has gone, as far as can be told, or, with @heart, is dead.
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

/* function.c: m2_verdict() - The errno that an answer means, with a line; *@end: where the kernel
 * ended. */
int m2_verdict(const char *what, const struct annex_m2_answer *a, struct annex_m2_end *end);
/* m2_launch_ready() - Before any: its number of arguments, and the pool's cache lines. */
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
