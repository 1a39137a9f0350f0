// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/array.h"
#include "core/log.h"
#include "label.h"
#include "walk.h"

/* One value of a hostile file takes fifty times its text in memory. */
#define VALUE_MAX (16u << 20)

/* @line and @column count on from where the walk is; columns are characters. */
static int fail_at(const struct walk *w, size_t line, size_t column, const char *why)
{
	size_t first = 1, chars = 0;

	for (size_t i = 0; i < w->at; i++) {
		if (w->text[i] == '\n') {
			first++;
			chars = 0;
		} else if ((w->text[i] & 0xc0) != 0x80) {
			chars++;
		}
	}
	return annex_fail(-EINVAL, "line %zu, column %zu: %s", first + line,
			  line ? column : chars + column, why);
}

static void skip_space(struct walk *w)
{
	while (w->at < w->len && memchr(" \t\r\n", w->text[w->at], 4))
		w->at++;
}

static bool next_is(struct walk *w, char c)
{
	skip_space(w);
	return w->at < w->len && w->text[w->at] == c;
}

static int missing(const struct walk *w, const char *what)
{
	char why[64];

	snprintf(why, sizeof(why), "%s expected%s", what,
		 w->at < w->len ? "" : " near end of file");
	return fail_at(w, 0, 1, why);
}

static int expect(struct walk *w, char c)
{
	const char what[] = {'\'', c, '\'', '\0'};

	if (!next_is(w, c))
		return missing(w, what);
	w->at++;
	return 0;
}

int annex_walk_enter(struct walk *w, char open)
{
	return expect(w, open);
}

int annex_walk_more(struct walk *w, char close, bool *first)
{
	const char *what = close == '}' ? "',' or '}'" : "',' or ']'";

	if (next_is(w, close)) {
		w->at++;
		return 0;
	}
	if (!*first) {
		if (!next_is(w, ','))
			return missing(w, what);
		w->at++;
	}
	*first = false;
	return 1;
}

int annex_walk_value(struct walk *w, json_t **value)
{
	const size_t flags = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES;
	size_t rest, len;
	json_error_t error;

	skip_space(w);
	rest = w->len - w->at;
	len = rest < VALUE_MAX ? rest : VALUE_MAX;
	*value = json_loadb(len ? w->text + w->at : "", len, flags, &error);
	if (*value) {
		w->at += (size_t)error.position;
		return 0;
	}
	/* Where memory ran out, jansson says nothing. */
	if (!error.text[0])
		return annex_fail(-ENOMEM, "no memory for a JSON value");
	if (len < rest && (size_t)error.position >= len)
		return fail_at(w, 0, 1, "a value of more than 16 MiB");
	if (json_error_code(&error) == json_error_null_character)
		return fail_at(w, (size_t)error.line - 1, (size_t)error.column,
			       "a string holds a zero byte (\\u0000)");
	/* Its words may quote the file. */
	return fail_at(w, (size_t)error.line - 1, (size_t)error.column, one_line(error.text));
}

int annex_walk_key(struct walk *w, json_t **key)
{
	int err;

	*key = NULL;
	if (!next_is(w, '"'))
		return missing(w, "a key");
	err = annex_walk_value(w, key);
	if (!err)
		err = expect(w, ':');
	if (err) {
		json_decref(*key);
		*key = NULL;
	}
	return err;
}

int annex_walk_end(struct walk *w)
{
	skip_space(w);
	return w->at == w->len ? 0 : fail_at(w, 0, 1, "end of file expected");
}

static int too_long(size_t max)
{
	return annex_fail(-E2BIG, "more than the %zu MiB that may be read", max >> 20);
}

int annex_walk_load(FILE *f, size_t max, char **text, size_t *len)
{
	size_t room = 64 << 10, n = 0;
	char *buf = NULL;
	struct stat st;
	int err = 0;

	/* One more than there is shows that it is all. */
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		if ((uint64_t)st.st_size > max)
			return too_long(max);
		room = (size_t)st.st_size + 1;
	}
	do {
		if (!array_resize(&buf, n < room ? room : (room *= 2))) {
			err = annex_fail(-ENOMEM, "no memory for %zu bytes", room);
			break;
		}
		n += fread(buf + n, 1, room - n, f);
		if (ferror(f))
			err = annex_fail(-errno, "%m");
		else if (n > max)
			err = too_long(max);
	} while (!err && n == room);
	if (err) {
		free(buf);
		return err;
	}
	*text = buf;
	*len = n;
	return 0;
}
