// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/serve.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "daemon.h"

#define FIELD(f) offsetof(struct annex_serve_part, f)

/* struct metric - A family; @at: where its number is in struct annex_serve_part. */
static const struct metric {
	const char *name, *type, *help;
	size_t at;
} metrics[] = {
	{"annex_part_size_bytes", "gauge", "Size of the part.", FIELD(bytes)},
	{"annex_part_rate_limit_bytes", "gauge", "Limit of bytes per second; 0: no limit.",
	 FIELD(rate)},
	{"annex_part_commands_total", "counter", "Commands of clients.", FIELD(commands)},
	{"annex_part_moved_bytes_total", "counter", "Bytes read and written.", FIELD(moved)},
	{"annex_part_copied_bytes_total", "counter", "Of these, bytes that had to be copied.",
	 FIELD(copied)},
	{"annex_part_failed_total", "counter", "Commands that ended with an error.", FIELD(failed)},
};

static void write_families(FILE *f, const struct annex_serve_facts *facts,
			   const struct annex_serve_part *parts)
{
	for (unsigned int m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", metrics[m].name, metrics[m].help,
			metrics[m].name, metrics[m].type);
		for (unsigned int i = 0; i < facts->n; i++)
			fprintf(f, "%s{part=\"%s\"} %llu\n", metrics[m].name, parts[i].name,
				*(const ull *)(const void *)((const char *)&parts[i] +
							     metrics[m].at));
	}
	fprintf(f,
		"# HELP annex_serve_piece_bytes Limit of bytes of other parts in flight beside "
		"parts with priority.\n"
		"# TYPE annex_serve_piece_bytes gauge\n"
		"annex_serve_piece_bytes %llu\n",
		(ull)facts->piece);
	fputs("# HELP annex_part_clients Processes that have the part open.\n"
	      "# TYPE annex_part_clients gauge\n",
	      f);
	for (unsigned int i = 0; i < facts->n; i++)
		fprintf(f, "annex_part_clients{part=\"%s\"} %u\n", parts[i].name, parts[i].clients);
}

static int replace(const char *path, const struct annex_serve_facts *facts,
		   const struct annex_serve_part *parts)
{
	char *new;
	FILE *f;
	struct stat st;
	int err = 0;

	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return err_set(-EINVAL, "--metrics: %s is not a regular file: choose another name",
			       path);
	if (asprintf(&new, "%s.new", path) < 0)
		return err_set(-ENOMEM, "out of memory");
	f = fopen(new, "we");
	if (f) {
		write_families(f, facts, parts);
		/* Readable by the exporter, another user; a service may have a umask of 0077. */
		err = ferror(f) ? -EIO : fchmod(fileno(f), 0644) ? -errno : 0;
		if (fclose(f) && !err)
			err = -errno;
	}
	if (!f || err || rename(new, path)) {
		err = err_sys("--metrics: cannot write %s", path);
		unlink(new);
	}
	free(new);
	return err;
}

int metrics_write(const char *path, const char *socket)
{
	struct annex_serve_part *parts = calloc(ANNEX_SERVE_PARTS, sizeof(*parts));
	struct annex_serve_facts facts;
	int err = parts ? annex_serve_list(socket, &facts, parts) : -ENOMEM;

	err = err ? err_lib(err, "--metrics") : replace(path, &facts, parts);
	free(parts);
	return err;
}

void metrics_renew(const char *path, const char *socket, bool *lost)
{
	bool fails = metrics_write(path, socket);
	char text[1024];

	if (fails != *lost) {
		if (fails)
			snprintf(text, sizeof(text), "%s; the daemon still serves the device",
				 err_text());
		else
			snprintf(text, sizeof(text), "--metrics: %s is written again", path);
		warn_say(text);
	}
	*lost = fails;
	/* No reason for the command to fail. */
	err_clear();
}
