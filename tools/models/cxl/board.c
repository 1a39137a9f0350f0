// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/cxlssd.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "ram.h"

#define MEDIA_MAX 200u
#define TEXT_MAX 600u

/*
 * From the table in CXL-GPU's evaluation: Vortex with 8 cores of 8 threads, DDR5-5600, PCIe 5 x8, a
 * CXL controller with a round trip of "two-digit" nanoseconds (here 50: twice @link_ns and
 * @look_ns). Vortex runs at 200 MHz (Tine et al., MICRO 2021: FPGAs). Its configuration has a data
 * cache of 16 KiB and 4 ways a core, with 16 miss entries, two a thread, and a second level of
 * 1 MiB. Both sizes are divided by 8 here, since the data have 8 MiB in place of a full GPU. The
 * host's runtime takes "500" a page in the paper, without a unit: taken as microseconds.
 * The endpoint has as many dies as program 3 GB/s (983 ZET). Blocks have few pages, since there is
 * little data, and erases are shorter in proportion. @unit follows from the paper's 47.4 % of hits
 * for vectors: half of the lines of 64 bytes. Fitted (make figures-cxl): @dram, and the memory
 * reserved for stores, to DS' "up to 4 x for bfs".
 * Not in the paper, and chosen: 20 ns in the last-level cache, @spare.
 */
void board_gpu(struct board *m)
{
	*m = (struct board){
		.cores = 8,
		.threads = 64,
		.instr_ps = 5000,
		.l1 = 2 << 10,
		.llc = 128 << 10,
		.llc_ns = 20,
		.buffer = 32,
		.ahead = 2,
		.memory = BOARD_PORT,
		.port.reserved = 1664 << 10,
		.local_ns = 46,
		.local_rate = 44800000000,
		.link_ns = 20,
		.link_rate = 31500000000,
		.share = 10,
		.runtime_ns = 500000,
		.media = "znand",
		.media_percent = 100,
		.erase_percent = 2,
		.dram = 128 << 10,
		.unit = 128,
		.queue = 64,
		.channels = 8,
		.dies = 8,
		.block_pages = 4,
		.spare = 28,
		.look_ns = 10,
		.dram_ns = 46,
		.append_ns = 80,
		.scale = 1,
		.seed = 1,
	};
}

/*
 * From SkyByte's artifact (HieronZhang/SkyByte-Artifact), with sizes divided by 16. A switch of
 * threads takes 1 us there. A page is hot after 7 accesses, or fewer while most accesses go to hot
 * pages; here always after 7. Unknown, and chosen: a clock of 4 GHz, the bound on migration, and,
 * before the division, an L1 of 32 KiB and a last-level cache of 1 MiB. The last-level cache cannot
 * have been much larger: for radix, srad and tpcc, W programs a page for every 64 lines stored to
 * memory, to within 12,000 lines, so at most that many lines were left in caches at the end.
 */
void board_cpu(struct board *m)
{
	*m = (struct board){
		.cores = 8,
		.threads = 8,
		.instr_ps = 250,
		.l1 = 2 << 10,
		.llc = 64 << 10,
		.llc_ns = 10,
		.buffer = 32,
		.fetch = true,
		.memory = BOARD_TIER,
		.local_ns = 46,
		.local_rate = 44800000000,
		.link_ns = 20,
		.link_rate = 31500000000,
		.share = 10,
		.media = "ull",
		.media_percent = 100,
		.erase_percent = 100,
		.dram = 32 << 20,
		.unit = 4096,
		.queue = 64,
		.channels = 16,
		.dies = 1,
		.ssd_fetch = true,
		.block_pages = 256,
		.spare = 7,
		.look_ns = 72,
		.dram_ns = 46,
		.append_ns = 80,
		.log_bytes = 4 << 20,
		.host = 128 << 20,
		.hot = 7,
		.migration_rate = 4000000000,
		.threshold_ns = ANNEX_CXLTASK_NEVER,
		.switch_ns = 1000,
		.scale = 1,
		.seed = 1,
	};
}

enum kind { SIZE, RATE, NS, US, COUNT, LONG, DECIMAL, MEDIA, POLICY };

#define MEMBER(f) offsetof(struct board, f)

static const struct field {
	const char *name;
	enum kind kind;
	size_t member;
	double least, most;
} fields[] = {
	{"media", MEDIA, MEMBER(media), 0, 0},
	{"media-percent", COUNT, MEMBER(media_percent), 1, 10000},
	{"ssd-dram", SIZE, MEMBER(dram), 4096, 0x1p30},
	{"unit", COUNT, MEMBER(unit), 64, 4096},
	{"log", SIZE, MEMBER(log_bytes), 1024, 0x1p36},
	{"link", NS, MEMBER(link_ns), 0, 1e6},
	{"link-rate", RATE, MEMBER(link_rate), 1e6, 1e15},
	{"runtime", US, MEMBER(runtime_ns), 0, 1e6},
	{"share", DECIMAL, MEMBER(share), 1, 1e6},
	{"reserve", SIZE, MEMBER(port.reserved), 64, 0x1p36},
	{"instruction", LONG, MEMBER(instr_ps), 1, 1e6},
	{"threads", COUNT, MEMBER(threads), 1, 1024},
	{"threshold", US, MEMBER(threshold_ns), 0, 1e6},
	{"switch", US, MEMBER(switch_ns), 0, 1e6},
	{"policy", POLICY, MEMBER(policy), 0, 0},
	{"host", SIZE, MEMBER(host), 4096, 0x1p40},
	{"hot", COUNT, MEMBER(hot), 1, 65535},
	{"migration", RATE, MEMBER(migration_rate), 1e6, 1e15},
	{"scale", DECIMAL, MEMBER(scale), 0.01, 16},
	{"seed", LONG, MEMBER(seed), 0, 0x1p53},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const char *const policies[] = {
	[ANNEX_CXLTASK_ROUND_ROBIN] = "round-robin",
	[ANNEX_CXLTASK_RANDOM] = "random",
	[ANNEX_CXLTASK_FAIRNESS] = "fairness",
	NULL,
};

static int set_policy(struct board *m, const char *text)
{
	for (int i = 0; policies[i]; i++)
		if (!strcmp(text, policies[i])) {
			m->policy = i;
			return 0;
		}
	return err_set(-EINVAL, "policy %s: round-robin, random or fairness", text);
}

/* A decimal number; sizes and rates may have a suffix, a power of 1024 or 1000. */
static bool parse_number(const struct field *f, const char *text, double *value)
{
	static const char suffixes[] = "KMGT";
	const double step = f->kind == SIZE ? 1024 : 1000;
	const char *suffix;
	char *end;

	if (!cli_decimal(text))
		return false;
	*value = strtod(text, &end);
	if (!*end)
		return true;
	suffix = strchr(suffixes, *end);
	if (!suffix || end[1] || (f->kind != SIZE && f->kind != RATE))
		return false;
	for (const char *s = suffixes; s <= suffix; s++)
		*value *= step;
	return true;
}

static int set_number(struct board *m, const struct field *f, const char *text)
{
	static const char *const wants[] = {
		[SIZE] = "bytes, as in 64K", [RATE] = "bytes a second, as in 4G",
		[NS] = "nanoseconds",        [US] = "microseconds",
		[COUNT] = "a whole number",  [LONG] = "a whole number",
		[DECIMAL] = "a number",
	};
	void *at = (char *)m + f->member;
	double v;

	if (!parse_number(f, text, &v) || !(v >= f->least && v <= f->most) ||
	    ((f->kind == COUNT || f->kind == LONG) && v != (double)(uint64_t)v))
		return err_set(-EINVAL, "%s %s: give %s from %.10g to %.10g", f->name, text,
			       wants[f->kind], f->least, f->most);
	if (f->kind == DECIMAL)
		*(double *)at = v;
	else if (f->kind == COUNT)
		*(uint32_t *)at = (uint32_t)v;
	else
		*(uint64_t *)at = (uint64_t)(f->kind == US ? v * 1000 : v);
	return 0;
}

int board_set(struct board *m, const char *name, const char *text)
{
	for (unsigned int i = 0; i < FIELDS; i++) {
		if (strcmp(name, fields[i].name))
			continue;
		if (fields[i].kind == POLICY)
			return set_policy(m, text);
		if (fields[i].kind != MEDIA)
			return set_number(m, &fields[i], text);
		m->media = text;
		return 0;
	}
	return -ENOENT;
}

const char *board_name(unsigned int i)
{
	return i < FIELDS ? fields[i].name : NULL;
}

/* The name becomes a value in a URI, where & would end it. */
static int check_media(const char *front, const char *value)
{
	char uri[MEDIA_MAX + 64];
	struct annex_cxlssd *s;
	int err;

	if (!strcmp(value, "dram"))
		return 0;
	if (strchr(value, '&') || strlen(value) > MEDIA_MAX)
		return err_set(-EINVAL, "%smedia: a file name has at most %u bytes and no &", front,
			       MEDIA_MAX);
	snprintf(uri, sizeof(uri), "cxlssd:?durable=model&size=1M&media=%s", value);
	err = annex_cxlssd_open(uri, &s);
	if (err)
		return err_lib(err, "%smedia", front);
	annex_cxlssd_close(s);
	return 0;
}

/* Prefix the error line with @front. */
static int prefix_error(const char *front, int err)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "%s", err_text());
	err_clear();
	return err_set(err, "%s%s", front, text);
}

int board_check_value(const char *front, const char *name, const char *value)
{
	struct board m;
	int err;

	board_gpu(&m);
	m.log_bytes = 0;
	err = board_set(&m, name, value);
	if (err)
		return err == -ENOENT ? err : prefix_error(front, err);
	if (!strcmp(name, "media"))
		return check_media(front, value);
	if (m.unit & (m.unit - 1))
		return err_set(-EINVAL, "%s%s %s: give a power of two", front, name, value);
	if (m.dram % RAM_LINE || m.log_bytes % RAM_LINE)
		return err_set(-EINVAL, "%s%s %s: give a multiple of %u bytes", front, name, value,
			       RAM_LINE);
	return 0;
}

int board_check(const char *config, const struct board *m)
{
	const bool port = m->memory == BOARD_PORT;
	const bool flash = port || m->memory == BOARD_GDS || m->memory == BOARD_TIER;

	if (flash && !port && !strcmp(m->media, "dram"))
		return err_set(
			-EINVAL,
			"--media dram: configuration %s needs an SSD: remove it from --config",
			config);
	if (m->log && m->log_bytes + RAM_PAGE > m->dram)
		return err_set(-EINVAL,
			       "--log: %llu bytes and a page of %u do not fit in %llu bytes of "
			       "--ssd-dram",
			       (ull)m->log_bytes, RAM_PAGE, (ull)m->dram);
	if (flash && m->dram < RAM_PAGE)
		return err_set(-EINVAL, "--ssd-dram: %llu bytes have no room for a page of %u",
			       (ull)m->dram, RAM_PAGE);
	return 0;
}
