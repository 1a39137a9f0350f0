// SPDX-License-Identifier: MIT
/*
 * The stack of a program as Linux leaves it: argc, argv, envp (which is empty) and the auxiliary
 * vector, then the strings.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include "ndp/elf.h"
#include "user.h"

#define ARGUMENTS 1024u
#define STRINGS (128u << 10)
#define LETTER(c) (1ull << ((c) - 'a'))
#define HWCAP                                                                                      \
	(LETTER('i') | LETTER('m') | LETTER('a') | LETTER('f') | LETTER('d') | LETTER('c') |       \
	 LETTER('v'))

/* struct writer - Words go up from @at. The first failure stays. */
struct writer {
	struct user *u;
	uint64_t at;
	int err;
};

static void put(struct writer *w, uint64_t value)
{
	if (!w->err)
		w->err = rv_space_write(&w->u->space, w->at, &value, sizeof(value));
	w->at += sizeof(value);
}

static void put_pair(struct writer *w, uint64_t key, uint64_t value)
{
	put(w, key);
	put(w, value);
}

int user_stack(struct user *u, const struct annex_elf *elf, uint64_t moved, char *const argv[],
	       uint64_t *sp)
{
	uint64_t text = USER_STACK_TOP - STRINGS, random[2], name = text + sizeof(random);
	uint64_t string[ARGUMENTS];
	struct writer w = {.u = u};
	unsigned int n = 0;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	w.err = rv_space_write(&u->space, text, random, sizeof(random));
	for (uint64_t at = name; argv[n] && !w.err; n++) {
		uint64_t bytes = strlen(argv[n]) + 1;

		if (n == ARGUMENTS || bytes > USER_STACK_TOP - at)
			return -E2BIG;
		w.err = rv_space_write(&u->space, at, argv[n], bytes);
		string[n] = at;
		at += bytes;
	}
	/* argc, argv, two ends, and at most 16 pairs. */
	w.at = *sp = (text - (n + 3 + 2 * 16) * 8) & ~15ull;
	put(&w, n);
	for (unsigned int i = 0; i < n; i++)
		put(&w, string[i]);
	put(&w, 0);
	put(&w, 0);
	if (elf->headers)
		put_pair(&w, AT_PHDR, elf->headers + moved);
	put_pair(&w, AT_PHENT, sizeof(Elf64_Phdr));
	put_pair(&w, AT_PHNUM, elf->headers ? elf->nheaders : 0);
	put_pair(&w, AT_PAGESZ, PAGE);
	put_pair(&w, AT_ENTRY, elf->entry + moved);
	put_pair(&w, AT_HWCAP, HWCAP);
	put_pair(&w, AT_CLKTCK, 100);
	put_pair(&w, AT_UID, 0);
	put_pair(&w, AT_EUID, 0);
	put_pair(&w, AT_GID, 0);
	put_pair(&w, AT_EGID, 0);
	put_pair(&w, AT_SECURE, 0);
	put_pair(&w, AT_RANDOM, text);
	put_pair(&w, AT_EXECFN, name);
	put_pair(&w, AT_NULL, 0);
	return w.err;
}
