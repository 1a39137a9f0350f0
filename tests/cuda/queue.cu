// SPDX-License-Identifier: MIT
/*
 * The whole hot path as device code: each thread reads its own blocks, once by a command and a
 * wait, once by a vector and polls, and abandons commands that do not complete.
 */
#include <annex/queue.h>
#include "dialect.h"

#define VECTOR 4u

static __device__ struct annex_io read_of(uint64_t buffers, uint32_t block, unsigned int i)
{
	struct annex_io io = {};

	io.opcode = ANNEX_NVM_READ;
	io.nsid = 1;
	io.slba = i;
	io.nlb = 1;
	io.bytes = block;
	io.addr = buffers + (uint64_t)i * block;
	return io;
}

__global__ void read_one(struct annex_qp *qp, uint64_t buffers, uint32_t block, int *errs)
{
	unsigned int i = thread_index();
	struct annex_io io = read_of(buffers, block, i);
	uint64_t deadline = annex_deadline_ms(1000);
	struct annex_result res = {};
	uint64_t token;
	int n = annex_qp_submit(qp, &io, 1, &token, deadline);

	errs[i] = n < 0 ? n : annex_qp_wait(qp, token, &res, deadline);
	if (!errs[i])
		errs[i] = annex_nvme_errno(res.status);
	else if (n == 1)
		annex_qp_abandon(qp, token);
}

__global__ void read_vector(struct annex_qp *qp, uint64_t buffers, uint32_t block, int *errs)
{
	unsigned int t = thread_index();
	uint64_t deadline = annex_deadline_ms(1000);
	struct annex_io ios[VECTOR];
	uint64_t tokens[VECTOR];
	int n;

	for (unsigned int i = 0; i < VECTOR; i++)
		ios[i] = read_of(buffers, block, t * VECTOR + i);
	n = annex_qp_submit(qp, ios, VECTOR, tokens, deadline);
	errs[t] = n == (int)VECTOR ? 0 : -EAGAIN;
	for (int i = 0; i < n; i++) {
		int err = annex_qp_poll(qp, tokens[i], nullptr);

		while (err == -EINPROGRESS && annex_now() < deadline)
			err = annex_qp_poll(qp, tokens[i], nullptr);
		if (err)
			annex_qp_abandon(qp, tokens[i]);
	}
}
