// SPDX-License-Identifier: MIT
/*
 * Questions to a daemon from outside, about its parts.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/packet.h"
#include "nvme/emu/link/ask.h"
#include <annex/serve.h>

#define ANSWER_MS 10000u
#define ZERO_MS 600000u /* between two answers while a new part is zeroed */

/* One question by a connection of its own. @progress: of a part that is made; NULL: not wanted. */
static int ask(const char *path, uint32_t timeout_ms, struct annex_serve_message *m, void *more,
	       size_t *nmore, void (*progress)(uint64_t done, uint64_t bytes))
{
	const uint64_t bytes = m->a;
	int sock = packet_connect("unix", path, timeout_ms), err;
	struct packet_files files;

	if (sock < 0)
		return sock;
	err = annex_emu_ask(sock, path, m, -1, &files, more, nmore);
	annex_packet_close(&files);
	while (!err && m->ask == ANNEX_SERVE_ADD && m->result == -EINPROGRESS) {
		if (progress)
			progress(m->a, bytes);
		err = annex_emu_hear(sock, path, m);
	}
	close(sock);
	return err;
}

static int set_name(struct annex_serve_message *m, const char *name)
{
	if (strnlen(name, sizeof(m->name)) == sizeof(m->name))
		return annex_fail(-EINVAL, "serve: a part's name has up to %zu bytes",
				  sizeof(m->name) - 1);
	strcpy(m->name, name);
	return 0;
}

/* The refusal of a change, in words. @what: enum annex_serve_ask. */
static int refused(const char *path, const char *name, uint16_t what, int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return annex_fail(err,
				  "unix:%s: part \"%s\": a name is letters, digits, '.', '_' and "
				  "'-', a size a multiple of the block, permissions as 0640, a "
				  "weight 1 to 1000, a rate 1 MiB a second or more",
				  path, name);
	case -ENOENT:
		return annex_fail(err, "unix:%s: there is no part \"%s\" (annex serve --status %s)",
				  path, name, path);
	case -EBUSY:
		return annex_fail(err, "unix:%s: part \"%s\": %s", path, name,
				  what == ANNEX_SERVE_ADD
					  ? "another part is being made"
					  : "it has clients, or is still being made");
	case -ENOSPC:
		return annex_fail(
			err,
			"unix:%s: part \"%s\": no space left, in one piece that begins at "
			"a multiple of 1 MiB, in the table of %u parts, or on its file "
			"system",
			path, name, ANNEX_SERVE_PARTS);
	case -EACCES:
		return annex_fail(
			err, "unix:%s: parts are for root and the daemon's user to change", path);
	default:
		return annex_fail(err, "unix:%s: part \"%s\": %s", path, name, strerror(-err));
	}
}

static int ask_for(const char *path, uint16_t what, const struct annex_serve_part *part,
		   uint32_t timeout_ms, void (*progress)(uint64_t done, uint64_t bytes))
{
	struct annex_serve_message m = {.ask = what,
					.a = part->bytes,
					.b = part->uid | (uint64_t)part->gid << 32,
					.c = part->rate,
					.d = part->mode | (uint64_t)part->weight << 32 |
					     (part->first ? ANNEX_SERVE_FIRST : 0)};
	int err = set_name(&m, part->name);

	if (!err && part->weight > ANNEX_SERVE_WEIGHTS)
		err = refused(path, m.name, what, -EINVAL);
	if (!err)
		err = ask(path, timeout_ms, &m, NULL, NULL, progress);
	return err ? err : refused(path, part->name, what, m.result);
}

int annex_serve_add(const char *path, const struct annex_serve_part *part,
		    void (*progress)(uint64_t done, uint64_t bytes))
{
	return ask_for(path, ANNEX_SERVE_ADD, part, ZERO_MS, progress);
}

int annex_serve_set(const char *path, const struct annex_serve_part *part)
{
	return ask_for(path, ANNEX_SERVE_SET, part, ANSWER_MS, NULL);
}

int annex_serve_remove(const char *path, const char *name)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_REMOVE};
	int err = set_name(&m, name);

	if (!err)
		err = ask(path, ANSWER_MS, &m, NULL, NULL, NULL);
	return err ? err : refused(path, name, ANNEX_SERVE_REMOVE, m.result);
}

int annex_serve_list(const char *path, struct annex_serve_facts *facts,
		     struct annex_serve_part parts[ANNEX_SERVE_PARTS])
{
	struct annex_serve_message m;
	unsigned int n = 0;

	do {
		size_t room = (ANNEX_SERVE_PARTS - n) * sizeof(parts[0]);
		int err;

		m = (struct annex_serve_message){.ask = ANNEX_SERVE_LIST, .a = n};
		err = ask(path, ANSWER_MS, &m, &parts[n], &room, NULL);
		if (!err && m.result)
			err = annex_fail(m.result, "unix:%s: its parts: %s", path,
					 strerror(-m.result));
		if (err)
			return err;
		if (m.a > ANNEX_SERVE_PARTS - n || room != m.a * sizeof(parts[0]))
			return annex_emu_no_daemon(path);
		for (unsigned int i = n; i < n + m.a; i++)
			parts[i].name[ANNEX_SERVE_NAME - 1] = 0;
		n += (unsigned int)m.a;
	} while (m.a && n < m.b && n < ANNEX_SERVE_PARTS);
	*facts = (struct annex_serve_facts){
		.bytes = m.c, .block = (uint32_t)m.d, .piece = m.d >> 32, .n = n};
	return 0;
}
