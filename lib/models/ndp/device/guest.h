/* SPDX-License-Identifier: MIT */
/*
 * A device for the processes of another machine, a guest, whose CXL memory is a file here: whose
 * region lies where is in the table that the guest's annex.ko keeps in that memory (struct
 * annex_filter).
 */
#ifndef ANNEX_NDP_DEVICE_GUEST_H
#define ANNEX_NDP_DEVICE_GUEST_H

#include <stdint.h>

struct annex_ndp;
struct ndp_guest;

/*
 * ndp_guest_open() - Serve @ndp in the file @path, whose last @uncached bytes are the range's
 * uncached part; @uncached is a multiple of 2 MiB. The guest may come and go. -EBUSY (another
 * serves it); -EINVAL (sizes, no regular file); what open() and mmap() say; -EAGAIN (no more
 * threads).
 */
int ndp_guest_open(struct annex_ndp *ndp, const char *path, uint64_t uncached,
		   struct ndp_guest **out);

/*
 * ndp_guest_take() - The same without a thread that polls the table.
 * ndp_guest_look() - Read the table once. On return removed clients are no longer served, and new
 * clients are.
 */
int ndp_guest_take(struct annex_ndp *ndp, const char *path, uint64_t uncached,
		   struct ndp_guest **out);
void ndp_guest_look(struct ndp_guest *g);

/* ndp_guest_close() - All its clients are closed. */
void ndp_guest_close(struct ndp_guest *g);

#endif
