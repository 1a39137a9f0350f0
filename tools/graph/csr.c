// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/uri.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "csr.h"

static const char *const section_names[] = {"row offsets", "edges", "weights", "names"};

static int read_at(const struct csr *g, void *buf, uint64_t len, uint64_t at)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(g->fd, p, len < 1u << 30 ? len : 1u << 30, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys("cannot read %s", g->path);
		if (!n)
			return err_set(-EINVAL, "%s is truncated at byte %llu", g->path, (ull)at);
		p += n;
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static int bad(const struct csr *g, const char *what)
{
	return err_set(-EINVAL, "%s is not a valid graph file: %s", g->path, what);
}

/* The bytes that a section must have; false if no file could be so large. */
static bool wanted_len(const struct csr_header *h, enum csr_section s, uint64_t *len)
{
	switch (s) {
	case CSR_OFFSETS:
		return !__builtin_mul_overflow(h->vertices + 1, 8, len);
	case CSR_EDGES:
		return !__builtin_mul_overflow(h->edges, h->id_bytes, len);
	case CSR_WEIGHTS:
		*len = 0;
		return !(h->flags & CSR_WEIGHTED) || !__builtin_mul_overflow(h->edges, 4, len);
	default:
		*len = h->flags & CSR_NAMED ? h->section[s].len : 0;
		return *len >= (h->flags & CSR_NAMED ? h->vertices : 0);
	}
}

static int check_section(const struct csr *g, enum csr_section s)
{
	const struct csr_header *h = &g->h;
	uint64_t off = h->section[s].offset, len = h->section[s].len, want;

	if (!wanted_len(h, s, &want) || len != want)
		return err_set(-EINVAL,
			       "%s is not a valid graph file: %llu bytes of %s do not fit %llu "
			       "vertices and %llu edges",
			       g->path, (ull)len, section_names[s], (ull)h->vertices,
			       (ull)h->edges);
	if (!len)
		return 0;
	if (off < CSR_ALIGN || off % CSR_ALIGN)
		return err_set(-EINVAL, "%s is not a valid graph file: its %s begin at byte %llu",
			       g->path, section_names[s], (ull)off);
	if (off > g->size || len > g->size - off)
		return err_set(-EINVAL,
			       "%s is truncated: its %s would extend past the end of the "
			       "file",
			       g->path, section_names[s]);
	for (int t = 0; t < (int)s; t++) {
		uint64_t toff = h->section[t].offset, tlen = h->section[t].len;

		if (tlen && off < toff + tlen && toff < off + len)
			return err_set(-EINVAL, "%s is not a valid graph file: %s and %s overlap",
				       g->path, section_names[t], section_names[s]);
	}
	return 0;
}

static int check_header(const struct csr *g)
{
	const struct csr_header *h = &g->h;
	int err = 0;

	if (memcmp(h->magic, CSR_MAGIC, sizeof(h->magic)))
		return err_set(-EINVAL,
			       "%s is not a graph file: make one with annex graph import or gen",
			       g->path);
	if (h->version != CSR_VERSION)
		return err_set(-EINVAL, "%s has version %u of the graph format, this tool reads %u",
			       g->path, h->version, CSR_VERSION);
	if (h->flags & ~CSR_FLAGS)
		return bad(g, "unknown flags");
	if (h->id_bytes != 4 && h->id_bytes != 8)
		return bad(g, "ids are neither 4 nor 8 bytes");
	if (!h->vertices)
		return bad(g, "it has no vertices");
	if (h->vertices > CSR_MAX_VERTICES)
		return bad(g, "more vertices than 32-bit ids can name");
	for (int s = 0; s < CSR_SECTIONS && !err; s++)
		err = check_section(g, s);
	return err;
}

static int load_offsets(struct csr *g)
{
	uint64_t n = g->h.vertices + 1;
	int err;

	g->offsets = mem_alloc(n, 8, "row offsets");
	if (!g->offsets)
		return -ENOMEM;
	err = read_at(g, g->offsets, n * 8, g->h.section[CSR_OFFSETS].offset);
	if (err)
		return err;
	if (g->offsets[0])
		return bad(g, "the first row offset is not 0");
	for (uint64_t v = 1; v < n; v++)
		if (g->offsets[v] < g->offsets[v - 1])
			return err_set(
				-EINVAL,
				"%s is not a valid graph file: row offsets decrease at vertex %llu",
				g->path, (ull)v);
	if (g->offsets[n - 1] != g->h.edges)
		return bad(g, "the last row offset is not the number of edges");
	return 0;
}

static int load_names(struct csr *g)
{
	uint64_t len = g->h.section[CSR_NAMES].len, n = 0;
	int err;

	if (!(g->h.flags & CSR_NAMED))
		return 0;
	g->text = mem_alloc(len, 1, "names");
	g->names = mem_alloc(g->h.vertices, sizeof(*g->names), "names");
	if (!g->text || !g->names)
		return -ENOMEM;
	err = read_at(g, g->text, len, g->h.section[CSR_NAMES].offset);
	if (err)
		return err;
	for (char *p = g->text; p < g->text + len; n++) {
		char *end = memchr(p, 0, (size_t)(g->text + len - p));

		if (!end || n == g->h.vertices)
			return bad(g, "the numbers of names and vertices differ");
		g->names[n] = p;
		p = end + 1;
	}
	return n == g->h.vertices ? 0 : bad(g, "the numbers of names and vertices differ");
}

int csr_open_fd(int fd, const char *path, struct csr *g)
{
	struct stat st;
	int err;

	memset(g, 0, sizeof(*g));
	g->fd = fd;
	g->path = strdup(path);
	if (!g->path || fstat(fd, &st))
		err = err_sys("cannot open %s", path);
	else if (S_ISDIR(st.st_mode))
		err = err_set(-EISDIR, "%s is a directory, not a graph file", path);
	else if (!S_ISREG(st.st_mode))
		err = err_set(-EINVAL, "%s is not a regular file", path);
	else if ((uint64_t)st.st_size < CSR_ALIGN)
		err = err_set(-EINVAL,
			      "%s is not a graph file: %lld bytes are shorter than its "
			      "header",
			      path, (long long)st.st_size);
	else
		err = read_at(g, &g->h, sizeof(g->h), 0);
	if (!err) {
		g->size = (uint64_t)st.st_size;
		g->mtime = st.st_mtim;
		err = check_header(g);
	}
	if (!err)
		err = load_offsets(g);
	if (!err)
		err = load_names(g);
	if (err)
		csr_close(g);
	return err;
}

int csr_open(const char *path, struct csr *g)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_sys("cannot open %s", path);
	return csr_open_fd(fd, path, g);
}

int csr_unchanged(const struct csr *g)
{
	struct stat st;

	if (fstat(g->fd, &st))
		return err_sys("cannot examine %s", g->path);
	if ((uint64_t)st.st_size == g->size && st.st_mtim.tv_sec == g->mtime.tv_sec &&
	    st.st_mtim.tv_nsec == g->mtime.tv_nsec)
		return 0;
	return err_set(-EIO, "%s was %s while it was read", g->path,
		       (uint64_t)st.st_size < g->size ? "truncated" : "changed");
}

void csr_close(struct csr *g)
{
	mem_free(g->offsets, g->h.vertices + 1, 8);
	mem_free(g->text, g->h.section[CSR_NAMES].len, 1);
	mem_free(g->names, g->h.vertices, sizeof(*g->names));
	if (g->fd >= 0)
		close(g->fd);
	free(g->path);
	memset(g, 0, sizeof(*g));
	g->fd = -1;
}

int csr_find(const struct csr *g, const char *text, uint32_t *v)
{
	uint64_t n;

	for (uint64_t i = 0; g->names && i < g->h.vertices; i++) {
		if (!strcmp(g->names[i], text)) {
			*v = (uint32_t)i;
			return 0;
		}
	}
	if (g->names)
		return err_set(-ENOENT, "no vertex of %s is called \"%s\"", g->path, text);
	if (annex_parse_size(text, &n) || n >= g->h.vertices)
		return err_set(-ERANGE, "vertex \"%s\": %s has vertices 0 to %llu", text, g->path,
			       (ull)g->h.vertices - 1);
	*v = (uint32_t)n;
	return 0;
}

const char *csr_label(const struct csr *g, uint32_t v, char *buf, int size)
{
	if (g->names)
		return g->names[v];
	snprintf(buf, (size_t)size, "%u", v);
	return buf;
}

uint64_t csr_edge_bytes(const struct csr *g)
{
	return g->h.section[CSR_EDGES].len + g->h.section[CSR_WEIGHTS].len;
}
