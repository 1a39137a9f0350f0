// SPDX-License-Identifier: MIT
/*
 * Commands on a queue pair: write 16 blocks by 16 commands that are in flight together, flush, and
 * read all of them by one command. It overwrites the first blocks of the device: queue mem:1M
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/device.h>
#include <annex/queue.h>

#define BLOCKS 16u

/* Calls on devices leave a message; calls on queue pairs, which GPUs make too, have an errno. */
static void must(int err, const char *what)
{
	const char *why = *annex_last_error() ? annex_last_error() : strerror(-err);

	if (err)
		exit((fprintf(stderr, "queue: %s: %s\n", what, why), 1));
}

/* struct annex_io describes a command; fields that it does not need are zero. */
static struct annex_io command(uint8_t opcode, const struct annex_ns *ns, uint64_t slba,
			       uint32_t nlb, uint64_t addr)
{
	struct annex_io io;

	memset(&io, 0, sizeof(io));
	io.opcode = opcode;
	io.nsid = ns->nsid;
	io.slba = slba;
	io.nlb = nlb;
	io.bytes = nlb * ns->block;
	io.addr = addr;
	return io;
}

/* Submit commands, and wait for each. Other threads may use the same queue pair meanwhile. */
static void run(struct annex_dev *dev, const struct annex_io *ios, unsigned int n, const char *what)
{
	uint64_t tokens[BLOCKS], deadline = annex_deadline_ms(annex_dev_timeout_ms(dev));
	struct annex_qp *qp = annex_dev_qp(dev);
	struct annex_result res;
	int sent, err;

	for (unsigned int k = 0; k < n; k += (unsigned int)sent) { /* a full queue takes fewer */
		sent = annex_qp_submit(qp, ios + k, n - k, tokens + k, deadline);
		must(sent < 0 ? sent : 0, what);
	}
	for (unsigned int k = 0; k < n; k++) {
		err = annex_qp_wait(qp, tokens[k], &res, deadline);
		if (err) { /* it is late: an abort or a reset of the controller ends it */
			must(annex_dev_recover(dev, qp, tokens[k]), what);
			err = annex_qp_poll(qp, tokens[k], &res);
		}
		must(err ? err : annex_nvme_errno(res.status), what);
	}
}

int main(int argc, char **argv)
{
	struct annex_io ios[BLOCKS];
	struct annex_dev *dev = NULL;
	struct annex_ns ns;
	uint64_t addr;
	size_t bytes;
	char *buf;

	if (argc != 2)
		return fputs("usage: queue URI\n", stderr), 2;
	must(annex_dev_open(argv[1], NULL, &dev), "open");
	must(annex_dev_ns(dev, 1, &ns), "namespace 1");
	bytes = BLOCKS * ns.block; /* a multiple of the page, as memory for devices must be */
	buf = (char *)aligned_alloc(4096, bytes);
	if (!buf)
		return perror("queue"), 1;
	must(annex_dev_map(dev, buf, bytes, &addr), "map");

	for (unsigned int k = 0; k < BLOCKS; k++) {
		memset(buf + k * ns.block, 'a' + (int)k, ns.block);
		ios[k] = command(ANNEX_NVM_WRITE, &ns, k, 1, addr + k * ns.block);
	}
	run(dev, ios, BLOCKS, "write");
	ios[0] = command(ANNEX_NVM_FLUSH, &ns, 0, 0, 0);
	run(dev, ios, 1, "flush");
	memset(buf, 0, bytes);
	ios[0] = command(ANNEX_NVM_READ, &ns, 0, BLOCKS, addr);
	run(dev, ios, 1, "read");
	for (unsigned int k = 0; k < BLOCKS; k++)
		putchar(buf[k * ns.block]);
	putchar('\n');

	must(annex_dev_unmap(dev, addr, bytes), "unmap");
	free(buf);
	must(annex_dev_close(dev), "close");
	return 0;
}
