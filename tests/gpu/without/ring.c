// SPDX-License-Identifier: MIT
/*
 * The library on a machine without liburing: in the place of lib/nvme/emu's ring.c and file_io.c. A
 * file: device cannot be opened, and then none of the others is called.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/log.h"
#include "nvme/emu/ring.h"

int annex_emu_ring_open(struct annex_emu *emu)
{
	(void)emu;
	return annex_fail(-EOPNOTSUPP, "file: this program was built without liburing");
}

void annex_emu_ring_close(struct annex_emu *emu)
{
	(void)emu;
}

int annex_emu_ring_register(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	(void)emu;
	(void)addr;
	(void)len;
	return -1; /* as for mem: nothing to register with */
}

void annex_emu_ring_unregister(struct annex_emu *emu, int buf, uint64_t len)
{
	(void)emu;
	(void)buf;
	(void)len;
}

void annex_emu_ring_start(struct annex_emu *emu, struct emu_req *req)
{
	(void)emu;
	(void)req;
	abort();
}

void annex_emu_ring_finish(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	(void)emu;
	(void)req;
	(void)status;
	abort();
}

void annex_emu_ring_cancel(struct annex_emu *emu, struct emu_req *req)
{
	(void)emu;
	(void)req;
	abort();
}

void annex_emu_ring_submit(struct annex_emu *emu)
{
	(void)emu;
	abort();
}

unsigned int annex_emu_ring_reap(struct annex_emu *emu)
{
	(void)emu;
	abort();
}

uint16_t annex_emu_io_prepare(struct annex_emu *emu, struct emu_sq *sq, struct emu_cmd *cmd)
{
	(void)emu;
	(void)sq;
	(void)cmd;
	abort();
}
