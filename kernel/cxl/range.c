// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "caches.h"
#include "cxl.h"
#include "export.h"
#include "page.h"
#include "poison.h"
#include "range.h"
#include "trace.h"

#define LOOK (HZ / 50)     /* between two looks for pages that are held, at first */
#define LOOK_MOST (HZ / 4) /* and after many */
#define PATIENCE (5 * HZ)  /* for the end of one range, before there is another */

static DEFINE_MUTEX(lock);
static DECLARE_WAIT_QUEUE_HEAD(settled); /* a range was made, or cut */
static struct workqueue_struct *queue;

int annex_ranges_init(void)
{
	queue = alloc_workqueue("annex", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

void annex_ranges_exit(void)
{
	destroy_workqueue(queue);
}

void annex_ranges_lock(void)
{
	mutex_lock(&lock);
}

void annex_ranges_unlock(void)
{
	mutex_unlock(&lock);
}

/* Whether its kind of memory, and all of its decoders, leave room on a device; how much. */
static int range_find_room(struct annex_hdm *hdm, u32 kind, u64 *dpa, u64 *room)
{
	u64 used = annex_decoders_used(&hdm->decoders);
	u64 start = kind == ANNEX_HDM_PERSISTENT ? hdm->bytes[ANNEX_HDM_VOLATILE] : 0;
	u64 end = start + hdm->bytes[kind];
	int next = annex_decoders_next(&hdm->decoders);

	if (next < 0)
		return next;
	*dpa = max(start, used);
	*room = *dpa < end ? round_down(end - *dpa, CXL_GRANULE) : 0;
	if (!*room)
		return annex_hdm_refuse(hdm, -ENOSPC, "range: no %s memory is left",
					kind ? "persistent" : "volatile");
	return 0;
}

static int range_find_memory(struct annex_range *r, const struct annex_want *want)
{
	u64 least = U64_MAX, room;
	int err;

	for (unsigned int i = 0; i < r->n; i++) {
		err = range_find_room(r->members[i], r->kind, &r->dpa[i], &room);
		if (err)
			return err;
		least = min(least, room);
	}
	r->bytes = want->bytes ? want->bytes : least * r->n;
	if (r->bytes > least * r->n)
		return annex_hdm_refuse(r->members[0], -ENOSPC,
					"range: 0x%llx bytes, and 0x%llx are left", r->bytes,
					least * r->n);
	if (want->wc > r->bytes || want->uc > r->bytes - want->wc)
		return annex_hdm_refuse(r->members[0], -EINVAL, "range: parts of 0x%llx + 0x%llx",
					want->wc, want->uc);
	r->wc = want->wc;
	r->uc = want->uc;
	r->cached = r->bytes - r->wc - r->uc;
	return 0;
}

/* A window that leads to the members, with room: in the order of the table. */
static int range_take_window(struct annex_range *r, const struct annex_want *want)
{
	struct annex_hdm *hdm = r->members[0];
	struct annex_window *windows;
	struct annex_taken *taken;
	u64 floor = annex_route_end(&r->route);
	int n = annex_windows_read(&windows), ntaken, err = -EOPNOTSUPP;

	if (n < 0)
		return n;
	ntaken = annex_route_taken(&r->route, &taken);
	if (ntaken < 0) {
		kfree(windows);
		return ntaken;
	}
	for (unsigned int i = 0; i < r->n; i++)
		floor = max(floor, annex_decoders_end(&r->members[i]->decoders));
	for (int i = 0; i < n && !r->res; i++) {
		if (!annex_window_fits(&windows[i], want->kind, want->granularity) ||
		    annex_route_plan(&r->route, &windows[i]))
			continue;
		err = -ENOSPC;
		r->granularity = want->granularity ? want->granularity : windows[i].granularity;
		r->res = annex_window_take(&windows[i], r->bytes, floor, taken, ntaken);
	}
	kfree(taken);
	kfree(windows);
	if (r->res)
		r->base = r->res->start;
	else if (err == -ENOSPC)
		annex_hdm_refuse(hdm, err,
				 "range: no window has 0x%llx free from 0x%llx: see /proc/iomem",
				 r->bytes, floor);
	else
		annex_hdm_refuse(hdm, err,
				 "range: no window for %u %s devices by 0x%x bytes in this order",
				 r->n, r->kind ? "persistent" : "volatile", want->granularity);
	return r->res ? 0 : err;
}

static int range_commit_members(struct annex_range *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->n && !err; i++) {
		struct annex_hdm *hdm = r->members[i];
		struct annex_setup setup = {
			.base = r->base,
			.bytes = r->bytes,
			.ways = r->n,
			.granularity = r->granularity,
			.list = r->dpa[i] - annex_decoders_used(&hdm->decoders),
		};

		err = annex_hdm_check(hdm);
		if (!err)
			err = annex_decoder_commit(&hdm->decoders, &setup, &r->ids[i]);
		if (err)
			break;
		r->committed++;
		/* Not before: until HDM decoding is on, DVSEC ranges count. */
		annex_hdm_enable(hdm);
	}
	return err;
}

static void range_take_back(struct annex_range *r)
{
	r->stuck |= annex_route_release(&r->route) != 0;
	while (r->committed) {
		struct annex_hdm *hdm = r->members[--r->committed];

		r->stuck |= annex_decoder_release(&hdm->decoders, r->ids[r->committed]) != 0;
		annex_hdm_disable(hdm);
	}
	annex_route_drop(&r->route);
	if (r->stuck)
		dev_err(&r->members[0]->dev,
			"decoders stay committed: 0x%llx + 0x%llx are lost until the next boot\n",
			r->base, r->bytes);
}

/* Without pages any more, or yet: take back whatever is there, in the reverse order. */
static void range_cut(struct annex_range *r)
{
	lockdep_assert_held(&lock);
	range_take_back(r);
	if (r->res && !r->stuck)
		release_mem_region(r->base, r->bytes);
	r->res = NULL;
	for (unsigned int i = 0; i < r->n; i++)
		if (r->members[i]->range == r)
			WRITE_ONCE(r->members[i]->range, NULL);
	r->live = false;
	wake_up_all(&settled);
	/* What addresses are called in the kernel's tree is in the module. */
	if (!r->stuck)
		module_put(THIS_MODULE);
}

static void range_drop(struct annex_range *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		put_device(&r->members[i]->dev);
	kvfree(r->bad);
	kvfree(r->pieces);
	kfree(r);
}

/*
 * Not while the work is on its way to the lock: it may be the last thing that happens to it. One
 * that waits for its time is due at once: no timer is left when the range is cut, and with the last
 * of them the queue may go.
 */
static void range_look(struct annex_range *r, unsigned long delay)
{
	if (!r->queued || cancel_delayed_work(&r->end))
		queue_delayed_work(queue, &r->end, delay);
	r->queued = true;
}

/*
 * Cut a range that has ended, if nobody holds a page. The lock is everybody's, and terabytes have
 * many pages: they are looked at, and go, without it, by one at a time. It stays live meanwhile, so
 * nobody frees it.
 */
static void range_try_cut(struct annex_range *r)
{
	bool idle;

	if (!r->live || r->busy)
		return;
	r->busy = true;
	mutex_unlock(&lock);
	idle = annex_page_idle(r);
	mutex_lock(&lock);
	if (idle && annex_export_idle(r)) {
		mutex_unlock(&lock);
		annex_page_unmake(r);
		annex_caches_flush(r->base, r->bytes); /* back to the devices */
		mutex_lock(&lock);
		range_cut(r);
	}
	r->busy = false;
}

static void range_end_work(struct work_struct *work)
{
	struct annex_range *r = container_of(to_delayed_work(work), struct annex_range, end);
	bool all;

	mutex_lock(&lock);
	r->queued = false;
	range_try_cut(r);
	if (r->live) {
		r->pause = clamp(2 * r->pause, (unsigned long)LOOK, (unsigned long)LOOK_MOST);
		range_look(r, r->pause);
	}
	all = !r->live && !r->refs && !r->queued;
	mutex_unlock(&lock);
	if (all)
		range_drop(r);
}

/*
 * No new use of it; cut it as soon as can be. Page tables may have all of its pages, so they are
 * gone through without the lock.
 */
static void range_end(struct annex_range *r)
{
	r->refs++;
	mutex_unlock(&lock);
	annex_page_end(r);
	mutex_lock(&lock);
	annex_export_end(r);
	range_look(r, 0);
	annex_range_put(r);
}

static int range_start(struct annex_range *r, const struct annex_want *want)
{
	struct pci_dev *pdevs[ANNEX_HDM_MEMBERS];
	int err = annex_caches_check(r->members[0]);

	if (!err)
		err = range_find_memory(r, want);
	if (err)
		return err;
	for (unsigned int i = 0; i < r->n; i++)
		pdevs[i] = r->members[i]->pdev;
	err = annex_route_find(&r->route, pdevs, r->n);
	if (!err)
		err = range_take_window(r, want);
	if (!err)
		err = range_commit_members(r);
	if (!err)
		err = annex_route_commit(&r->route, r->base, r->bytes, r->granularity);
	return err;
}

static void range_set_making(struct annex_range *r, bool making)
{
	for (unsigned int i = 0; i < r->n; i++)
		WRITE_ONCE(r->members[i]->making, making);
	if (!making)
		wake_up_all(&settled);
}

/*
 * With its decoders, the pages, without the lock as far as that takes time. Poison that comes
 * meanwhile finds the range in its members, but nobody else gets it before it is made.
 */
static int range_make(struct annex_range *r)
{
	int err;

	range_set_making(r, true);
	mutex_unlock(&lock);
	annex_caches_flush(r->base, r->bytes);
	err = annex_page_make(r);
	if (err)
		annex_page_unmake(r);
	mutex_lock(&lock);
	for (unsigned int i = 0; i < r->n && !err; i++)
		WRITE_ONCE(r->members[i]->range, r); /* some look without the lock */
	if (!err) {
		mutex_unlock(&lock);
		annex_poison_apply(r);
		mutex_lock(&lock);
	}
	range_set_making(r, false);
	return err;
}

static struct annex_range *range_alloc(const struct annex_want *want)
{
	struct annex_range *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->refs = 1;
	r->live = true;
	r->kind = want->kind;
	init_rwsem(&r->view);
	mutex_init(&r->gate.lock);
	INIT_LIST_HEAD(&r->users);
	INIT_LIST_HEAD(&r->exports);
	INIT_DELAYED_WORK(&r->end, range_end_work);
	for (r->n = 0; r->n < want->n; r->n++) {
		r->members[r->n] = want->members[r->n];
		get_device(&r->members[r->n]->dev);
	}
	__module_get(THIS_MODULE); /* who asks has a file open */
	return r;
}

static struct annex_range *range_create(const struct annex_want *want)
{
	struct annex_range *r = range_alloc(want);
	int err;

	if (!r)
		return ERR_PTR(-ENOMEM);
	err = range_start(r, want);
	r->stuck = err == -ENOTRECOVERABLE;
	if (!err)
		err = range_make(r);
	trace_annex_hdm_range(dev_name(&r->members[0]->dev), r->base, r->bytes, r->n, err);
	if (err) {
		range_cut(r);
		range_drop(r);
		return ERR_PTR(err);
	}
	dev_info(&r->members[0]->dev, "range of 0x%llx bytes at 0x%llx, %u ways\n", r->bytes,
		 r->base, r->n);
	return r;
}

static bool range_same(const struct annex_range *r, const struct annex_want *want)
{
	return r->kind == want->kind && (!want->bytes || want->bytes == r->bytes) &&
	       want->wc == r->wc && want->uc == r->uc && want->n == r->n &&
	       (!want->granularity || want->granularity == r->granularity) &&
	       !memcmp(r->members, want->members, want->n * sizeof(want->members[0]));
}

static struct annex_hdm *range_find_unsettled(const struct annex_want *want)
{
	for (unsigned int i = 0; i < want->n; i++) {
		struct annex_hdm *hdm = want->members[i];

		if (hdm->making || (hdm->range && hdm->range->ended))
			return hdm;
	}
	return NULL;
}

/*
 * Until one that somebody makes is made. The last job's range may need a moment as well: io_uring
 * lets go of its buffers after their process.
 */
static int range_wait(const struct annex_want *want)
{
	struct annex_hdm *hdm = range_find_unsettled(want);
	long left = PATIENCE;

	lockdep_assert_held(&lock);
	while (hdm && left > 0) {
		bool making = hdm->making;

		mutex_unlock(&lock);
		if (!making)
			left = wait_event_killable_timeout(settled, !READ_ONCE(hdm->range), left);
		else if (wait_event_killable(settled, !READ_ONCE(hdm->making)))
			left = -EINTR;
		mutex_lock(&lock);
		hdm = range_find_unsettled(want);
	}
	return left < 0 ? -EINTR : 0;
}

struct annex_range *annex_range_get(struct annex_hdm *hdm, const struct annex_want *want)
{
	struct annex_range *r;
	int err = range_wait(want);

	if (err)
		return ERR_PTR(err);
	r = hdm->range;
	for (unsigned int i = 0; i < want->n; i++) {
		if (want->members[i]->gone)
			return ERR_PTR(-ENODEV);
		if (want->members[i]->range != r)
			return ERR_PTR(annex_hdm_refuse(want->members[i], -EBUSY,
							"range: it is part of another one"));
	}
	if (!r && !want->paced)
		return ERR_PTR(-EAGAIN);
	if (!r)
		return range_create(want);
	if (r->ended) {
		annex_hdm_refuse(hdm, -EBUSY, "range: pages of the last one are still held");
		return ERR_PTR(-EBUSY);
	}
	if (!range_same(r, want)) {
		annex_hdm_refuse(hdm, -EBUSY,
				 "range: there is one of %u ways and 0x%llx (0x%llx, 0x%llx) bytes",
				 r->n, r->bytes, r->wc, r->uc);
		return ERR_PTR(-EBUSY);
	}
	r->refs++;
	return r;
}

void annex_range_put(struct annex_range *r)
{
	lockdep_assert_held(&lock);
	if (--r->refs)
		return;
	/* There are no page tables any more; most often nobody has a page either. */
	if (r->live)
		annex_page_end(r);
	range_try_cut(r);
	range_look(r, 0);
}

/* Until the range of a device that somebody makes is made. */
static void range_wait_made(struct annex_hdm *hdm)
{
	while (hdm->making) {
		mutex_unlock(&lock);
		wait_event(settled, !READ_ONCE(hdm->making));
		mutex_lock(&lock);
	}
}

static const char stays[] = "its decoders stay committed";

void annex_range_evict(struct annex_hdm *hdm, unsigned long patience)
{
	mutex_lock(&lock);
	WRITE_ONCE(hdm->gone, true); /* so this is the last range that is made of it */
	range_wait_made(hdm);
	if (hdm->range)
		range_end(hdm->range);
	mutex_unlock(&lock);
	wait_event_timeout(settled, !READ_ONCE(hdm->range), patience);
	mutex_lock(&lock);
	/* Others wait for this to end. The work does the rest. */
	if (hdm->range)
		dev_warn(&hdm->dev, "removed, and somebody holds pages of its range: %s\n", stays);
	hdm->decoders.regs = NULL;
	hdm->mem_enabled = false;
	mutex_unlock(&lock);
}

void annex_range_verify(struct annex_hdm *hdm)
{
	struct annex_range *r;
	u64 base, bytes;
	bool lost = false;

	mutex_lock(&lock);
	range_wait_made(hdm);
	r = hdm->range;
	for (unsigned int i = 0; r && !r->ended && i < r->n; i++)
		lost |= r->members[i] == hdm &&
			!annex_decoder_range(&hdm->decoders, r->ids[i], &base, &bytes);
	if (lost) {
		dev_err(&hdm->dev, "a reset took its decoders: the range ends, data is lost\n");
		range_end(r);
	}
	mutex_unlock(&lock);
}

bool annex_range_live(struct annex_hdm *hdm)
{
	return READ_ONCE(hdm->making) || READ_ONCE(hdm->range);
}

void annex_range_wake(struct annex_range *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		wake_up_all(&r->members[i]->media.wait);
}

unsigned int annex_range_users(struct annex_hdm *hdm)
{
	unsigned int users;

	mutex_lock(&lock);
	users = hdm->users + (hdm->range ? annex_export_count(hdm->range) : 0);
	if (hdm->range && hdm->range->ended)
		users++; /* whoever holds its pages */
	mutex_unlock(&lock);
	return users;
}

void annex_range_decoders(struct annex_hdm *hdm, struct seq_file *to)
{
	mutex_lock(&lock);
	if (hdm->range)
		annex_route_show(&hdm->range->route, to);
	if (hdm->decoders.regs)
		annex_decoders_show(&hdm->decoders, to);
	mutex_unlock(&lock);
}
