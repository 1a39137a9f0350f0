/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines: tables of subcommands and of options, with errors of exactly one line.
 */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returned by all parsers once the help has been printed; no failure. */
#define CLI_HELP 1

/*
 * cli_run - A command: it gets argv[0] = its full name ("annex graph bfs") and returns 0, CLI_HELP
 * or a negative errno with the line set.
 */
typedef int cli_run(int argc, char **argv);

/* struct cli_command - A row of a table of commands. */
struct cli_command {
	const char *name;
	cli_run *run;
	const char *summary;
};

/*
 * struct cli_list - Names that an argument has: --help lists them, and completion takes them from
 * there.
 * @arg: the argument's name in --help.
 * @at: name @i, from 0 up to the first NULL, and in @summary, of CLI_SUMMARY bytes, a line on it.
 * @commands: a table in place of @at.
 */
struct cli_list {
	const char *arg;
	const char *(*at)(unsigned int i, char *summary);
	const struct cli_command *commands;
};

#define CLI_SUMMARY 128

/* cli_names() - The names of a list, in @buf, with commas. */
char *cli_names(const struct cli_list *list, char *buf, size_t size);

/*
 * cli_dispatch() - Run the subcommand that argv[1] names, from a table that ends with a NULL name.
 * --help lists them after @about; text behind a \v in @about comes last.
 */
int cli_dispatch(const struct cli_command *table, const char *about, int argc, char **argv);

/*
 * struct cli_value - How an option stores its argument: made by the macros below, which do not
 * compile for a member of another type.
 * @at: where the member is in the structure of the command.
 * @call: gets its address, the option with "--" in front, and the argument.
 * @list: names that the argument is one of, or NULL.
 */
struct cli_value {
	enum cli_kind {
		CLI_HEADER,
		CLI_FLAG,
		CLI_TEXT,
		CLI_SIZE,
		CLI_U32,
		CLI_DOUBLE,
		CLI_RATE,
		CLI_CHOICE,
		CLI_CALL,
		CLI_CALL_OR_NULL, /* the argument may be left out */
		CLI_ROWS,
	} kind;
	size_t at;
	const struct cli_list *list;
	union {
		struct {
			uint64_t min, max;
		};
		struct {
			double least, most;
		};
		const char *const *choices;
		int (*call)(void *member, const char *opt, char *arg);
		const struct cli_option *rows;
	};
};

/*
 * struct cli_option - A row of a table of options, which ends with {0}. A row without a name is the
 * headline of a group.
 * @arg: name of its argument in --help; NULL for a choice, whose names stand there.
 */
struct cli_option {
	const char *name;
	char letter;
	const char *arg;
	int group;
	struct cli_value value;
	const char *help;
};

/* Where member @f of structure @T is, if it is of the type @t or @u. */
#define CLI_AT(T, f, t, u) (offsetof(T, f) + 0 * sizeof(_Generic(&((T *)0)->f, t * : 0, u * : 0)))

/* Both may be the same type, which _Generic allows once only. */
struct cli_none;

/* clang-format off */
#define OPT_FLAG(T, f) {.kind = CLI_FLAG, .at = CLI_AT(T, f, bool, struct cli_none)}
#define OPT_TEXT(T, f) {.kind = CLI_TEXT, .at = CLI_AT(T, f, char *, const char *)}
#define OPT_TEXT_OF(T, f, names) \
	{.kind = CLI_TEXT, .at = CLI_AT(T, f, char *, const char *), .list = &names}
#define OPT_SIZE(T, f, lo, hi) \
	{.kind = CLI_SIZE, .at = CLI_AT(T, f, uint64_t, struct cli_none), .min = lo, .max = hi}
#define OPT_U32(T, f, lo, hi) \
	{.kind = CLI_U32, .at = CLI_AT(T, f, uint32_t, struct cli_none), .min = lo, .max = hi}
#define OPT_DOUBLE(T, f, lo, hi) \
	{.kind = CLI_DOUBLE, .at = CLI_AT(T, f, double, struct cli_none), .least = lo, .most = hi}
#define OPT_RATE(T, f, lo, hi) \
	{.kind = CLI_RATE, .at = CLI_AT(T, f, double, struct cli_none), .least = lo, .most = hi}
#define OPT_CHOICE(T, f, list) \
	{.kind = CLI_CHOICE, .at = CLI_AT(T, f, int, struct cli_none), .choices = list}
#define OPT_CALL(fn) {.kind = CLI_CALL, .call = fn}
#define OPT_CALL_OF(fn, names) {.kind = CLI_CALL, .call = fn, .list = &names}
#define OPT_CALL_AT(T, f, fn) {.kind = CLI_CALL, .at = offsetof(T, f), .call = fn}
#define OPT_CALL_OR_NULL(fn) {.kind = CLI_CALL_OR_NULL, .call = fn}

/* A row that stands for a table: of options of the same structure, or of that at member @f. */
#define CLI_ALSO(table) {.name = "", .value = {.kind = CLI_ROWS, .rows = table}}
#define CLI_TABLE(T, f, table) \
	{.name = "", .value = {.kind = CLI_ROWS, .at = offsetof(T, f), .rows = table}}
#define CLI_JSON(T, f) {"json", 'j', NULL, 10, OPT_FLAG(T, f), "Report as one JSON object"}
/* clang-format on */

/*
 * struct cli_line - The command line of a command.
 * @args: its arguments in --help.
 * @doc: the rest of --help.
 * @list: names that an argument is one of, or NULL.
 * @names: offset of the member for the first argument; the others go behind it.
 * @count: offset of an unsigned int that counts them.
 * @most: the most arguments.
 * @take: gets the arguments instead, one by one.
 * @none: the error line if there are none.
 * @many: the error line if there is one too many, with a %s for it.
 */
struct cli_line {
	const struct cli_option *options;
	const char *args, *doc;
	const struct cli_list *list;
	size_t names, count;
	unsigned int most;
	int (*take)(void *o, char *arg);
	const char *none, *many;
};

#define CLI_ARG(T, f) .names = CLI_AT(T, f, char *, const char *), .most = 1
#define CLI_ARG_2(T, f) .names = CLI_AT(T, f[0], char *, const char *), .most = 2
#define CLI_ARGS(T, f, n, max)                                                                     \
	.names = CLI_AT(T, f[0], char *, const char *), .most = max,                               \
	.count = CLI_AT(T, n, unsigned int, struct cli_none)

/* cli_parse() - Fill @o from the command line; 0, CLI_HELP or -EINVAL. */
int cli_parse(const struct cli_line *line, int argc, char **argv, void *o);

/* cli_name() - Full name of the subcommand that runs, for the error line. */
const char *cli_name(void);

/* Values of options: 0, or -EINVAL with a line that names the option. */
int cli_size(const char *opt, const char *arg, uint64_t min, uint64_t max, uint64_t *value);
int cli_u32(const char *opt, const char *arg, uint32_t min, uint32_t max, uint32_t *value);

/*
 * cli_decimal() - Whether @text begins with a decimal number without a sign: strtod() would take
 * blanks, hexadecimal ones and words too.
 */
bool cli_decimal(const char *text);

/* cli_scaled() - A decimal number and K, M, G or T, powers of @step; else times @unit. */
bool cli_scaled(const char *text, double step, double unit, double *value);
int cli_choice(const char *opt, const char *arg, const char *const *choices, int *value);

#endif
