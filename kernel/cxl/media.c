// SPDX-License-Identifier: GPL-2.0
/*
 * The poison list and the event records of a memory device (CXL 3.1 section 8.2.9). Owns copies of
 * both, and the device's event interrupts.
 */
#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include "compat.h"
#include "cxl.h"
#include "media.h"

#define POISON_MOST 65536u /* records */
#define ROUNDS 8192        /* most commands for one list */
#define LIST (10 * HZ)     /* most time for them */
#define VECTORS 16
#define RETRY_MOST (32 * HZ)

/* General media and DRAM events (8.2.9.2.1) can report poison. */
static const uuid_t general_media = UUID_INIT(0xfbcd0a77, 0xc260, 0x417f, 0x85, 0xa9, 0x08, 0x8b,
					      0x16, 0x21, 0xeb, 0xa6);
static const uuid_t dram = UUID_INIT(0x601dcbb3, 0x9c06, 0x4eab, 0xb8, 0xaf, 0x4e, 0x9b, 0xfb, 0x5c,
				     0x96, 0x24);

static bool media_goes_on(int more, unsigned int round, unsigned long end)
{
	return more > 0 && round < ROUNDS && time_before(jiffies, end);
}

/* Add the records of one answer to @list. 1: there are more; 0: that was the last one. */
static int media_take_poison(struct annex_media *media, u32 got, struct annex_ioc_seg *list, u32 *n)
{
	const struct cxl_poison_out *out = (void *)media->mbox->out;
	u32 count;

	if (got < sizeof(*out) || got < struct_size(out, records, le16_to_cpu(out->count))) {
		dev_warn_ratelimited(media->mbox->dev, "its list of poison ends in a record\n");
		return -EPROTO;
	}
	count = le16_to_cpu(out->count);
	for (u32 i = 0; i < count && *n < POISON_MOST; i++) {
		u64 addr = le64_to_cpu(out->records[i].address) & CXL_POISON_ADDRESS;
		u64 bytes = (u64)le32_to_cpu(out->records[i].lines) * CXL_LINE;

		if (addr >= media->bytes || !bytes)
			continue;
		list[(*n)++] = (struct annex_ioc_seg){addr, min(bytes, media->bytes - addr)};
	}
	if (out->flags & CXL_POISON_OVERFLOW || *n == POISON_MOST)
		dev_warn_ratelimited(media->mbox->dev, "its list of poison is not complete\n");
	return out->flags & CXL_POISON_MORE && *n < POISON_MOST;
}

/* Read the list of one kind of memory: a device need not answer for both in one command. */
static int media_read_poison(struct annex_media *media, u64 start, u64 stop,
			     struct annex_ioc_seg *list, u32 *n)
{
	struct cxl_poison_in in = {.address = cpu_to_le64(start),
				   .lines = cpu_to_le64((stop - start) / CXL_LINE)};
	unsigned long end = jiffies + LIST;
	int more = start < stop;

	for (unsigned int round = 0; media_goes_on(more, round, end); round++) {
		mutex_lock(&media->mbox->lock);
		memcpy(media->mbox->in, &in, sizeof(in));
		more = annex_mbox_run(media->mbox, CXL_OP_GET_POISON, sizeof(in));
		if (more >= 0)
			more = media_take_poison(media, more, list, n);
		mutex_unlock(&media->mbox->lock);
	}
	if (more > 0) {
		dev_warn_ratelimited(media->mbox->dev, "its list of poison does not end\n");
		return -EIO;
	}
	return more;
}

/* A device without a list of volatile memory rejects its addresses (8.2.9.9.4.1). */
static int media_read_both(struct annex_media *media, struct annex_ioc_seg *list, u32 *n)
{
	int err = media_read_poison(media, 0, media->border, list, n);

	if (err && err != -EFAULT)
		return err;
	err = media_read_poison(media, media->border, media->bytes, list, n);
	if (err != -EFAULT)
		return err;
	dev_warn_ratelimited(media->mbox->dev, "it lists no poison of its persistent memory\n");
	return -EIO;
}

static int media_by_address(const void *a, const void *b)
{
	const struct annex_ioc_seg *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Merge records that overlap: a device may repeat them, and each range goes through the list. */
static u32 media_merge(struct annex_ioc_seg *list, u32 n)
{
	u32 kept = 0;

	sort(list, n, sizeof(*list), media_by_address, NULL);
	for (u32 i = 0; i < n; i++) {
		u64 end = list[i].addr + list[i].bytes;
		struct annex_ioc_seg *last = &list[kept ? kept - 1 : 0];

		if (kept && list[i].addr <= last->addr + last->bytes)
			last->bytes = max(last->addr + last->bytes, end) - last->addr;
		else
			list[kept++] = list[i];
	}
	return kept;
}

static int media_scan(struct annex_media *media)
{
	struct annex_ioc_seg *list, *fit = NULL;
	u32 n = 0;
	int err;

	lockdep_assert_held(&media->talk);
	list = kvmalloc_array(POISON_MOST, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	err = media_read_both(media, list, &n);
	if (!err) {
		n = media_merge(list, n);
		fit = kvmalloc_array(max(n, 1u), sizeof(*fit), GFP_KERNEL);
		err = fit ? 0 : -ENOMEM;
	}
	if (!err) {
		memcpy(fit, list, n * sizeof(*fit));
		mutex_lock(&media->lock);
		swap(media->poison, fit);
		WRITE_ONCE(media->npoison, n);
		mutex_unlock(&media->lock);
		kvfree(fit);
	}
	kvfree(list);
	return err;
}

int annex_media_scan(struct annex_media *media)
{
	int err = -EOPNOTSUPP;

	mutex_lock(&media->talk);
	if (!media->status)
		err = -ENODEV;
	else if (media->lists)
		err = media_scan(media);
	mutex_unlock(&media->talk);
	return err;
}

static bool media_tells_of_poison(const struct cxl_event *event)
{
	return uuid_equal((const uuid_t *)event->type, &general_media) ||
	       uuid_equal((const uuid_t *)event->type, &dram);
}

/* Whether a record was fetched already, from a log that could not be cleared afterwards. */
static bool media_has_come(const struct annex_media *media, u32 log, const struct cxl_event *event)
{
	u32 n = media->unclear & BIT(log) ? min_t(u64, media->count, ANNEX_EVENTS) : 0;

	for (u32 i = 0; i < n; i++)
		if (media->events[i].log == log &&
		    !memcmp(media->events[i].record, event, CXL_EVENT_BYTES))
			return true;
	return false;
}

static void media_push(struct annex_media *media, u32 log, const struct cxl_event *event)
{
	struct annex_hdm_event *to = &media->events[media->count % ANNEX_EVENTS];

	BUILD_BUG_ON(sizeof(*event) != CXL_EVENT_BYTES);
	if (media_has_come(media, log, event))
		return;
	to->seq = ++media->seq;
	to->log = log;
	memcpy(to->record, event, CXL_EVENT_BYTES);
	media->logged[log]++;
	WRITE_ONCE(media->count, media->count + 1);
}

/* Each answer repeats the count until the log is cleared. Lost records may have reported poison. */
static void media_note_lost(struct annex_media *media, u32 log, const struct cxl_events_out *out)
{
	u16 lost = le16_to_cpu(out->lost), before = media->lost[log];

	if (!(out->flags & CXL_EVENTS_OVERFLOW))
		return;
	media->seq += lost >= before ? lost - before : lost;
	media->lost[log] = lost;
	media->stale = true;
}

/* Take the records of one answer, and clear them in the device. 1: there may be more. */
static int media_take_events(struct annex_media *media, u32 log, u32 got)
{
	struct cxl_events_out *out = (void *)media->mbox->out;
	struct cxl_clear_events *in = (void *)media->mbox->in;
	__le16 *handles = &in->handle;
	u32 n, most = (media->mbox->bytes - offsetof(struct cxl_clear_events, handle)) / 2;
	int err;

	if (got < sizeof(*out) || got < struct_size(out, records, le16_to_cpu(out->count))) {
		dev_warn_ratelimited(media->mbox->dev, "its event log %u ends in a record\n", log);
		return -EPROTO;
	}
	n = min3((u32)le16_to_cpu(out->count), most, 255u);
	if (!n)
		return 0;
	*in = (struct cxl_clear_events){.log = log, .count = n};
	mutex_lock(&media->lock);
	media_note_lost(media, log, out);
	for (u32 i = 0; i < n; i++) {
		media_push(media, log, &out->records[i]);
		media->stale |= media_tells_of_poison(&out->records[i]);
		handles[i] = out->records[i].handle;
	}
	mutex_unlock(&media->lock);
	err = annex_mbox_run(media->mbox, CXL_OP_CLEAR_EVENTS,
			     offsetof(struct cxl_clear_events, handle) + n * sizeof(*handles));
	media->unclear = err < 0 ? media->unclear | BIT(log) : media->unclear & ~BIT(log);
	if (err < 0)
		return err;
	media->lost[log] = 0;
	return 1;
}

static int media_fetch_log(struct annex_media *media, u32 log)
{
	unsigned long end = jiffies + LIST;
	int more = 1;

	for (unsigned int round = 0; media_goes_on(more, round, end); round++) {
		mutex_lock(&media->mbox->lock);
		media->mbox->in[0] = log;
		more = annex_mbox_run(media->mbox, CXL_OP_GET_EVENTS, 1);
		if (more >= 0)
			more = media_take_events(media, log, more);
		mutex_unlock(&media->mbox->lock);
	}
	if (more > 0)
		dev_warn_ratelimited(media->mbox->dev, "its event log %u does not end\n", log);
	return more;
}

/* Queue the work only while there is a device: annex_media_end() cancels it afterwards. */
static void media_look_in(struct annex_media *media, unsigned long delay)
{
	mutex_lock(&media->lock);
	if (media->status)
		queue_delayed_work(system_long_wq, &media->again, delay);
	mutex_unlock(&media->lock);
}

/* Only the first record of an empty log raises an interrupt: poll a log that was not emptied. */
static void media_retry(struct annex_media *media, bool failed)
{
	media->pause = failed ? clamp_t(unsigned long, 2 * media->pause, HZ, RETRY_MOST) : 0;
	if (failed)
		media_look_in(media, media->pause);
}

static void media_fetch(struct annex_media *media)
{
	u32 logs = media->status ? readl(media->status) : 0;
	bool failed = false, poison = false;

	lockdep_assert_held(&media->talk);
	if (logs == U32_MAX) { /* the device is being reset, or gone */
		media_retry(media, true);
		return;
	}
	for (u32 log = 0; log < CXL_EVENT_LOGS; log++)
		if (logs & BIT(log) & ~media->fw_logs)
			failed |= media_fetch_log(media, log) != 0;
	if (media->stale && media->lists && media->status) {
		poison = !media_scan(media);
		failed |= !poison;
	}
	media->stale &= !poison;
	media->found += poison;
	media_retry(media, failed);
}

/*
 * Apply poison to ranges, then show the events to readers: the poison of an event that a reader
 * gets is in the ranges' lists. Called without @talk, since it changes ranges.
 */
static void media_publish(struct annex_media *media, u64 count, u64 found)
{
	bool news;

	/* Pairs with the release below: poison that another thread applied comes before events. */
	if (smp_load_acquire(&media->applied) < found)
		media->changed(media);
	mutex_lock(&media->lock);
	if (media->applied < found)
		smp_store_release(&media->applied, found); /* pairs with the acquire above */
	news = media->shown < count;
	if (news)
		smp_store_release(&media->shown, count); /* pairs with annex_media_has()'s */
	mutex_unlock(&media->lock);
	if (news)
		wake_up_all(&media->wait);
}

/* Releases @talk. */
static void media_fetch_all(struct annex_media *media)
{
	u64 count, found;

	media_fetch(media);
	count = media->count;
	found = media->found;
	mutex_unlock(&media->talk);
	media_publish(media, count, found);
}

void annex_media_fetch(struct annex_media *media)
{
	mutex_lock(&media->talk);
	media_fetch_all(media);
}

void annex_media_ask(struct annex_media *media)
{
	if (READ_ONCE(media->interrupts) || !mutex_trylock(&media->talk))
		return;
	if (media->pause)
		mutex_unlock(&media->talk);
	else
		media_fetch_all(media);
}

void annex_media_watch(struct annex_media *media)
{
	if (!READ_ONCE(media->interrupts) && wq_has_sleeper(&media->wait))
		media_look_in(media, HZ);
}

static void media_look_again(struct work_struct *work)
{
	struct annex_media *media = container_of(to_delayed_work(work), struct annex_media, again);

	annex_media_fetch(media);
	annex_media_watch(media);
}

static irqreturn_t media_interrupt(int irq, void *data)
{
	annex_media_fetch(data);
	return IRQ_HANDLED;
}

/* Each log may have a vector of its own; the handler reads all logs. */
static int media_request_vectors(struct annex_media *media, const u8 *policy, int vectors)
{
	int err = 0;

	for (u32 log = 0; log < CXL_EVENT_LOGS && !err; log++) {
		u32 message = FIELD_GET(CXL_POLICY_MESSAGE, policy[log]);

		if (media->fw_logs & BIT(log))
			continue;
		if (FIELD_GET(CXL_POLICY_MODE, policy[log]) != CXL_POLICY_MSI || message >= vectors)
			return -ENXIO;
		if (media->irqs & BIT(message))
			continue;
		err = request_threaded_irq(pci_irq_vector(media->pdev, message), NULL,
					   media_interrupt, IRQF_ONESHOT,
					   dev_name(media->mbox->dev), media);
		if (!err)
			media->irqs |= BIT(message);
	}
	return err;
}

static void media_free_vectors(struct annex_media *media)
{
	for (u32 message = 0; message < VECTORS; message++)
		if (media->irqs & BIT(message))
			free_irq(pci_irq_vector(media->pdev, message), media);
	media->irqs = 0;
	pci_free_irq_vectors(media->pdev);
}

static int media_read_policy(struct annex_media *media, u8 policy[CXL_EVENT_LOGS])
{
	return annex_mbox_call(media->mbox, CXL_OP_GET_EVENT_POLICY, NULL, 0, policy,
			       CXL_EVENT_LOGS);
}

static int media_write_policy(struct annex_media *media, const u8 policy[CXL_EVENT_LOGS])
{
	return annex_mbox_call(media->mbox, CXL_OP_SET_EVENT_POLICY, policy, CXL_EVENT_LOGS, NULL,
			       0);
}

static int media_ask_for_interrupts(struct annex_media *media, u8 policy[CXL_EVENT_LOGS])
{
	pci_set_master(media->pdev); /* interrupts are writes */
	for (u32 log = 0; log < CXL_EVENT_LOGS; log++)
		policy[log] = media->fw_logs & BIT(log) ? media->saved_policy[log] : CXL_POLICY_MSI;
	return media_write_policy(media, policy);
}

/* Enable interrupts. The device chooses the vectors. */
static int media_use_vectors(struct annex_media *media, int vectors)
{
	u8 policy[CXL_EVENT_LOGS];
	int err = media_ask_for_interrupts(media, policy);

	if (!err)
		err = media_read_policy(media, policy);
	if (!err)
		err = media_request_vectors(media, policy, vectors);
	if (err) {
		media_write_policy(media, media->saved_policy);
		media_free_vectors(media);
	}
	return err;
}

/* Leave logs alone that firmware owns: it would miss the records that are cleared here. */
static int media_leave_theirs(struct annex_media *media)
{
	const u32 all = BIT(CXL_EVENT_LOGS) - 1;
	int err = media_read_policy(media, media->saved_policy);

	if (!annex_owns_events(media->pdev))
		media->fw_logs = all;
	for (u32 log = 0; log < CXL_EVENT_LOGS && !err; log++)
		if (FIELD_GET(CXL_POLICY_MODE, media->saved_policy[log]) == CXL_POLICY_FIRMWARE)
			media->fw_logs |= BIT(log);
	if (media->fw_logs)
		dev_notice(media->mbox->dev, "its event logs 0x%x are firmware's\n",
			   media->fw_logs);
	return media->fw_logs == all ? -EPERM : err;
}

/* Use interrupts if possible; otherwise read() and poll() poll the device. */
static void media_announce(struct annex_media *media)
{
	int err = media_leave_theirs(media), vectors;

	if (!err) {
		vectors = pci_alloc_irq_vectors(media->pdev, 1, VECTORS,
						PCI_IRQ_MSIX | PCI_IRQ_MSI);
		err = vectors < 0 ? vectors : media_use_vectors(media, vectors);
	}
	if (err && err != -EPERM)
		dev_notice(media->mbox->dev, "its events come without interrupts: error %d\n", err);
	WRITE_ONCE(media->interrupts, !err);
}

void annex_media_prepare(struct annex_media *media)
{
	mutex_init(&media->talk);
	mutex_init(&media->lock);
	init_waitqueue_head(&media->wait);
	INIT_DELAYED_WORK(&media->again, media_look_again);
}

int annex_media_init(struct annex_media *media, struct pci_dev *pdev, struct annex_mbox *mbox,
		     void __iomem *status, const u64 bytes[2],
		     void (*changed)(struct annex_media *media))
{
	__le64 now = cpu_to_le64(ktime_get_real_ns());
	int err;

	media->events = kvcalloc(ANNEX_EVENTS, sizeof(*media->events), GFP_KERNEL);
	if (!media->events)
		return -ENOMEM;
	media->pdev = pdev;
	media->mbox = mbox;
	media->border = bytes[ANNEX_HDM_VOLATILE];
	media->bytes = media->border + bytes[ANNEX_HDM_PERSISTENT];
	media->changed = changed;
	media->status = status;
	/* Ignore a failure: only the time stamps of records depend on it. */
	annex_mbox_call(mbox, CXL_OP_SET_TIMESTAMP, &now, sizeof(now), NULL, 0);
	mutex_lock(&media->talk);
	err = media_scan(media);
	media->lists = !err;
	mutex_unlock(&media->talk);
	if (err && err != -EOPNOTSUPP)
		return err;
	media_announce(media);
	annex_media_fetch(media); /* the records from before interrupts were enabled */
	return 0;
}

void annex_media_suspend(struct annex_media *media)
{
	cancel_delayed_work_sync(&media->again);
}

void annex_media_resume(struct annex_media *media)
{
	u8 policy[CXL_EVENT_LOGS];
	int err;

	if (media->interrupts) {
		err = media_ask_for_interrupts(media, policy);
		if (err) {
			WRITE_ONCE(media->interrupts, false);
			media_free_vectors(media);
			dev_notice(media->mbox->dev,
				   "after a reset its events come without interrupts: error %d\n",
				   err);
		}
	}
	annex_media_fetch(media); /* the records from before interrupts were enabled */
	annex_media_watch(media);
}

void annex_media_end(struct annex_media *media)
{
	if (media->interrupts) {
		media_write_policy(media, media->saved_policy);
		media_free_vectors(media);
	}
	mutex_lock(&media->talk);
	mutex_lock(&media->lock);
	WRITE_ONCE(media->interrupts, false);
	media->status = NULL;
	mutex_unlock(&media->lock);
	mutex_unlock(&media->talk);
	cancel_delayed_work_sync(&media->again);
	wake_up_all(&media->wait);
}

void annex_media_exit(struct annex_media *media)
{
	kvfree(media->events);
	kvfree(media->poison);
}

void annex_media_count(struct annex_media *media, u64 logged[CXL_EVENT_LOGS])
{
	mutex_lock(&media->lock);
	memcpy(logged, media->logged, sizeof(media->logged));
	mutex_unlock(&media->lock);
}

void annex_media_begin(struct annex_media *media, struct annex_reader *reader)
{
	mutex_lock(&media->lock);
	*reader = (struct annex_reader){media->count, media->seq};
	mutex_unlock(&media->lock);
}

bool annex_media_has(struct annex_media *media, const struct annex_reader *reader)
{
	/* Pairs with media_publish(). @at may be old, if another thread is reading. */
	return READ_ONCE(reader->at) < smp_load_acquire(&media->shown);
}

bool annex_media_next(struct annex_media *media, struct annex_reader *reader,
		      struct annex_hdm_event *event)
{
	bool has;

	mutex_lock(&media->lock);
	if (media->count - reader->at > ANNEX_EVENTS)
		WRITE_ONCE(reader->at, media->count - ANNEX_EVENTS);
	has = reader->at < media->shown;
	if (has) {
		*event = media->events[reader->at % ANNEX_EVENTS];
		WRITE_ONCE(reader->at, reader->at + 1); /* poll() reads it without the lock */
		event->lost = event->seq - reader->seq - 1;
		reader->seq = event->seq;
	}
	mutex_unlock(&media->lock);
	return has;
}
