/* SPDX-License-Identifier: MIT */
/*
 * How errors name a kernel: "kernel 17 (Conv2d_Forward)". Names from a file cannot break the line.
 */
#ifndef ANNEX_PLAN_TRACE_LABEL_H
#define ANNEX_PLAN_TRACE_LABEL_H

#include <stddef.h>
#include <stdio.h>

#define LABEL_SIZE 96

static inline const char *one_line(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return text;
}

static inline const char *kernel_label(char buf[LABEL_SIZE], size_t kernel, const char *name)
{
	if (name && *name)
		snprintf(buf, LABEL_SIZE, "kernel %zu (%.64s)", kernel, name);
	else
		snprintf(buf, LABEL_SIZE, "kernel %zu", kernel);
	return one_line(buf);
}

#endif
