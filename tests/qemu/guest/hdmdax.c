// SPDX-License-Identifier: MIT
/*
 * A user of memory ranges through the library, for hdmdax.sh:
 *
 *   hdmdax fill URI FILE    take, fill and persist a piece with a name; print its place, and write
 *                           its data to FILE
 *   hdmdax verify URI       the piece has that data; free it
 *   hdmdax open URI         only open the range
 *   hdmdax on URI NODE      the kernel says that every page of the range is on that node
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <annex/hdm.h>
#include <annex/log.h>
#include "tests/unit/random.h"

#define PAGE 4096u
#define BYTES (1u << 20)
#define BATCH 512u
#define NAME "hdmdax"

static unsigned char want[BYTES];

__attribute__((noreturn)) static void die(const char *words)
{
	fprintf(stderr, "%s: %s\n", words, annex_last_error());
	exit(1);
}

static void fill(struct annex_hdm *h, const char *path)
{
	struct annex_hdm_info info;
	FILE *file = fopen(path, "w");
	void *piece;

	annex_hdm_get_info(h, &info);
	if (annex_hdm_alloc(h, BYTES, PAGE, NAME, &piece))
		die("alloc");
	memcpy(piece, want, BYTES);
	if (annex_hdm_persist(h, piece, BYTES))
		die("persist");
	if (!file || fwrite(want, 1, BYTES, file) != BYTES || fclose(file))
		die(path);
	printf("offset %zu node %d flush %s\n", (size_t)((char *)piece - (char *)info.base),
	       info.node, info.flush);
}

static void verify(struct annex_hdm *h)
{
	struct annex_hdm_block block;
	void *piece;

	if (annex_hdm_find(h, NAME, &block))
		die("find");
	piece = annex_hdm_at(h, block.offset);
	if (block.bytes != BYTES || memcmp(piece, want, BYTES)) {
		fprintf(stderr, "the data of the piece has changed\n");
		exit(1);
	}
	if (annex_hdm_free(h, piece))
		die("free");
}

/* Not by the library's own way of asking. */
static void on_node(struct annex_hdm *h, int node)
{
	struct annex_hdm_info info;
	void *pages[BATCH];
	int status[BATCH];

	annex_hdm_get_info(h, &info);
	for (uint64_t at = 0; at < info.bytes; at += (uint64_t)BATCH * PAGE) {
		unsigned int n = 0;

		for (uint64_t p = at; n < BATCH && p < info.bytes; p += PAGE)
			pages[n++] = (char *)info.base + p;
		if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0)) {
			perror("move_pages");
			exit(1);
		}
		for (unsigned int i = 0; i < n; i++)
			if (status[i] != node) {
				fprintf(stderr, "a page is on node %d\n", status[i]);
				exit(1);
			}
	}
	if (info.node != node) {
		fprintf(stderr, "the range says that it is on node %d\n", info.node);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = 0x68646d646178;
	struct annex_hdm *h;

	if (argc < 3)
		return 2;
	if (annex_hdm_open(argv[2], NULL, &h)) {
		fprintf(stderr, "%s\n", annex_last_error());
		return 1;
	}
	random_fill(&seed, want, BYTES);
	if (!strcmp(argv[1], "fill"))
		fill(h, argv[3]);
	else if (!strcmp(argv[1], "verify"))
		verify(h);
	else if (!strcmp(argv[1], "on"))
		on_node(h, atoi(argv[3]));
	annex_hdm_close(h);
	return 0;
}
