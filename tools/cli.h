/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines: tables of subcommands, and argp with errors of exactly one line.
 */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* Returned by all parsers once the help has been printed; no failure. */
#define CLI_HELP 1

/*
 * struct cli_command - A subcommand. @run gets argv[0] = its full name ("annex graph bfs") and
 * returns 0, CLI_HELP or a negative errno with the line set.
 */
struct cli_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

/* cli_dispatch() - Run the subcommand that argv[1] names, from a table that ends with a NULL name.
 */
int cli_dispatch(const struct cli_command *table, const char *about, int argc, char **argv);

/* cli_parse() - argp_parse() with our errors and --help; 0, CLI_HELP or -EINVAL. */
int cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/* cli_name() - Full name of the subcommand that runs, for the error line. */
const char *cli_name(void);

/* Values of options: 0, or -EINVAL with a line that names the option. */
int cli_size(const char *opt, const char *arg, uint64_t min, uint64_t max, uint64_t *value);
int cli_u32(const char *opt, const char *arg, uint32_t min, uint32_t max, uint32_t *value);
int cli_double(const char *opt, const char *arg, double min, double max, double *value);

/*
 * cli_decimal() - Whether @text begins with a decimal number without a sign: strtod() would take
 * blanks, hexadecimal ones and words too.
 */
bool cli_decimal(const char *text);
int cli_choice(const char *opt, const char *arg, const char *const *choices, int *value);

/* --json, as a child parser; its input is a bool. */
extern const struct argp cli_json_argp;

#endif
