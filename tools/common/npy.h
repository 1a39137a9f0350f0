/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header of .npy files (numpy.lib.format, versions 1.0 to 3.0).
 */
#ifndef TOOLS_NPY_H
#define TOOLS_NPY_H

#include "column.h"

/*
 * struct npy - Elements behind a header.
 * @dims: number of dimensions; 0: a single element.
 * @first: offset of the first element in the file.
 * @count: number of elements in all dimensions.
 */
struct npy {
	enum column_type type;
	unsigned int dims;
	uint64_t first, count;
};

/* npy_is() - Whether the name of a file ends in .npy. */
bool npy_is(const char *path);

/*
 * npy_read() - Read the header of @path. Return: 0, or -errno with the line set: another format, a
 * type that enum column_type does not have, or a file that ends before its elements.
 */
int npy_read(const char *path, struct npy *out);

#endif
