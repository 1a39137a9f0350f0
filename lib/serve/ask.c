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
#include <annex/serve.h>

#define ANSWER_MS 10000u
#define ZERO_MS 3600000u /* a new part is zeroed first */

static int nonsense(const char *path)
{
	return annex_fail(-EPROTO, "unix:%s: what answers there serves no device", path);
}

/* One question, and the answer in *@m, which may have @more behind it, *@nmore bytes. */
static int ask(const char *path, uint32_t timeout_ms, struct annex_serve_message *m, void *more,
	       size_t *nmore)
{
	struct annex_serve_message a;
	struct iovec iov[] = {{&a, sizeof(a)}, {more, *nmore}};
	int sock = packet_connect("unix", path, timeout_ms), err;
	struct packet_files files = {.n = 0};
	ssize_t n;

	if (sock < 0)
		return sock;
	m->magic = ANNEX_SERVE_MAGIC;
	m->version = ANNEX_SERVE_VERSION;
	err = packet_send(sock, m, sizeof(*m), NULL, 0, 0);
	n = err ? err : packet_receive(sock, iov, 2, &files, 0);
	close(sock);
	packet_close(&files);
	if (n == -EAGAIN || n == -EINTR)
		return annex_fail(-ETIMEDOUT, "unix:%s: the daemon does not answer", path);
	if (n <= 0 && n != -EBADMSG)
		return annex_fail(-ESHUTDOWN, "unix:%s: the daemon is gone", path);
	if (n < (ssize_t)sizeof(a) || a.magic != ANNEX_SERVE_MAGIC || a.ask != m->ask ||
	    a.result > 0 || a.result < -4095)
		return nonsense(path);
	*m = a;
	*nmore = (size_t)n - sizeof(a);
	return 0;
}

static int set_name(struct annex_serve_message *m, const char *name)
{
	if (strnlen(name, sizeof(m->name)) == sizeof(m->name))
		return annex_fail(-EINVAL, "serve: a part's name has up to %zu bytes",
				  sizeof(m->name) - 1);
	strcpy(m->name, name);
	return 0;
}

/* The refusal of a change, in words. */
static int refused(const char *path, const char *name, int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return annex_fail(err,
				  "unix:%s: part \"%s\": a name is letters, digits, '.', '_' and "
				  "'-', a size a multiple of the block, permissions as 0640, a "
				  "weight 1 to 1000",
				  path, name);
	case -EBUSY:
		return annex_fail(err,
				  "unix:%s: part \"%s\": it has clients, or another part is "
				  "being made",
				  path, name);
	case -EACCES:
		return annex_fail(
			err, "unix:%s: parts are for root and the daemon's user to change", path);
	default:
		return annex_fail(err, "unix:%s: part \"%s\": %s", path, name, strerror(-err));
	}
}

int annex_serve_add(const char *path, const struct annex_serve_part *part)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_ADD,
					.a = part->bytes,
					.b = part->uid,
					.c = part->gid,
					.d = part->mode | (uint64_t)part->weight << 32 |
					     (part->first ? ANNEX_SERVE_FIRST : 0)};
	size_t none = 0;
	int err = set_name(&m, part->name);

	if (!err && part->weight > ANNEX_SERVE_WEIGHTS)
		err = refused(path, m.name, -EINVAL);
	if (!err)
		err = ask(path, ZERO_MS, &m, NULL, &none);
	return err ? err : refused(path, part->name, m.result);
}

int annex_serve_remove(const char *path, const char *name)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_REMOVE};
	size_t none = 0;
	int err = set_name(&m, name);

	if (!err)
		err = ask(path, ANSWER_MS, &m, NULL, &none);
	return err ? err : refused(path, name, m.result);
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
		err = ask(path, ANSWER_MS, &m, &parts[n], &room);
		if (!err && m.result)
			err = annex_fail(m.result, "unix:%s: its parts: %s", path,
					 strerror(-m.result));
		if (err)
			return err;
		if (m.a > ANNEX_SERVE_PARTS - n || room != m.a * sizeof(parts[0]))
			return nonsense(path);
		for (unsigned int i = n; i < n + m.a; i++)
			parts[i].name[ANNEX_SERVE_NAME - 1] = 0;
		n += (unsigned int)m.a;
	} while (m.a && n < m.b && n < ANNEX_SERVE_PARTS);
	*facts = (struct annex_serve_facts){.bytes = m.c, .block = m.d, .n = n};
	return 0;
}
