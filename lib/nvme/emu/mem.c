// SPDX-License-Identifier: MIT
/*
 * mem: namespaces in RAM. Commands are carried out at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/racy.h"
#include "io.h"
#include "req.h"
#include "state.h"

#define DEALLOCATE_MIN (64u << 10) /* below this, zeroing is faster than giving pages back */

static int open_ns(struct annex_emu *emu, uint64_t size, unsigned int shift)
{
	struct emu_ns *ns = &emu->ns[emu->nns];
	void *ram = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ram == MAP_FAILED)
		return annex_fail(-ENOMEM, "mem: no memory for %llu bytes", (ull)size);
	madvise(ram, size, MADV_HUGEPAGE); /* a wish: ordinary pages serve as well */
	*ns = (struct emu_ns){.nsid = emu->nns + 1,
			      .shift = shift,
			      .blocks = size >> shift,
			      .ram = ram,
			      .fd = -1};
	emu->nns++;
	return 0;
}

int annex_emu_mem_open(struct annex_emu *emu, const struct annex_uri *uri)
{
	static const char *const keys[] = {"block", "namespaces", "serve", "fault...", NULL};
	uint64_t size, block = 512, count = 1, total;
	int err = annex_uri_check_keys(uri, keys);

	if (!err)
		err = annex_uri_u64(uri, "block", 512, 4096, &block);
	if (!err)
		err = annex_uri_u64(uri, "namespaces", 1, EMU_NAMESPACES, &count);
	if (err)
		return err;
	if (block != 512 && block != 4096)
		return annex_fail(-EINVAL, "mem: block=%u is neither 512 nor 4096",
				  (unsigned int)block);
	if (annex_parse_size(uri->body, &size) || !size)
		return annex_fail(-EINVAL, "mem: \"%s\" is not a size (as in mem:64M)", uri->body);
	if (size % block)
		return annex_fail(-EINVAL, "mem: %s is not a multiple of the %u-byte block",
				  uri->body, (unsigned int)block);
	total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (size > total / count)
		return annex_fail(-ENOMEM, "mem: %s is more than the machine's memory", uri->body);
	while (!err && emu->nns < count)
		err = open_ns(emu, size, block == 512 ? 9 : 12);
	return err;
}

void annex_emu_mem_close(struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		if (emu->ns[i].ram)
			munmap(emu->ns[i].ram, emu->ns[i].blocks << emu->ns[i].shift);
}

static void zero(char *p, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t head = -(uintptr_t)p & (page - 1), whole;

	if (len >= DEALLOCATE_MIN) {
		whole = (len - head) & ~(page - 1);
		if (!madvise(p + head, whole, MADV_DONTNEED)) {
			memset(p, 0, head);
			memset(p + head + whole, 0, len - head - whole);
			return;
		}
	}
	memset(p, 0, len);
}

static uint16_t run_dsm(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd)
{
	struct annex_dsm_range ranges[ANNEX_DSM_MAX];
	const struct emu_ns *ns = cmd->ns;
	unsigned int n;
	uint16_t sc = annex_emu_dsm_ranges(emu, sq, cmd, ranges, &n);

	for (unsigned int i = 0; !sc && i < n; i++)
		zero(ns->ram + (ranges[i].slba << ns->shift), (uint64_t)ranges[i].nlb << ns->shift);
	return sc;
}

static uint16_t compare(const struct iovec *segs, const char *p, uint32_t len)
{
	for (uint32_t part; len; len -= part, p += part, segs++) {
		part = segs->iov_len < len ? (uint32_t)segs->iov_len : len;
		if (memcmp(p, segs->iov_base, part))
			return ANNEX_SC_COMPARE_FAILURE;
	}
	return 0;
}

/* Data in several pieces, or with a data pointer that is wrong. */
static uint16_t run_pieces(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd)
{
	char *ram = cmd->ns->ram + cmd->pos;
	uint32_t len = annex_emu_todo(cmd);
	unsigned int n;
	bool far;
	uint16_t sc = annex_emu_dptr(emu, &cmd->sqe, cmd->len, sq->segs, &n, &far);

	if (sc)
		return sc;
	/* If the completion is held back, the host's memory counts as used until it is posted. */
	if (cmd->req && annex_emu_req_set_segs(cmd->req, sq->segs, n, len))
		return ANNEX_SC_INTERNAL;
	if (far) { /* then there is a request, which goes on in far.c */
		cmd->req->far = true;
		cmd->req->len = len;
		return 0;
	}
	if (cmd->sqe.opcode == ANNEX_NVM_COMPARE)
		return compare(sq->segs, ram, len);
	if (cmd->sqe.opcode == ANNEX_NVM_READ)
		annex_emu_to_host(sq->segs, n, ram, len);
	else
		annex_emu_from_host(sq->segs, n, ram, len);
	return 0;
}

static uint16_t carry_out(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	uint8_t op = cmd->sqe.opcode;

	if (op == ANNEX_NVM_FLUSH)
		return 0;
	if (op == ANNEX_NVM_DSM)
		return run_dsm(emu, sq, cmd);
	if (op == ANNEX_NVM_WRITE_ZEROES) {
		zero(cmd->ns->ram + cmd->pos, annex_emu_todo(cmd));
		return 0;
	}
	if (!cmd->data || cmd->req || op == ANNEX_NVM_COMPARE)
		return run_pieces(emu, sq, cmd);
	if (op == ANNEX_NVM_READ)
		memcpy(cmd->data, cmd->ns->ram + cmd->pos, cmd->len);
	else
		memcpy(cmd->ns->ram + cmd->pos, cmd->data, cmd->len);
	return 0;
}

/* Carry a command out. Return: its NVMe status. */
uint16_t annex_emu_mem_run(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	uint16_t status;

	annex_racy_begin();
	status = carry_out(emu, sq, cmd);
	annex_racy_end();
	return status;
}
