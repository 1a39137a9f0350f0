/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows of host addresses that the platform routes to CXL (CEDT: CXL 3.1 section 9.18.1), and
 * their free parts.
 */
#ifndef ANNEX_WINDOW_H
#define ANNEX_WINDOW_H

#include <linux/ioport.h>
#include <linux/types.h>

#define ANNEX_WINDOW_TARGETS 16

/**
 * struct annex_window - A fixed memory window.
 * @base: first host address.
 * @bytes: size.
 * @ways: host bridges that it interleaves.
 * @granularity: bytes on one host bridge before the next.
 * @targets: _UID of each host bridge.
 * @restrictions: ACPI_CEDT_CFMWS_RESTRICT_*.
 * @usable: its interleave arithmetic is supported.
 */
struct annex_window {
	u64 base, bytes;
	u32 ways, granularity;
	u32 targets[ANNEX_WINDOW_TARGETS];
	u16 restrictions;
	bool usable;
};

/*
 * annex_windows_read() - Read all valid windows; @windows is for kfree(). Their number, or -ENODEV
 * (no window, or no CEDT), -EINVAL (the CEDT cannot be read), -ENOMEM. With a line.
 */
int annex_windows_read(struct annex_window **windows);
/*
 * annex_window_fits() - Whether a window is for host-only coherent memory of a @kind
 * (ANNEX_HDM_VOLATILE, _PERSISTENT), and interleaves by @granularity bytes; 0: by any.
 */
bool annex_window_fits(const struct annex_window *w, u32 kind, u32 granularity);
/*
 * annex_window_bridge() - Find the component registers of the host bridge with a _UID. -ENXIO: no
 * such bridge; -EINVAL: an impossible address, or the CEDT cannot be read. With a line.
 */
int annex_window_bridge(u32 uid, phys_addr_t *at);

/**
 * struct annex_taken - Host addresses that a committed decoder covers.
 * @base: first host address.
 * @bytes: number of addresses.
 */
struct annex_taken {
	u64 base, bytes;
};

/*
 * annex_window_take() - Reserve the first @bytes of a window, from @floor on, that no decoder in
 * @taken and no other driver uses. Returns a resource for release_mem_region(); NULL: no room.
 */
struct resource *annex_window_take(const struct annex_window *w, u64 bytes, u64 floor,
				   const struct annex_taken *taken, unsigned int n);

#endif
