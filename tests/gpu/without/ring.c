// SPDX-License-Identifier: MIT
/*
 * The library on a machine without liburing: in the place of those files of lib/nvme/emu that need
 * it. Devices but mem: cannot be opened, and then none of the other functions is called.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/log.h"
#include "nvme/emu/ng.h"
#include "nvme/emu/ring.h"

int annex_emu_ring_open(struct annex_emu *emu)
{
	(void)emu;
	return annex_fail(-EOPNOTSUPP, "file: this program was built without liburing");
}

int annex_emu_ring_open_link(struct annex_emu *emu, const struct annex_uri *uri)
{
	(void)emu;
	(void)uri;
	return annex_fail(-EOPNOTSUPP, "unix: this program was built without liburing");
}

uint32_t annex_emu_link_beat(struct emu_link *l)
{
	(void)l;
	abort();
}

int annex_emu_link_claim(struct emu_link *l, uint64_t pos, uint64_t bytes, bool shared)
{
	(void)l;
	(void)pos;
	(void)bytes;
	(void)shared;
	abort();
}

int annex_emu_ng_open(struct annex_emu *emu, const struct annex_uri *uri)
{
	(void)emu;
	return annex_fail(-EOPNOTSUPP, "%s: this program was built without liburing", uri->scheme);
}

int annex_emu_ng_try(struct annex_emu *emu)
{
	(void)emu;
	abort();
}

void annex_emu_ng_close(struct annex_emu *emu)
{
	(void)emu;
}

void annex_emu_ring_forked(struct annex_emu *emu)
{
	(void)emu;
}

void annex_emu_ring_close(struct annex_emu *emu, bool ended)
{
	(void)emu;
	(void)ended;
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
