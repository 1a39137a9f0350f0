// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <annex/log.h>
#include "../error.h"
#include "tally.h"

void tally_add(struct tally *to, const struct tally *from)
{
	to->operations += from->operations;
	to->bytes += from->bytes;
	to->faults += from->faults;
	to->mismatches += from->mismatches;
	to->scarce = to->scarce ? to->scarce : from->scarce;
	if (!to->first[0])
		memcpy(to->first, from->first, sizeof(to->first));
}

int tally_wrong(struct tally *t, const char *fmt, ...)
{
	va_list ap;

	t->mismatches++;
	if (!t->first[0]) {
		va_start(ap, fmt);
		vsnprintf(t->first, sizeof(t->first), fmt, ap);
		va_end(ap);
	}
	return -EILSEQ;
}

int tally_scarce(struct tally *t, int err, const char *why)
{
	t->scarce = err;
	if (!t->first[0])
		snprintf(t->first, sizeof(t->first), "%s", why);
	err_clear(); /* the report tells */
	return err;
}

static bool is_scarce(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EMFILE || err == -ENFILE ||
	       err == -ENOSPC || err == -EDQUOT;
}

int tally_call(struct tally *t, int err, const char *call)
{
	const char *why = annex_last_error();

	why = *why ? why : annex_strerror(err);
	if (is_scarce(err))
		return tally_scarce(t, err, why);
	if (err)
		tally_wrong(t, "%s: %s", call, why);
	return err;
}

int tally_same(struct tally *t, const char *what, uint64_t at, const void *got, const void *want,
	       size_t n)
{
	const unsigned char *g = got, *w = want;
	size_t i = 0;

	t->bytes += n;
	if (!memcmp(g, w, n))
		return 0;
	while (g[i] == w[i])
		i++;
	at += i;
	return tally_wrong(t, "%s: byte %llu is 0x%02x, not 0x%02x", what, (unsigned long long)at,
			   g[i], w[i]);
}

int tally_value(struct tally *t, const char *what, uint64_t at, int64_t got, int64_t want)
{
	if (got == want)
		return 0;
	return tally_wrong(t, "%s: number %llu is %lld, not %lld", what, (unsigned long long)at,
			   (long long)got, (long long)want);
}

int tally_memory(struct tally *t)
{
	return tally_scarce(t, -ENOMEM, "out of memory");
}

int tally_skip(struct tally *t, const char *why, const char *mend)
{
	t->skipped = why;
	t->mend = mend;
	return 0;
}
