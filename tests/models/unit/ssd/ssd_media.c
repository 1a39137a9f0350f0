// SPDX-License-Identifier: MIT
/*
 * Times of flash, by name and from files.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "models/ssd/media.h"
#include "tests/unit/unit.h"

static void by_name(void)
{
	struct ssd_media media, found;
	const char *name, *source;
	unsigned int n = 0;

	for (; (name = ssd_media_at(n, &media, &source)); n++) {
		CU_ASSERT(*source);
		CU_ASSERT_EQUAL(ssd_media_find(name, &found), 0);
		CU_ASSERT(!memcmp(&media, &found, sizeof(media)));
		CU_ASSERT(media.read && media.program >= media.read && media.rate);
	}
	CU_ASSERT_EQUAL(n, 5);
	CU_ASSERT_EQUAL(ssd_media_find("core", &found), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "znand") != NULL);
}

static void from_a_file(void)
{
	static const char text[] = "# of a data sheet\n\nread_ns = 4000\nprogram_ns=75000 # fast\n"
				   "\terase_ns = 0\nrate = 500000000";
	struct ssd_media media;
	char path[UNIT_PATH], large[5000];
	FILE *f;

	unit_tmpfile(path);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
	CU_ASSERT_EQUAL(ssd_media_find(path, &media), 0);
	CU_ASSERT(media.read == 4000 && media.program == 75000 && media.erase == 0 &&
		  media.rate == 500000000);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	memset(large, '\n', sizeof(large));
	fwrite(large, 1, sizeof(large), f);
	fclose(f);
	CU_ASSERT_EQUAL(ssd_media_find(path, &media), -E2BIG);
	unlink(path);
	CU_ASSERT_EQUAL(ssd_media_find(path, &media), -ENOENT);
	CU_ASSERT_EQUAL(ssd_media_find("/", &media), -EISDIR);
}

#define REST "program_ns=1\nerase_ns=0\nrate=1000000\n"

static void refused(void)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{REST, "no read_ns"},
		{"", "no read_ns"},
		{"read_ns=1\nread_ns=1\n" REST, ":2: a key for the second time"},
		{"read=1\n" REST, ":1: none of read_ns"},
		{"read_ns 1\n" REST, ":1: no ="},
		{"read_ns=\n" REST, ":1: a number is missing"},
		{"read_ns=-1\n" REST, ":1: a number is missing"},
		{"read_ns=1 2\n" REST, ":1: more than a number"},
		{"read_ns=0\n" REST, ":1: read_ns: 1 to"},
		{REST "read_ns=10000000001\n", ":4: read_ns: 1 to"},
		{REST "read_ns=99999999999999999999999999\n", ":4: too large a number"},
		{"read_ns=1\nrate=999999\n", ":2: rate: 1000000 to"},
	};
	struct ssd_media media;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(
			ssd_media_parse("my.media", cases[i].text, strlen(cases[i].text), &media),
			-EINVAL);
		CU_ASSERT(strstr(annex_last_error(), cases[i].word) != NULL);
	}
}

UNIT_SUITE(ssd_media, {"by name", by_name}, {"from a file", from_a_file}, {"refused", refused})
