// SPDX-License-Identifier: MIT
/*
 * Any text as a URI: whatever the parser accepts keeps its promises, and nothing it refuses leaves
 * the caller without a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/uri.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static int inside(const struct annex_uri *uri, const char *s)
{
	return s >= uri->text && s + strlen(s) < uri->text + sizeof(uri->text);
}

static void check_accepted(const struct annex_uri *uri, const char *text)
{
	static const char *const none[] = {NULL};
	uint64_t size = 7;
	bool flag = true;

	require(inside(uri, uri->scheme) && inside(uri, uri->body));
	require(*uri->scheme && !strncmp(uri->scheme, text, strlen(uri->scheme)));
	require(uri->nparams <= ANNEX_URI_PARAMS);
	for (unsigned int i = 0; i < uri->nparams; i++) {
		const char *key = uri->params[i].key;

		require(inside(uri, key) && inside(uri, uri->params[i].value) && *key);
		require(annex_uri_get(uri, key) != NULL);
		if (!annex_uri_u64(uri, key, 2, 1000, &size))
			require(size >= 2 && size <= 1000);
		else
			require(*annex_last_error());
		annex_uri_bool(uri, key, &flag);
		require(flag == 0 || flag == 1);
	}
	require(annex_uri_check_keys(uri, none) == 0 || uri->nparams);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct annex_uri uri;
	char *text = malloc(size + 1);
	uint64_t value;

	if (!text)
		return 0;
	/* Exactly as large as the text, so that a read behind its end is seen. */
	memcpy(text, data, size);
	text[size] = '\0';
	if (!annex_uri_parse(text, &uri))
		check_accepted(&uri, text);
	else
		require(*annex_last_error());
	annex_parse_size(text, &value);
	free(text);
	return 0;
}
