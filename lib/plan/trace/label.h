/* SPDX-License-Identifier: MIT */
/*
 * How errors name a kernel: "kernel 17 (Conv2d_Forward)". Names from a file cannot break the line.
 * A long name is cut between two characters.
 */
#ifndef ANNEX_PLAN_TRACE_LABEL_H
#define ANNEX_PLAN_TRACE_LABEL_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LABEL_SIZE 96

/* The number of bytes, at most @most, of the first whole characters of UTF-8 text. */
static inline int whole_chars(const char *text, size_t most)
{
	size_t n = strnlen(text, most);

	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

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
		snprintf(buf, LABEL_SIZE, "kernel %zu (%.*s)", kernel, whole_chars(name, 64), name);
	else
		snprintf(buf, LABEL_SIZE, "kernel %zu", kernel);
	return one_line(buf);
}

#endif
