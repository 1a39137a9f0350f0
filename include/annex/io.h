/* SPDX-License-Identifier: MIT */
/*
 * A caller's description of an I/O command, and its conversion to a submission queue entry.
 *
 * Compiles as C11 and as CUDA device code.
 */
#ifndef ANNEX_IO_H
#define ANNEX_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/detail/atomic.h>
#include <annex/nvme.h>

/**
 * struct annex_seg - A piece of data memory.
 * @addr: device address (annex_dev_map()).
 * @len: bytes.
 */
struct annex_seg {
	uint64_t addr;
	uint64_t len;
};

#define ANNEX_IO_FUA (1u << 0) /* read, write: from or to the medium, not a volatile cache */
#define ANNEX_IO_SGL (1u << 1) /* describe the data by SGLs even if PRPs suffice */

/**
 * struct annex_io - A command.
 * @opcode: enum annex_nvm_opcode.
 * @flags: ANNEX_IO_*.
 * @nsegs: 0: the data is one piece at @addr; otherwise the number of pieces at @segs.
 * @nsid: namespace.
 * @slba: first logical block. Not used by flush and dataset management.
 * @nlb: number of blocks, 1 to 65536; for dataset management the number of ranges, 1 to 256
 *	(each a struct annex_dsm_range in the data, always deallocated).
 * @bytes: length of the data: blocks times block size, or 16 per range. 0 for flush and write
 *	zeroes.
 * @addr: device address of the data, 4-byte aligned (any alignment with SGLs).
 * @segs: pieces, in the order of the data; read only during the submitting call.
 */
struct annex_io {
	uint8_t opcode;
	uint8_t flags;
	uint16_t nsegs;
	uint32_t nsid;
	uint64_t slba;
	uint32_t nlb;
	uint32_t bytes;
	uint64_t addr;
	const struct annex_seg *segs;
};

/**
 * struct annex_result - Result of a command.
 * @status: NVMe status field of the controller, without the phase tag; 0 is success.
 * @dw0: command specific.
 */
struct annex_result {
	uint32_t dw0;
	uint16_t status;
};

/**
 * annex_nvme_errno() - The errno for an NVMe status.
 * @status: as in struct annex_result.
 *
 * Return: 0 for success, otherwise a negative errno.
 */
static inline ANNEX_HD int annex_nvme_errno(uint16_t status)
{
	switch (status & ANNEX_SC_MASK) {
	case ANNEX_SC_SUCCESS:
		return 0;
	case ANNEX_SC_INVALID_OPCODE:
		return -EOPNOTSUPP;
	case ANNEX_SC_INVALID_FIELD:
	case ANNEX_SC_PRP_OFFSET:
	case ANNEX_SC_SGL_SEGMENT:
	case ANNEX_SC_SGL_COUNT:
	case ANNEX_SC_SGL_DATA_LENGTH:
	case ANNEX_SC_SGL_TYPE:
		return -EINVAL;
	case ANNEX_SC_DATA_TRANSFER:
		return -EFAULT;
	case ANNEX_SC_INVALID_NS:
		return -ENXIO;
	case ANNEX_SC_LBA_RANGE:
		return -ERANGE;
	case ANNEX_SC_CAPACITY:
		return -ENOSPC;
	case ANNEX_SC_READ_ONLY:
		return -EROFS;
	case ANNEX_SC_COMPARE_FAILURE:
		return -EILSEQ;
	case ANNEX_SC_ABORT_REQUESTED:
	case ANNEX_SC_ABORT_SQ_DELETED:
	case ANNEX_SC_ABORTED_BY_HOST:
		return -ECANCELED;
	case ANNEX_SC_NS_NOT_READY:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

/**
 * struct annex_io_limits - Limits of a queue pair's commands.
 * @list_bytes: memory for the PRP or SGL list of one command.
 * @max_transfer: largest data of one command.
 * @sgl: the controller supports SGLs.
 * @pages: the controller's address of each page of device addresses, 0 for unmapped pages; NULL:
 *	the addresses are the same.
 * @npages: number of @pages.
 * @protect: bit (NSID - 1) % 64 is set for namespaces with protection information, which the
 *	controller inserts and strips. Other namespaces with the same bit ignore it (NVM 3.2).
 */
struct annex_io_limits {
	uint32_t list_bytes;
	uint32_t max_transfer;
	bool sgl;
	const uint64_t *pages;
	uint64_t npages;
	uint64_t protect;
};

#define ANNEX_IO_NOWHERE (~0ull - ANNEX_NVME_PAGE + 1) /* a page that no bus has */

/* The controller's address of a device address. */
static inline ANNEX_HD uint64_t annex_io_addr(const struct annex_io_limits *limits, uint64_t addr)
{
	uint64_t i = addr / ANNEX_NVME_PAGE, page;

	if (!limits->pages)
		return addr;
	page = i < limits->npages ? limits->pages[i] : 0;
	return (page ? page : ANNEX_IO_NOWHERE) | (addr & (ANNEX_NVME_PAGE - 1));
}

static inline ANNEX_HD uint32_t annex_io_pieces(const struct annex_io *io)
{
	return io->nsegs ? io->nsegs : 1;
}

static inline ANNEX_HD struct annex_seg annex_io_piece(const struct annex_io *io, uint32_t i)
{
	struct annex_seg whole;

	if (io->nsegs)
		return io->segs[i];
	whole.addr = io->addr;
	whole.len = io->bytes;
	return whole;
}

/*
 * Whether PRPs can describe the data: pieces meet on page boundaries only (Base 4.1.1). *pages is
 * the number of pages touched, saturated above what any list holds.
 */
static inline ANNEX_HD bool annex_io_prp_shaped(const struct annex_io *io, uint64_t *pages)
{
	uint32_t n = annex_io_pieces(io);

	*pages = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct annex_seg s = annex_io_piece(io, i);

		if (s.addr & (i ? ANNEX_NVME_PAGE - 1 : 3))
			return false;
		if (i + 1 < n && (s.addr + s.len) & (ANNEX_NVME_PAGE - 1))
			return false;
		*pages += ((s.addr & (ANNEX_NVME_PAGE - 1)) + s.len + ANNEX_NVME_PAGE - 1) /
			  ANNEX_NVME_PAGE;
	}
	return true;
}

static inline ANNEX_HD bool annex_io_protected(const struct annex_io *io,
					       const struct annex_io_limits *limits)
{
	return limits->protect >> ((io->nsid - 1) & 63) & 1;
}

static inline ANNEX_HD bool annex_io_moves_data(const struct annex_io *io)
{
	return io->opcode != ANNEX_NVM_FLUSH && io->opcode != ANNEX_NVM_WRITE_ZEROES;
}

static inline ANNEX_HD bool annex_io_has_blocks(const struct annex_io *io)
{
	return io->opcode == ANNEX_NVM_READ || io->opcode == ANNEX_NVM_WRITE ||
	       io->opcode == ANNEX_NVM_COMPARE;
}

/* Whether the data has so many blocks of a size that exists. */
static inline ANNEX_HD bool annex_io_is_whole(const struct annex_io *io)
{
	uint64_t bytes = (uint64_t)io->nlb * ANNEX_BLOCK_MIN;
	uint64_t most = (uint64_t)io->nlb * ANNEX_BLOCK_MAX;

	while (bytes < io->bytes && bytes < most)
		bytes *= 2;
	return bytes == io->bytes;
}

/**
 * annex_io_check() - Validate a command against the limits.
 * @io: the command.
 * @limits: the queue pair's limits.
 *
 * Addresses are not validated here: the controller (or its IOMMU) does that.
 *
 * Return: 0; -EINVAL; -E2BIG (too much data or too many pieces for one command); -EOPNOTSUPP (a
 * compare, for which the controller would need protection information of the caller).
 */
static inline ANNEX_HD int annex_io_check(const struct annex_io *io,
					  const struct annex_io_limits *limits)
{
	uint64_t sum = 0, pages;

	if (io->opcode == ANNEX_NVM_FLUSH)
		return io->bytes || io->nsegs ? -EINVAL : 0;
	if (!io->nlb || io->nlb > (io->opcode == ANNEX_NVM_DSM ? 256u : 65536u))
		return -EINVAL;
	if (!annex_io_moves_data(io))
		return io->bytes || io->nsegs ? -EINVAL : 0;
	if (io->opcode == ANNEX_NVM_COMPARE && annex_io_protected(io, limits))
		return -EOPNOTSUPP;
	if (!io->bytes || (io->opcode == ANNEX_NVM_DSM && io->bytes != io->nlb * 16))
		return -EINVAL;
	if (annex_io_has_blocks(io) && !annex_io_is_whole(io))
		return -EINVAL;
	if (io->bytes > limits->max_transfer)
		return -E2BIG;
	for (uint32_t i = 0; i < annex_io_pieces(io); i++) {
		struct annex_seg s = annex_io_piece(io, i);

		/* Reject the last page: walks over the pages must not wrap around. */
		if (!s.len || s.len > io->bytes || s.addr >= 0 - (uint64_t)ANNEX_NVME_PAGE - s.len)
			return -EINVAL;
		sum += s.len;
	}
	if (sum != io->bytes)
		return -EINVAL;
	/* A list ends with a zero entry, so all but one of its entries can name pages. */
	if (!(io->flags & ANNEX_IO_SGL) && annex_io_prp_shaped(io, &pages))
		return pages > limits->list_bytes / 8 ? -E2BIG : 0;
	if (!limits->sgl)
		return -EINVAL;
	return annex_io_pieces(io) > limits->list_bytes / 16 ? -E2BIG : 0;
}

static inline ANNEX_HD void annex_io_build_sgl(struct annex_sqe *sqe, const struct annex_io *io,
					       struct annex_sgl *list, uint64_t list_addr)
{
	uint32_t n = annex_io_pieces(io);

	sqe->flags = ANNEX_SQE_PSDT_SGL;
	if (n == 1) {
		struct annex_seg s = annex_io_piece(io, 0);

		sqe->dptr[0] = s.addr;
		sqe->dptr[1] = s.len | (uint64_t)ANNEX_SGL_DATA << 56;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		list[i].addr = io->segs[i].addr;
		list[i].len = (uint32_t)io->segs[i].len;
		list[i].rsvd[0] = list[i].rsvd[1] = list[i].rsvd[2] = 0;
		list[i].type = ANNEX_SGL_DATA;
	}
	sqe->dptr[0] = list_addr;
	sqe->dptr[1] = n * sizeof(*list) | (uint64_t)ANNEX_SGL_LAST_SEGMENT << 56;
}

static inline ANNEX_HD void annex_io_build_prp(struct annex_sqe *sqe, const struct annex_io *io,
					       const struct annex_io_limits *limits, uint64_t pages,
					       uint64_t *list, uint64_t list_addr)
{
	uint32_t n = annex_io_pieces(io), k = 0;

	sqe->dptr[0] = annex_io_addr(limits, annex_io_piece(io, 0).addr);
	sqe->dptr[1] = 0;
	if (pages == 1)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct annex_seg s = annex_io_piece(io, i);
		uint64_t page = s.addr & ~(uint64_t)(ANNEX_NVME_PAGE - 1);

		if (!i) /* the first page is PRP1 */
			page += ANNEX_NVME_PAGE;
		for (; page < s.addr + s.len; page += ANNEX_NVME_PAGE) {
			if (pages == 2)
				sqe->dptr[1] = annex_io_addr(limits, page);
			else
				list[k++] = annex_io_addr(limits, page);
		}
	}
	if (pages <= 2)
		return;
	sqe->dptr[1] = annex_io_addr(limits, list_addr);
	/*
	 * If the controller's blocks are larger than the caller assumed, it finds an invalid page
	 * here, not a stale one.
	 */
	list[k] = 0;
}

/*
 * Let the controller insert and strip protection information, and check the guards of a read. The
 * reference tag of the first block (CDW14) is the low word of its number.
 */
static inline ANNEX_HD void annex_sqe_protect(uint8_t opcode, uint32_t *cdw12, uint32_t slba,
					      uint32_t *cdw14)
{
	*cdw12 |= ANNEX_RW_PRACT | (opcode == ANNEX_NVM_READ ? ANNEX_RW_PRCHK_GUARD : 0);
	*cdw14 = slba;
}

/**
 * annex_io_build() - Make the submission queue entry of a command that annex_io_check() accepted.
 * @sqe: the entry.
 * @io: the command.
 * @limits: the queue pair's limits.
 * @cid: its command identifier.
 * @list: memory for the command's list, of limits->list_bytes, within a page.
 * @list_addr: device address of @list.
 */
static inline ANNEX_HD void annex_io_build(struct annex_sqe *sqe, const struct annex_io *io,
					   const struct annex_io_limits *limits, uint16_t cid,
					   void *list, uint64_t list_addr)
{
	uint64_t pages;

	sqe->opcode = io->opcode;
	sqe->flags = 0;
	sqe->cid = cid;
	sqe->nsid = io->nsid;
	sqe->cdw2 = sqe->cdw3 = 0;
	sqe->mptr = 0;
	sqe->dptr[0] = sqe->dptr[1] = 0;
	sqe->cdw10 = (uint32_t)io->slba;
	sqe->cdw11 = (uint32_t)(io->slba >> 32);
	sqe->cdw12 = (io->nlb - 1) & 0xffff;
	sqe->cdw13 = sqe->cdw14 = sqe->cdw15 = 0;
	if (io->flags & ANNEX_IO_FUA)
		sqe->cdw12 |= ANNEX_RW_FUA;
	if (annex_io_protected(io, limits))
		annex_sqe_protect(sqe->opcode, &sqe->cdw12, sqe->cdw10, &sqe->cdw14);
	if (io->opcode == ANNEX_NVM_FLUSH)
		sqe->cdw10 = sqe->cdw11 = sqe->cdw12 = sqe->cdw14 = 0;
	if (io->opcode == ANNEX_NVM_DSM) {
		sqe->cdw10 = (io->nlb - 1) & 0xff;
		sqe->cdw11 = ANNEX_DSM_DEALLOCATE;
		sqe->cdw12 = sqe->cdw14 = 0;
	}
	if (!annex_io_moves_data(io))
		return;
	if (!(io->flags & ANNEX_IO_SGL) && annex_io_prp_shaped(io, &pages))
		annex_io_build_prp(sqe, io, limits, pages, (uint64_t *)list, list_addr);
	else
		annex_io_build_sgl(sqe, io, (struct annex_sgl *)list, list_addr);
}

#endif
