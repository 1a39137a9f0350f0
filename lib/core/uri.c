// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <annex/uri.h>
#include "log.h"
#include "scheme.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo %XX in place. */
static int unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		int hi, lo;

		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		hi = hex(s[1]);
		lo = hi < 0 ? -1 : hex(s[2]);
		if (lo < 0 || (hi == 0 && lo == 0))
			return annex_fail(-EINVAL, "URI: bad escape at \"%.3s\"", s);
		*out++ = (char)(hi << 4 | lo);
		s += 2;
	}
	*out = '\0';
	return 0;
}

static int parse_param(struct annex_uri *out, char *item)
{
	char *eq = strchr(item, '=');
	int err;

	if (!eq || eq == item)
		return annex_fail(-EINVAL, "URI: parameter \"%s\" is not KEY=VALUE", item);
	if (out->nparams == ANNEX_URI_PARAMS)
		return annex_fail(-E2BIG, "URI: more than %d parameters", ANNEX_URI_PARAMS);
	*eq = '\0';
	err = unescape(eq + 1);
	if (err)
		return err;
	out->params[out->nparams].key = item;
	out->params[out->nparams].value = eq + 1;
	out->nparams++;
	return 0;
}

int annex_uri_parse(const char *uri, struct annex_uri *out)
{
	size_t len = strlen(uri);
	char *colon, *query, *next;
	int err;

	out->nparams = 0;
	if (len >= sizeof(out->text))
		return annex_fail(-E2BIG, "URI: longer than %d bytes", ANNEX_URI_MAX - 1);
	memcpy(out->text, uri, len + 1);
	colon = strchr(out->text, ':');
	query = strchr(out->text, '?');
	if (!colon || colon == out->text || (query && query < colon))
		return annex_fail(-EINVAL, "URI \"%.64s\" has no scheme (as in file:PATH)", uri);
	*colon = '\0';
	out->scheme = out->text;
	out->body = colon + 1;
	if (query)
		*query++ = '\0';
	err = unescape(colon + 1);
	for (; !err && query; query = next) {
		next = strchr(query, '&');
		if (next)
			*next++ = '\0';
		err = parse_param(out, query);
	}
	return err;
}

const char *annex_uri_get(const struct annex_uri *uri, const char *key)
{
	for (unsigned int i = 0; i < uri->nparams; i++)
		if (!strcmp(uri->params[i].key, key))
			return uri->params[i].value;
	return NULL;
}

/* Whether @key is the one that @entry of a list names, and may be repeated ("key..."). */
static bool names(const char *entry, const char *key, bool *repeats)
{
	const char *dots = strstr(entry, "...");
	size_t len = dots ? (size_t)(dots - entry) : strlen(entry);

	*repeats = dots;
	return strlen(key) == len && !memcmp(entry, key, len);
}

int annex_uri_check_keys(const struct annex_uri *uri, const char *const *keys)
{
	for (unsigned int i = 0; i < uri->nparams; i++) {
		const char *const *k = keys, *key = uri->params[i].key;
		bool repeats = false;

		while (*k && !names(*k, key, &repeats))
			k++;
		if (!*k)
			return annex_fail(-EINVAL, "%s: unknown parameter \"%s\"", uri->scheme,
					  key);
		/* The first of a key is the one that counts. */
		if (!repeats && annex_uri_get(uri, key) != uri->params[i].value)
			return annex_fail(-EINVAL, "%s: %s= is given twice", uri->scheme, key);
	}
	return 0;
}

int annex_parse_size(const char *text, uint64_t *value)
{
	static const char suffixes[] = "KMGT";
	const char *s = text, *suffix;
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return -ERANGE;
	if (*s) {
		suffix = strchr(suffixes, *s);
		if (!suffix || s[1])
			return -EINVAL;
		if (__builtin_mul_overflow(v, 1ull << 10 * (suffix - suffixes + 1), &v))
			return -ERANGE;
	}
	*value = v;
	return 0;
}

int annex_uri_u64(const struct annex_uri *uri, const char *key, uint64_t min, uint64_t max,
		  uint64_t *value)
{
	const char *text = annex_uri_get(uri, key);
	uint64_t v;
	int err;

	if (!text)
		return 0;
	err = annex_parse_size(text, &v);
	if (!err && (v < min || v > max))
		err = -ERANGE;
	if (err)
		return annex_fail(err, "%s: %s=%s is not a number from %llu to %llu", uri->scheme,
				  key, text, (ull)min, (ull)max);
	*value = v;
	return 0;
}

int annex_uri_bool(const struct annex_uri *uri, const char *key, bool *value)
{
	uint64_t v = *value;
	int err = annex_uri_u64(uri, key, 0, 1, &v);

	*value = v;
	return err;
}

int scheme_find(const char *uri, scheme_at *at)
{
	const struct annex_scheme *s;
	size_t n = strcspn(uri, ":");

	for (unsigned int i = 0; (s = at(i)); i++)
		if (strlen(s->name) == n && !strncmp(uri, s->name, n))
			return (int)i;
	return -1;
}

int scheme_unknown(const char *uri, scheme_at *at)
{
	char list[128] = "";
	size_t n = 0;

	for (unsigned int i = 0; at(i) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s:", i ? ", " : "",
				      at(i)->name);
	return annex_fail(-EPROTONOSUPPORT, "%.64s: unknown scheme (there are %s)", uri, list);
}
