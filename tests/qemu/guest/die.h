/* SPDX-License-Identifier: MIT */
/*
 * die() ends a program of tests with one line.
 */
#ifndef TESTS_QEMU_DIE_H
#define TESTS_QEMU_DIE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

#endif
