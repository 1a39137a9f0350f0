// SPDX-License-Identifier: GPL-2.0
/*
 * An open file of a CXL memory device: calls, read() and poll(). Owns the file's position in the
 * events and in the poison list.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "cxl.h"
#include "hdm.h"
#include "member.h"
#include "page.h"
#include "piece.h"
#include "range.h"
#include "user.h"

#define LIST_MOST 65536u /* of poison, in one call */

static int user_open(struct inode *inode, struct file *file)
{
	struct annex_hdm *hdm = container_of(inode->i_cdev, struct annex_hdm, cdev);
	struct annex_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	bool gone;

	if (!user)
		return -ENOMEM;
	user->hdm = hdm;
	user->file = file;
	user->mapping = inode->i_mapping;
	mutex_init(&user->reading);
	annex_ranges_lock();
	gone = hdm->gone;
	if (!gone) {
		hdm->users++;
		get_device(&hdm->dev);
	}
	annex_ranges_unlock();
	if (gone) {
		kfree(user);
		return -ENODEV;
	}
	annex_media_begin(&hdm->media, &user->reader);
	file->private_data = user;
	file->f_mapping = user->mapping;
	return nonseekable_open(inode, file);
}

static int user_release(struct inode *inode, struct file *file)
{
	struct annex_user *user = file->private_data;
	struct annex_hdm *hdm = user->hdm;

	if (user->range) {
		annex_page_leave(user->range, user);
		annex_range_leave(user->range);
	}
	annex_ranges_lock();
	hdm->users--;
	annex_ranges_unlock();
	kfree(user);
	put_device(&hdm->dev);
	return 0;
}

static bool user_is_gone(struct annex_hdm *hdm)
{
	return READ_ONCE(hdm->gone);
}

/* Whether there is an event; asks a device without interrupts. */
static bool user_look(struct annex_user *user)
{
	struct annex_media *media = &user->hdm->media;

	if (!annex_media_has(media, &user->reader))
		annex_media_ask(media);
	return annex_media_has(media, &user->reader);
}

/* Ask the device even if there are unread events: the caller may wait for poison only. */
static void user_poll_device(struct annex_hdm *hdm, struct file *file,
			     struct poll_table_struct *wait)
{
	poll_wait(file, &hdm->media.wait, wait);
	annex_media_ask(&hdm->media);
	annex_media_watch(&hdm->media);
}

static __poll_t user_poll(struct file *file, struct poll_table_struct *wait)
{
	struct annex_user *user = file->private_data;
	struct annex_range *r = smp_load_acquire(&user->range); /* pairs with user_join()'s */
	__poll_t ready = 0;

	user_poll_device(user->hdm, file, wait);
	for (unsigned int i = 0; r && i < r->n; i++)
		if (r->members[i] != user->hdm)
			user_poll_device(r->members[i], file, wait);
	if (annex_media_has(&user->hdm->media, &user->reader))
		ready |= EPOLLIN | EPOLLRDNORM;
	if (r && READ_ONCE(r->poison_count) != READ_ONCE(user->poison_count))
		ready |= EPOLLPRI;
	if (user_is_gone(user->hdm))
		ready |= EPOLLHUP | EPOLLERR;
	return ready;
}

static bool user_has_news(struct annex_user *user)
{
	return annex_media_has(&user->hdm->media, &user->reader) || user_is_gone(user->hdm);
}

/* A device without interrupts is asked once a second. */
static int user_wait_event_of(struct annex_user *user, struct file *file)
{
	struct annex_hdm *hdm = user->hdm;
	struct annex_media *media = &hdm->media;
	long left;

	while (!user_look(user)) {
		if (user_is_gone(hdm))
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		left = wait_event_interruptible_timeout(media->wait, user_has_news(user), HZ);
		if (left < 0)
			return left;
	}
	return 0;
}

static ssize_t user_read(struct file *file, char __user *to, size_t bytes, loff_t *pos)
{
	struct annex_user *user = file->private_data;
	struct annex_hdm_event event;
	struct annex_reader was;
	ssize_t done = 0;
	int err;

	if (bytes < sizeof(event))
		return -EINVAL;
	if (mutex_lock_interruptible(&user->reading))
		return -ERESTARTSYS;
	err = user_wait_event_of(user, file);
	while (!err && bytes - done >= sizeof(event)) {
		was = user->reader;
		if (!annex_media_next(&user->hdm->media, &user->reader, &event))
			break;
		if (copy_to_user(to + done, &event, sizeof(event))) {
			user->reader.seq = was.seq;          /* the caller did not get it */
			WRITE_ONCE(user->reader.at, was.at); /* poll() reads it without a lock */
			err = -EFAULT;
		} else {
			done += sizeof(event);
		}
	}
	mutex_unlock(&user->reading);
	return done ? done : err;
}

/* Fill in all members that need no mailbox command. Under the ranges' lock. */
static void user_fill_info(struct annex_hdm *hdm, struct annex_ioc_hdm_info *args)
{
	*args = (struct annex_ioc_hdm_info){
		.size = sizeof(*args),
		.abi = ANNEX_ABI,
		.flags = (READ_ONCE(hdm->media.interrupts) ? ANNEX_HDM_EVENTS : 0) |
			 (hdm->media.lists ? ANNEX_HDM_POISON : 0),
		.decoders = hdm->decoders.count,
		.serial = hdm->serial,
		.volatile_bytes = hdm->bytes[ANNEX_HDM_VOLATILE],
		.persistent_bytes = hdm->bytes[ANNEX_HDM_PERSISTENT],
		.granule = CXL_GRANULE,
		.status = readq(hdm->regs.memdev),
		.poison = READ_ONCE(hdm->media.npoison),
		.users = hdm->users,
	};
}

static long user_info(void *self, void *arg)
{
	struct annex_user *user = self;
	struct annex_ioc_hdm_info *args = arg;
	struct annex_hdm *hdm = user->hdm;
	struct annex_range *r;
	u32 abi = args->abi;

	annex_media_fetch(&hdm->media); /* updates the event counters in sysfs */
	annex_ranges_lock();
	if (hdm->gone) {
		annex_ranges_unlock();
		return -ENODEV;
	}
	user_fill_info(hdm, args);
	annex_ranges_unlock();
	r = annex_range_of(hdm);
	if (r) {
		args->range_bytes = r->bytes;
		annex_range_put(r);
	}
	BUILD_BUG_ON(sizeof(args->health) < CXL_HEALTH_BYTES);
	if (!annex_mbox_call(&hdm->mbox, CXL_OP_GET_HEALTH, NULL, 0, args->health,
			     CXL_HEALTH_BYTES))
		args->flags |= ANNEX_HDM_HEALTH;
	if (abi != ANNEX_ABI)
		return annex_hdm_refuse(hdm, -EPROTONOSUPPORT, "version %u, this is %u", abi,
					ANNEX_ABI);
	WRITE_ONCE(user->version_checked, true); /* calls read it without a lock */
	return 0;
}

static int user_check_range(struct annex_hdm *hdm, const struct annex_ioc_hdm_range *args)
{
	u32 n = max(args->nmembers, 1u);

	if (args->kind > ANNEX_HDM_PERSISTENT)
		return annex_hdm_refuse(hdm, -EINVAL, "range: kind %u", args->kind);
	if (n > ANNEX_HDM_MEMBERS || !is_power_of_2(n) || !args->nmembers != !args->members)
		return annex_hdm_refuse(hdm, -EINVAL, "range: %u members", args->nmembers);
	if (args->bytes % ((u64)CXL_GRANULE * n))
		return annex_hdm_refuse(hdm, -EINVAL, "range: 0x%llx bytes for %u members",
					args->bytes, n);
	if (!IS_ALIGNED(args->wc | args->uc, ANNEX_RANGE_UNIT))
		return annex_hdm_refuse(hdm, -EINVAL, "range: parts of 0x%llx + 0x%llx bytes",
					args->wc, args->uc);
	if (args->granularity &&
	    (!is_power_of_2(args->granularity) || args->granularity < ANNEX_HDM_GRANULARITY_MIN ||
	     args->granularity > ANNEX_HDM_GRANULARITY_MAX))
		return annex_hdm_refuse(hdm, -EINVAL, "range: granularity %u", args->granularity);
	return 0;
}

/* Look up the devices of @args->members; the caller puts @files, which hold the devices. */
static int user_get_members(struct annex_user *user, const struct annex_ioc_hdm_range *args,
			    struct annex_want *want, struct file **files, u32 *nfiles)
{
	s32 fds[ANNEX_HDM_MEMBERS];
	bool self = false;

	if (copy_from_user(fds, u64_to_user_ptr(args->members), args->nmembers * sizeof(fds[0])))
		return -EFAULT;
	for (u32 i = 0; i < args->nmembers; i++) {
		struct file *file = fget(fds[i]);
		struct annex_hdm *hdm;

		if (!file)
			return annex_hdm_refuse(user->hdm, -EBADF, "range: descriptor %d", fds[i]);
		files[(*nfiles)++] = file;
		if (file->f_op != &annex_user_ops)
			return annex_hdm_refuse(user->hdm, -EINVAL,
						"range: descriptor %d is no CXL memory", fds[i]);
		if (!(file->f_mode & FMODE_WRITE))
			return annex_hdm_refuse(user->hdm, -EBADF,
						"range: descriptor %d was opened for reading",
						fds[i]);
		hdm = ((struct annex_user *)file->private_data)->hdm;
		for (u32 j = 0; j < i; j++)
			if (want->members[j] == hdm)
				return annex_hdm_refuse(hdm, -EINVAL, "range: a member twice");
		want->members[i] = hdm;
		self |= hdm == user->hdm;
	}
	return self ? 0 : annex_hdm_refuse(user->hdm, -EINVAL, "range: members without this one");
}

static int user_join(struct annex_user *user, const struct annex_want *want,
		     struct annex_ioc_hdm_range *args)
{
	struct annex_range *r;
	int err;

	lockdep_assert_held(&user->reading);
	if (user->range)
		return annex_hdm_refuse(user->hdm, -EBUSY, "range: this file has one");
	r = annex_member_join(user->hdm, want);
	if (IS_ERR(r))
		return PTR_ERR(r);
	err = annex_page_join(r, user);
	if (err) {
		annex_range_leave(r);
		return err;
	}
	smp_store_release(&user->range, r); /* pairs with the acquires in mmap(), poll(), calls */
	args->bytes = r->bytes;
	args->granularity = r->granularity;
	args->base = capable(CAP_SYS_ADMIN) ? r->base : 0; /* as in sysfs */
	args->flags = r->shared ? ANNEX_HDM_RANGE_SHARED : 0;
	return 0;
}

static int user_make_range(struct annex_user *user, struct annex_ioc_hdm_range *args, bool paced)
{
	struct annex_want want = {
		.kind = args->kind,
		.granularity = args->granularity,
		.bytes = args->bytes,
		.wc = args->wc,
		.uc = args->uc,
		.n = max(args->nmembers, 1u),
		.members = {user->hdm},
		.paced = paced,
	};
	struct file *files[ANNEX_HDM_MEMBERS];
	u32 nfiles = 0;
	int err = user_check_range(user->hdm, args);

	if (!err && args->nmembers)
		err = user_get_members(user, args, &want, files, &nfiles);
	if (!err)
		err = user_join(user, &want, args);
	while (nfiles)
		fput(files[--nfiles]);
	return err;
}

/* Interruptible, since read() waits for events under this lock. */
static long user_try_range(struct annex_user *user, struct annex_ioc_hdm_range *args, bool paced)
{
	long err;

	if (mutex_lock_interruptible(&user->reading))
		return -ERESTARTSYS;
	err = user_make_range(user, args, paced);
	mutex_unlock(&user->reading);
	return err;
}

static long user_range(void *self, void *arg)
{
	long err = user_try_range(self, arg, false);

	if (err != -EAGAIN)
		return err;
	return annex_caches_pace() ? -EINTR : user_try_range(self, arg, true);
}

/* The range of a file; NULL, with a line: it has none yet. */
static struct annex_range *user_range_of(struct annex_user *user)
{
	struct annex_range *r = smp_load_acquire(&user->range); /* pairs with user_join()'s */

	if (!r)
		annex_hdm_refuse(user->hdm, -ENXIO, "a call that needs ANNEX_IOC_HDM_RANGE before");
	return r;
}

static long user_piece(void *self, void *arg)
{
	struct annex_user *user = self;
	struct annex_ioc_hdm_piece *args = arg;
	struct annex_range *r = user_range_of(user);
	int err;

	if (!r)
		return -ENXIO;
	if (!args->bytes || !PAGE_ALIGNED(args->bytes))
		return annex_hdm_refuse(user->hdm, -EINVAL, "piece: 0x%llx bytes", args->bytes);
	if (args->part > ANNEX_PART_COMBINING || (args->part && r->shared))
		return annex_hdm_refuse(user->hdm, -EINVAL, "piece: part %llu of a %s range",
					args->part, r->shared ? "shared" : "private");
	err = annex_piece_create(r, user, args);
	if (err == -ENOSPC)
		annex_hdm_refuse(user->hdm, err, "piece: no 0x%llx bytes of part %llu are free",
				 args->bytes, args->part);
	else if (err == -EMFILE)
		annex_hdm_refuse(user->hdm, err, "piece: 0x%llx bytes: no share or descriptor left",
				 args->bytes);
	return err;
}

static int user_rescan(struct annex_user *user)
{
	struct annex_range *r = smp_load_acquire(&user->range); /* pairs with user_join()'s */
	int err = 0;

	if (!r) {
		err = annex_media_scan(&user->hdm->media);
	} else {
		for (unsigned int i = 0; i < r->n && !err; i++)
			err = annex_media_scan(&r->members[i]->media);
	}
	annex_poison_update(user->hdm); /* after an error too: some lists may have been read */
	return err == -EOPNOTSUPP ? annex_hdm_refuse(user->hdm, err, "poison: it keeps no list")
				  : err;
}

/*
 * A list that is read in parts is as old as its first part: poison that arrives meanwhile is still
 * unread after the last part.
 */
static void user_note_read(struct annex_user *user, u32 first, bool last, u64 count)
{
	if (!first)
		WRITE_ONCE(user->list_count, count);
	if (last)
		WRITE_ONCE(user->poison_count, READ_ONCE(user->list_count));
}

static long user_poison(void *self, void *arg)
{
	struct annex_user *user = self;
	struct annex_ioc_hdm_poison *args = arg;
	bool device = args->flags & ANNEX_POISON_DEVICE;
	struct annex_range *r = device ? NULL : user_range_of(user);
	u32 room = args->count, first = args->first, told;
	struct annex_ioc_seg *list;
	u64 count = 0;
	int err = 0;

	if (args->flags & ~(ANNEX_POISON_RESCAN | ANNEX_POISON_DEVICE) || room > LIST_MOST)
		return annex_hdm_refuse(user->hdm, -EINVAL, "poison: flags 0x%x, room %u",
					args->flags, room);
	if (!device && !r)
		return -ENXIO;
	if (args->flags & ANNEX_POISON_RESCAN)
		err = user_rescan(user);
	if (err)
		return err;
	list = kvcalloc(max(room, 1u), sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return -ENOMEM;
	args->count = device ? annex_poison_records(user->hdm, list, first, room)
			     : annex_poison_list(r, list, first, room, &count);
	told = min(args->count - min(args->count, first), room);
	if (copy_to_user(u64_to_user_ptr(args->list), list, told * sizeof(*list)))
		err = -EFAULT;
	else if (!device)
		user_note_read(user, first, args->count <= (u64)first + room, count);
	kvfree(list);
	return err;
}

static long user_clear(void *self, void *arg)
{
	const struct annex_ioc_hdm_clear *args = arg;
	struct annex_user *user = self;
	struct annex_range *r = user_range_of(user);

	if (!r)
		return -ENXIO;
	if (args->rsvd)
		return annex_hdm_refuse(user->hdm, -EINVAL, "clear: reserved 0x%x", args->rsvd);
	return annex_poison_clear(r, user->hdm, args->offset, args->bytes);
}

static long user_dmabuf(void *self, void *arg)
{
	struct annex_user *user = self;
	struct annex_range *r = user_range_of(user);

	return r ? annex_range_export(r, user->hdm, arg) : -ENXIO;
}

static const struct annex_call user_calls[] = {
	{ANNEX_IOC_HDM_INFO, 96, user_info, .first = true, .reads = true},
	{ANNEX_IOC_HDM_RANGE, 56, user_range},
	{ANNEX_IOC_HDM_DMABUF, 24, user_dmabuf},
	{ANNEX_IOC_HDM_PIECE, 24, user_piece},
	{ANNEX_IOC_HDM_POISON, 24, user_poison, .reads = true},
	{ANNEX_IOC_HDM_CLEAR, 24, user_clear},
};

static long user_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct annex_user *user = file->private_data;
	struct annex_hdm *hdm = user->hdm;
	const struct annex_caller by = {
		.self = user,
		.file = file,
		.version_checked = &user->version_checked,
		.dev = &hdm->dev,
		.refusals = &hdm->refusals,
	};

	if (user_is_gone(hdm))
		return -ENODEV;
	return annex_call(&by, user_calls, ARRAY_SIZE(user_calls), cmd, arg);
}

static int user_mmap(struct file *file, struct vm_area_struct *vma)
{
	return annex_page_mmap(file->private_data, vma);
}

const struct file_operations annex_user_ops = {
	.owner = THIS_MODULE,
	.open = user_open,
	.release = user_release,
	.read = user_read,
	.unlocked_ioctl = user_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = user_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.poll = user_poll,
};
