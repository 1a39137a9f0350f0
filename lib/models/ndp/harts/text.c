// SPDX-License-Identifier: MIT
/*
 * The code of a program: what its executable segments have in its file, and what it stores there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "hart.h"
#include "user.h"

#define CODE_MOST (16ull << 20) /* bytes, from the first to the last executable one */

/* One piece from the first executable byte to the last; what lies between is no instruction. */
int user_text(struct user *u, const char *file, const struct annex_elf *elf, uint64_t moved,
	      const struct rv_isa *isa)
{
	uint64_t low = UINT64_MAX, high = 0;
	bool write = false;
	int err;

	for (unsigned int i = 0; i < elf->nsegments; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];

		if (!s->execute)
			continue;
		low = s->va < low ? s->va & ~1ull : low;
		high = s->va + s->file_bytes > high ? s->va + s->file_bytes : high;
		write = write || s->write;
		u->text[u->ntext++] = (struct user_text){s->va + moved, s->file_bytes};
	}
	if (high <= low || high - low > CODE_MOST)
		return annex_fail(high <= low ? -EINVAL : -E2BIG, "%llu bytes of code",
				  high <= low ? 0ull : (ull)(high - low));
	u->seen = calloc(1, high - low);
	if (!u->seen)
		return annex_fail(-ENOMEM, "no memory for its code");
	for (unsigned int i = 0; i < elf->nsegments; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];

		if (s->execute)
			memcpy(u->seen + (s->va - low), file + s->offset, s->file_bytes);
	}
	u->code_low = low + moved;
	u->code_high = high + moved;
	err = rv_code_create(u->seen, high - low, u->code_low, isa, &u->code);
	if (err)
		return annex_fail(err, "no memory for its code");
	/* Instructions that ask for flags may be stored after those that raise them. */
	u->code->flags_seen = u->code->flags_seen || write;
	return 0;
}

static void update(struct user *u, uint64_t va, uint64_t bytes)
{
	uint64_t at = va - u->code_low;
	char now[PAGE];

	if (rv_space_read(&u->space, va, now, bytes) || !memcmp(u->seen + at, now, bytes))
		return;
	memcpy(u->seen + at, now, bytes);
	rv_code_update(u->code, u->seen, at, at + bytes);
}

/* Pages that differ are decoded anew. */
void user_fetch_anew(struct user *u)
{
	for (unsigned int i = 0; i < u->ntext; i++) {
		const struct user_text *t = &u->text[i];

		for (uint64_t at = 0; at < t->bytes; at += PAGE)
			update(u, t->va + at, t->bytes - at < PAGE ? t->bytes - at : PAGE);
	}
	rv_refetch(u->batch);
}
