// SPDX-License-Identifier: MIT
/*
 * Trial commands: whether the kernel takes any, and with registered memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/least.h"
#include "ng.h"

/* Read the first block of @ns to @data, in registered buffer @buf. Return: the completion's res. */
static int read_block(struct annex_emu *emu, struct emu_ns *ns, void *data, int buf)
{
	struct io_uring *uring = &((struct emu_ring *)emu->own)->uring;
	const uint32_t bytes = 1u << ns->shift;
	struct emu_req req = {
		.buf = buf,
		.io = {.opcode = ANNEX_NVM_READ, .len = bytes, .n = 1, .one = {data, bytes}},
	};
	struct io_uring_cqe *cqe;
	int res;

	annex_emu_ng_issue(emu, &req, ns, io_uring_get_sqe(uring), ns->fd);
	do
		res = io_uring_submit(uring);
	while (res == -EINTR || res == -EAGAIN);
	if (res < 0)
		return res;
	do
		res = io_uring_wait_cqe(uring, &cqe);
	while (res == -EINTR);
	if (res < 0)
		return res;
	res = cqe->res;
	io_uring_cqe_seen(uring, cqe);
	return res;
}

/* Read it to the second page of registered memory, and compare it with the first. */
static bool fixed_works(struct annex_emu *emu, char *data, size_t bytes)
{
	struct emu_ns *ns = &emu->ns[0];
	int buf = annex_emu_ring_map(emu, (uintptr_t)data, bytes), res;

	if (buf < 0)
		return false;
	res = read_block(emu, ns, data + ANNEX_NVME_PAGE, buf);
	annex_emu_ring_unmap(emu, buf, bytes);
	return !res && !memcmp(data, data + ANNEX_NVME_PAGE, 1u << ns->shift);
}

/*
 * Linux 6.1 takes registered buffers only if they have no more pages than a command may have. Older
 * kernels take none.
 */
static void try_fixed(struct annex_emu *emu, char *data, size_t bytes)
{
	struct emu_ring *ring = emu->own;
	uint64_t chunk = EMU_BUF_CHUNK;

	if (fixed_works(emu, data, bytes))
		return;
	while (chunk > bytes - 4 * ANNEX_NVME_PAGE)
		chunk /= 2;
	emu->chunk = chunk;
	if (chunk >= 2 * ANNEX_NVME_PAGE && fixed_works(emu, data, chunk))
		return;
	ring->fixed_bufs = false;
	annex_log(ANNEX_LOG_INFO, "%s: slower, as the kernel takes no registered buffers for it",
		  emu->scheme);
}

int annex_emu_ng_try(struct annex_emu *emu)
{
	uint32_t pieces = UINT32_MAX;
	int err = 0, res = 0;
	size_t bytes;
	char *data;

	for (unsigned int i = 0; i < emu->nns; i++)
		pieces = (uint32_t)least(pieces, emu->ns[i].pieces);
	/* More pages than any command has. */
	bytes = (pieces + 4ull) * ANNEX_NVME_PAGE;
	data = aligned_alloc(ANNEX_NVME_PAGE, bytes);
	if (!data)
		return annex_fail(-ENOMEM, "%s: out of memory", emu->scheme);
	memset(data, 0, bytes);
	for (unsigned int i = emu->nns; !err && i-- > 0;) {
		const struct emu_ng *ng = emu->ns[i].own;

		/* An unreadable block is no error here: the command reached the drive. */
		res = read_block(emu, &emu->ns[i], data, -1);
		if (res < 0)
			err = annex_fail(res, "%s: the kernel takes no commands for /dev/ng%s: %s",
					 emu->scheme, ng->disk + 4, strerror(-res));
	}
	if (!res)
		try_fixed(emu, data, bytes);
	free(data);
	return err;
}
