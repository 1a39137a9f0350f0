// SPDX-License-Identifier: MIT
/*
 * URIs and sizes (annex/uri.h).
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <annex/log.h>
#include <annex/uri.h>
#include "tests/unit/unit.h"

static struct annex_uri uri;

static void parts(void)
{
	CU_ASSERT_EQUAL(annex_uri_parse("file:/data/x?size=8G&direct=1", &uri), 0);
	CU_ASSERT_STRING_EQUAL(uri.scheme, "file");
	CU_ASSERT_STRING_EQUAL(uri.body, "/data/x");
	CU_ASSERT_EQUAL(uri.nparams, 2);
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "size"), "8G");
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "direct"), "1");
	CU_ASSERT_PTR_NULL(annex_uri_get(&uri, "siz"));
	CU_ASSERT_PTR_NULL(annex_uri_get(&uri, "sizes"));
}

static void body_with_colons(void)
{
	CU_ASSERT_EQUAL(annex_uri_parse("pci:0000:00:04.0", &uri), 0);
	CU_ASSERT_STRING_EQUAL(uri.scheme, "pci");
	CU_ASSERT_STRING_EQUAL(uri.body, "0000:00:04.0");
	CU_ASSERT_EQUAL(uri.nparams, 0);
}

static void empty_body_and_value(void)
{
	CU_ASSERT_EQUAL(annex_uri_parse("mem:?a=", &uri), 0);
	CU_ASSERT_STRING_EQUAL(uri.body, "");
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "a"), "");
}

static void first_of_repeated(void)
{
	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?fault=lose&fault=torn", &uri), 0);
	CU_ASSERT_EQUAL(uri.nparams, 2);
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "fault"), "lose");
	CU_ASSERT_STRING_EQUAL(uri.params[1].value, "torn");
}

static void value_with_equals(void)
{
	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?fault=delay,us=5", &uri), 0);
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "fault"), "delay,us=5");
}

static void escapes(void)
{
	CU_ASSERT_EQUAL(annex_uri_parse("file:/a%3Fb%26c%25d%2f?ns=%3d%3D&k=%7e", &uri), 0);
	CU_ASSERT_STRING_EQUAL(uri.body, "/a?b&c%d/");
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "ns"), "==");
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "k"), "~");
}

static void escapes_all_bytes(void)
{
	for (unsigned int byte = 1; byte < 256; byte++) {
		char text[32];

		snprintf(text, sizeof(text), "file:x%%%02Xy?k=%%%02x", byte, byte);
		CU_ASSERT_EQUAL_FATAL(annex_uri_parse(text, &uri), 0);
		CU_ASSERT_EQUAL((unsigned char)uri.body[1], byte);
		CU_ASSERT_EQUAL(strlen(uri.body), 3);
		CU_ASSERT_EQUAL((unsigned char)*annex_uri_get(&uri, "k"), byte);
	}
}

/* Each is refused, with a reason that names something. */
static void bad(void)
{
	static const char *const texts[] = {
		"",
		"file",
		":x",
		"/data/x",
		"?a=b",
		"?a=b:c",
		"mem:1M?",
		"mem:1M?a",
		"mem:1M?=b",
		"mem:1M?a=b&",
		"mem:1M?&a=b",
		"mem:1M?a=b&&c=d",
		"file:%",
		"file:%4",
		"file:%g0",
		"file:%0g",
		"file:%00",
		"file:x?a=%",
		"file:x?a=%0",
		"file:x?a=%00",
		"file:x?a=%-1",
		"file:x?a=% 1",
		"file:x%",
		"file:x%x?a=b",
		"mem:1M?=",
	};

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int err = annex_uri_parse(texts[i], &uri);

		if (err != -EINVAL)
			fprintf(stderr, "\"%s\" gives %d\n", texts[i], err);
		CU_ASSERT_EQUAL(err, -EINVAL);
		CU_ASSERT(strlen(annex_last_error()) > 0);
		CU_ASSERT_PTR_NULL(strchr(annex_last_error(), '\n'));
	}
}

static void longest(void)
{
	char text[ANNEX_URI_MAX + 1];

	memset(text, 'x', sizeof(text));
	memcpy(text, "file:", 5);
	text[ANNEX_URI_MAX - 1] = '\0';
	CU_ASSERT_EQUAL(annex_uri_parse(text, &uri), 0);
	CU_ASSERT_EQUAL(strlen(uri.body), ANNEX_URI_MAX - 1 - 5);
	text[ANNEX_URI_MAX - 1] = 'x';
	text[ANNEX_URI_MAX] = '\0';
	CU_ASSERT_EQUAL(annex_uri_parse(text, &uri), -E2BIG);
}

static void most_parameters(void)
{
	char text[256] = "mem:1M?";

	for (int i = 0; i < ANNEX_URI_PARAMS; i++) {
		char item[8];

		snprintf(item, sizeof(item), "%sk%d=%d", i ? "&" : "", i, i);
		strcat(text, item);
	}
	CU_ASSERT_EQUAL(annex_uri_parse(text, &uri), 0);
	CU_ASSERT_EQUAL(uri.nparams, ANNEX_URI_PARAMS);
	CU_ASSERT_STRING_EQUAL(annex_uri_get(&uri, "k15"), "15");
	strcat(text, "&one=more");
	CU_ASSERT_EQUAL(annex_uri_parse(text, &uri), -E2BIG);
}

static void unknown_key(void)
{
	static const char *const keys[] = {"size", "block", NULL};

	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?block=512&size=1", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_check_keys(&uri, keys), 0);
	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?block=512&Size=1", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_check_keys(&uri, keys), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "Size"));
}

static void repeated_key(void)
{
	static const char *const keys[] = {"ns...", "block", "n", NULL};

	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?ns=1&block=512&ns=2&n=1&ns=1", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_check_keys(&uri, keys), 0);
	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?block=512&ns=1&block=512", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_check_keys(&uri, keys), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "block= is given twice"));
	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?ns...=1", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_check_keys(&uri, keys), -EINVAL);
}

static void sizes(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"0", 0},
		{"007", 7},
		{"512", 512},
		{"1K", 1ull << 10},
		{"64M", 64ull << 20},
		{"8G", 8ull << 30},
		{"3T", 3ull << 40},
		{"0T", 0},
		{"18446744073709551615", UINT64_MAX},
		{"16777215T", 16777215ull << 40},
	};

	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t v = 1;

		CU_ASSERT_EQUAL(annex_parse_size(good[i].text, &v), 0);
		CU_ASSERT_EQUAL(v, good[i].value);
	}
}

static void bad_sizes(void)
{
	static const char *const malformed[] = {"",   "K",   "-1",   "+1",   " 1",  "1 ", "1k",
						"1P", "1KK", "1.5M", "0x10", "1MB", "G1"};
	static const char *const too_large[] = {"18446744073709551616", "16777216T",
						"99999999999999999999999999", "18014398509481984K"};
	uint64_t v = 5;

	for (unsigned int i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		CU_ASSERT_EQUAL(annex_parse_size(malformed[i], &v), -EINVAL);
	for (unsigned int i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++)
		CU_ASSERT_EQUAL(annex_parse_size(too_large[i], &v), -ERANGE);
	CU_ASSERT_EQUAL(v, 5);
}

static void numbers(void)
{
	uint64_t v = 77;

	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?n=10&big=2K&odd=1x", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_u64(&uri, "absent", 0, 1, &v), 0);
	CU_ASSERT_EQUAL(v, 77);
	CU_ASSERT_EQUAL(annex_uri_u64(&uri, "n", 10, 10, &v), 0);
	CU_ASSERT_EQUAL(v, 10);
	CU_ASSERT_EQUAL(annex_uri_u64(&uri, "n", 11, 20, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_uri_u64(&uri, "n", 0, 9, &v), -ERANGE);
	CU_ASSERT_EQUAL(annex_uri_u64(&uri, "odd", 0, 9, &v), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "odd"));
	CU_ASSERT_EQUAL(v, 10);
	CU_ASSERT_EQUAL(annex_uri_u64(&uri, "big", 0, UINT64_MAX, &v), 0);
	CU_ASSERT_EQUAL(v, 2048);
}

static void booleans(void)
{
	bool b = true;

	CU_ASSERT_EQUAL(annex_uri_parse("mem:1M?no=0&yes=1&two=2&word=yes", &uri), 0);
	CU_ASSERT_EQUAL(annex_uri_bool(&uri, "absent", &b), 0);
	CU_ASSERT_TRUE(b);
	CU_ASSERT_EQUAL(annex_uri_bool(&uri, "no", &b), 0);
	CU_ASSERT_FALSE(b);
	CU_ASSERT_EQUAL(annex_uri_bool(&uri, "yes", &b), 0);
	CU_ASSERT_TRUE(b);
	CU_ASSERT_EQUAL(annex_uri_bool(&uri, "two", &b), -ERANGE);
	CU_ASSERT_EQUAL(annex_uri_bool(&uri, "word", &b), -EINVAL);
	CU_ASSERT_TRUE(b);
}

UNIT_SUITE(uri, {"scheme, body and parameters", parts}, {"colons in the body", body_with_colons},
	   {"empty body, empty value", empty_body_and_value},
	   {"of a repeated key the first value", first_of_repeated},
	   {"equals sign in a value", value_with_equals}, {"escapes", escapes},
	   {"every byte but NUL can be escaped", escapes_all_bytes},
	   {"malformed URIs are refused with a reason", bad}, {"the longest URI", longest},
	   {"the most parameters", most_parameters}, {"unknown keys are named", unknown_key},
	   {"repeated keys are refused", repeated_key}, {"sizes", sizes},
	   {"malformed and too large sizes", bad_sizes}, {"numbers between limits", numbers},
	   {"booleans", booleans})
