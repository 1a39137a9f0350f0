// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/uri.h>
#include "cli.h"
#include "error.h"

static char full_name[128] = "annex";

const char *cli_name(void)
{
	return full_name;
}

static void print_table(const struct cli_command *table, const char *about)
{
	printf("Usage: %s COMMAND [OPTION...]\n%s\n\n", full_name, about);
	for (; table->name; table++)
		printf("  %-10s %s\n", table->name, table->summary);
	printf("\n`%s COMMAND --help' tells the options of each and shows examples.\n", full_name);
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-?");
}

int cli_dispatch(const struct cli_command *table, const char *about, int argc, char **argv)
{
	const struct cli_command *cmd = table;
	size_t len = strlen(full_name);

	if (argc < 2)
		return err_set(-EINVAL, "which command? See %s --help", full_name);
	if (is_help(argv[1])) {
		print_table(table, about);
		return CLI_HELP;
	}
	while (cmd->name && strcmp(cmd->name, argv[1]))
		cmd++;
	if (!cmd->name)
		return err_set(-EINVAL, "no command \"%s\": see %s --help", argv[1], full_name);
	snprintf(full_name + len, sizeof(full_name) - len, " %s", cmd->name);
	argv[1] = full_name;
	return cmd->run(argc - 1, argv + 1);
}

/* argp's own message has two lines; ARGP_NO_ERRS silences it, and the words come from here. */
static error_t parse_outer(int key, char *arg, struct argp_state *state)
{
	const struct argp_child *child = state->root_argp->children;
	const char *word = state->next > 0 && state->next <= state->argc
				   ? state->argv[state->next - 1]
				   : "";

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		for (unsigned int i = 0; child[i].argp; i++)
			state->child_inputs[i] = state->input;
		return 0;
	case ARGP_KEY_ERROR:
		err_set(-EINVAL, "\"%s\" is no option here, or lacks its value: see %s --help",
			word, full_name);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	const struct argp_child child[] = {{argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
	const struct argp outer = {
		.parser = parse_outer, .children = child, .args_doc = argp->args_doc};

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!is_help(argv[i]))
			continue;
		argp_help(argp, stdout,
			  ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC,
			  full_name);
		return CLI_HELP;
	}
	return argp_parse(&outer, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL,
			  input)
		       ? -EINVAL
		       : 0;
}

int cli_size(const char *opt, const char *arg, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t v;
	int err = annex_parse_size(arg, &v);

	if (err || v < min || v > max)
		return err_set(-EINVAL,
			       "%s %s: give a number from %llu to %llu (K, M, G, T may follow)",
			       opt, arg, (unsigned long long)min, (unsigned long long)max);
	*value = v;
	return 0;
}

int cli_u32(const char *opt, const char *arg, uint32_t min, uint32_t max, uint32_t *value)
{
	uint64_t v = 0;
	int err = cli_size(opt, arg, min, max, &v);

	if (!err)
		*value = (uint32_t)v;
	return err;
}

bool cli_decimal(const char *text)
{
	size_t whole = strspn(text, "0123456789");

	if (whole == 1 && *text == '0' && (text[1] == 'x' || text[1] == 'X'))
		return false;
	return whole || (*text == '.' && strspn(text + 1, "0123456789"));
}

int cli_double(const char *opt, const char *arg, double min, double max, double *value)
{
	char *end;
	double v = strtod(arg, &end);

	if (!cli_decimal(arg) || *end || !(v >= min && v <= max))
		return err_set(-EINVAL, "%s %s: give a number from %g to %g", opt, arg, min, max);
	*value = v;
	return 0;
}

int cli_choice(const char *opt, const char *arg, const char *const *choices, int *value)
{
	char list[160] = "";
	size_t n = 0;

	for (int i = 0; choices[i]; i++) {
		if (!strcmp(arg, choices[i])) {
			*value = i;
			return 0;
		}
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      choices[i]);
	}
	return err_set(-EINVAL, "%s %s: choose one of %s", opt, arg, list);
}

static const struct argp_option json_options[] = {
	{"json", 'j', NULL, 0, "Report as one JSON object", 10}, {0}};

static error_t parse_json(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*(bool *)state->input = true;
	return 0;
}

const struct argp cli_json_argp = {json_options, parse_json, NULL, NULL, NULL, NULL, NULL};
