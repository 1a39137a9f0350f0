// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/common/cleanup.h"
#include "tools/common/error.h"
#include "tools/common/newfile.h"
#include "tools/common/progress.h"
#include "tools/common/tempfile.h"
#include "csr.h"

#define BUFFER (1u << 20)

struct writer {
	int fd;
	const char *path;
	int err;
	uint64_t at; /* bytes put so far */
	uint64_t total;
	size_t fill;
	char *buf;
};

static void drain(struct writer *w)
{
	for (size_t done = 0; done < w->fill && !w->err;) {
		ssize_t n = write(w->fd, w->buf + done, w->fill - done);

		if (n < 0 && errno != EINTR)
			w->err = err_sys("cannot write %s", w->path);
		else if (n > 0)
			done += (size_t)n;
	}
	w->fill = 0;
	progress_update(w->at >> 20, w->total >> 20, "MiB");
}

static void put(struct writer *w, const void *data, uint64_t len)
{
	const char *p = data;

	while (len && !w->err) {
		size_t n = BUFFER - w->fill < len ? BUFFER - w->fill : (size_t)len;

		memcpy(w->buf + w->fill, p, n);
		w->fill += n;
		w->at += n;
		p += n;
		len -= n;
		if (w->fill == BUFFER)
			drain(w);
	}
}

static void pad(struct writer *w)
{
	static const char zeros[CSR_ALIGN];

	put(w, zeros, (CSR_ALIGN - w->at % CSR_ALIGN) % CSR_ALIGN);
}

#define PIECE 4096

static void put_ids(struct writer *w, const struct csr_data *d)
{
	for (uint64_t i = 0; i < d->edges && !w->err; i += PIECE) {
		uint64_t n = d->edges - i < PIECE ? d->edges - i : PIECE;
		uint32_t narrow[PIECE];
		uint64_t wide[PIECE];

		for (uint64_t k = 0; k < n && d->id_bytes == 4; k++)
			narrow[k] = (uint32_t)(d->adj[i + k] >> 32);
		for (uint64_t k = 0; k < n && d->id_bytes == 8; k++)
			wide[k] = d->adj[i + k] >> 32;
		put(w, d->id_bytes == 4 ? (void *)narrow : (void *)wide, n * d->id_bytes);
	}
	pad(w);
}

static void put_weights(struct writer *w, const struct csr_data *d)
{
	for (uint64_t i = 0; i < d->edges && !w->err; i += PIECE) {
		uint64_t n = d->edges - i < PIECE ? d->edges - i : PIECE;
		uint32_t weights[PIECE];

		for (uint64_t k = 0; k < n; k++)
			weights[k] = (uint32_t)d->adj[i + k];
		put(w, weights, n * 4);
	}
	pad(w);
}

/* Returns the size of the whole file. */
static uint64_t fill_header(struct csr_header *h, const struct csr_data *d)
{
	uint64_t at = sizeof(*h);

	memset(h, 0, sizeof(*h));
	memcpy(h->magic, CSR_MAGIC, sizeof(h->magic));
	h->version = CSR_VERSION;
	h->flags = d->flags;
	h->id_bytes = d->id_bytes;
	h->vertices = d->vertices;
	h->edges = d->edges;
	h->section[CSR_OFFSETS].len = (d->vertices + 1) * 8;
	h->section[CSR_EDGES].len = d->edges * d->id_bytes;
	h->section[CSR_WEIGHTS].len = d->flags & CSR_WEIGHTED ? d->edges * 4 : 0;
	h->section[CSR_NAMES].len = d->flags & CSR_NAMED ? d->names_len : 0;
	for (int s = 0; s < CSR_SECTIONS; s++) {
		h->section[s].offset = at;
		at += (h->section[s].len + CSR_ALIGN - 1) / CSR_ALIGN * CSR_ALIGN;
	}
	return at;
}

static int write_all(struct writer *w, const struct csr_data *d)
{
	struct csr_header *h = malloc(sizeof(*h));

	w->buf = malloc(BUFFER);
	if (!h || !w->buf) {
		w->err = err_set(-ENOMEM, "out of memory");
	} else {
		w->total = fill_header(h, d);
		w->err = newfile_room(w->path, w->total);
		put(w, h, sizeof(*h));
		put(w, d->offsets, (d->vertices + 1) * 8);
		pad(w);
		put_ids(w, d);
		if (d->flags & CSR_WEIGHTED)
			put_weights(w, d);
		if (d->flags & CSR_NAMED)
			put(w, d->names, d->names_len);
		pad(w);
		drain(w);
	}
	/* On the medium before the rename, or a crash could leave an empty file of that name. */
	if (!w->err && fdatasync(w->fd))
		w->err = err_sys("cannot write %s", w->path);
	free(w->buf);
	free(h);
	return w->err;
}

int csr_write(const char *path, bool overwrite, const struct csr_data *d)
{
	struct writer w = {.path = path};
	struct tempfile temp;
	int err = tempfile_open(&temp, path);

	if (err)
		return err;
	w.fd = temp.fd;
	progress_begin("writing");
	err = write_all(&w, d);
	cleanup_hold();
	/* Once more: what the name stands for may have changed since the work began. */
	if (!err)
		err = newfile_regular(path, overwrite);
	if (!err)
		err = tempfile_name(&temp, overwrite);
	tempfile_close(&temp);
	cleanup_release();
	return err;
}
