/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, in group annex. Of controllers, with the name of the controller and the result:
 * annex_map, annex_unmap, annex_queue, annex_queue_delete, annex_reset; annex_event has no result.
 * Of CXL memory, with the name of the device, bridge or switch: annex_hdm_range, annex_hdm_map,
 * annex_hdm_commit, annex_hdm_decommit, annex_hdm_poison.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM annex

#if !defined(ANNEX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define ANNEX_TRACE_H

#include <linux/device.h>
#include <linux/tracepoint.h>

#define ANNEX_NAME 32

/* Formatted as the kernel's own tracepoints are. */
/* clang-format off */

TRACE_EVENT(annex_map,
	TP_PROTO(struct device *dev, u32 id, u32 kind, u64 bytes, int err),
	TP_ARGS(dev, id, kind, bytes, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u32, id)
		__field(u32, kind)
		__field(u64, bytes)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(dev), ANNEX_NAME);
		__entry->id = id;
		__entry->kind = kind;
		__entry->bytes = bytes;
		__entry->err = err;
	),
	TP_printk("%s id=%u kind=%u bytes=%llu err=%d", __entry->name, __entry->id, __entry->kind,
		  __entry->bytes, __entry->err)
);

DECLARE_EVENT_CLASS(annex_one,
	TP_PROTO(struct device *dev, u32 id, int err),
	TP_ARGS(dev, id, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u32, id)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(dev), ANNEX_NAME);
		__entry->id = id;
		__entry->err = err;
	),
	TP_printk("%s id=%u err=%d", __entry->name, __entry->id, __entry->err)
);

DEFINE_EVENT(annex_one, annex_unmap,
	TP_PROTO(struct device *dev, u32 id, int err),
	TP_ARGS(dev, id, err)
);

DEFINE_EVENT(annex_one, annex_queue_delete,
	TP_PROTO(struct device *dev, u32 id, int err),
	TP_ARGS(dev, id, err)
);

TRACE_EVENT(annex_queue,
	TP_PROTO(struct device *dev, u32 qid, u32 depth, int err),
	TP_ARGS(dev, qid, depth, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u32, qid)
		__field(u32, depth)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(dev), ANNEX_NAME);
		__entry->qid = qid;
		__entry->depth = depth;
		__entry->err = err;
	),
	TP_printk("%s qid=%u depth=%u err=%d", __entry->name, __entry->qid, __entry->depth,
		  __entry->err)
);

TRACE_EVENT(annex_reset,
	TP_PROTO(struct device *dev, int err),
	TP_ARGS(dev, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(dev), ANNEX_NAME);
		__entry->err = err;
	),
	TP_printk("%s err=%d", __entry->name, __entry->err)
);

TRACE_EVENT(annex_event,
	TP_PROTO(struct device *dev, u8 type, u8 info, u8 log),
	TP_ARGS(dev, type, info, log),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u8, type)
		__field(u8, info)
		__field(u8, log)
	),
	TP_fast_assign(
		strscpy(__entry->name, dev_name(dev), ANNEX_NAME);
		__entry->type = type;
		__entry->info = info;
		__entry->log = log;
	),
	TP_printk("%s type=%u info=%u log=%u", __entry->name, __entry->type, __entry->info,
		  __entry->log)
);

TRACE_EVENT(annex_hdm_range,
	TP_PROTO(const char *name, u64 base, u64 bytes, u32 ways, int err),
	TP_ARGS(name, base, bytes, ways, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u64, base)
		__field(u64, bytes)
		__field(u32, ways)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, name, ANNEX_NAME);
		__entry->base = base;
		__entry->bytes = bytes;
		__entry->ways = ways;
		__entry->err = err;
	),
	TP_printk("%s base=0x%llx bytes=0x%llx ways=%u err=%d", __entry->name, __entry->base,
		  __entry->bytes, __entry->ways, __entry->err)
);

TRACE_EVENT(annex_hdm_map,
	TP_PROTO(const char *name, u64 offset, u64 bytes, int err),
	TP_ARGS(name, offset, bytes, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u64, offset)
		__field(u64, bytes)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, name, ANNEX_NAME);
		__entry->offset = offset;
		__entry->bytes = bytes;
		__entry->err = err;
	),
	TP_printk("%s offset=0x%llx bytes=0x%llx err=%d", __entry->name, __entry->offset,
		  __entry->bytes, __entry->err)
);

TRACE_EVENT(annex_hdm_poison,
	TP_PROTO(const char *name, u64 offset, u64 bytes),
	TP_ARGS(name, offset, bytes),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u64, offset)
		__field(u64, bytes)
	),
	TP_fast_assign(
		strscpy(__entry->name, name, ANNEX_NAME);
		__entry->offset = offset;
		__entry->bytes = bytes;
	),
	TP_printk("%s offset=0x%llx bytes=0x%llx", __entry->name, __entry->offset,
		  __entry->bytes)
);

DECLARE_EVENT_CLASS(annex_hdm_decoder,
	TP_PROTO(const char *name, u32 id, u64 base, u64 bytes, int err),
	TP_ARGS(name, id, base, bytes, err),
	TP_STRUCT__entry(
		__array(char, name, ANNEX_NAME)
		__field(u32, id)
		__field(u64, base)
		__field(u64, bytes)
		__field(int, err)
	),
	TP_fast_assign(
		strscpy(__entry->name, name, ANNEX_NAME);
		__entry->id = id;
		__entry->base = base;
		__entry->bytes = bytes;
		__entry->err = err;
	),
	TP_printk("%s id=%u base=0x%llx bytes=0x%llx err=%d", __entry->name, __entry->id,
		  __entry->base, __entry->bytes, __entry->err)
);

DEFINE_EVENT(annex_hdm_decoder, annex_hdm_commit,
	TP_PROTO(const char *name, u32 id, u64 base, u64 bytes, int err),
	TP_ARGS(name, id, base, bytes, err)
);

DEFINE_EVENT(annex_hdm_decoder, annex_hdm_decommit,
	TP_PROTO(const char *name, u32 id, u64 base, u64 bytes, int err),
	TP_ARGS(name, id, base, bytes, err)
);

/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
