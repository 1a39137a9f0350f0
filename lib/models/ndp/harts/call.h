/* SPDX-License-Identifier: MIT */
/*
 * System calls by number. Each gets the six arguments and returns a value or a negative errno.
 */
#ifndef ANNEX_NDP_HARTS_CALL_H
#define ANNEX_NDP_HARTS_CALL_H

#include "user.h"

typedef int64_t user_fn(struct user *u, const uint64_t *a);

/* call_file.c */
user_fn call_getcwd, call_dup, call_dup3, call_fcntl, call_ioctl, call_no_path, call_openat;
user_fn call_close, call_pipe2, call_getdents, call_lseek, call_read, call_write, call_writev;
user_fn call_pwrite, call_pselect, call_ppoll, call_fstatat, call_fstat, call_statx;
user_fn call_chdir, call_mkdirat;

/* call_memory.c */
user_fn call_brk, call_munmap, call_mremap, call_mmap, call_mprotect, call_msync, call_madvise;
user_fn call_flush_icache;

/* call_time.c */
user_fn call_nanosleep, call_getitimer, call_setitimer, call_clock_gettime, call_clock_getres;
user_fn call_clock_nanosleep, call_times, call_getrusage, call_gettimeofday;

/* call_signal.c */
user_fn call_kill, call_tkill, call_tgkill, call_sigaction, call_sigprocmask, call_sigpending;

/* call_futex.c */
user_fn call_futex;

#endif
