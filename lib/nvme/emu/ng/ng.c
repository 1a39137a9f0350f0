// SPDX-License-Identifier: MIT
/*
 * The kernel's NVMe driver as a backend: it carries out commands, and uses some disks itself.
 */
#include <errno.h>
#include <unistd.h>
#include "ng.h"
#include "nvme/emu/emu.h"

#define AGAIN_NS (10 * ANNEX_NSEC_PER_MSEC) /* between tries, while the kernel resets a drive */
#define LOOK_NS ANNEX_NSEC_PER_SEC          /* between looks whether the kernel uses a disk */

static void look(struct emu_ng *ng)
{
	char why[EMU_USE_WHY];
	uint32_t held = annex_emu_used(ng->disk, why);

	/* Relaxed: the answer stands for itself. */
	if (annex_atomic_load(&ng->in_use, ANNEX_RELAXED) == held)
		return;
	annex_atomic_store(&ng->in_use, held, ANNEX_RELAXED);
	if (held)
		annex_log(ANNEX_LOG_WARNING,
			  "ng: /dev/ng%s: writes are refused while %s; force=1 permits them",
			  ng->disk + 4, why);
}

/*
 * Whether the kernel uses the disk or a partition of it, and force=1 was not given. @now: look at
 * once, not only once a second.
 */
static bool is_in_use(struct emu_ng *ng, bool now)
{
	uint64_t due, time;

	if (ng->force)
		return false;
	time = annex_now();
	/* Relaxed: one late thread looks, the others use the last result. */
	due = annex_atomic_load(&ng->look_at, ANNEX_RELAXED);
	if (now ||
	    (time >= due && annex_atomic_cas(&ng->look_at, &due, time + LOOK_NS, ANNEX_RELAXED)))
		look(ng);
	return annex_atomic_load(&ng->in_use, ANNEX_RELAXED);
}

/* Whether the kernel has lost all of them. */
static bool is_lost(const struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		if (!access(((const struct emu_ng *)emu->ns[i].own)->node, F_OK))
			return false;
	return true;
}

static int ng_issue(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns)
{
	struct emu_ring *ring = emu->own;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	annex_emu_ng_issue(emu, req, ns, sqe, annex_emu_ring_target(ring, ns));
	annex_emu_ring_queue(ring, sqe, req);
	return EMU_PENDING;
}

static void ended(struct annex_emu *emu, struct emu_req *req, int res)
{
	struct emu_ngs *g = emu->own;
	uint16_t status = 0;

	if (!req->dropped) {
		g->failed |= res != 0;
		if (req->sq && annex_emu_ng_transient(emu, req, res)) {
			annex_emu_req_again(emu, req, AGAIN_NS);
			return;
		}
		if (annex_emu_ng_result(req, &res, &status)) {
			annex_emu_ended(emu, req, status);
			return;
		}
	}
	annex_emu_step_ended(emu, req, res);
}

static bool ng_reap(struct annex_emu *emu)
{
	struct emu_ngs *g = emu->own;

	g->failed = false;
	annex_emu_ring_reap(emu, ended);
	return !g->failed || !is_lost(emu);
}

static bool ng_writable(const struct emu_ns *ns)
{
	return !is_in_use(ns->own, false);
}

static bool ng_doze(struct annex_emu *emu)
{
	const struct emu_ngs *g = emu->own;

	/* Acquire: as where the transport looks whether I/O is in flight. */
	return !g->ring.polled || !annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE);
}

static int ng_claim(struct annex_emu *emu, struct emu_ns *ns, uint64_t pos, uint64_t len,
		    bool shared)
{
	struct emu_ng *ng = ns->own;

	if (!shared && is_in_use(ng, true))
		return -EBUSY;
	return annex_emu_disk_claim(emu, ns, pos, len, shared);
}

static int ng_open(struct annex_emu *emu, const struct annex_uri *uri, const void *arg)
{
	struct emu_ring *ring = emu->own;
	char why[EMU_RING_WHY];
	int err;

	(void)arg;
	ring->wide = true;
	err = annex_emu_ng_open(emu, uri);
	if (err)
		return err;
	err = annex_emu_ring_open(emu, why);
	if (err)
		return annex_fail(err, "%s: cannot set io_uring up: %s", emu->scheme, why);
	return annex_emu_ng_try(emu);
}

/* Passthrough cannot cancel a command. */
static const struct emu_backend backend = {
	.scheme = "ng",
	.requests = EMU_RING_REQS,
	.size = sizeof(struct emu_ngs),
	.cached = true,
	.open = ng_open,
	.prepare = annex_emu_prepare,
	.issue = ng_issue,
	.submit = annex_emu_ring_submit,
	.reap = ng_reap,
	.writable = ng_writable,
	.doze = ng_doze,
	.map = annex_emu_ring_map,
	.unmap = annex_emu_ring_unmap,
	.claim = ng_claim,
	.forked = annex_emu_ring_forked,
	.close = annex_emu_ring_close,
};

int annex_emu_open_ng(const struct annex_uri *uri, struct annex_ctrl **out)
{
	return annex_emu_open(uri, &backend, NULL, out);
}
