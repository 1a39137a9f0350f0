/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that commands read: a file that cannot be read to its end is refused, and a pipe without a
 * writer gives a message.
 */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stdio.h>

/* Bytes of a line or record, at most: more is no text. */
#define INPUT_LINE (16u << 20)

/* input_file() - Open a regular file, which can be read twice. NULL, with the line set. */
FILE *input_file(const char *path);

/* input_stream() - Open a file to read once, or a pipe; "-" is stdin. NULL, with the line set. */
FILE *input_stream(const char *path);

/* input_await() - On a terminal, say that @path is a pipe, whose opening may take a while. */
void input_await(const char *path);

/*
 * input_line() - Read the next line of @f (@path), with its newline, to *@line: an allocation of
 * *@room that grows. 1; 0: there are no more; -errno with the line set.
 */
int input_line(FILE *f, const char *path, char **line, size_t *room);

#endif
