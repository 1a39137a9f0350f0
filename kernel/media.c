// SPDX-License-Identifier: GPL-2.0
#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include "cxl.h"
#include "media.h"

#define POISON_MOST 65536u /* records */
#define ROUNDS 8192        /* commands for a list that has more and more */
#define LIST (10 * HZ)     /* and the time for them */
#define VECTORS 16

/* General media and DRAM events (8.2.9.2.1): they tell of poison. */
static const uuid_t general_media = UUID_INIT(0xfbcd0a77, 0xc260, 0x417f, 0x85, 0xa9, 0x08, 0x8b,
					      0x16, 0x21, 0xeb, 0xa6);
static const uuid_t dram = UUID_INIT(0x601dcbb3, 0x9c06, 0x4eab, 0xb8, 0xaf, 0x4e, 0x9b, 0xfb, 0x5c,
				     0x96, 0x24);

static bool goes_on(int more, unsigned int round, unsigned long end)
{
	return more > 0 && round < ROUNDS && time_before(jiffies, end);
}

/* One answer: its records into @list. 1: there are more, 0: that is all. */
static int take_poison(struct annex_media *media, u32 got, struct annex_ioc_seg *list, u32 *n)
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

static int read_poison(struct annex_media *media, struct annex_ioc_seg *list, u32 *n)
{
	struct cxl_poison_in in = {.lines = cpu_to_le64(media->bytes / CXL_LINE)};
	unsigned long end = jiffies + LIST;
	int more = 1;

	for (unsigned int round = 0; goes_on(more, round, end); round++) {
		mutex_lock(&media->mbox->lock);
		memcpy(media->mbox->in, &in, sizeof(in));
		more = annex_mbox_run(media->mbox, CXL_OP_GET_POISON, sizeof(in));
		if (more >= 0)
			more = take_poison(media, more, list, n);
		mutex_unlock(&media->mbox->lock);
	}
	if (more > 0) {
		dev_warn_ratelimited(media->mbox->dev, "its list of poison does not end\n");
		return -EIO;
	}
	return more;
}

static int by_address(const void *a, const void *b)
{
	const struct annex_ioc_seg *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* A device may say the same over and over: what it says is looked through for each range. */
static u32 merge(struct annex_ioc_seg *list, u32 n)
{
	u32 kept = 0;

	sort(list, n, sizeof(*list), by_address, NULL);
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

static int scan(struct annex_media *media)
{
	struct annex_ioc_seg *list, *fit;
	u32 n = 0;
	int err;

	lockdep_assert_held(&media->lock);
	list = kvmalloc_array(POISON_MOST, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	err = read_poison(media, list, &n);
	if (!err) {
		n = merge(list, n);
		fit = kvmalloc_array(max(n, 1u), sizeof(*fit), GFP_KERNEL);
		if (fit) {
			memcpy(fit, list, n * sizeof(*fit));
			kvfree(media->poison);
			media->poison = fit;
			media->npoison = n;
		} else {
			err = -ENOMEM;
		}
	}
	kvfree(list);
	return err;
}

int annex_media_scan(struct annex_media *media)
{
	int err = -EOPNOTSUPP;

	mutex_lock(&media->lock);
	if (!media->status)
		err = -ENODEV;
	else if (media->lists)
		err = scan(media);
	mutex_unlock(&media->lock);
	return err;
}

static bool tells_of_poison(const struct cxl_event *event)
{
	return uuid_equal((const uuid_t *)event->type, &general_media) ||
	       uuid_equal((const uuid_t *)event->type, &dram);
}

static void push(struct annex_media *media, u32 log, const struct cxl_event *event)
{
	struct annex_hdm_event *to = &media->events[media->count % ANNEX_EVENTS];

	BUILD_BUG_ON(sizeof(*event) != CXL_EVENT_BYTES);
	to->seq = ++media->seq;
	to->log = log;
	memcpy(to->record, event, CXL_EVENT_BYTES);
	media->count++;
	media->logged[log]++;
}

/* One answer, of which the device is told to forget what was in it. 1: there may be more. */
static int take_events(struct annex_media *media, u32 log, u32 got, bool *poison)
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
	if (out->flags & CXL_EVENTS_OVERFLOW)
		media->seq += le16_to_cpu(out->lost);
	*in = (struct cxl_clear_events){.log = log, .count = n};
	for (u32 i = 0; i < n; i++) {
		push(media, log, &out->records[i]);
		*poison |= tells_of_poison(&out->records[i]);
		handles[i] = out->records[i].handle;
	}
	err = annex_mbox_run(media->mbox, CXL_OP_CLEAR_EVENTS,
			     offsetof(struct cxl_clear_events, handle) + n * sizeof(*handles));
	return err < 0 ? err : 1;
}

static void fetch_log(struct annex_media *media, u32 log, bool *poison)
{
	unsigned long end = jiffies + LIST;
	int more = 1;

	for (unsigned int round = 0; goes_on(more, round, end); round++) {
		mutex_lock(&media->mbox->lock);
		media->mbox->in[0] = log;
		more = annex_mbox_run(media->mbox, CXL_OP_GET_EVENTS, 1);
		if (more >= 0)
			more = take_events(media, log, more, poison);
		mutex_unlock(&media->mbox->lock);
	}
	if (more > 0)
		dev_warn_ratelimited(media->mbox->dev, "its event log %u does not end\n", log);
}

void annex_media_fetch(struct annex_media *media)
{
	bool poison = false;
	u64 before;
	u32 logs = 0;

	mutex_lock(&media->lock);
	before = media->count;
	if (media->status)
		logs = readl(media->status);
	for (u32 log = 0; log < CXL_EVENT_LOGS && logs != U32_MAX; log++)
		if (logs & BIT(log))
			fetch_log(media, log, &poison);
	if (poison && media->lists)
		poison = !scan(media);
	if (media->count != before)
		wake_up_all(&media->wait);
	mutex_unlock(&media->lock);
	if (poison)
		media->changed(media);
}

static irqreturn_t interrupt(int irq, void *data)
{
	annex_media_fetch(data);
	return IRQ_HANDLED;
}

/* Each log may have a vector of its own; all are served alike. */
static int request_vectors(struct annex_media *media, const u8 *policy, int vectors)
{
	int err = 0;

	for (u32 log = 0; log < CXL_EVENT_LOGS && !err; log++) {
		u32 message = FIELD_GET(CXL_POLICY_MESSAGE, policy[log]);

		if (FIELD_GET(CXL_POLICY_MODE, policy[log]) != CXL_POLICY_MSI || message >= vectors)
			return -ENXIO;
		if (media->irqs & BIT(message))
			continue;
		err = request_threaded_irq(pci_irq_vector(media->pdev, message), NULL, interrupt,
					   IRQF_ONESHOT, dev_name(media->mbox->dev), media);
		if (!err)
			media->irqs |= BIT(message);
	}
	return err;
}

static void drop_vectors(struct annex_media *media)
{
	for (u32 message = 0; message < VECTORS; message++)
		if (media->irqs & BIT(message))
			free_irq(pci_irq_vector(media->pdev, message), media);
	media->irqs = 0;
	pci_free_irq_vectors(media->pdev);
}

/* Which vectors it uses is the device's choice. */
static int use_vectors(struct annex_media *media, int vectors)
{
	u8 policy[CXL_EVENT_LOGS];
	int err;

	pci_set_master(media->pdev); /* interrupts are writes */
	memset(policy, CXL_POLICY_MSI, sizeof(policy));
	err = annex_mbox_call(media->mbox, CXL_OP_SET_EVENT_POLICY, policy, sizeof(policy), NULL,
			      0);
	if (!err)
		err = annex_mbox_call(media->mbox, CXL_OP_GET_EVENT_POLICY, NULL, 0, policy,
				      sizeof(policy));
	if (!err)
		err = request_vectors(media, policy, vectors);
	if (err)
		drop_vectors(media);
	return err;
}

/* Without interrupts events are looked for when somebody asks. */
static void announce(struct annex_media *media)
{
	int vectors = pci_alloc_irq_vectors(media->pdev, 1, VECTORS, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	int err = vectors < 0 ? vectors : use_vectors(media, vectors);

	if (err)
		dev_notice(media->mbox->dev, "its events come without interrupts: error %d\n", err);
	media->interrupts = !err;
}

int annex_media_init(struct annex_media *media, struct pci_dev *pdev, struct annex_mbox *mbox,
		     void __iomem *status, u64 bytes, void (*changed)(struct annex_media *media))
{
	__le64 now = cpu_to_le64(ktime_get_real_ns());
	int err;

	media->events = kvcalloc(ANNEX_EVENTS, sizeof(*media->events), GFP_KERNEL);
	if (!media->events)
		return -ENOMEM;
	media->pdev = pdev;
	media->mbox = mbox;
	media->bytes = bytes;
	media->changed = changed;
	media->status = status;
	/* Records are as good without the time of day. */
	annex_mbox_call(mbox, CXL_OP_SET_TIMESTAMP, &now, sizeof(now), NULL, 0);
	mutex_lock(&media->lock);
	err = scan(media);
	media->lists = !err;
	mutex_unlock(&media->lock);
	if (err && err != -EOPNOTSUPP)
		return err;
	annex_media_fetch(media);
	announce(media);
	return 0;
}

void annex_media_end(struct annex_media *media)
{
	u8 policy[CXL_EVENT_LOGS] = {};

	if (media->interrupts) {
		annex_mbox_call(media->mbox, CXL_OP_SET_EVENT_POLICY, policy, sizeof(policy), NULL,
				0);
		drop_vectors(media);
	}
	mutex_lock(&media->lock);
	media->interrupts = false;
	media->status = NULL;
	mutex_unlock(&media->lock);
	wake_up_all(&media->wait);
}

void annex_media_exit(struct annex_media *media)
{
	kvfree(media->events);
	kvfree(media->poison);
}

void annex_media_count(struct annex_media *media, u64 logged[CXL_EVENT_LOGS])
{
	annex_media_fetch(media);
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
	return reader->at < READ_ONCE(media->count);
}

bool annex_media_next(struct annex_media *media, struct annex_reader *reader,
		      struct annex_hdm_event *event)
{
	bool has;

	mutex_lock(&media->lock);
	if (media->count - reader->at > ANNEX_EVENTS)
		reader->at = media->count - ANNEX_EVENTS;
	has = reader->at < media->count;
	if (has) {
		*event = media->events[reader->at++ % ANNEX_EVENTS];
		event->lost = event->seq - reader->seq - 1;
		reader->seq = event->seq;
	}
	mutex_unlock(&media->lock);
	return has;
}
