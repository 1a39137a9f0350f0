/* SPDX-License-Identifier: MIT */
/*
 * NVMe data structures: queue entries, identify data, status codes.
 *
 * Names and numbers follow the NVM Express Base Specification 2.0 and the NVM Command Set
 * Specification 1.0; each group names its figure or section. All numbers are little endian, as is
 * every machine that Annex runs on (checked in lib/core/log.c).
 */
#ifndef ANNEX_NVME_H
#define ANNEX_NVME_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ANNEX_NVME_PAGE 4096u /* memory page size used for PRPs (CC.MPS = 0) */

/* Bytes of a logical block: a power of two. */
#define ANNEX_BLOCK_MIN 512u
#define ANNEX_BLOCK_MAX 16384u
#define ANNEX_BLOCK_IS_GOOD(n)                                                                     \
	((n) >= ANNEX_BLOCK_MIN && (n) <= ANNEX_BLOCK_MAX && !((n) & ((n)-1)))

#define ANNEX_CAP_DSTRD(cap) ((uint32_t)((cap) >> 32 & 0xf)) /* doorbell stride: 4 << DSTRD */

/* CSTS (Base 3.1.3.6) */
#define ANNEX_CSTS_RDY (1u << 0)
#define ANNEX_CSTS_CFS (1u << 1) /* controller fatal status */

/* Opcodes (NVM 3) */
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
#define ANNEX_SCT_PATH 3u    /* status code type of path related errors */
#define ANNEX_SC_DNR (1u << 14)

enum annex_nvme_status {
	ANNEX_SC_SUCCESS = ANNEX_SC(0, 0x00),
	ANNEX_SC_INVALID_OPCODE = ANNEX_SC(0, 0x01),
	ANNEX_SC_INVALID_FIELD = ANNEX_SC(0, 0x02),
	ANNEX_SC_DATA_TRANSFER = ANNEX_SC(0, 0x04),
	ANNEX_SC_INTERNAL = ANNEX_SC(0, 0x06),
	ANNEX_SC_ABORT_REQUESTED = ANNEX_SC(0, 0x07),
	ANNEX_SC_ABORT_SQ_DELETED = ANNEX_SC(0, 0x08),
	ANNEX_SC_INVALID_NS = ANNEX_SC(0, 0x0b),
	ANNEX_SC_SGL_SEGMENT = ANNEX_SC(0, 0x0d),
	ANNEX_SC_SGL_COUNT = ANNEX_SC(0, 0x0e),
	ANNEX_SC_SGL_DATA_LENGTH = ANNEX_SC(0, 0x0f),
	ANNEX_SC_SGL_TYPE = ANNEX_SC(0, 0x11),
	ANNEX_SC_PRP_OFFSET = ANNEX_SC(0, 0x13),
	ANNEX_SC_LBA_RANGE = ANNEX_SC(0, 0x80),
	ANNEX_SC_CAPACITY = ANNEX_SC(0, 0x81),
	ANNEX_SC_NS_NOT_READY = ANNEX_SC(0, 0x82),
	ANNEX_SC_READ_ONLY = ANNEX_SC(1, 0x82),
	ANNEX_SC_WRITE_FAULT = ANNEX_SC(2, 0x80),
	ANNEX_SC_UNRECOVERED_READ = ANNEX_SC(2, 0x81),
	ANNEX_SC_COMPARE_FAILURE = ANNEX_SC(2, 0x85),
	ANNEX_SC_ABORTED_BY_HOST = ANNEX_SC(3, 0x71),
};

/* Structures of Identify (Base 5.17) */
enum annex_cns {
	ANNEX_CNS_NS = 0x00,
	ANNEX_CNS_CTRL = 0x01,
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
#define ANNEX_SQE_PSDT_SGL 0x40
#define ANNEX_RW_FUA (1u << 30)   /* CDW12 of read and write (NVM 3.2.4, 3.2.6) */
#define ANNEX_RW_PRACT (1u << 29) /* the controller inserts and strips protection information */
#define ANNEX_RW_PRCHK_GUARD (1u << 28) /* the controller checks its guard */
#define ANNEX_WZ_DEAC (1u << 25)        /* CDW12 of write zeroes */
#define ANNEX_DSM_DEALLOCATE (1u << 2)  /* CDW11 of dataset management */

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
	uint8_t flbas;
	uint8_t rsvd27[2];
	uint8_t dps;
	uint8_t rsvd30[98];
	struct annex_lbaf lbaf[64];
	uint8_t rsvd384[3712];
};

/*
 * The format of a namespace: FLBAS bits 3:0, and above them bits 6:5 if it has more than 16 formats
 * (NVM 4.1.5.1).
 */
static inline const struct annex_lbaf *annex_id_format(const struct annex_id_ns *id)
{
	return &id->lbaf[(id->flbas & 15) | (id->nlbaf > 15 ? id->flbas >> 1 & 0x30 : 0)];
}

#define ANNEX_DPS_TYPE 7u /* type of protection information; 0: none */
#define ANNEX_PI_BYTES 8u /* of protection information with a guard of 16 bits */

/* Whether the controller inserts and strips all metadata of the namespace (NVM 5.2.2.1). */
static inline int annex_id_protected(const struct annex_id_ns *id)
{
	return id->dps & ANNEX_DPS_TYPE && annex_id_format(id)->ms == ANNEX_PI_BYTES;
}

/*
 * log2 of a block of the namespace; 0: blocks cannot be transferred without metadata, or have less
 * than 512 bytes, or more than 16 KiB.
 */
static inline uint32_t annex_id_shift(const struct annex_id_ns *id)
{
	const struct annex_lbaf *f = annex_id_format(id);

	if ((f->ms && !annex_id_protected(id)) || f->lbads < 9 || f->lbads > 14)
		return 0;
	return f->lbads;
}

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
static_assert(offsetof(struct annex_id_ns, dps) == 29, "DPS");
static_assert(offsetof(struct annex_id_ns, lbaf) == 128, "LBA formats");

#endif
