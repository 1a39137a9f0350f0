/* SPDX-License-Identifier: MIT */
/*
 * userfaultfd(2): a program hears of touches of absent memory.
 */
#ifndef ANNEX_CORE_UFFD_H
#define ANNEX_CORE_UFFD_H

/*
 * enum uffd_way - How it was had: by the system call, or by the device that may be opened to users.
 * UFFD_USER: by the call, for the program's own touches only: system calls on absent memory fail
 * with EFAULT.
 */
enum uffd_way { UFFD_CALL, UFFD_DEVICE, UFFD_USER };

/* annex_uffd_open() - A descriptor that does not block, before UFFDIO_API. @what: for the line that
 * says why there is none. Return: it; a negative errno. */
int annex_uffd_open(const char *what, enum uffd_way *way);

#endif
