/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers and commands of CXL memory (CXL 3.1, chapter 8).
 */
#ifndef ANNEX_CXL_H
#define ANNEX_CXL_H

#include <linux/bits.h>
#include <linux/sizes.h>
#include <linux/types.h>

#define CXL_CLASS_MEMORY 0x050210
#define CXL_VENDOR 0x1e98

/* DVSECs (8.1): their identifiers, and offsets in them. */
#define CXL_DVSEC_DEVICE 0
#define CXL_DVSEC_LOCATOR 8

#define CXL_DEVICE_CAP 0x0a
#define CXL_DEVICE_CAP_MEM BIT(2)
#define CXL_DEVICE_CAP_RANGES GENMASK(5, 4)
#define CXL_DEVICE_CTRL 0x0c
#define CXL_DEVICE_CTRL_MEM BIT(2)
#define CXL_DEVICE_LOCK 0x14
#define CXL_DEVICE_LOCKED BIT(0)
#define CXL_DEVICE_SIZE_LOW(range) (0x1c + 0x10 * (range))
#define CXL_DEVICE_SIZE_HIGH(range) (0x18 + 0x10 * (range))
#define CXL_DEVICE_BASE_HIGH(range) (0x20 + 0x10 * (range))
#define CXL_DEVICE_BASE_LOW(range) (0x24 + 0x10 * (range))
#define CXL_DEVICE_RANGE_MASK GENMASK(31, 28) /* of their lower halves */
#define CXL_DEVICE_VALID BIT(0)
#define CXL_DEVICE_ACTIVE BIT(1)
#define CXL_DEVICE_TIMEOUT GENMASK(15, 13) /* seconds until active: 4 to the power of this */
#define CXL_DEVICE_TIMEOUT_MOST 4
#define CXL_DEVICE_RANGES 2
#define CXL_DEVICE_BYTES 0x38 /* with both ranges */

#define CXL_LOCATOR_BLOCKS 0x0c
#define CXL_LOCATOR_BAR GENMASK(2, 0)
#define CXL_LOCATOR_TYPE GENMASK(15, 8)
#define CXL_LOCATOR_OFFSET GENMASK(31, 16)
#define CXL_BLOCK_COMPONENT 1
#define CXL_BLOCK_DEVICE 3

/* Component registers (8.2.3): the capabilities of CXL.cache and CXL.mem (8.2.4). */
#define CXL_COMPONENT_BYTES SZ_64K
#define CXL_CM 0x1000
#define CXL_CM_BYTES 0x1000
#define CXL_CM_ID GENMASK(15, 0)
#define CXL_CM_VERSION GENMASK(19, 16)
#define CXL_CM_COUNT GENMASK(31, 24)
#define CXL_CM_AT GENMASK(31, 20)
#define CXL_CM_ARRAY 1
#define CXL_CM_HDM 5

/* The HDM decoder capability (8.2.4.20). */
#define CXL_HDM_CAP 0x00
#define CXL_HDM_CAP_COUNT GENMASK(3, 0)
#define CXL_HDM_CAP_TARGETS GENMASK(7, 4)
#define CXL_HDM_CAP_BITS_8 BIT(8)          /* interleaves by address bits 8 to 11 */
#define CXL_HDM_CAP_BITS_12 BIT(9)         /* and 12 to 14 */
#define CXL_HDM_CAP_MODELS GENMASK(22, 21) /* of coherency, that an endpoint supports */
#define CXL_HDM_CAP_DEVICE_ONLY 1          /* HDM-D or HDM-DB */
#define CXL_HDM_CTRL 0x04
#define CXL_HDM_CTRL_ENABLE BIT(1)
#define CXL_HDM_DECODER(i) (0x10 + 0x20 * (i))
#define CXL_HDM_BYTES(count) CXL_HDM_DECODER(count)
/* Offsets in a decoder. */
#define CXL_DEC_BASE 0x00
#define CXL_DEC_SIZE 0x08
#define CXL_DEC_CTRL 0x10
#define CXL_DEC_CTRL_GRANULARITY GENMASK(3, 0)
#define CXL_DEC_CTRL_WAYS GENMASK(7, 4)
#define CXL_DEC_CTRL_LOCK BIT(8)
#define CXL_DEC_CTRL_COMMIT BIT(9)
#define CXL_DEC_CTRL_COMMITTED BIT(10)
#define CXL_DEC_CTRL_ERROR BIT(11)
#define CXL_DEC_CTRL_HOST_ONLY BIT(12) /* coherent by the host alone: HDM-H */
#define CXL_DEC_CTRL_BI BIT(13)        /* the device may invalidate the host's caches */
#define CXL_DEC_CTRL_UIO BIT(14)       /* other devices may reach it without the host */
#define CXL_DEC_LIST 0x14              /* target list; of an endpoint the DPA skip */

#define CXL_GRANULE SZ_256M /* of decoders' addresses and sizes */

/* Device registers (8.2.8). */
#define CXL_DEV_ARRAY_ID GENMASK_ULL(15, 0)
#define CXL_DEV_ARRAY_VERSION GENMASK_ULL(23, 16)
#define CXL_DEV_ARRAY_COUNT GENMASK_ULL(47, 32)
#define CXL_DEV_HEADER 0x10 /* bytes of each header, and of the array's own */
#define CXL_DEV_ID GENMASK(15, 0)
#define CXL_DEV_VERSION GENMASK(23, 16)
#define CXL_DEV_STATUS 1
#define CXL_DEV_MBOX 2
#define CXL_DEV_MEMDEV 0x4000

/* 8.2.8.3.1: which event logs have records. */
#define CXL_STATUS_EVENTS GENMASK(3, 0)

/* The mailbox (8.2.8.4). */
#define CXL_MBOX_CAP 0x00
#define CXL_MBOX_CAP_PAYLOAD GENMASK(4, 0)
#define CXL_MBOX_CTRL 0x04
#define CXL_MBOX_CTRL_DOORBELL BIT(0)
#define CXL_MBOX_CMD 0x08
#define CXL_MBOX_CMD_OPCODE GENMASK_ULL(15, 0)
#define CXL_MBOX_CMD_BYTES GENMASK_ULL(36, 16)
#define CXL_MBOX_STATUS 0x10
#define CXL_MBOX_STATUS_CODE GENMASK_ULL(47, 32)
#define CXL_MBOX_PAYLOAD 0x20

/* Memory Device Status (8.2.8.5.1.1). */
#define CXL_MEMDEV_FATAL BIT(0)
#define CXL_MEMDEV_HALT BIT(1)
#define CXL_MEMDEV_MEDIA GENMASK(3, 2)
#define CXL_MEMDEV_MEDIA_READY 1
#define CXL_MEMDEV_MBOX_READY BIT(4)

/* Commands (8.2.9), and their return codes. */
enum {
	CXL_OP_GET_EVENTS = 0x0100,
	CXL_OP_CLEAR_EVENTS = 0x0101,
	CXL_OP_GET_EVENT_POLICY = 0x0102,
	CXL_OP_SET_EVENT_POLICY = 0x0103,
	CXL_OP_SET_TIMESTAMP = 0x0301,
	CXL_OP_IDENTIFY = 0x4000,
	CXL_OP_GET_PARTITION = 0x4100,
	CXL_OP_GET_LSA = 0x4102,
	CXL_OP_GET_HEALTH = 0x4200,
	CXL_OP_GET_POISON = 0x4300,
	CXL_OP_CLEAR_POISON = 0x4302,
};

enum {
	CXL_CODE_INPUT = 2,
	CXL_CODE_UNSUPPORTED = 3,
	CXL_CODE_RETRY = 5,
	CXL_CODE_BUSY = 6,
	CXL_CODE_ADDRESS = 15,
};

#define CXL_CAPACITY_UNIT SZ_256M

struct cxl_identify {
	char firmware[16];
	__le64 total;
	__le64 volatile_only;
	__le64 persistent_only;
	__le64 align;
	__le16 events[4];
	__le32 lsa_bytes;
	u8 poison_max[3];
	__le16 inject_max;
	u8 poison_caps;
	u8 qos_caps;
} __packed;

struct cxl_partition {
	__le64 volatile_now;
	__le64 persistent_now;
	__le64 volatile_next;
	__le64 persistent_next;
} __packed;

struct cxl_get_lsa {
	__le32 offset;
	__le32 bytes;
} __packed;

struct cxl_poison_in {
	__le64 address;
	__le64 lines;
} __packed;

#define CXL_LINE 64
#define CXL_POISON_ADDRESS GENMASK_ULL(63, 6)

struct cxl_poison_record {
	__le64 address;
	__le32 lines;
	__le32 rsvd;
} __packed;

#define CXL_POISON_MORE BIT(0)
#define CXL_POISON_OVERFLOW BIT(1)

struct cxl_poison_out {
	u8 flags;
	u8 rsvd1;
	__le64 overflow;
	__le16 count;
	u8 rsvd2[20];
	struct cxl_poison_record records[];
} __packed;

/* Clear Poison writes @data to the line. */
struct cxl_clear_poison {
	__le64 address;
	u8 data[CXL_LINE];
} __packed;

#define CXL_HEALTH_BYTES 18 /* of the answer to Get Health Info */

#define CXL_EVENT_BYTES 128
#define CXL_EVENT_LOGS 4

/* The beginning of every record, after its type. */
struct cxl_event {
	u8 type[16];
	u8 bytes;
	u8 flags[3];
	__le16 handle;
	__le16 related;
	__le64 timestamp;
	u8 rest[96];
} __packed;

#define CXL_EVENTS_OVERFLOW BIT(0)
#define CXL_EVENTS_MORE BIT(1)

struct cxl_events_out {
	u8 flags;
	u8 rsvd1;
	__le16 lost;
	__le64 first_lost;
	__le64 last_lost;
	__le16 count;
	u8 rsvd2[10];
	struct cxl_event records[];
} __packed;

struct cxl_clear_events {
	u8 log;
	u8 flags;
	u8 count;
	u8 rsvd[3];
	__le16 handle;
} __packed;

/* The interrupt policy of each log: its mode, and the message number of an MSI or MSI-X. */
#define CXL_POLICY_MODE GENMASK(1, 0)
#define CXL_POLICY_MSI 1
#define CXL_POLICY_FIRMWARE 2
#define CXL_POLICY_MESSAGE GENMASK(7, 4)

#endif
