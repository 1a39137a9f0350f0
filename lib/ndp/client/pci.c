// SPDX-License-Identifier: MIT
/*
 * A device that finds its clients' regions in annex.ko's table, as hardware would. Neither side
 * wakes the other, and mappings are calls too, since there is no server.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <annex/m2wire.h>
#include "core/log.h"
#include "core/thread.h"
#include "hdm/hdm.h"
#include "m2.h"
#include "hdm/pci.h"

#define LOOK_NS 100000

struct pci {
	struct hdm_piece piece;
};

static struct pci *pci_of(struct annex_m2 *m2)
{
	return m2->behind;
}

static int map(struct annex_m2 *m2, struct annex_hdm *hdm, char *addr, uint64_t bytes,
	       unsigned int prot)
{
	struct annex_m2_attach ask = {.va = (uintptr_t)addr | prot, .bytes = bytes};
	struct annex_m2_answer a;
	int err;

	if (!hdm_piece_beside(&pci_of(m2)->piece, hdm->m, addr, &ask.offset))
		return annex_fail(-ENXIO, "M2func: %s is not the memory of this device", hdm->uri);
	err = m2_call(m2, ANNEX_M2_ATTACH, &ask, sizeof(ask), NULL, 0, &a);
	if (err || !a.value)
		return err;
	return annex_fail((int)a.value, "M2func: the device does not map %s: %s", hdm->uri,
			  strerror((int)-a.value));
}

static int unmap(struct annex_m2 *m2, uint64_t addr, uint64_t bytes)
{
	const struct annex_m2_attach ask = {.va = addr, .bytes = bytes};
	struct annex_m2_answer a;
	int err = m2_call(m2, ANNEX_M2_DETACH, &ask, sizeof(ask), NULL, 0, &a);
	if (err || !a.value)
		return err;
	return annex_fail((int)a.value, "M2func: %llu bytes at %#llx: %s", (ull)bytes, (ull)addr,
			  strerror((int)-a.value));
}

static bool down(struct annex_m2 *m2)
{
	(void)m2; /* only the heartbeat tells */
	return false;
}

static void close_pci(struct annex_m2 *m2)
{
	struct pci *p = pci_of(m2);

	if (p->piece.at)
		hdm_piece_close(&p->piece);
	free(p);
}

static const struct m2_link pci_link = {
	.nap_ns = LOOK_NS, .map = map, .unmap = unmap, .down = down, .close = close_pci};

/* Write the layout of the region, and wait for a device to accept it. */
static int greet(struct annex_m2 *m2, const char *uri)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct annex_m2_head *head = pci_of(m2)->piece.at;
	uint64_t deadline = annex_deadline_ms(m2->opts.timeout_ms);

	head->stride = m2->layout.stride;
	head->slots = m2->layout.slots;
	/* Release: the other words before this one, which the device polls. */
	annex_atomic_store(&head->version, ANNEX_M2_VERSION, ANNEX_RELEASE);
	/* Acquire: the device writes the magic last. */
	while (!annex_atomic_load(&head->magic, ANNEX_ACQUIRE)) {
		if (annex_now() >= deadline)
			return annex_fail(
				-ENODEV, "%s: no device answers calls there: annex ndp serve", uri);
		THREAD_KEPT(nanosleep(&pause, NULL));
	}
	return annex_m2_attach_region(m2, pci_of(m2)->piece.at);
}

int m2_open_pci(const char *text, const struct annex_m2_opts *opts, struct annex_m2 **out)
{
	struct m2_layout layout;
	struct annex_uri uri;
	struct annex_m2 *m2;
	struct pci *p;
	int err = annex_uri_parse(text, &uri);

	if (!err)
		err = annex_m2_create(opts, &m2);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p) {
		annex_m2_free(m2);
		return annex_fail(-ENOMEM, "%.64s: out of memory", text);
	}
	m2->behind = p;
	m2->link = &pci_link;
	layout = m2->layout;
	layout.kernels = ANNEX_M2_RECORDS_MAX;
	p->piece.bytes = m2_bytes(&layout);
	err = hdm_piece_open(&uri, &p->piece);
	if (!err)
		err = greet(m2, text);
	if (err) {
		annex_m2_close(m2);
		return err;
	}
	*out = m2;
	return 0;
}
