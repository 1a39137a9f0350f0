// SPDX-License-Identifier: MIT
/*
 * CXL-SSDs beside a plain array, with power cuts: every organisation of the DRAM, on flash with
 * little to spare.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/models/unit/cxlssd_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGES 48u

/* Flash with blocks of four pages, and DRAM for eight pages. */
#define FLASH "&channels=2&pages=4&spare=20"

static const char *const drams[] = {
	"dram=4096&unit=512",
	"dram=4096&unit=128",
	"dram=4096&unit=256&fetch=0",
	"dram=4096&fetch=0",
	"dram=6144&log=skybyte&log_size=2048&unit=512",
	"dram=4096&log=skybyte&log_size=1024&unit=256",
	"dram=6144&log=bytefs&log_size=3072&unit=512",
	"dram=6144&log=bytefs&log_size=4608&unit=256",
};
#define DRAMS (sizeof(drams) / sizeof(drams[0]))

static unsigned int asked(unsigned int otherwise)
{
	const char *n = getenv("ANNEX_OPERATIONS");

	return n ? (unsigned int)strtoul(n, NULL, 0) : otherwise;
}

static void make(struct cxlssd_rig *r, const char *dram)
{
	char more[160];

	snprintf(more, sizeof(more), FLASH "&%s", dram);
	cxlssd_rig_make(r, PAGES, more);
}

/* A random subset of the unfenced lines. */
static size_t choose(struct cxlssd_rig *r, uint64_t *rng, uint64_t *lines, size_t room)
{
	size_t n = annex_cxlssd_unfenced(r->s, lines, room), kept = 0;

	CU_ASSERT_FATAL(n <= room);
	for (size_t i = 0; i < n; i++)
		if (random_next(rng) & 1)
			lines[kept++] = lines[i];
	return kept;
}

/* ANNEX_OPERATIONS=N of each organisation. */
static void random_operations(void)
{
	uint64_t rng = random_seed("operations"), lines[PAGES * RIG_LINES];
	struct cxlssd_rig r;

	for (unsigned int d = 0; d < DRAMS; d++) {
		make(&r, drams[d]);
		for (unsigned int i = 0, n = asked(30000); i < n && !r.wrong; i++) {
			switch (random_next(&rng) % 512) {
			case 0:
				cxlssd_rig_cut(&r, lines,
					       choose(&r, &rng, lines, PAGES * RIG_LINES), &rng,
					       drams[d]);
				break;
			case 1:
				/* In the middle of a call. */
				cxlssd_rig_doom(1 + (unsigned int)(random_next(&rng) % 40));
				while (!cxlssd_rig_dead())
					cxlssd_rig_step(&r, &rng);
				cxlssd_rig_cut(&r, NULL, 0, &rng, drams[d]);
				break;
			case 2:
				cxlssd_rig_restart(&r, drams[d]);
				break;
			default:
				cxlssd_rig_step(&r, &rng);
			}
		}
		cxlssd_rig_free(&r);
	}
}

/* A workload of persisted stores, with blocks, trims and transactions; a fence after each seven. */
static void bounded(struct cxlssd_rig *r, unsigned int steps)
{
	for (unsigned int i = 0; i < steps; i++) {
		unsigned char buf[RIG_PAGE];
		const uint32_t page = i / 3 % 5;

		memset(buf, 1 + (int)i, sizeof(buf));
		if (i % 8 == 7)
			cxlssd_rig_fence(r);
		else if (i % 13 == 8)
			cxlssd_rig_blocks(r, page, buf);
		else if (i % 17 == 11)
			cxlssd_rig_trim(r, page, 1);
		else if (i % 19 == 14 && strstr(r->uri, "log=bytefs"))
			cxlssd_rig_commit(r, page * RIG_PAGE + 400, buf, 300, i & 1);
		else
			cxlssd_rig_write(r, (uint64_t)page * RIG_PAGE + i * 64 % RIG_PAGE, buf, 64);
	}
}

/* Cut after each store, with every subset of the lines that are unfenced then, at most 8. */
static void every_cut(void)
{
	const unsigned int last = UNIT_SANITIZED ? 24 : 60;

	for (unsigned int d = 0; d < DRAMS; d += 2) {
		for (unsigned int steps = 1; steps <= last; steps++) {
			for (uint32_t keep = 0, subsets = 1; keep < subsets; keep++) {
				uint64_t lines[8];
				struct cxlssd_rig r;
				size_t n, kept = 0;

				make(&r, drams[d]);
				bounded(&r, steps);
				n = annex_cxlssd_unfenced(r.s, lines, 8);
				CU_ASSERT_FATAL(n <= 8);
				subsets = 1u << n;
				for (size_t i = 0; i < n; i++)
					if (keep >> i & 1)
						lines[kept++] = lines[i];
				cxlssd_rig_cut(&r, lines, kept, NULL, drams[d]);
				cxlssd_rig_free(&r);
			}
		}
	}
}

/* A file does not depend on what its DRAM was when it was written. */
static void other_dram(void)
{
	uint64_t rng = random_seed("other"), lines[PAGES * RIG_LINES];
	struct cxlssd_rig r;

	/* The file is made with the largest, and opened with others from then on. */
	make(&r, drams[2]);
	for (unsigned int i = 0; i < 60 && !r.wrong; i++) {
		const char *dram = drams[random_next(&rng) % DRAMS];

		for (unsigned int k = 0; k < 200; k++)
			cxlssd_rig_step(&r, &rng);
		if (i & 1)
			cxlssd_rig_cut(&r, lines, choose(&r, &rng, lines, PAGES * RIG_LINES), &rng,
				       dram);
		else
			cxlssd_rig_restart(&r, dram);
	}
	cxlssd_rig_free(&r);
}

static void write_page(struct cxlssd_rig *r, uint32_t page, uint64_t *rng)
{
	unsigned char buf[RIG_PAGE];

	random_fill(rng, buf, sizeof(buf));
	cxlssd_rig_blocks(r, page, buf);
}

/* The power is cut dozens of times, in collections, before it is opened to the end. */
static void cut_again_and_again(void)
{
	/* One page less than there can be: each collection copies most of a block. */
	const uint32_t pages = 63;
	uint64_t rng = random_seed("again");
	struct cxlssd_rig r;

	cxlssd_rig_make(&r, pages, "&channels=1&pages=32&spare=1&dram=4096");
	r.again = 62;
	r.tears = true;
	for (uint32_t i = 0; i < 3 * pages; i++)
		write_page(&r, i % pages, &rng);
	for (unsigned int i = 0; i < (UNIT_SANITIZED ? 60 : 300) && !r.wrong; i++) {
		cxlssd_rig_fence(&r);
		cxlssd_rig_doom(1 + (unsigned int)(random_next(&rng) % 60));
		while (!cxlssd_rig_dead())
			write_page(&r, (uint32_t)(random_next(&rng) % pages), &rng);
		cxlssd_rig_cut(&r, NULL, 0, &rng, "dram=4096");
	}
	cxlssd_rig_free(&r);
}

/* Blocks and trims last by a fence, also when DRAM has nothing of its own. */
static void blocks_alone(void)
{
	uint64_t rng = random_seed("blocks");
	unsigned char buf[RIG_PAGE];
	struct cxlssd_rig r;

	make(&r, drams[0]);
	for (uint32_t i = 0; i < 60 && !r.wrong; i++) {
		memset(buf, (int)i + 1, sizeof(buf));
		cxlssd_rig_blocks(&r, i % PAGES, buf);
		if (i % 5 == 4)
			cxlssd_rig_trim(&r, (i - 1) % PAGES, 1);
		cxlssd_rig_fence(&r);
		cxlssd_rig_cut(&r, NULL, 0, &rng, drams[0]);
	}
	cxlssd_rig_free(&r);
}

/* Transactions across pages, without waits, until the log is cleaned. */
static void ordered(void)
{
	const char *dram = drams[DRAMS - 1];
	uint64_t rng = random_seed("ordered");
	unsigned char buf[RIG_PAGE];
	struct cxlssd_rig r;

	make(&r, dram);
	for (unsigned int i = 0; i < (UNIT_SANITIZED ? 100 : 600) && !r.wrong; i++) {
		cxlssd_rig_doom(1 + (unsigned int)(random_next(&rng) % 60));
		while (!cxlssd_rig_dead()) {
			const uint64_t page = random_next(&rng) % (PAGES - 1);

			random_fill(&rng, buf, sizeof(buf));
			cxlssd_rig_commit(&r, page * RIG_PAGE + 300, buf, 400, false);
		}
		cxlssd_rig_cut(&r, NULL, 0, &rng, dram);
	}
	cxlssd_rig_free(&r);
}

/* Transactions after pages that last with them, and are programmed again afterwards. */
static void proofs(void)
{
	const char *dram = drams[DRAMS - 1];
	uint64_t rng = random_seed("proofs");
	unsigned char buf[RIG_PAGE];
	struct cxlssd_rig r;

	make(&r, dram);
	r.again = 60;
	for (unsigned int i = 0; i < (UNIT_SANITIZED ? 100 : 600) && !r.wrong; i++) {
		const unsigned int again = (unsigned int)(random_next(&rng) % 400);

		for (uint32_t k = 0; k < 3; k++)
			write_page(&r, (uint32_t)(random_next(&rng) % PAGES), &rng);
		random_fill(&rng, buf, sizeof(buf));
		cxlssd_rig_commit(&r, random_next(&rng) % PAGES * RIG_PAGE, buf, 64, i % 4 == 0);
		if (i % 4 == 1)
			cxlssd_rig_fence(&r);
		cxlssd_rig_doom(1 + again);
		while (!cxlssd_rig_dead())
			write_page(&r, (uint32_t)(random_next(&rng) % PAGES), &rng);
		cxlssd_rig_cut(&r, NULL, 0, &rng, dram);
	}
	cxlssd_rig_free(&r);
}

/* However full the journal is, a cut finds room for all lines that are not fenced. */
static void full_journal(void)
{
	static uint64_t lines[1024];

	for (uint32_t fenced = 0; fenced < 600; fenced += UNIT_SANITIZED ? 49 : 7) {
		unsigned char buf[ANNEX_CXLSSD_LINE];
		struct cxlssd_rig r;
		size_t n = 0;

		cxlssd_rig_make(&r, 256, "&pages=8&dram=32768");
		for (uint32_t i = 0; i < fenced + 400; i++) {
			memset(buf, (int)i + 1, sizeof(buf));
			cxlssd_rig_write(&r, (uint64_t)(i % r.n_lines) * sizeof(buf), buf,
					 sizeof(buf));
			if (i < fenced)
				cxlssd_rig_fence(&r);
			n = annex_cxlssd_unfenced(r.s, lines, 1024);
			r.wrong += n > 32768 / 64 / 4 + 1;
		}
		cxlssd_rig_cut(&r, lines, n, NULL, "dram=32768");
		cxlssd_rig_free(&r);
	}
}

UNIT_SUITE(cxlssd_cuts, {"random operations", random_operations}, {"every cut", every_cut},
	   {"another DRAM after each", other_dram}, {"again and again", cut_again_and_again},
	   {"blocks alone", blocks_alone}, {"ordered", ordered}, {"proofs", proofs},
	   {"a full journal", full_journal})
