// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "media.h"

#define FILE_MAX 4096u
#define NS_MAX 10000000000ull /* ten seconds */
#define RATE_MIN 1000000ull
#define RATE_MAX 1000000000000ull

static const struct {
	const char *name;
	struct ssd_media media;
	const char *source;
} kinds[] = {
	/* Times of a block of 4 KiB, which is written in place, without erases. */
	{"optane", {5000, 5000, 0, 2000000000, 0}, "P5800X: 5 to 6 us a block"},
	/* Reads suspend programs (Koh et al., IISWC 2019); the time is unknown. */
	{"znand", {3000, 100000, 1000000, 1200000000, 1000}, "983 ZET: tR 3 us, tPROG 100 us"},
	/* The artifact does not count the time of a transfer. */
	{"ull", {3000, 80000, 1000000, RATE_MAX, 0}, "SkyByte's artifact: 3 us, 80 us, 1 ms"},
	{"slc",
	 {25000, 200000, 1500000, 800000000, 0},
	 "data sheets of SLC: 25 us, 200 us, 1.5 ms"},
	{"nand", {45000, 580000, 3500000, 1200000000, 0}, "980 Pro: tR 45 us, tPROG 500 to 660 us"},
};

const char *ssd_media_at(unsigned int i, struct ssd_media *out, const char **source)
{
	if (i >= sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	*out = kinds[i].media;
	if (source)
		*source = kinds[i].source;
	return kinds[i].name;
}

void ssd_media_slow(struct ssd_media *m, uint64_t percent, uint64_t erase)
{
	m->read = m->read * percent / 100;
	m->program = m->program * percent / 100;
	m->erase = m->erase * percent / 100 * erase / 100;
	m->suspend = m->suspend * percent / 100;
	m->rate = m->rate * 100 / percent;
}

/* struct text - The rest of a file, and the number of the current line. */
struct text {
	const char *path, *at, *end;
	unsigned int line;
};

static int wrong(const struct text *t, const char *what)
{
	return annex_fail(-EINVAL, "%s:%u: %s", t->path, t->line, what);
}

static void skip_spaces(struct text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\r'))
		t->at++;
}

/* Whether the rest of the line is empty or a comment. */
static bool at_end(struct text *t)
{
	skip_spaces(t);
	return t->at == t->end || *t->at == '\n' || *t->at == '#';
}

static int read_number(struct text *t, uint64_t *out)
{
	uint64_t n = 0;
	const char *from = t->at;

	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		if (n > RATE_MAX)
			return wrong(t, "too large a number");
		n = n * 10 + (uint64_t)(*t->at - '0');
	}
	if (t->at == from)
		return wrong(t, "a number is missing");
	*out = n;
	return 0;
}

/* struct key - A key of a file. @found: number of its line, or 0. */
struct key {
	const char *name;
	uint64_t *to;
	uint64_t least, most;
	unsigned int found;
};

static int read_line(struct text *t, struct key *keys, unsigned int n)
{
	size_t left = (size_t)(t->end - t->at), len = 0;
	struct key *key = NULL;
	int err;

	while (len < left && (t->at[len] == '_' || (t->at[len] >= 'a' && t->at[len] <= 'z')))
		len++;
	for (unsigned int i = 0; i < n; i++)
		if (strlen(keys[i].name) == len && !memcmp(keys[i].name, t->at, len))
			key = &keys[i];
	if (!key)
		return wrong(t, "none of read_ns, program_ns, erase_ns, suspend_ns, rate");
	if (key->found)
		return wrong(t, "a key for the second time");
	t->at += len;
	skip_spaces(t);
	if (t->at == t->end || *t->at != '=')
		return wrong(t, "no = after the key");
	t->at++;
	skip_spaces(t);
	err = read_number(t, key->to);
	if (err)
		return err;
	if (!at_end(t))
		return wrong(t, "more than a number");
	if (*key->to < key->least || *key->to > key->most)
		return annex_fail(-EINVAL, "%s:%u: %s: %llu to %llu", t->path, t->line, key->name,
				  (ull)key->least, (ull)key->most);
	key->found = t->line;
	return 0;
}

int ssd_media_parse(const char *path, const char *text, size_t len, struct ssd_media *out)
{
	struct key keys[] = {
		{"read_ns", &out->read, 1, NS_MAX, 0},
		{"program_ns", &out->program, 1, NS_MAX, 0},
		{"erase_ns", &out->erase, 0, NS_MAX, 0},
		{"rate", &out->rate, RATE_MIN, RATE_MAX, 0},
		{"suspend_ns", &out->suspend, 0, NS_MAX, 0},
	};
	const unsigned int needed = 4;
	const unsigned int n = sizeof(keys) / sizeof(keys[0]);
	struct text t = {path, text, text + len, 1};

	out->suspend = 0;
	for (; t.at < t.end; t.line++) {
		int err = at_end(&t) ? 0 : read_line(&t, keys, n);

		if (err)
			return err;
		while (t.at < t.end && *t.at++ != '\n')
			;
	}
	for (unsigned int i = 0; i < needed; i++)
		if (!keys[i].found)
			return annex_fail(-EINVAL, "%s: no %s", path, keys[i].name);
	return 0;
}

static int load(const char *path, struct ssd_media *out)
{
	char text[FILE_MAX];
	size_t len = 0;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return annex_fail(-errno, "%s: %m", path);
	while (got > 0 && len < sizeof(text)) {
		got = read(fd, text + len, sizeof(text) - len);
		len += got > 0 ? (size_t)got : 0;
	}
	if (got < 0) {
		int err = annex_fail(-errno, "%s: %m", path);

		close(fd);
		return err;
	}
	close(fd);
	if (len == sizeof(text))
		return annex_fail(-E2BIG, "%s: a media file has less than %u bytes", path,
				  FILE_MAX);
	return ssd_media_parse(path, text, len, out);
}

int ssd_media_find(const char *name, struct ssd_media *out)
{
	if (strchr(name, '/'))
		return load(name, out);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(name, kinds[i].name)) {
			*out = kinds[i].media;
			return 0;
		}
	}
	return annex_fail(-EINVAL,
			  "no flash is called \"%.32s\": optane, znand, ull, slc, nand, or a file "
			  "with a / in its name",
			  name);
}
