/* SPDX-License-Identifier: MIT */
/*
 * The table of operations between the transport of this folder (queues, requests, faults, checks
 * of memory, waking) and the storage behind it: a folder for each kind.
 *
 * A command that outlives its batch is a request, and its I/O is a sequence of steps. The backend
 * is given one step at a time by issue(), and says how it ended: by the value that issue()
 * returns, or later by annex_emu_step_ended().
 *
 * Operations are called with the async mutex held unless they say otherwise. Members that are NULL
 * are not needed.
 */
#ifndef ANNEX_EMU_BACKEND_H
#define ANNEX_EMU_BACKEND_H

#include "req.h"
#include "state.h"

#define EMU_PENDING INT32_MIN /* the step has not ended */
#define EMU_ZEROES (1u << 20)

/**
 * struct emu_backend - One kind of storage.
 * @scheme: its name in messages.
 * @requests: as many at once.
 * @size: bytes of emu->own, which are zeroes at first.
 * @cached: written data lasts only after a flush.
 * @bounded: another process ends the I/O within the timeout of a command, or never does.
 * @open: set emu->ns and emu->nns, and emu->fd where there is one, without the mutex. @arg: of
 *	annex_emu_open(). If it fails, @undo and @close follow.
 * @prefetch: commands were decoded, and will be carried out soon; called as @run is.
 * @run: carry a command out at once, by the holder of its submission queue without the mutex, and
 *	return its NVMe status. NULL: every command becomes a request.
 * @prepare: the part of a request that may take long, called as @run is. Returns an NVMe status.
 *	A request without I/O has 0 steps afterwards.
 * @issue: begin the next step of a request, req->io, on a namespace. Returns EMU_PENDING, or the
 *	result of the step: bytes that moved, 0 or a negative errno.
 * @submit: steps that were issued may begin.
 * @reap: call annex_emu_step_ended() for each step that has ended. Returns false if the storage is
 *	gone.
 * @cancel: the step of a request ends with -ECANCELED if it has not begun.
 * @writable: whether commands may change data now; called as @run is.
 * @doze: a thread will wait for emu->fd, without the mutex and one at a time. Returns false if it
 *	must not wait, because steps end only while a thread polls.
 * @rise: the thread has waited.
 * @map: reach a buffer without a copy, with every submission queue held instead of the mutex.
 *	Returns the number of the buffer (struct emu_map), or -1.
 * @unmap: undo that.
 * @claim: keep bytes of a namespace from others, or from their writers only (@shared), without the
 *	mutex. Returns 0, -EBUSY, or the negative errno of the attempt.
 * @beat: the sign of life of annex_ctrl_ops.beat, without the mutex.
 * @forked: in a child of fork(), without the mutex: close descriptors. No operation follows.
 * @undo: the controller could not be opened: leave the storage as it was found; before @close, and
 *	without the mutex.
 * @close: close and free everything but emu->own, without the mutex. @ended: no step is under way.
 */
struct emu_backend {
	const char *scheme;
	uint32_t requests;
	size_t size;
	bool cached;
	bool bounded;
	int (*open)(struct annex_emu *emu, const struct annex_uri *uri, const void *arg);
	void (*prefetch)(const struct emu_cmd *cmds, unsigned int n);
	uint16_t (*run)(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd);
	uint16_t (*prepare)(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd);
	int (*issue)(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns);
	void (*submit)(struct annex_emu *emu);
	bool (*reap)(struct annex_emu *emu);
	void (*cancel)(struct annex_emu *emu, struct emu_req *req);
	bool (*writable)(const struct emu_ns *ns);
	bool (*doze)(struct annex_emu *emu);
	void (*rise)(struct annex_emu *emu);
	int (*map)(struct annex_emu *emu, uint64_t addr, uint64_t len);
	void (*unmap)(struct annex_emu *emu, int buf, uint64_t len);
	int (*claim)(struct annex_emu *emu, struct emu_ns *ns, uint64_t pos, uint64_t len,
		     bool shared);
	uint32_t (*beat)(struct annex_emu *emu);
	void (*forked)(struct annex_emu *emu);
	void (*undo)(struct annex_emu *emu, const struct annex_uri *uri);
	void (*close)(struct annex_emu *emu, bool ended);
};

/* open.c: annex_emu_open() - Make a controller with a backend. */
int annex_emu_open(const struct annex_uri *uri, const struct emu_backend *backend, const void *arg,
		   struct annex_ctrl **out);

/*
 * steps.c, with the async mutex held but for prepare: annex_emu_prepare() - The prepare() of
 * backends that move data by I/O. annex_emu_io_next() - Set req->io. annex_emu_start() - Issue the
 * step at which a request is: the first, or after a delay the same again. annex_emu_step_ended() -
 * Its step has ended, with a result as issue() returns it. annex_emu_step_result() - Evaluate such
 * a result. Return: whether the request has ended, with *@status. annex_emu_ended() - All steps of
 * a request have ended. annex_emu_finish() - The same, and its data is in place.
 * annex_emu_submit() - Move far data, and begin the steps that were issued. annex_emu_reap() -
 * Take ended steps, and submit. annex_emu_vanish() - The controller is gone: waits end now, and
 * requests end without completions.
 */
uint16_t annex_emu_prepare(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd);
void annex_emu_io_next(struct emu_req *req, const struct emu_ns *ns);
void annex_emu_start(struct annex_emu *emu, struct emu_req *req);
void annex_emu_step_ended(struct annex_emu *emu, struct emu_req *req, int res);
bool annex_emu_step_result(struct emu_req *req, int res, uint16_t *status);
void annex_emu_ended(struct annex_emu *emu, struct emu_req *req, uint16_t status);
void annex_emu_finish(struct annex_emu *emu, struct emu_req *req, uint16_t status);
void annex_emu_submit(struct annex_emu *emu);
void annex_emu_reap(struct annex_emu *emu);
void annex_emu_vanish(struct annex_emu *emu);
/* Zeroes to be written, which never change. */
extern char annex_emu_zeroes[EMU_ZEROES];

#endif
