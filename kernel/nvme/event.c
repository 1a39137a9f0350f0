// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events. Each completion in the admin queue raises interrupt 0, most of them of
 * commands that are polled. DELAY limits the work that an owner or a controller can cause.
 */
#include <linux/interrupt.h>
#include "ctrl.h"
#include "queue.h"
#include "trace.h"

#define DELAY (HZ / 10)
#define LOG_BYTES 512
#define NSID_ALL U32_MAX

static irqreturn_t event_interrupt(int irq, void *data)
{
	struct annex_ctrl *ctrl = data;

	queue_delayed_work(system_long_wq, &ctrl->event.work, DELAY);
	return IRQ_HANDLED;
}

/* Report the event to files. Returns its log page. */
static u8 event_tell(struct annex_ctrl *ctrl)
{
	u32 event = ctrl->admin.event;
	u8 log = event >> 16 & 0xff;

	ctrl->admin.happened = false;
	trace_annex_event(&ctrl->dev, event & 7, event >> 8 & 0xff, log);
	if (log && log < ANNEX_EVENT_LOGS) {
		/* poll() reads it without the lock. */
		WRITE_ONCE(ctrl->event.count[log], ctrl->event.count[log] + 1);
		wake_up_all(&ctrl->wait);
	}
	return log;
}

/* Reading the log page lets the controller report the next event of that type (section 5.2.1). */
static int event_clear(struct annex_ctrl *ctrl, u8 log)
{
	struct nvme_command cmd = {};

	cmd.get_log_page.opcode = nvme_admin_get_log_page;
	cmd.get_log_page.nsid = cpu_to_le32(NSID_ALL);
	cmd.get_log_page.lid = log;
	cmd.get_log_page.numdl = cpu_to_le16(LOG_BYTES / 4 - 1);
	ctrl->admin.request = !ctrl->admin.requested;
	return annex_admin_read(ctrl, &cmd);
}

/*
 * A queue that a question broke stays so until its owner calls. If no register is readable
 * (-ENODEV), the controller was removed, or the PCI core is about to recover it.
 */
static void event_work(struct work_struct *work)
{
	struct annex_ctrl *ctrl = container_of(to_delayed_work(work), struct annex_ctrl,
					       event.work);
	int err = 0;

	mutex_lock(&ctrl->lock);
	if (!ctrl->gone && !ctrl->paused && !ctrl->admin.broken) {
		err = annex_admin_drain(ctrl);
		if (!err && ctrl->admin.happened)
			err = event_clear(ctrl, event_tell(ctrl));
	}
	if (err < 0 && err != -ENODEV)
		annex_queue_bring_up(ctrl);
	mutex_unlock(&ctrl->lock);
}

void annex_event_init(struct annex_ctrl *ctrl)
{
	INIT_DELAYED_WORK(&ctrl->event.work, event_work);
	ctrl->admin.broken = true; /* until there is a queue: the controller may interrupt before */
}

void annex_event_open(struct annex_ctrl *ctrl)
{
	int irq = pci_irq_vector(ctrl->pdev, 0);

	if (!request_irq(irq, event_interrupt, 0, dev_name(&ctrl->dev), ctrl))
		ctrl->event.irq = irq;
}

void annex_event_close(struct annex_ctrl *ctrl)
{
	if (ctrl->event.irq)
		free_irq(ctrl->event.irq, ctrl);
	cancel_delayed_work_sync(&ctrl->event.work);
}

u32 annex_event_count(const struct annex_ctrl *ctrl, u32 log)
{
	return log < ANNEX_EVENT_LOGS ? READ_ONCE(ctrl->event.count[log]) : 0;
}
