/* SPDX-License-Identifier: MIT */
/*
 * The SIGSEGV handler that detects accesses to guarded ranges (guard.h), if userfaultfd is refused.
 */
#ifndef ANNEX_MIGRATE_SIGNAL_H
#define ANNEX_MIGRATE_SIGNAL_H

/*
 * annex_signal_keep() - Install the handler, also over a handler that the program has installed
 * since, which is then called for all other faults. Return: 0; a negative errno.
 */
int annex_signal_keep(void);

/* annex_signal_end() - After the last range: remove the handler, unless another one covers it. */
void annex_signal_end(void);

#endif
