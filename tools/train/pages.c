// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <csv.h>
#include "../error.h"
#include "../newfile.h"
#include "memory.h"

static int print_tensor(FILE *f, struct annex_space *s, const struct annex_mem_tensor *t)
{
	for (uint64_t at = 0; at < t->bytes; at += ANNEX_MEM_PAGE) {
		struct annex_mem_page p;
		int err = annex_mem_lookup(s, (const char *)t->ptr + at, &p);

		if (err)
			return err_lib(err, "cannot look a page of %s up", t->name);
		fprintf(f, "%llu,%d,", (ull)at, p.device);
		if (p.below)
			fprintf(f, "%s,%llu,", annex_tier_name(p.tier), (ull)p.at);
		else
			fputs(",,", f);
		csv_fwrite(f, t->name, strlen(t->name));
		fputc('\n', f);
	}
	return 0;
}

int memory_pages(const struct memory *m, const char *path, bool overwrite)
{
	struct annex_mem_tensor t;
	const void *cursor = NULL;
	struct newfile file;
	int err = newfile_open(&file, path, overwrite);

	if (err)
		return newfile_close(&file, 0, err);
	fputs("byte,device,tier,at,tensor\n", file.f);
	while (!err && annex_mem_next(m->space, &cursor, &t))
		err = print_tensor(file.f, m->space, &t);
	return newfile_close(&file, 1, err);
}
