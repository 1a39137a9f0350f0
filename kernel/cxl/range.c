// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a range, and its host addresses: a window, and committed HDM decoders (CXL 3.1
 * section 8.2.4.20) in its members and on the route to them. Owns the work queue of ending ranges.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "cxl.h"
#include "range.h"

#define LOOK (HZ / 50)     /* shortest pause between two checks for held pages */
#define LOOK_MOST (HZ / 4) /* longest pause */

static bool shared;
module_param(shared, bool, 0644);
MODULE_PARM_DESC(shared, "All users of new ranges of CXL memory map the same memory, as it is");

static bool allow_labels;
module_param(allow_labels, bool, 0644);
MODULE_PARM_DESC(allow_labels, "Ranges may overwrite namespaces in persistent memory");

static DEFINE_MUTEX(list);
static DEFINE_MUTEX(decoding);
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
	mutex_lock(&list);
}

void annex_ranges_unlock(void)
{
	mutex_unlock(&list);
}

struct annex_range *annex_range_alloc(const struct annex_want *want, work_func_t end)
{
	struct annex_range *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	kref_init(&r->refs);
	mutex_init(&r->lock);
	r->nusers = 1;
	init_completion(&r->made);
	init_completion(&r->gone);
	r->kind = want->kind;
	r->shared = READ_ONCE(shared); /* root may change it */
	init_rwsem(&r->view);
	mutex_init(&r->gate.lock);
	INIT_LIST_HEAD(&r->pieces);
	INIT_LIST_HEAD(&r->spaces);
	annex_exports_init(&r->exports);
	INIT_DELAYED_WORK(&r->end, end);
	for (r->n = 0; r->n < want->n; r->n++) {
		r->members[r->n] = want->members[r->n];
		get_device(&r->members[r->n]->dev);
	}
	return r;
}

static void range_free(struct kref *refs)
{
	struct annex_range *r = container_of(refs, struct annex_range, refs);

	for (unsigned int i = 0; i < r->n; i++)
		put_device(&r->members[i]->dev);
	kvfree(r->bad);
	kvfree(r->taken);
	kfree(r);
}

void annex_range_put(struct annex_range *r)
{
	kref_put(&r->refs, range_free);
}

struct annex_range *annex_range_of(struct annex_hdm *hdm)
{
	struct annex_range *r;

	annex_ranges_lock();
	r = hdm->range;
	if (r && annex_range_state(r) == ANNEX_RANGE_MAKING)
		r = NULL;
	if (r)
		kref_get(&r->refs);
	annex_ranges_unlock();
	return r;
}

void annex_range_set(struct annex_range *r, enum annex_range_state state)
{
	lockdep_assert_held_write(&r->view);
	smp_store_release(&r->state, state); /* pairs with annex_range_state() */
}

int annex_range_join(struct annex_range *r)
{
	lockdep_assert_held(&r->lock);
	if (annex_range_state(r) != ANNEX_RANGE_LIVE)
		return -ENODEV;
	r->nusers++;
	kref_get(&r->refs);
	return 0;
}

/* Queued work has a reference. */
void annex_range_try_end(struct annex_range *r)
{
	kref_get(&r->refs);
	if (mod_delayed_work(queue, &r->end, 0))
		annex_range_put(r); /* it was queued already, with a reference */
}

bool annex_range_try_again(struct annex_range *r)
{
	r->pause = clamp(2 * r->pause, (unsigned long)LOOK, (unsigned long)LOOK_MOST);
	return queue_delayed_work(queue, &r->end, r->pause);
}

/* No zap is needed: the last user has no mapping. */
static bool range_end_unused(struct annex_range *r)
{
	if (--r->nusers)
		return false;
	down_write(&r->view);
	if (r->state == ANNEX_RANGE_LIVE)
		annex_range_set(r, ANNEX_RANGE_ENDING);
	up_write(&r->view);
	return true;
}

void annex_range_leave(struct annex_range *r)
{
	bool last;

	mutex_lock(&r->lock);
	last = range_end_unused(r);
	mutex_unlock(&r->lock);
	if (last) {
		annex_range_try_end(r);
		flush_work(&r->end.work); /* usually no page is held, and the range is gone now */
	}
	annex_range_put(r);
}

void annex_range_wake(struct annex_range *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		wake_up_all(&r->members[i]->media.wait);
}

/* Find the free memory of this kind on a device, above the memory of its decoders. */
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

/* Take addresses from the first window in the table that leads to the members and has room. */
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
		annex_hdm_refuse(hdm, err, "range: no window has 0x%llx free: see /proc/iomem",
				 r->bytes);
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

		err = annex_dvsec_check(hdm);
		if (!err)
			err = annex_decoder_commit(&hdm->decoders, &setup, &r->ids[i]);
		if (err)
			break;
		r->committed++;
		/* Not before: until HDM decoding is on, DVSEC ranges are used. */
		annex_dvsec_enable(hdm);
	}
	return err;
}

static int range_release_decoders(struct annex_range *r)
{
	int err = annex_route_release(&r->route);

	while (r->committed) {
		struct annex_hdm *hdm = r->members[--r->committed];

		if (annex_decoder_release(&hdm->decoders, r->ids[r->committed]))
			err = -ENOTRECOVERABLE;
		annex_dvsec_disable(hdm);
	}
	annex_route_put(&r->route);
	return err;
}

/* Data in persistent memory outlives its users, also if these are other drivers. */
static int range_check_kind(struct annex_range *r)
{
	if (r->kind != ANNEX_HDM_PERSISTENT)
		return 0;
	if (!r->shared)
		return annex_hdm_refuse(r->members[0], -EPERM,
					"range: persistent memory needs the parameter shared=1");
	for (unsigned int i = 0; i < r->n && !READ_ONCE(allow_labels); i++)
		if (r->members[i]->labelled)
			return annex_hdm_refuse(r->members[i], -EPERM,
						"range: it has namespaces: see allow_labels");
	return 0;
}

static int range_reserve(struct annex_range *r, const struct annex_want *want)
{
	struct pci_dev *pdevs[ANNEX_HDM_MEMBERS];
	int err = annex_caches_check(r->members[0]);

	if (err)
		return err;
	err = range_check_kind(r);
	if (err)
		return err;
	err = range_find_memory(r, want);
	if (err)
		return err;
	for (unsigned int i = 0; i < r->n; i++)
		pdevs[i] = r->members[i]->pdev;
	err = annex_route_find(&r->route, pdevs, r->n);
	if (err)
		return err;
	err = range_take_window(r, want);
	if (err)
		return err;
	err = range_commit_members(r);
	if (err)
		return err;
	return annex_route_commit(&r->route, r->base, r->bytes, r->granularity);
}

int annex_range_reserve(struct annex_range *r, const struct annex_want *want)
{
	int err;

	mutex_lock(&decoding);
	err = range_reserve(r, want);
	mutex_unlock(&decoding);
	return err;
}

void annex_range_release(struct annex_range *r, bool stuck)
{
	mutex_lock(&decoding);
	stuck |= range_release_decoders(r) != 0;
	if (stuck)
		dev_err(&r->members[0]->dev,
			"decoders stay committed: 0x%llx + 0x%llx are lost until the next boot\n",
			r->base, r->bytes);
	else if (r->res)
		release_mem_region(r->base, r->bytes);
	mutex_unlock(&decoding);
	/* The resource of a stuck range points to a name in this module: keep it loaded. */
	if (!stuck)
		module_put(THIS_MODULE);
}

bool annex_range_lost(struct annex_range *r, struct annex_hdm *hdm)
{
	bool lost = false;

	mutex_lock(&decoding);
	for (unsigned int i = 0; i < r->committed; i++)
		lost |= r->members[i] == hdm &&
			!annex_decoder_holds(&hdm->decoders, r->ids[i], r->base, r->bytes);
	mutex_unlock(&decoding);
	return lost;
}

void annex_range_forget(struct annex_hdm *hdm)
{
	mutex_lock(&decoding);
	hdm->decoders.regs = NULL;
	hdm->mem_enabled = false;
	mutex_unlock(&decoding);
}

void annex_range_decoders(struct annex_hdm *hdm, struct seq_file *to)
{
	struct annex_range *r = annex_range_of(hdm);

	mutex_lock(&decoding);
	if (r)
		annex_route_show(&r->route, to);
	if (hdm->decoders.regs)
		annex_decoders_show(&hdm->decoders, to);
	mutex_unlock(&decoding);
	if (r)
		annex_range_put(r);
}
