// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dependency graph of Debian packages, from stanzas as in a Packages file.
 *
 * A vertex is a binary package or a virtual one. Edges go from a package to whatever it names in
 * Pre-Depends, Depends and Recommends, every alternative included, and from a virtual package to
 * those that provide it. So what is reachable from a package is what installing it may pull in.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../error.h"
#include "../input.h"
#include "../progress.h"
#include "csr.h"
#include "list.h"
#include "names.h"

extern char **environ;

enum field { FIELD_OTHER, FIELD_PACKAGE, FIELD_DEPENDS, FIELD_PROVIDES };

struct reader {
	struct list *l;
	struct names names;
	bool *exists; /* by number: some stanza has it as its package or provides it */
	uint32_t room;
	uint32_t package; /* of this stanza, or CSR_NONE before its name is known */
	enum field field;
	uint64_t stanzas;
};

static int intern(struct reader *r, const char *name, size_t len, uint32_t *number)
{
	int err = names_add(&r->names, name, len, number);

	if (!err && r->names.room != r->room) {
		bool *e = realloc(r->exists, r->names.room);

		if (!e)
			return err_set(-ENOMEM, "no memory for names");
		memset(e + r->room, 0, r->names.room - r->room);
		r->exists = e;
		r->room = r->names.room;
	}
	return err;
}

/* One of "name", "name:any", "name (>= 1.0)", "name [arch] <profile>". */
static int take_reference(struct reader *r, const char *item)
{
	uint32_t other;
	size_t len;
	int err;

	item += strspn(item, " \t\r\n");
	len = strcspn(item, " \t\r\n(:[<");
	if (!len || r->package == CSR_NONE)
		return 0;
	err = intern(r, item, len, &other);
	if (err)
		return err;
	if (r->field == FIELD_DEPENDS)
		return list_add(r->l, r->package, other, 0);
	r->exists[other] = true;
	return list_add(r->l, other, r->package, 0);
}

static int take_value(struct reader *r, char *value)
{
	char *save = NULL;
	int err = 0;

	if (r->field == FIELD_OTHER)
		return 0;
	if (r->field == FIELD_PACKAGE) {
		size_t len;

		value += strspn(value, " \t");
		len = strcspn(value, " \t\r\n");
		err = len ? intern(r, value, len, &r->package) : 0;
		if (!err && len)
			r->exists[r->package] = true;
		return err;
	}
	for (char *s = strtok_r(value, ",|", &save); s && !err; s = strtok_r(NULL, ",|", &save))
		err = take_reference(r, s);
	return err;
}

static enum field field_of(const char *line, size_t len)
{
	static const struct {
		const char *name;
		enum field field;
	} known[] = {
		{"Package", FIELD_PACKAGE},   {"Pre-Depends", FIELD_DEPENDS},
		{"Depends", FIELD_DEPENDS},   {"Recommends", FIELD_DEPENDS},
		{"Provides", FIELD_PROVIDES},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len && !strncasecmp(line, known[i].name, len))
			return known[i].field;
	return FIELD_OTHER;
}

static int take_line(struct reader *r, const char *path, uint64_t number, char *line)
{
	char *colon;

	if (!line[strspn(line, " \t\r\n")]) {
		r->package = CSR_NONE;
		r->field = FIELD_OTHER;
		return 0;
	}
	if (line[0] == ' ' || line[0] == '\t') /* goes on with the field of the line before */
		return take_value(r, line);
	colon = strchr(line, ':');
	if (!colon)
		return err_set(-EINVAL,
			       "%s, line %llu: neither \"Field: value\" nor a continuation", path,
			       (ull)number);
	r->field = field_of(line, (size_t)(colon - line));
	r->stanzas += r->field == FIELD_PACKAGE;
	return take_value(r, colon + 1);
}

/* Vertices are the names that exist, in their order; references to others go. */
static int settle(struct reader *r)
{
	struct list *l = r->l;
	uint32_t *rank = malloc((r->names.count + 1ull) * sizeof(*rank));
	uint64_t kept = 0;

	l->names = malloc(r->names.text_len + 1);
	if (!rank || !l->names) {
		free(rank);
		return err_set(-ENOMEM, "no memory for names");
	}
	for (uint32_t i = 0; i < r->names.count; i++) {
		const char *name = names_get(&r->names, i);

		rank[i] = r->exists[i] ? (uint32_t)l->vertices++ : CSR_NONE;
		if (!r->exists[i])
			continue;
		memcpy(l->names + l->names_len, name, strlen(name) + 1);
		l->names_len += strlen(name) + 1;
	}
	for (uint64_t i = 0; i < l->edges; i++) {
		struct list_edge e = {rank[l->edge[i].from], rank[l->edge[i].to], 0};

		if (e.from != CSR_NONE && e.to != CSR_NONE)
			l->edge[kept++] = e;
	}
	l->unresolved = l->edges - kept;
	l->edges = kept;
	free(rank);
	return 0;
}

int debian_read(FILE *f, const char *path, struct list *l)
{
	struct reader r = {.l = l, .package = CSR_NONE};
	uint64_t number = 0;
	char *line = NULL;
	size_t room = 0;
	int err = 0, got = 1;

	while (!err && (got = input_line(f, path, &line, &room)) > 0) {
		err = take_line(&r, path, ++number, line);
		if (number % 65536 == 0)
			progress_update(r.stanzas, 0, "packages");
	}
	err = err ? err : got;
	if (!err)
		err = settle(&r);
	if (!err && !l->vertices)
		err = err_set(-EINVAL, "%s holds no package stanzas", path);
	free(line);
	free(r.exists);
	names_free(&r.names);
	return err;
}

/* Runs apt-cache without a shell; *@out is the end of its output. */
static int spawn_apt_cache(pid_t *pid, FILE **out)
{
	char *const argv[] = {"apt-cache", "dumpavail", NULL};
	posix_spawn_file_actions_t fa;
	int p[2], err;

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(p[1]);
	*out = err ? NULL : fdopen(p[0], "r");
	if (!*out)
		close(p[0]);
	return -err;
}

static int import_apt_cache(struct list *l)
{
	FILE *f = NULL;
	pid_t pid;
	int err = spawn_apt_cache(&pid, &f), status = 0;

	if (err)
		return err;
	err = f ? debian_read(f, "apt-cache dumpavail", l) : -ENOMEM;
	if (f)
		fclose(f);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return err ? err : status ? -EIO : 0;
}

static int import_status(struct list *l)
{
	static const char path[] = "/var/lib/dpkg/status";
	FILE *f = fopen(path, "re");
	int err;

	if (!f)
		return err_set(-ENOENT,
			       "apt-cache has no package lists and there is no %s: name a Packages "
			       "file as INPUT",
			       path);
	err = debian_read(f, path, l);
	fclose(f);
	return err;
}

int debian_import(struct list *l)
{
	if (!import_apt_cache(l))
		return 0;
	list_free(l);
	err_clear();
	return import_status(l);
}
