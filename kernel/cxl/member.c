// SPDX-License-Identifier: GPL-2.0
/*
 * Devices as members of ranges: makes, finds and ends the range of a device. Owns annex_hdm.range
 * and annex_hdm.gone.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include "filter.h"
#include "member.h"
#include "page.h"
#include "range.h"
#include "trace.h"

#define PATIENCE (5 * HZ) /* for the end of a range, before making the next one */

/* Release a range without struct pages. @stuck: as in annex_range_release(). */
static void member_release(struct annex_range *r, bool stuck)
{
	annex_range_release(r, stuck);
	annex_ranges_lock();
	for (unsigned int i = 0; i < r->n; i++)
		WRITE_ONCE(r->members[i]->range, NULL);
	annex_ranges_unlock();
	down_write(&r->view);
	annex_range_set(r, ANNEX_RANGE_GONE);
	up_write(&r->view);
	complete_all(&r->gone);
	annex_range_put(r); /* the members' */
}

/* A large range has many pages: check and free them without a lock. */
static void member_try_release(struct annex_range *r)
{
	bool idle;

	if (annex_range_state(r) != ANNEX_RANGE_ENDING || !annex_page_idle(r))
		return;
	mutex_lock(&r->lock);
	idle = annex_exports_idle(&r->exports);
	mutex_unlock(&r->lock);
	if (!idle)
		return;
	annex_page_unmake(r);
	annex_caches_flush(r->base, r->bytes); /* back to the devices */
	member_release(r, false);
}

static void member_end_work(struct work_struct *work)
{
	struct annex_range *r = container_of(to_delayed_work(work), struct annex_range, end);

	member_try_release(r);
	if (annex_range_state(r) == ANNEX_RANGE_GONE || !annex_range_try_again(r))
		annex_range_put(r);
}

/* End a range: no new users, and its release once no page is held. */
static void member_end(struct annex_range *r)
{
	mutex_lock(&r->lock);
	if (annex_range_state(r) == ANNEX_RANGE_LIVE) {
		annex_page_end(r);
		annex_exports_end(&r->exports, r->base, r->bytes);
	}
	mutex_unlock(&r->lock);
	annex_range_try_end(r);
}

/*
 * Poison from before the range is LIVE is in the devices' lists, which annex_poison_apply() reads;
 * annex_poison_update() applies later poison.
 */
static int member_make_pages(struct annex_range *r)
{
	int err;

	annex_caches_flush(r->base, r->bytes);
	err = annex_page_make(r);
	if (err) {
		annex_page_unmake(r);
		return err;
	}
	down_write(&r->view);
	annex_range_set(r, ANNEX_RANGE_LIVE);
	up_write(&r->view);
	annex_poison_apply(r);
	return 0;
}

/* Make a range that its members already point to; other callers wait for @made. */
static struct annex_range *member_make(struct annex_range *r, const struct annex_want *want)
{
	int err = annex_range_reserve(r, want);

	if (!err)
		err = member_make_pages(r);
	trace_annex_hdm_range(dev_name(&r->members[0]->dev), r->base, r->bytes, r->n, err);
	if (err)
		member_release(r, err == -ENOTRECOVERABLE);
	else
		dev_info_ratelimited(&r->members[0]->dev, "range of 0x%llx bytes, %u ways\n",
				     r->bytes, r->n);
	complete_all(&r->made);
	if (!err)
		return r;
	annex_range_put(r);
	return ERR_PTR(err);
}

/* Find a range of these devices that is being made, or ends. Under the ranges' lock. */
static struct annex_range *member_find_unsettled(const struct annex_want *want)
{
	for (unsigned int i = 0; i < want->n; i++) {
		struct annex_range *r = want->members[i]->range;

		if (r && (!completion_done(&r->made) || annex_range_state(r) != ANNEX_RANGE_LIVE))
			return r;
	}
	return NULL;
}

/*
 * The range of an earlier process may end late: io_uring releases buffers after the process has
 * exited. Returns the rest of the patience, or -ERESTARTSYS.
 */
static long member_wait(struct annex_range *r, long left)
{
	int err = wait_for_completion_killable(&r->made);

	if (err)
		return err;
	if (annex_range_state(r) == ANNEX_RANGE_LIVE)
		return left;
	return wait_for_completion_killable_timeout(&r->gone, left);
}

/* The range of all these devices; @fresh if they have none yet. Under the ranges' lock. */
static struct annex_range *member_claim(struct annex_hdm *hdm, const struct annex_want *want,
					struct annex_range *fresh)
{
	struct annex_range *r = hdm->range;

	for (unsigned int i = 0; i < want->n; i++) {
		if (want->members[i]->gone)
			return ERR_PTR(-ENODEV);
		if (want->members[i]->range != r)
			return ERR_PTR(annex_hdm_refuse(want->members[i], -EBUSY,
							"range: it is part of another one"));
	}
	if (!r && !fresh)
		return ERR_PTR(-EAGAIN);
	for (unsigned int i = 0; !r && i < want->n; i++)
		if (!annex_hdm_is_ready(want->members[i]))
			return ERR_PTR(annex_hdm_refuse(want->members[i], -EAGAIN,
							"range: it is not ready after a reset"));
	if (!r) {
		r = fresh;
		__module_get(THIS_MODULE); /* the caller has a file open */
		for (unsigned int i = 0; i < want->n; i++)
			WRITE_ONCE(want->members[i]->range, r);
	}
	kref_get(&r->refs);
	return r;
}

/* The same, after other ranges of these devices have ended. Returns a reference. */
static struct annex_range *member_take(struct annex_hdm *hdm, const struct annex_want *want,
				       struct annex_range *fresh, long *left)
{
	struct annex_range *r;

	annex_ranges_lock();
	while (*left > 0) {
		r = member_find_unsettled(want);
		if (!r)
			break;
		kref_get(&r->refs);
		annex_ranges_unlock();
		*left = member_wait(r, *left);
		annex_range_put(r);
		annex_ranges_lock();
	}
	r = *left < 0 ? ERR_PTR(-EINTR) : member_claim(hdm, want, fresh);
	annex_ranges_unlock();
	return r;
}

static bool member_wants(const struct annex_range *r, const struct annex_want *want)
{
	return r->kind == want->kind && (!want->bytes || want->bytes == r->bytes) &&
	       want->wc == r->wc && want->uc == r->uc && want->n == r->n &&
	       (!want->granularity || want->granularity == r->granularity) &&
	       !memcmp(r->members, want->members, want->n * sizeof(want->members[0]));
}

/* Become a user of a range. -ENODEV: it is ending. */
static int member_use(struct annex_hdm *hdm, struct annex_range *r, const struct annex_want *want)
{
	int err;

	if (annex_range_state(r) != ANNEX_RANGE_LIVE)
		return -ENODEV;
	if (!member_wants(r, want))
		return annex_hdm_refuse(hdm, -EBUSY,
					"range: another one of %u ways is there (%llx)", r->n,
					r->bytes);
	mutex_lock(&r->lock);
	err = annex_range_join(r);
	mutex_unlock(&r->lock);
	return err;
}

struct annex_range *annex_member_join(struct annex_hdm *hdm, const struct annex_want *want)
{
	struct annex_range *fresh = NULL, *r;
	long left = PATIENCE;
	int err;

	if (want->paced) {
		fresh = annex_range_alloc(want, member_end_work);
		if (!fresh)
			return ERR_PTR(-ENOMEM);
	}
	do {
		r = member_take(hdm, want, fresh, &left);
		if (r == fresh && fresh)
			return member_make(r, want);
		err = PTR_ERR_OR_ZERO(r);
		if (!err) {
			err = member_use(hdm, r, want);
			annex_range_put(r);
		}
	} while (err == -ENODEV && !IS_ERR(r) && left > 0);
	if (fresh)
		annex_range_put(fresh);
	if (err == -ENODEV && !IS_ERR(r))
		err = annex_hdm_refuse(hdm, -EBUSY, "range: pages of the last one are still held");
	return err ? ERR_PTR(err) : r;
}

/* Wait until the range of a device is made. Returns a reference, or NULL. */
static struct annex_range *member_wait_made(struct annex_hdm *hdm)
{
	struct annex_range *r;

	annex_ranges_lock();
	r = hdm->range;
	if (r)
		kref_get(&r->refs);
	annex_ranges_unlock();
	if (r)
		wait_for_completion(&r->made);
	return r;
}

static const char stays[] = "its decoders stay committed";

void annex_member_evict(struct annex_hdm *hdm, unsigned long patience)
{
	struct annex_range *r;

	annex_ranges_lock();
	WRITE_ONCE(hdm->gone, true); /* no new range can be made */
	annex_ranges_unlock();
	r = member_wait_made(hdm);
	if (r) {
		if (READ_ONCE(hdm->cut) || !pci_device_is_present(hdm->pdev))
			annex_filter_kill(&r->gate);
		member_end(r);
		/* Do not block the PCI core for longer: the work releases the range later. */
		if (!wait_for_completion_timeout(&r->gone, patience)) {
			annex_filter_exit(&r->gate);
			dev_warn(&hdm->dev, "removed while pages of its range are held: %s\n",
				 stays);
		}
		annex_range_put(r);
	}
	annex_range_forget(hdm);
}

void annex_member_verify(struct annex_hdm *hdm, bool cut)
{
	struct annex_range *r = member_wait_made(hdm);

	if (!r)
		return;
	if (cut)
		annex_filter_kill(&r->gate);
	if (annex_range_state(r) == ANNEX_RANGE_LIVE && (cut || annex_range_lost(r, hdm))) {
		dev_err(&hdm->dev, "%s: the range ends, data is lost\n",
			cut ? "a PCI error cut it off" : "a reset changed its decoders");
		annex_filter_kill(&r->gate);
		member_end(r);
	}
	annex_range_put(r);
}

bool annex_member_busy(struct annex_hdm *hdm)
{
	return READ_ONCE(hdm->range);
}

unsigned int annex_member_users(struct annex_hdm *hdm)
{
	struct annex_range *r = annex_range_of(hdm);
	unsigned int users;

	annex_ranges_lock();
	users = hdm->users;
	annex_ranges_unlock();
	if (!r)
		return users;
	users += annex_exports_count(&r->exports);
	if (annex_range_state(r) == ANNEX_RANGE_ENDING)
		users++; /* pages are still held */
	annex_range_put(r);
	return users;
}
