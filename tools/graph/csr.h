/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The graph file: compressed sparse rows.
 *
 * A header of 4096 bytes, then sections that begin on multiples of 4096: row offsets (V + 1 of 64
 * bits, in edges), edges (ids of the neighbours, 4 or 8 bytes each, ascending in every row),
 * weights (32 bits an edge, if weighted), names (V strings with their NULs, if named). Each section
 * is padded to a multiple of 4096; the file may be longer. All is little endian.
 */
#ifndef TOOLS_GRAPH_CSR_H
#define TOOLS_GRAPH_CSR_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CSR_MAGIC "ANNEXCSR"
#define CSR_VERSION 1
#define CSR_ALIGN 4096u

#define CSR_DIRECTED (1u << 0)
#define CSR_WEIGHTED (1u << 1)
#define CSR_NAMED (1u << 2)
#define CSR_FLAGS (CSR_DIRECTED | CSR_WEIGHTED | CSR_NAMED)

/* Vertices are numbered in 32 bits while a graph is worked on; the last value means "none". */
#define CSR_MAX_VERTICES 0xfffffffeull
#define CSR_NONE 0xffffffffu

enum csr_section { CSR_OFFSETS, CSR_EDGES, CSR_WEIGHTS, CSR_NAMES, CSR_SECTIONS };

struct csr_header {
	char magic[8];
	uint32_t version;
	uint32_t flags;
	uint32_t id_bytes;
	uint32_t rsvd;
	uint64_t vertices;
	uint64_t edges;
	struct {
		uint64_t offset;
		uint64_t len;
	} section[CSR_SECTIONS];
	uint8_t pad[4096 - 40 - 16 * CSR_SECTIONS];
};

static_assert(sizeof(struct csr_header) == CSR_ALIGN, "graph file header");

/*
 * struct csr - An open graph file. The header has been checked against the file, the offsets
 * against the header; edges have not been looked at.
 */
struct csr {
	struct csr_header h;
	char *path;
	int fd;
	uint64_t size;
	struct timespec mtime;
	uint64_t *offsets;
	char *text;         /* the names section */
	const char **names; /* NULL: the graph has no names */
};

/* csr_open() - Open and check. csr_open_fd() - The same on @fd, which it takes in any case. */
int csr_open(const char *path, struct csr *g);
int csr_open_fd(int fd, const char *path, struct csr *g);
void csr_close(struct csr *g);

/* csr_unchanged() - Whether the file is as it was when it was opened: 0, or -errno with the line
 * set. */
int csr_unchanged(const struct csr *g);

/* csr_find() - The vertex called @text, by its name if the graph has names, else by its number. */
int csr_find(const struct csr *g, const char *text, uint32_t *v);

/* csr_label() - The name of @v for a report; its number, in @buf, if it has none. */
const char *csr_label(const struct csr *g, uint32_t v, char *buf, int size);

/* csr_edge_bytes() - Bytes of edges and weights. */
uint64_t csr_edge_bytes(const struct csr *g);

/*
 * struct csr_data - A graph to be written. @adj has one word an edge: id << 32 | weight.
 */
struct csr_data {
	uint32_t flags;
	uint32_t id_bytes;
	uint64_t vertices;
	uint64_t edges;
	uint64_t *offsets;
	uint64_t offsets_room; /* elements allocated */
	uint64_t *adj;
	uint64_t adj_room;
	const char *names;
	uint64_t names_len;
	uint64_t loops; /* edges that were left out on the way here */
	uint64_t duplicates;
};

/* csr_write() - Write all of it, or leave @path as it was; with @overwrite a file may be there. */
int csr_write(const char *path, bool overwrite, const struct csr_data *d);

#endif
