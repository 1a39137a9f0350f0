/* SPDX-License-Identifier: MIT */
/*
 * NVMe as it looks in memory: queue entries, registers, identify data, status codes.
 *
 * Names and numbers follow the NVM Express Base Specification 2.0 and the NVM Command Set
 * Specification 1.0; the figure or section is named beside each group. Everything here is little
 * endian, as is every machine that Annex runs on (checked in lib/core/log.c).
 */
#ifndef ANNEX_NVME_H
#define ANNEX_NVME_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ANNEX_NVME_PAGE 4096u /* memory page size used for PRPs (CC.MPS = 0) */

/* Controller registers (Base 3.1.3) */
enum annex_nvme_reg {
	ANNEX_REG_CAP = 0x00, /* 64 bits */
	ANNEX_REG_VS = 0x08,
	ANNEX_REG_INTMS = 0x0c,
	ANNEX_REG_INTMC = 0x10,
	ANNEX_REG_CC = 0x14,
	ANNEX_REG_CSTS = 0x1c,
	ANNEX_REG_AQA = 0x24,
	ANNEX_REG_ASQ = 0x28, /* 64 bits */
	ANNEX_REG_ACQ = 0x30, /* 64 bits */
	ANNEX_REG_DOORBELLS = 0x1000,
};

#define ANNEX_CAP_MQES(cap) ((uint32_t)((cap)&0xffff) + 1) /* entries, 1-based */
#define ANNEX_CAP_CQR (1ull << 16)                         /* contiguous queues required */
#define ANNEX_CAP_TO_MS(cap) ((uint32_t)((cap) >> 24 & 0xff) * 500)
#define ANNEX_CAP_DSTRD(cap) ((uint32_t)((cap) >> 32 & 0xf)) /* doorbell stride: 4 << DSTRD */
#define ANNEX_CAP_CSS_NVM (1ull << 37)
#define ANNEX_CAP_MPSMIN(cap) ((uint32_t)((cap) >> 48 & 0xf)) /* pages of 4096 << MPSMIN */

#define ANNEX_CC_EN (1u << 0)
#define ANNEX_CC_CSS_MASK (7u << 4)
#define ANNEX_CC_MPS_MASK (15u << 7)
#define ANNEX_CC_AMS_MASK (7u << 11)
#define ANNEX_CC_SHN_MASK (3u << 14)
#define ANNEX_CC_SHN_NORMAL (1u << 14)
#define ANNEX_CC_SHN_ABRUPT (2u << 14)
#define ANNEX_CC_IOSQES(cc) ((cc) >> 16 & 15)
#define ANNEX_CC_IOCQES(cc) ((cc) >> 20 & 15)
#define ANNEX_CC_IOSQES_64 (6u << 16)
#define ANNEX_CC_IOCQES_16 (4u << 20)

#define ANNEX_CSTS_RDY (1u << 0)
#define ANNEX_CSTS_CFS (1u << 1) /* controller fatal status */
#define ANNEX_CSTS_SHST_MASK (3u << 2)
#define ANNEX_CSTS_SHST_BUSY (1u << 2)
#define ANNEX_CSTS_SHST_DONE (2u << 2)

#define ANNEX_AQA(sq_entries, cq_entries) (((cq_entries)-1) << 16 | ((sq_entries)-1))

/* Opcodes (Base 5, NVM 3) */
enum annex_admin_opcode {
	ANNEX_ADMIN_DELETE_SQ = 0x00,
	ANNEX_ADMIN_CREATE_SQ = 0x01,
	ANNEX_ADMIN_GET_LOG_PAGE = 0x02,
	ANNEX_ADMIN_DELETE_CQ = 0x04,
	ANNEX_ADMIN_CREATE_CQ = 0x05,
	ANNEX_ADMIN_IDENTIFY = 0x06,
	ANNEX_ADMIN_ABORT = 0x08,
	ANNEX_ADMIN_SET_FEATURES = 0x09,
	ANNEX_ADMIN_GET_FEATURES = 0x0a,
	ANNEX_ADMIN_ASYNC_EVENT = 0x0c,
};

enum annex_nvm_opcode {
	ANNEX_NVM_FLUSH = 0x00,
	ANNEX_NVM_WRITE = 0x01,
	ANNEX_NVM_READ = 0x02,
	ANNEX_NVM_COMPARE = 0x05,
	ANNEX_NVM_WRITE_ZEROES = 0x08,
	ANNEX_NVM_DSM = 0x09, /* dataset management */
};

/* Status without the phase bit: DNR << 14 | M << 13 | CRD << 11 | SCT << 8 | SC (Base 3.3.3.2) */
#define ANNEX_SC(sct, sc) ((sct) << 8 | (sc))
#define ANNEX_SC_MASK 0x7ffu /* SCT and SC alone */
#define ANNEX_SC_MORE (1u << 13)
#define ANNEX_SC_DNR (1u << 14)

enum annex_nvme_status {
	ANNEX_SC_SUCCESS = ANNEX_SC(0, 0x00),
	ANNEX_SC_INVALID_OPCODE = ANNEX_SC(0, 0x01),
	ANNEX_SC_INVALID_FIELD = ANNEX_SC(0, 0x02),
	ANNEX_SC_ID_CONFLICT = ANNEX_SC(0, 0x03),
	ANNEX_SC_DATA_TRANSFER = ANNEX_SC(0, 0x04),
	ANNEX_SC_INTERNAL = ANNEX_SC(0, 0x06),
	ANNEX_SC_ABORT_REQUESTED = ANNEX_SC(0, 0x07),
	ANNEX_SC_ABORT_SQ_DELETED = ANNEX_SC(0, 0x08),
	ANNEX_SC_INVALID_NS = ANNEX_SC(0, 0x0b),
	ANNEX_SC_SEQUENCE = ANNEX_SC(0, 0x0c),
	ANNEX_SC_SGL_SEGMENT = ANNEX_SC(0, 0x0d),
	ANNEX_SC_SGL_COUNT = ANNEX_SC(0, 0x0e),
	ANNEX_SC_SGL_DATA_LENGTH = ANNEX_SC(0, 0x0f),
	ANNEX_SC_SGL_TYPE = ANNEX_SC(0, 0x11),
	ANNEX_SC_PRP_OFFSET = ANNEX_SC(0, 0x13),
	ANNEX_SC_LBA_RANGE = ANNEX_SC(0, 0x80),
	ANNEX_SC_CAPACITY = ANNEX_SC(0, 0x81),
	ANNEX_SC_NS_NOT_READY = ANNEX_SC(0, 0x82),
	ANNEX_SC_CQ_INVALID = ANNEX_SC(1, 0x00),
	ANNEX_SC_QID_INVALID = ANNEX_SC(1, 0x01),
	ANNEX_SC_QUEUE_SIZE = ANNEX_SC(1, 0x02),
	ANNEX_SC_ABORT_LIMIT = ANNEX_SC(1, 0x03),
	ANNEX_SC_ASYNC_LIMIT = ANNEX_SC(1, 0x05),
	ANNEX_SC_INTERRUPT_VECTOR = ANNEX_SC(1, 0x08),
	ANNEX_SC_LOG_PAGE = ANNEX_SC(1, 0x09),
	ANNEX_SC_QUEUE_DELETION = ANNEX_SC(1, 0x0c),
	ANNEX_SC_FEATURE_NOT_SAVEABLE = ANNEX_SC(1, 0x0d),
	ANNEX_SC_FEATURE_NOT_CHANGEABLE = ANNEX_SC(1, 0x0e),
	ANNEX_SC_CONFLICTING_ATTRIBUTES = ANNEX_SC(1, 0x80),
	ANNEX_SC_READ_ONLY = ANNEX_SC(1, 0x82),
	ANNEX_SC_WRITE_FAULT = ANNEX_SC(2, 0x80),
	ANNEX_SC_UNRECOVERED_READ = ANNEX_SC(2, 0x81),
	ANNEX_SC_COMPARE_FAILURE = ANNEX_SC(2, 0x85),
	ANNEX_SC_ABORTED_BY_HOST = ANNEX_SC(3, 0x71),
};

/* Features (Base 5.27) and log pages (Base 5.16) */
enum annex_feature {
	ANNEX_FEAT_ARBITRATION = 0x01,
	ANNEX_FEAT_POWER = 0x02,
	ANNEX_FEAT_TEMPERATURE = 0x04,
	ANNEX_FEAT_ERROR_RECOVERY = 0x05,
	ANNEX_FEAT_WRITE_CACHE = 0x06,
	ANNEX_FEAT_QUEUES = 0x07,
	ANNEX_FEAT_COALESCING = 0x08,
	ANNEX_FEAT_VECTOR = 0x09,
	ANNEX_FEAT_ATOMICITY = 0x0a,
	ANNEX_FEAT_ASYNC_EVENT = 0x0b,
};

enum annex_log_page {
	ANNEX_LOG_PAGE_ERROR = 0x01,
	ANNEX_LOG_PAGE_SMART = 0x02,
	ANNEX_LOG_PAGE_FIRMWARE = 0x03,
};

enum annex_cns {
	ANNEX_CNS_NS = 0x00,
	ANNEX_CNS_CTRL = 0x01,
	ANNEX_CNS_NS_LIST = 0x02,
	ANNEX_CNS_NS_DESC = 0x03,
};

#define ANNEX_NSID_ALL 0xffffffffu

/* Submission queue entry (Base 3.3.3.1) */
struct annex_sqe {
	uint8_t opcode;
	uint8_t flags; /* PSDT in bits 7:6, FUSE in bits 1:0 */
	uint16_t cid;
	uint32_t nsid;
	uint32_t cdw2;
	uint32_t cdw3;
	uint64_t mptr;
	uint64_t dptr[2]; /* PRP1 and PRP2, or one SGL descriptor */
	uint32_t cdw10;
	uint32_t cdw11;
	uint32_t cdw12;
	uint32_t cdw13;
	uint32_t cdw14;
	uint32_t cdw15;
};

#define ANNEX_SQE_PSDT_MASK 0xc0
#define ANNEX_SQE_PSDT_PRP 0x00
#define ANNEX_SQE_PSDT_SGL 0x40
#define ANNEX_SQE_FUSE_MASK 0x03
#define ANNEX_RW_FUA (1u << 30)          /* CDW12 of read and write (NVM 3.2.4, 3.2.6) */
#define ANNEX_WZ_DEAC (1u << 25)         /* CDW12 of write zeroes */
#define ANNEX_DSM_DEALLOCATE (1u << 2)   /* CDW11 of dataset management */
#define ANNEX_QUEUE_CONTIGUOUS (1u << 0) /* CDW11 of create SQ and CQ */
#define ANNEX_CQ_INTERRUPTS (1u << 1)    /* CDW11 of create CQ */

/* Completion queue entry (Base 3.3.3.2). @cid and @status are one aligned 32-bit word. */
struct annex_cqe {
	uint32_t dw0;
	uint32_t dw1;
	uint16_t sq_head;
	uint16_t sq_id;
	uint16_t cid;
	uint16_t status; /* phase tag in bit 0, status field above it */
};

/* SGL descriptor (Base 4.1.2) */
struct annex_sgl {
	uint64_t addr;
	uint32_t len;
	uint8_t rsvd[3];
	uint8_t type; /* type in bits 7:4, sub type in bits 3:0 */
};

#define ANNEX_SGL_DATA 0x00
#define ANNEX_SGL_SEGMENT 0x20
#define ANNEX_SGL_LAST_SEGMENT 0x30

/* Dataset management range (NVM 3.2.3) */
struct annex_dsm_range {
	uint32_t attributes;
	uint32_t nlb;
	uint64_t slba;
};

/* Identify Controller data, CNS 01h (Base 5.17.2.1): the fields that Annex reads or serves */
struct annex_id_ctrl {
	uint16_t vid;
	uint16_t ssvid;
	char sn[20];
	char mn[40];
	char fr[8];
	uint8_t rab;
	uint8_t ieee[3];
	uint8_t cmic;
	uint8_t mdts; /* largest transfer: 2^mdts pages of the minimum size; 0: no limit */
	uint16_t cntlid;
	uint32_t ver;
	uint8_t rsvd84[172];
	uint16_t oacs;
	uint8_t acl;  /* abort command limit, 0-based */
	uint8_t aerl; /* asynchronous event request limit, 0-based */
	uint8_t frmw;
	uint8_t lpa;
	uint8_t elpe; /* error log page entries, 0-based */
	uint8_t npss;
	uint8_t rsvd264[248];
	uint8_t sqes;
	uint8_t cqes;
	uint16_t maxcmd;
	uint32_t nn; /* number of namespaces */
	uint16_t oncs;
	uint16_t fuses;
	uint8_t fna;
	uint8_t vwc; /* bit 0: a volatile write cache is present */
	uint16_t awun;
	uint16_t awupf;
	uint8_t rsvd530[6];
	uint32_t sgls; /* bits 1:0: 01b SGLs of any alignment, 10b dword aligned */
	uint8_t rsvd540[228];
	char subnqn[256];
	uint8_t rsvd1024[3072];
};

#define ANNEX_ONCS_COMPARE (1u << 0)
#define ANNEX_ONCS_DSM (1u << 2)
#define ANNEX_ONCS_WRITE_ZEROES (1u << 3)

struct annex_lbaf {
	uint16_t ms;
	uint8_t lbads; /* log2 of the block size */
	uint8_t rp;
};

/* Identify Namespace data, CNS 00h (NVM 4.1.5.1): the fields that Annex reads or serves */
struct annex_id_ns {
	uint64_t nsze;
	uint64_t ncap;
	uint64_t nuse;
	uint8_t nsfeat;
	uint8_t nlbaf;
	uint8_t flbas; /* bits 3:0: index into lbaf */
	uint8_t rsvd27[101];
	struct annex_lbaf lbaf[16];
	uint8_t rsvd192[3904];
};

/* Error information log entry (Base 5.16.1.2) */
struct annex_error_entry {
	uint64_t error_count;
	uint16_t sqid;
	uint16_t cid;
	uint16_t status; /* with the phase tag, as in the completion */
	uint16_t location;
	uint64_t lba;
	uint32_t nsid;
	uint8_t vs;
	uint8_t trtype;
	uint8_t rsvd30[2];
	uint64_t cs;
	uint16_t ttsi;
	uint8_t rsvd42[22];
};

/* SMART / health log page (Base 5.16.1.3) */
struct annex_smart {
	uint8_t critical_warning;
	uint8_t temperature[2]; /* kelvin, unaligned */
	uint8_t available_spare;
	uint8_t spare_threshold;
	uint8_t percentage_used;
	uint8_t rsvd6[26];
	uint64_t data_units_read[2]; /* thousands of 512 bytes, 128-bit */
	uint64_t data_units_written[2];
	uint64_t host_reads[2];
	uint64_t host_writes[2];
	uint64_t busy_minutes[2];
	uint64_t power_cycles[2];
	uint64_t power_on_hours[2];
	uint64_t unsafe_shutdowns[2];
	uint64_t media_errors[2];
	uint64_t error_entries[2];
	uint8_t rsvd192[320];
};

static_assert(sizeof(struct annex_sqe) == 64, "submission queue entry");
static_assert(offsetof(struct annex_sqe, dptr) == 24, "data pointer");
static_assert(sizeof(struct annex_cqe) == 16, "completion queue entry");
static_assert(sizeof(struct annex_sgl) == 16, "SGL descriptor");
static_assert(sizeof(struct annex_dsm_range) == 16, "DSM range");
static_assert(sizeof(struct annex_id_ctrl) == 4096, "identify controller");
static_assert(offsetof(struct annex_id_ctrl, oacs) == 256, "OACS");
static_assert(offsetof(struct annex_id_ctrl, sqes) == 512, "SQES");
static_assert(offsetof(struct annex_id_ctrl, sgls) == 536, "SGLS");
static_assert(offsetof(struct annex_id_ctrl, subnqn) == 768, "SUBNQN");
static_assert(sizeof(struct annex_id_ns) == 4096, "identify namespace");
static_assert(offsetof(struct annex_id_ns, lbaf) == 128, "LBA formats");
static_assert(sizeof(struct annex_error_entry) == 64, "error entry");
static_assert(sizeof(struct annex_smart) == 512, "SMART log");
static_assert(offsetof(struct annex_smart, data_units_read) == 32, "data units read");

#endif
