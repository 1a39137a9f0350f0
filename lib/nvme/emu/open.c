// SPDX-License-Identifier: MIT
/*
 * Opening and closing an emulated controller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "backend.h"

/* Whole pages, which a GPU can be allowed to write. */
#define DOORBELL_BYTES                                                                             \
	((2 * EMU_QUEUES * EMU_STRIDE + ANNEX_NVME_PAGE - 1) / ANNEX_NVME_PAGE * ANNEX_NVME_PAGE)

static void emu_forked(struct annex_ctrl *ctrl);
static int emu_close(struct annex_ctrl *ctrl);

static const struct annex_ctrl_ops ops = {
	.status = annex_emu_status,
	.identify = annex_emu_identify,
	.missing = annex_emu_missing,
	.create = annex_emu_create,
	.destroy = annex_emu_destroy,
	.abort = annex_emu_abort,
	.beat = annex_emu_beat,
	.reset = annex_emu_reset,
	.doorbell = annex_emu_doorbell,
	.map = annex_emu_map,
	.map_sparse = annex_emu_map_sparse,
	.map_far = annex_emu_map_far,
	.unmap = annex_emu_unmap,
	.rung = annex_emu_rung,
	.assist = annex_emu_assist,
	.event = annex_emu_event_count,
	.wake = annex_emu_wake,
	.sleep = annex_emu_sleep,
	.claim = annex_emu_claim,
	.inject = annex_emu_inject,
	.forked = emu_forked,
	.close = emu_close,
};

static void init_queues(struct annex_emu *emu)
{
	for (uint16_t i = 1; i < EMU_QUEUES; i++) {
		emu->sqs[i].qid = emu->cqs[i].qid = i;
		emu->sqs[i].doorbell = annex_emu_doorbell(&emu->ctrl, i, 0);
		emu->cqs[i].doorbell = annex_emu_doorbell(&emu->ctrl, i, 1);
		emu->sqs[i].cq = &emu->cqs[i];
	}
}

static struct annex_emu *emu_alloc(void)
{
	struct annex_emu *emu = aligned_alloc(64, sizeof(*emu));

	if (!emu)
		return NULL;
	memset(emu, 0, sizeof(*emu));
	emu->ctrl = (struct annex_ctrl){.ops = &ops, .queues = EMU_IO_QUEUES, .depth = EMU_DEPTH};
	emu->next_due = EMU_NEVER;
	emu->fd = -1;
	emu->mdts = EMU_MDTS;
	emu->doorbells = aligned_alloc(ANNEX_NVME_PAGE, DOORBELL_BYTES);
	emu->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!emu->doorbells || emu->kick < 0) {
		if (emu->kick >= 0)
			close(emu->kick);
		free(emu->doorbells);
		free(emu);
		return NULL;
	}
	memset(emu->doorbells, 0, DOORBELL_BYTES);
	pthread_mutex_init(&emu->ctl, NULL);
	pthread_mutex_init(&emu->async, NULL);
	init_queues(emu);
	return emu;
}

/*
 * Flush written data before the close (CC.SHN, Base 3.6). Return: whether that has ended.
 */
static bool flush(struct annex_emu *emu)
{
	if (!emu->backend->cached || !annex_atomic_load(&emu->wrote, ANNEX_RELAXED) ||
	    annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		return true;
	pthread_mutex_lock(&emu->async);
	annex_emu_start(emu, annex_emu_req_own(emu));
	annex_emu_submit(emu);
	pthread_mutex_unlock(&emu->async);
	while (annex_atomic_load(&emu->flushing, ANNEX_ACQUIRE))
		if (annex_emu_drain(emu, NULL)) {
			annex_log(ANNEX_LOG_WARNING,
				  "%s: closed without a flush: the last writes may be lost",
				  annex_last_error());
			return false;
		}
	return true;
}

/* End all commands before their memory is freed. Return: whether they have ended. */
static bool end_all(struct annex_emu *emu)
{
	pthread_mutex_lock(&emu->async);
	annex_emu_reqs_end(emu, NULL);
	pthread_mutex_unlock(&emu->async);
	return !annex_emu_drain(emu, NULL);
}

/*
 * The kernel has commands that a file does not answer, and may read and write their buffers at any
 * time: the controller, its requests and these buffers are never freed.
 */
static int give_up(struct annex_emu *emu)
{
	static struct annex_emu *given_up; /* for leak checkers: the memory stays reachable */
	struct annex_emu *next = annex_atomic_load(&given_up, ANNEX_RELAXED);

	/* Relaxed: the list is written only. */
	do
		emu->given_up = next;
	while (!annex_atomic_cas(&given_up, &next, emu, ANNEX_RELAXED));
	annex_fail(
		-EBUSY,
		"%s: closed while the kernel has commands that do not end: %llu bytes of memory, "
		"which it may still read and write, are never freed",
		emu->scheme, (ull)annex_emu_reqs_bytes(emu));
	annex_log(ANNEX_LOG_WARNING, "%s", annex_last_error());
	close(emu->kick);
	return -EBUSY;
}

static void emu_forked(struct annex_ctrl *ctrl)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	emu->forked = true;
	if (emu->backend->forked)
		emu->backend->forked(emu);
	close(emu->kick);
}

static void free_emu(struct annex_emu *emu)
{
	free(emu->own);
	annex_emu_reqs_close(emu);
	for (unsigned int i = 0; i < EMU_QUEUES; i++) {
		free(emu->sqs[i].segs);
		free(emu->sqs[i].cmds);
	}
	free(emu->maps.v);
	free(emu->doorbells);
	pthread_mutex_destroy(&emu->ctl);
	pthread_mutex_destroy(&emu->async);
	free(emu);
}

static int emu_close(struct annex_ctrl *ctrl)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	bool ended;

	if (emu->forked) {
		free_emu(emu);
		return 0;
	}
	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	annex_emu_thread_stop(emu);
	ended = end_all(emu);
	/* A flush would not end either, behind commands that do not end. */
	ended = ended && flush(emu);
	if (emu->backend->close)
		emu->backend->close(emu, ended);
	if (!ended)
		return give_up(emu);
	annex_emu_far_close(emu);
	close(emu->kick);
	free_emu(emu);
	return 0;
}

static int add_faults(struct annex_emu *emu, const struct annex_uri *uri)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < uri->nparams; i++) {
		struct annex_fault fault;

		if (strcmp(uri->params[i].key, "fault"))
			continue;
		err = annex_fault_parse(uri->params[i].value, &fault);
		if (!err)
			err = annex_emu_fault_add(emu, &fault);
	}
	return err;
}

static int read_serve(const struct annex_uri *uri, enum emu_serve *serve)
{
	static const char *const names[] = {"caller", "thread", "busy", "alone"};
	const char *value = annex_uri_get(uri, "serve");

	*serve = EMU_SERVE_CALLER;
	for (unsigned int i = 0; value && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(value, names[i])) {
			*serve = (enum emu_serve)i;
			return 0;
		}
	}
	return value ? annex_fail(-EINVAL, "%s: serve=%s is none of caller, alone, thread and busy",
				  uri->scheme, value)
		     : 0;
}

/* Find errors in the URI before the backend touches a file. */
static int prepare(struct annex_emu *emu, const struct annex_uri *uri, enum emu_serve *serve)
{
	const struct emu_backend *b = emu->backend;
	int err = read_serve(uri, serve);

	if (!err)
		err = add_faults(emu, uri);
	if (!err)
		err = annex_emu_reqs_open(emu, b->requests);
	emu->alone = *serve == EMU_SERVE_ALONE;
	emu->own = calloc(1, b->size + 1);
	if (!err && !emu->own)
		err = annex_fail(-ENOMEM, "%s: no memory for the controller", uri->scheme);
	return err;
}

/* The controller never ran: there are no commands, and nothing to flush. */
static void open_failed(struct annex_emu *emu, const struct annex_uri *uri)
{
	KEEP_LAST_ERROR(true);

	if (emu->backend->undo)
		emu->backend->undo(emu, uri);
	if (emu->backend->close)
		emu->backend->close(emu, true);
}

static int start(struct annex_emu *emu, const struct annex_uri *uri, enum emu_serve serve,
		 const void *arg)
{
	int err = emu->backend->open(emu, uri, arg);

	if (!err && (emu->alone || !annex_uri_get(uri, "serve")))
		serve = emu->usual;
	if (!err && serve != EMU_SERVE_CALLER)
		err = annex_emu_thread_start(emu, serve == EMU_SERVE_BUSY);
	if (err)
		open_failed(emu, uri);
	return err;
}

int annex_emu_open(const struct annex_uri *uri, const struct emu_backend *backend, const void *arg,
		   struct annex_ctrl **out)
{
	struct annex_emu *emu = emu_alloc();
	enum emu_serve serve;
	int err;

	if (!emu)
		return annex_fail(-ENOMEM, "%s: no memory for the controller", uri->scheme);
	emu->backend = backend;
	emu->scheme = backend->scheme;
	err = prepare(emu, uri, &serve);
	if (!err)
		err = start(emu, uri, serve, arg);
	if (err) {
		close(emu->kick);
		free_emu(emu);
		return err;
	}
	annex_atomic_store(&emu->running, 1u, ANNEX_RELEASE);
	*out = &emu->ctrl;
	return 0;
}
