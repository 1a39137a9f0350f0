// SPDX-License-Identifier: GPL-2.0
/*
 * Calls by tables (ioctl): finds the row, copies and checks the arguments, and takes the lock
 * that the row asks for. Owns nothing.
 */
#include <linux/uaccess.h>
#include "call.h"

union call_args {
	u32 size;
	u64 most[ANNEX_CALL_MOST / sizeof(u64)];
};

static const struct annex_call *call_find(const struct annex_call *calls, size_t n,
					  unsigned int cmd)
{
	for (size_t i = 0; i < n; i++)
		if (!((calls[i].cmd ^ cmd) & ~IOCSIZE_MASK))
			return &calls[i];
	return NULL;
}

static int call_copy(const struct annex_caller *by, const struct annex_call *call,
		     union call_args *args, unsigned int cmd, const void __user *at)
{
	size_t bytes = _IOC_SIZE(cmd);
	int err;

	if (!_IOC_SIZE(call->cmd))
		return bytes ? -ENOTTY : 0;
	err = copy_struct_from_user(args, _IOC_SIZE(call->cmd), at, bytes);
	if (err == -E2BIG)
		return annex_refused(by->dev, by->refusals, err, "call 0x%x: unknown members",
				     _IOC_NR(cmd));
	if (err)
		return err;
	if (args->size != bytes || bytes < call->least)
		return annex_refused(by->dev, by->refusals, -EINVAL, "call 0x%x: %u bytes",
				     _IOC_NR(cmd), args->size);
	return 0;
}

static long call_make(const struct annex_caller *by, const struct annex_call *call,
		      union call_args *args)
{
	long err;

	if (!call->locked)
		return call->fn(by->self, args);
	err = by->lock(by->self);
	if (err)
		return err;
	err = call->fn(by->self, args);
	by->unlock(by->self);
	return err;
}

long annex_call(const struct annex_caller *by, const struct annex_call *calls, size_t n,
		unsigned int cmd, unsigned long arg)
{
	const struct annex_call *call = call_find(calls, n, cmd);
	void __user *at = (void __user *)arg;
	union call_args args = {};
	long err;

	if (!call)
		return -ENOTTY;
	err = call_copy(by, call, &args, cmd, at);
	if (err)
		return err;
	if (!call->first && !READ_ONCE(*by->version_checked))
		return annex_refused(by->dev, by->refusals, -EPROTO, "call 0x%x before the first",
				     _IOC_NR(cmd));
	if (!call->reads && !(by->file->f_mode & FMODE_WRITE))
		return annex_refused(by->dev, by->refusals, -EBADF, "call 0x%x: opened for reading",
				     _IOC_NR(cmd));
	err = call_make(by, call, &args);
	/* Failed calls return results too: a status, a count, a version. */
	if (_IOC_DIR(cmd) & _IOC_READ &&
	    copy_to_user(at, &args, min(_IOC_SIZE(cmd), _IOC_SIZE(call->cmd)))) {
		if (!err && call->undo)
			call->undo(by->self, &args);
		err = -EFAULT;
	}
	return err;
}
