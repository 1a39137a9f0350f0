// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex vadd gen: inputs for annex vadd.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/random.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/column.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/newfile.h"
#include "tools/common/progress.h"

struct vadd_gen {
	const char *name;
	int type; /* enum column_type */
	uint64_t size, seed;
	bool json;
};

static const struct cli_option options[] = {
	{"size", 0, "SIZE", 0, OPT_SIZE(struct vadd_gen, size, 4, 1ull << 50),
	 "Size of the file, a multiple of the element's"},
	{"type", 0, NULL, 0, OPT_CHOICE(struct vadd_gen, type, column_types),
	 "Type of the elements (f64)"},
	{"seed", 0, "N", 0, OPT_SIZE(struct vadd_gen, seed, 0, UINT64_MAX),
	 "Seed of the random numbers (1)"},
	CLI_JSON(struct vadd_gen, json),
	{0}};

static const char doc[] = "Write random numbers, floating-point ones from 0 to 1."
			  "\vExample:\n  annex vadd gen a.f64 --size 1G --seed 7";

static void random_elements(int type, uint64_t *state, uint64_t word[512])
{
	for (unsigned int i = 0; i < 512; i++) {
		double d = annex_random_unit(state);
		float pair[2] = {(float)d / 2, 1 - (float)d};

		word[i] = annex_random(state);
		if (type == COLUMN_F64)
			memcpy(&word[i], &d, 8);
		else if (type == COLUMN_F32)
			memcpy(&word[i], pair, 8);
	}
}

int vadd_gen(int argc, char **argv)
{
	static const struct cli_line line = {options, "FILE", doc, CLI_ARG(struct vadd_gen, name)};
	struct vadd_gen o = {.type = COLUMN_F64, .seed = 1};
	struct column_file f;
	struct out out;
	uint64_t state, word[512];
	int err = cli_parse(&line, argc, argv, &o);

	if (err)
		return err;
	if (!o.name || !o.size || o.size % column_size((enum column_type)o.type))
		return err_set(-EINVAL,
			       "name one file, and give --size as a multiple of the "
			       "element's, %u bytes",
			       column_size((enum column_type)o.type));
	err = newfile_room(o.name, o.size);
	if (!err)
		err = column_create(&f, o.name);
	if (err)
		return err;
	progress_begin("generating");
	state = o.seed;
	for (uint64_t at = 0; at < o.size && !err; at += sizeof(word)) {
		uint64_t left = o.size - at;

		random_elements(o.type, &state, word);
		err = column_put(&f, word, left < sizeof(word) ? (uint32_t)left : sizeof(word));
		progress_update(at >> 20, o.size >> 20, "MiB");
	}
	err = column_close(&f, err);
	if (err)
		return err;
	out_init(&out, cli_name(), o.json);
	out_text(&out, "file", "file", o.name);
	out_text(&out, "type", "type", column_types[o.type]);
	out_bytes(&out, "bytes", "size", o.size);
	return out_end(&out);
}
