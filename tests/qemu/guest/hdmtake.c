// SPDX-License-Identifier: MIT
/*
 * A user of CXL memory through the library, for hdmtake.sh and hdmkeep.sh. URI is that of a range.
 *
 *   hdmtake keep URI NAME BYTES   take a piece of that name, fill it, make it last; say "at OFFSET"
 *   hdmtake find URI NAME BYTES   it is there, with all that is in it; say "at OFFSET"
 *   hdmtake hold URI FIFO         say "open", then do what lines from there say: "small": take a
 *                                 small piece, far in, say "at OFFSET"; "all": take all that there
 * is, store to each page, say "took PAGES poisoned PAGES"; "clear": clear free memory, say
 * "cleared ERROR poisoned PAGES"; "find NAME BYTES": as above; "end"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <annex/hdm.h>
#include <annex/log.h>
#include "die.h"

#define PAGE 4096u
#define SMALL 192u
#define FAR (106u << 20) /* its neighbours are no sample of hdm.c, whose tests come later */

static struct annex_hdm *open_range(const char *uri)
{
	struct annex_hdm *h;

	if (annex_hdm_open(uri, NULL, &h))
		die("%s", annex_last_error());
	return h;
}

static uint64_t offset_of(const struct annex_hdm *h, const void *p)
{
	struct annex_hdm_info info;

	annex_hdm_get_info(h, &info);
	return (uint64_t)((const char *)p - (const char *)info.base);
}

static uint64_t word_at(uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u;
}

static int keep(const char *uri, const char *name, size_t bytes)
{
	struct annex_hdm *h = open_range(uri);
	struct annex_hdm_info info;
	uint64_t *piece;

	annex_hdm_get_info(h, &info);
	if (!info.persistent || !strcmp(info.flush, "none"))
		die("%s: volatile", uri);
	if (annex_hdm_alloc(h, bytes, PAGE, name, (void **)&piece))
		die("%s", annex_last_error());
	for (uint64_t i = 0; i < bytes / sizeof(*piece); i++)
		piece[i] = word_at(i);
	if (annex_hdm_persist(h, piece, bytes))
		die("%s", annex_last_error());
	printf("at %" PRIu64 "\n", offset_of(h, piece));
	annex_hdm_close(h);
	return 0;
}

static void find(struct annex_hdm *h, const char *name, size_t bytes)
{
	struct annex_hdm_block b;
	const uint64_t *piece;
	int err = annex_hdm_find(h, name, &b);

	if (err)
		die("%s: %s", name, strerror(-err));
	if (b.bytes != bytes)
		die("%s: %" PRIu64 " bytes", name, b.bytes);
	piece = annex_hdm_at(h, b.offset);
	for (uint64_t i = 0; i < bytes / sizeof(*piece); i++)
		if (piece[i] != word_at(i))
			die("%s: word %" PRIu64 " is %#" PRIx64, name, i, piece[i]);
	printf("at %" PRIu64 "\n", b.offset);
}

static void small(struct annex_hdm *h)
{
	void *before, *p;

	if (annex_hdm_alloc(h, FAR, 0, NULL, &before) || annex_hdm_alloc(h, SMALL, 0, NULL, &p) ||
	    annex_hdm_free(h, before))
		die("%s", annex_last_error());
	printf("at %" PRIu64 "\n", offset_of(h, p));
}

/* As many pieces as there are; a store to poison gets SIGBUS. */
static uint64_t take(struct annex_hdm *h, size_t bytes, uint64_t most)
{
	uint64_t n = 0;
	char *p;
	int err = 0;

	while (n < most && !(err = annex_hdm_alloc(h, bytes, 0, NULL, (void **)&p))) {
		for (size_t at = 0; at < bytes; at += PAGE)
			p[at] = 1;
		p[bytes - 1] = 1;
		n++;
	}
	if (err && err != -ENOSPC)
		die("%s", annex_last_error());
	return n * bytes / PAGE;
}

static void all(struct annex_hdm *h)
{
	struct annex_hdm_usage u;
	uint64_t pages = take(h, SMALL, 2000);

	pages += take(h, 1 << 20, UINT64_MAX);
	pages += take(h, 64 << 10, UINT64_MAX);
	pages += take(h, PAGE, UINT64_MAX);
	if (annex_hdm_get_usage(h, &u))
		die("%s", annex_last_error());
	if (u.free)
		die("%" PRIu64 " bytes are left", u.free);
	printf("took %" PRIu64 " poisoned %" PRIu64 "\n", pages, u.poisoned / PAGE);
}

static void clear(struct annex_hdm *h)
{
	int err = annex_hdm_clear(h, NULL);
	struct annex_hdm_usage u;

	if (annex_hdm_get_usage(h, &u))
		die("%s", annex_last_error());
	printf("cleared %d poisoned %" PRIu64 "\n", err, u.poisoned / PAGE);
}

static int hold(const char *uri, const char *fifo)
{
	FILE *lines = fopen(fifo, "r");
	struct annex_hdm *h = open_range(uri);
	char line[64], name[32];
	size_t bytes;

	if (!lines)
		die("%s: %m", fifo);
	printf("open\n");
	while (fflush(stdout), fgets(line, sizeof(line), lines)) {
		if (!strcmp(line, "small\n"))
			small(h);
		else if (!strcmp(line, "all\n"))
			all(h);
		else if (!strcmp(line, "clear\n"))
			clear(h);
		else if (sscanf(line, "find %31s %zu", name, &bytes) == 2)
			find(h, name, bytes);
		else
			break;
	}
	annex_hdm_close(h);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "keep") && argc == 5)
		return keep(argv[2], argv[3], strtoul(argv[4], NULL, 0));
	if (!strcmp(what, "find") && argc == 5) {
		find(open_range(argv[2]), argv[3], strtoul(argv[4], NULL, 0));
		return 0;
	}
	if (!strcmp(what, "hold") && argc == 4)
		return hold(argv[2], argv[3]);
	die("usage: see the head of hdmtake.c");
}
