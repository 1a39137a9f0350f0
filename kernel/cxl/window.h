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
 * @bytes: its size.
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
 * annex_windows_read() - All that make sense, for kfree(). How many, or -ENODEV (none, or no CEDT),
 * -EINVAL (a CEDT that cannot be read), -ENOMEM. With a line.
 */
int annex_windows_read(struct annex_window **windows);
/*
 * annex_window_fits() - Whether a window is for memory of a @kind (ANNEX_HDM_VOLATILE, _PERSISTENT)
 * that only the host caches, by @granularity bytes on one host bridge, or, with 0, by any.
 */
bool annex_window_fits(const struct annex_window *w, u32 kind, u32 granularity);
/*
 * annex_window_bridge() - Component registers of a host bridge, by _UID. -ENXIO: unknown; -EINVAL:
 * where they cannot be, or a CEDT that cannot be read. With a line.
 */
int annex_window_bridge(u32 uid, phys_addr_t *at);

/**
 * struct annex_taken - Host addresses that a committed decoder covers.
 * @base: the first.
 * @bytes: their number.
 */
struct annex_taken {
	u64 base, bytes;
};

/*
 * annex_window_take() - The first @bytes of a window, from @floor on, that no decoder in @taken and
 * no other driver uses; reserved, for release_resource(). NULL: there are none.
 */
struct resource *annex_window_take(const struct annex_window *w, u64 bytes, u64 floor,
				   const struct annex_taken *taken, unsigned int n);

#endif
