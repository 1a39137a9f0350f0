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
#include "nvme/emu/backend.h"
#include "nvme/emu/emu.h"

#define MEM_REQS 1024u             /* commands that can be held back at once */
#define PREFETCH_BYTES 512u        /* of each command's data; the hardware fetches on from there */
#define DEALLOCATE_MIN (64u << 10) /* below this, zeroing is faster than MADV_DONTNEED */

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
			      .align = 1,
			      .most = UINT32_MAX,
			      .fd = -1,
			      .own = ram};
	emu->nns++;
	return 0;
}

static int open_all(struct annex_emu *emu, const struct annex_uri *uri, const void *arg)
{
	static const char *const keys[] = {"block", "namespaces", "serve", "fault...", NULL};
	uint64_t size, block = 512, count = 1, total;
	int err = annex_uri_check_keys(uri, keys);

	(void)arg;
	if (!err)
		err = annex_uri_u64(uri, "block", ANNEX_BLOCK_MIN, ANNEX_BLOCK_MAX, &block);
	if (!err)
		err = annex_uri_u64(uri, "namespaces", 1, EMU_NAMESPACES, &count);
	if (err)
		return err;
	if (!ANNEX_BLOCK_IS_GOOD(block))
		return annex_fail(-EINVAL, "mem: block=%u is no power of two", (unsigned int)block);
	if (annex_parse_size(uri->body, &size) || !size)
		return annex_fail(-EINVAL, "mem: \"%s\" is not a size (as in mem:64M)", uri->body);
	if (size % block)
		return annex_fail(-EINVAL, "mem: %s is not a multiple of the %u-byte block",
				  uri->body, (unsigned int)block);
	total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (size > total / count)
		return annex_fail(-ENOMEM, "mem: %s is more than the machine's memory", uri->body);
	while (!err && emu->nns < count)
		err = open_ns(emu, size, (unsigned int)__builtin_ctzll(block));
	return err;
}

static void mem_forked(struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		munmap(emu->ns[i].own, emu->ns[i].blocks << emu->ns[i].shift);
}

static void mem_close(struct annex_emu *emu, bool ended)
{
	(void)ended;
	mem_forked(emu);
}

static char *ram_of(const struct emu_ns *ns, uint64_t pos)
{
	return (char *)ns->own + pos;
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
		zero(ram_of(ns, ranges[i].slba << ns->shift), (uint64_t)ranges[i].nlb << ns->shift);
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

/* Data in several pieces, or with an invalid data pointer. */
static uint16_t run_pieces(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd)
{
	char *ram = ram_of(cmd->ns, cmd->pos);
	uint32_t len = annex_emu_todo(cmd);
	unsigned int n;
	bool far;
	uint16_t sc = annex_emu_dptr(emu, &cmd->sqe, cmd->len, sq->segs, &n, &far);

	if (sc)
		return sc;
	/* If the completion is delayed, the host's memory counts as used until it is posted. */
	if (cmd->req && annex_emu_req_set_segs(cmd->req, sq->segs, n, len))
		return ANNEX_SC_INTERNAL;
	if (far) { /* there is a request then, and mem_issue() is its step */
		cmd->req->far = true;
		cmd->req->len = len;
		cmd->req->steps = 1;
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
		zero(ram_of(cmd->ns, cmd->pos), annex_emu_todo(cmd));
		return 0;
	}
	if (!cmd->data || cmd->req || op == ANNEX_NVM_COMPARE)
		return run_pieces(emu, sq, cmd);
	if (op == ANNEX_NVM_READ)
		memcpy(cmd->data, ram_of(cmd->ns, cmd->pos), cmd->len);
	else
		memcpy(ram_of(cmd->ns, cmd->pos), cmd->data, cmd->len);
	return 0;
}

static void mem_prefetch(const struct emu_cmd *cmds, unsigned int n)
{
	for (const struct emu_cmd *cmd = cmds; cmd < cmds + n; cmd++) {
		uint32_t len = cmd->len < PREFETCH_BYTES ? cmd->len : PREFETCH_BYTES;

		if (cmd->status || !cmd->data)
			continue;
		/* Into the second level: the first is too small for a batch. */
		for (uint32_t i = 0; i < len; i += 64)
			__builtin_prefetch(ram_of(cmd->ns, cmd->pos + i), 0, 2);
	}
}

static uint16_t mem_run(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	uint16_t status;

	annex_racy_begin();
	status = carry_out(emu, sq, cmd);
	annex_racy_end();
	return status;
}

/* A request is carried out here too, except for far data. */
static uint16_t mem_prepare(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	cmd->req->steps = 0;
	return mem_run(emu, sq, cmd);
}

/* The data of far memory is in the request's buffer. */
static int mem_issue(struct annex_emu *emu, struct emu_req *req, struct emu_ns *ns)
{
	char *ram = ram_of(ns, req->pos);

	(void)emu;
	annex_racy_begin();
	if (req->sqe.opcode == ANNEX_NVM_WRITE)
		memcpy(ram, req->bounce, req->len);
	else
		memcpy(req->bounce, ram, req->len);
	annex_racy_end();
	return (int)req->len;
}

static const struct emu_backend backend = {
	.scheme = "mem",
	.requests = MEM_REQS,
	.open = open_all,
	.prefetch = mem_prefetch,
	.run = mem_run,
	.prepare = mem_prepare,
	.issue = mem_issue,
	.forked = mem_forked,
	.close = mem_close,
};

int annex_emu_open_mem(const struct annex_uri *uri, struct annex_ctrl **out)
{
	return annex_emu_open(uri, &backend, NULL, out);
}
