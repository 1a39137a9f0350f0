// SPDX-License-Identifier: MIT
/*
 * Functions and structures of libannex (annex/mem.h, annex/exec.h), so that its headers need not be
 * installed.
 */
#ifndef ANNEX_LIBANNEX_HPP
#define ANNEX_LIBANNEX_HPP

#include <cstdint>

namespace
{

constexpr int WATCH_NONE = 0, WATCH_USER = 3, WATCH_SIGNAL = 4; /* ANNEX_WATCH_* */
constexpr uint32_t READ = 1, WRITE = 2;                         /* ANNEX_USE_* */

struct Use { /* struct annex_exec_use */
	const void *ptr;
	uint32_t how;
};

struct SpaceStats { /* struct annex_space_stats */
	uint64_t device, kept, host, cxl, stored, in, out, below, clean, bounced, faults,
		write_faults, reclaimed, over;
};

struct ExecStats { /* struct annex_exec_stats */
	uint64_t ns, stall_ns;
	bool planned, strayed;
	uint64_t iterations, plans;
	int plan_err;
	bool planning;
	uint64_t until_plan_ns;
};

struct Library {
	int (*alloc)(void *, const char *, uint64_t, void **);
	int (*free)(void *, void *);
	int (*prefetch)(void *, const void *, uint64_t, uint64_t, void **);
	void (*get_watch)(const void *, int *, bool *);
	void (*space_get_stats)(const void *, SpaceStats *);
	int (*move_wait)(void *, uint32_t);
	void (*move_forget)(void *);
	int (*hold)(void *, const void *);
	int (*let_go)(void *, const void *);
	void (*space_destroy)(void *);
	void (*space_trim)(void *);
	int (*store_close)(void *);
	void (*hdm_close)(void *);
	void (*exec_destroy)(void *);
	int (*exec_begin)(void *);
	int (*exec_restart)(void *);
	int (*exec_end)(void *);
	int (*exec_before)(void *, const char *, const Use *, unsigned int);
	int (*exec_before_on)(void *, void *, const char *, const Use *, unsigned int);
	int (*exec_made)(void *, const void *);
	int (*exec_after)(void *);
	void (*exec_get_stats)(const void *, ExecStats *);
	const void *(*exec_plan)(const void *, const void **, const void **);
	const char *(*last_error)();
} lib;

} // namespace

#endif
