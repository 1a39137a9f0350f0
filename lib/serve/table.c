// SPDX-License-Identifier: MIT
/*
 * The table of parts: a line each. It is written anew for each change, beside the old one, which it
 * replaces when it is whole and durable.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server.h"

#define HEADER "annex-parts 2 bytes %" PRIu64 " block %" PRIu64 "\n"
#define HEADER_SCAN "annex-parts %u bytes %" SCNu64 " block %" SCNu64 "\n"
#define LINE                                                                                       \
	"%s %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIo32 " %" PRIu32 " %" PRIu32      \
	" %" PRIu64 " %" PRIu32 "\n"
#define SCAN                                                                                       \
	"%63s %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNo32 " %" SCNu32 " %" SCNu32 "%n"
#define ALIGN (1ull << 20) /* of a part's first byte */

static bool name_is_good(const char *name)
{
	size_t n = strnlen(name, ANNEX_SERVE_NAME);

	if (!n || n == ANNEX_SERVE_NAME || name[0] == '.' || name[0] == '-')
		return false;
	while (n && (isascii((unsigned char)name[n - 1]) &&
		     (isalnum((unsigned char)name[n - 1]) || strchr("._-", name[n - 1]))))
		n--;
	return !n;
}

static bool is_good(const struct annex_serve_part *p)
{
	return name_is_good(p->name) && !(p->mode & ~0666u) && p->weight &&
	       p->weight <= ANNEX_SERVE_WEIGHTS && p->first <= 1 &&
	       (!p->rate || p->rate >= ANNEX_SERVE_RATE_LEAST);
}

/* The index where a name is, or would be. */
static unsigned int search(const struct table *t, const char *name)
{
	unsigned int i = 0;

	while (i < t->n && strcmp(t->part[i]->told.name, name) < 0)
		i++;
	return i;
}

struct part *table_find(const struct table *t, const char *name)
{
	unsigned int i;

	if (!name_is_good(name))
		return NULL;
	i = search(t, name);
	return i < t->n && !strcmp(t->part[i]->told.name, name) ? t->part[i] : NULL;
}

static bool is_free(const struct table *t, uint64_t first, uint64_t bytes, uint64_t *behind)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const struct part *p = t->part[i];

		if (first < p->first + p->told.bytes && p->first < first + bytes) {
			*behind = p->first + p->told.bytes;
			return false;
		}
	}
	return true;
}

static bool fits(const struct table *t, uint64_t first, uint64_t bytes)
{
	return bytes && !(bytes % t->block) && !(first % t->block) && first <= t->bytes &&
	       bytes <= t->bytes - first;
}

/* The lowest free range of that size. */
static bool place(const struct table *t, uint64_t bytes, uint64_t *first)
{
	uint64_t behind;

	for (*first = 0; fits(t, *first, bytes); *first = (behind + ALIGN - 1) / ALIGN * ALIGN)
		if (is_free(t, *first, bytes, &behind))
			return true;
	return false;
}

static int make_birth(struct part *p)
{
	return getrandom(&p->birth, sizeof(p->birth), 0) == sizeof(p->birth) ? 0 : -EIO;
}

static int insert(struct table *t, const struct part *new, struct part **out)
{
	unsigned int i = search(t, new->told.name);
	struct part *p = malloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = *new;
	memmove(&t->part[i + 1], &t->part[i], (t->n - i) * sizeof(struct part *));
	t->part[i] = p;
	t->n++;
	if (out)
		*out = p;
	return 0;
}

int table_add(struct table *t, const struct annex_serve_part *told, struct part **out)
{
	struct part new = {.live = false};
	int err;

	if (!is_good(told) || !told->bytes || told->bytes % t->block)
		return -EINVAL;
	if (table_find(t, told->name))
		return -EEXIST;
	if (t->n == ANNEX_SERVE_PARTS || !place(t, told->bytes, &new.first))
		return -ENOSPC;
	new.told = *told;
	err = make_birth(&new);
	return err ? err : insert(t, &new, out);
}

void table_drop(struct table *t, struct part *p)
{
	unsigned int i = search(t, p->told.name);

	t->n--;
	memmove(&t->part[i], &t->part[i + 1], (t->n - i) * sizeof(struct part *));
	free(p);
}

static int write_lines(const struct table *t, FILE *f)
{
	fprintf(f, HEADER, t->bytes, t->block);
	for (unsigned int i = 0; i < t->n; i++) {
		const struct annex_serve_part *p = &t->part[i]->told;

		if (t->part[i]->live)
			fprintf(f, LINE, p->name, t->part[i]->first, p->bytes, p->uid, p->gid,
				p->mode, p->weight, p->first, p->rate, t->part[i]->birth);
	}
	if (fflush(f) || fsync(fileno(f)))
		return -errno;
	return ferror(f) ? -EIO : 0; /* from an earlier line */
}

/* Sync the folder, which makes the name durable. */
static int sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd, err;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int replace(const struct table *t)
{
	char *path;
	FILE *f;
	int err;

	if (!t->path)
		return 0;
	if (asprintf(&path, "%s.new", t->path) < 0)
		return -ENOMEM;
	f = fopen(path, "we");
	err = f ? write_lines(t, f) : -errno;
	if (f && fclose(f) && !err)
		err = -errno;
	if (!err && rename(path, t->path))
		err = -errno;
	if (err)
		unlink(path);
	else
		err = sync_folder(t->path);
	free(path);
	return err;
}

int table_save(const struct table *t)
{
	int err = replace(t);

	if (err)
		annex_log(ANNEX_LOG_WARNING, "serve: %s cannot be written: %s", t->path,
			  strerror(-err));
	return err;
}

int table_set(struct table *t, const struct annex_serve_part *told)
{
	struct part *p = table_find(t, told->name);
	struct annex_serve_part old;
	int err;

	if (!p || !p->live)
		return -ENOENT;
	if (!is_good(told))
		return -EINVAL;
	old = p->told;
	p->told.uid = told->uid;
	p->told.gid = told->gid;
	p->told.mode = told->mode;
	p->told.weight = told->weight;
	p->told.first = told->first;
	p->told.rate = told->rate;
	p->next = 0;
	err = table_save(t);
	if (err)
		p->told = old;
	return err;
}

/* The end of a line, which lines of version 1 lack. */
static bool read_end(const char *end, unsigned int version, struct part *p)
{
	char newline;

	if (version == 1)
		return !strcmp(end, "\n") && !make_birth(p);
	return sscanf(end, " %" SCNu64 " %" SCNu32 "%c", &p->told.rate, &p->birth, &newline) == 3 &&
	       newline == '\n';
}

static bool read_line(struct table *t, const char *line, unsigned int version)
{
	struct part new = {.live = true};
	struct annex_serve_part *p = &new.told;
	uint64_t behind;
	int end = 0;

	if (sscanf(line, SCAN, p->name, &new.first, &p->bytes, &p->uid, &p->gid, &p->mode,
		   &p->weight, &p->first, &end) != 8 ||
	    !read_end(line + end, version, &new))
		return false;
	return is_good(p) && !table_find(t, p->name) && t->n < ANNEX_SERVE_PARTS &&
	       fits(t, new.first, p->bytes) && is_free(t, new.first, p->bytes, &behind) &&
	       !insert(t, &new, NULL);
}

static int read_lines(struct table *t, FILE *f)
{
	uint64_t bytes = 0, block = 0;
	unsigned int number = 1, version = 0;
	char line[256];

	if (!fgets(line, sizeof(line), f) ||
	    sscanf(line, HEADER_SCAN, &version, &bytes, &block) != 3)
		return annex_fail(-EBADMSG, "serve: %s is no table of parts", t->path);
	if (version != 1 && version != 2)
		return annex_fail(-EBADMSG, "serve: %s is a table of version %u, not 1 or 2",
				  t->path, version);
	if (block != t->block || bytes > t->bytes)
		return annex_fail(-EBADMSG,
				  "serve: %s is of a device of %" PRIu64
				  " bytes in blocks of %" PRIu64 ", this one has %" PRIu64
				  " and %" PRIu64,
				  t->path, bytes, block, t->bytes, t->block);
	for (; fgets(line, sizeof(line), f); number++)
		if (!read_line(t, line, version))
			return annex_fail(-EBADMSG, "serve: %s: line %u makes no sense", t->path,
					  number + 1);
	return ferror(f) ? annex_fail(-EIO, "serve: %s cannot be read", t->path) : 0;
}

/* Return: NULL if there is no file, or after an error. */
static FILE *open_file(const char *path, int *err)
{
	/* O_NONBLOCK: opening a FIFO, which is refused afterwards, must not block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f = NULL;

	*err = 0;
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st))
		*err = annex_fail(-errno, "serve: %s: %m", path);
	else if (!S_ISREG(st.st_mode))
		*err = annex_fail(-EBADMSG, "serve: %s is no file", path);
	else
		f = fdopen(fd, "r");
	if (!f && !*err)
		*err = annex_fail(-ENOMEM, "serve: out of memory");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int table_open(struct table *t, const char *path, uint64_t bytes, uint64_t block)
{
	FILE *f;
	int err;

	*t = (struct table){.bytes = bytes, .block = block};
	if (!path)
		return 0;
	t->path = strdup(path);
	if (!t->path)
		return annex_fail(-ENOMEM, "serve: out of memory");
	f = open_file(path, &err);
	if (f) {
		err = read_lines(t, f);
		fclose(f);
	}
	/* Write the table now, so that an unwritable file is an error at the start. */
	if (!err) {
		err = replace(t);
		if (err)
			annex_fail(err, "serve: %s cannot be written: %s", path, strerror(-err));
	}
	if (err)
		table_close(t);
	return err;
}

void table_close(struct table *t)
{
	while (t->n)
		free(t->part[--t->n]);
	free(t->path);
	t->path = NULL;
}

/* Whether the process at the other end is in the group. */
static bool in_group(const struct peer *peer, gid_t gid)
{
	gid_t groups[1024];
	socklen_t len = sizeof(groups);

	if (peer->gid == gid)
		return true;
	if (getsockopt(peer->sock, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (unsigned int i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

bool table_allows(const struct part *p, const struct peer *peer, bool write)
{
	unsigned int shift = peer->uid == p->told.uid ? 6 : in_group(peer, p->told.gid) ? 3 : 0;
	unsigned int bits = write ? 6 : 4;

	return !peer->uid || (p->told.mode >> shift & bits) == bits;
}
