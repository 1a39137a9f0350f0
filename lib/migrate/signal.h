/* SPDX-License-Identifier: MIT */
/*
 * The handler of SIGSEGV by which touches of guarded ranges are heard (guard.h), where userfaultfd
 * is refused.
 */
#ifndef ANNEX_MIGRATE_SIGNAL_H
#define ANNEX_MIGRATE_SIGNAL_H

/*
 * annex_signal_keep() - See to it that the handler is installed, also where the program has
 * installed another one since, which is then called for all other faults. Return: 0; -errno.
 */
int annex_signal_keep(void);

/* annex_signal_end() - With the last range the handler goes, unless another one covers it. */
void annex_signal_end(void);

#endif
