// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/uri.h>
#include "cli.h"
#include "error.h"

/* Most options of a command, and bytes of their choices; keys of options without a letter. */
enum { OPTIONS = 64, CHOICES = 256, FIRST_KEY = 256 };

static char full_name[128] = "annex";

const char *cli_name(void)
{
	return full_name;
}

static void put_list(FILE *f, const struct cli_list *list)
{
	const struct cli_command *c = list->commands;
	char summary[CLI_SUMMARY] = "";
	const char *name;

	fprintf(f, "%s is one of:\n", list->arg);
	for (; c && c->name; c++)
		fprintf(f, "  %-13s %s\n", c->name, c->summary);
	for (unsigned int i = 0; list->at && (name = list->at(i, summary)); i++)
		fprintf(f, "  %-*s%s\n", *summary ? 14 : 0, name, summary);
	fputc('\n', f);
}

char *cli_names(const struct cli_list *list, char *buf, size_t size)
{
	char summary[CLI_SUMMARY];
	const char *name;
	size_t n = 0;

	*buf = '\0';
	for (unsigned int i = 0; (name = list->at(i, summary)) && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "", name);
	return buf;
}

static void print_table(const struct cli_command *table, const char *about)
{
	const char *rest = strchr(about, '\v');

	printf("Usage: %s COMMAND [OPTION...]\n%.*s\n\n", full_name, (int)strcspn(about, "\v"),
	       about);
	put_list(stdout, &(struct cli_list){.arg = "COMMAND", .commands = table});
	printf("`%s COMMAND --help' shows the options of each, with examples.\n", full_name);
	if (rest)
		printf("\n%s\n", rest + 1);
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h") || !strcmp(arg, "-?");
}

int cli_dispatch(const struct cli_command *table, const char *about, int argc, char **argv)
{
	const struct cli_command *cmd = table;
	size_t len = strlen(full_name);

	if (argc < 2)
		return err_set(-EINVAL, "no command: see %s --help", full_name);
	if (is_help(argv[1])) {
		print_table(table, about);
		return CLI_HELP;
	}
	while (cmd->name && strcmp(cmd->name, argv[1]))
		cmd++;
	if (!cmd->name)
		return err_set(-EINVAL, "unknown command \"%s\": see %s --help", argv[1],
			       full_name);
	snprintf(full_name + len, sizeof(full_name) - len, " %s", cmd->name);
	argv[1] = full_name;
	return cmd->run(argc - 1, argv + 1);
}

/* A command line while it is parsed: the rows of all its tables, and where their members are. */
struct parse {
	const struct cli_line *line;
	char *o;
	unsigned int n, args;
	const struct cli_option *row[OPTIONS];
	char *member[OPTIONS];
	struct argp_option option[OPTIONS + 1];
	char choices[CHOICES]; /* of all options, each with a NUL */
	size_t used;
};

/* The names of a choice, in @buf. */
static char *join(char *buf, size_t size, const char *const *choices, const char *between)
{
	size_t n = 0;

	*buf = '\0';
	for (int i = 0; choices[i] && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? between : "", choices[i]);
	assert(n < size);
	return buf;
}

/* The name of an option's argument, as --help has it. */
static const char *argument(struct parse *p, const struct cli_option *row)
{
	char *choices = p->choices + p->used;

	if (row->value.kind != CLI_CHOICE)
		return row->arg;
	join(choices, sizeof(p->choices) - p->used, row->value.choices, "|");
	p->used += strlen(choices) + 1;
	return choices;
}

/* Groups begin at 1 here: argp's group 0 is that of the row before. */
static void add_rows(struct parse *p, const struct cli_option *row, char *o)
{
	for (; row->name || row->help; row++) {
		const struct cli_value *v = &row->value;

		if (v->kind == CLI_ROWS) {
			add_rows(p, v->rows, o + v->at);
			continue;
		}
		assert(p->n < OPTIONS);
		p->row[p->n] = row;
		p->member[p->n] = o + v->at;
		p->option[p->n] = (struct argp_option){
			.name = row->name,
			.key = row->letter ? row->letter
			       : row->name ? FIRST_KEY + (int)p->n
					   : 0,
			.arg = argument(p, row),
			.flags = v->kind == CLI_CALL_OR_NULL ? OPTION_ARG_OPTIONAL : 0,
			.doc = row->help,
			.group = row->group + 1,
		};
		p->n++;
	}
}

static int set_double(const char *opt, const char *arg, double min, double max, double *value)
{
	char *end;
	double v = strtod(arg, &end);

	if (!cli_decimal(arg) || *end || !(v >= min && v <= max))
		return err_set(-EINVAL, "%s %s: give a number from %g to %g", opt, arg, min, max);
	*value = v;
	return 0;
}

static int set_rate(const char *opt, const char *arg, double min, double max, double *value)
{
	double v;

	if (!cli_scaled(arg, 1000, 1, &v) || !(v >= min && v <= max))
		return err_set(-EINVAL,
			       "%s %s: give a number from %g to %g (K, M, G, T may follow)", opt,
			       arg, min, max);
	*value = v;
	return 0;
}

static int set(const struct cli_option *row, void *member, char *arg)
{
	const struct cli_value *v = &row->value;
	char opt[40];

	snprintf(opt, sizeof(opt), "--%s", row->name);
	switch (v->kind) {
	case CLI_FLAG:
		*(bool *)member = true;
		return 0;
	case CLI_TEXT:
		*(char **)member = arg;
		return 0;
	case CLI_SIZE:
		return cli_size(opt, arg, v->min, v->max, member);
	case CLI_U32:
		return cli_u32(opt, arg, (uint32_t)v->min, (uint32_t)v->max, member);
	case CLI_DOUBLE:
		return set_double(opt, arg, v->least, v->most, member);
	case CLI_RATE:
		return set_rate(opt, arg, v->least, v->most, member);
	case CLI_CHOICE:
		return cli_choice(opt, arg, v->choices, member);
	default:
		return v->call(member, opt, arg);
	}
}

static int take(struct parse *p, char *arg)
{
	const struct cli_line *line = p->line;

	if (line->take)
		return line->take(p->o, arg);
	if (p->args == line->most)
		return err_set(-EINVAL, line->many ? line->many : "\"%s\" is one argument too many",
			       arg);
	((char **)(void *)(p->o + line->names))[p->args++] = arg;
	if (line->count)
		*(unsigned int *)(void *)(p->o + line->count) = p->args;
	return 0;
}

/* argp's own message has two lines; ARGP_NO_ERRS silences it, and the words come from here. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	bool in = state->next > 0 && state->next <= state->argc;

	switch (key) {
	case ARGP_KEY_ARG:
		return p->line->most || p->line->take || p->line->many ? -take(p, arg)
								       : ARGP_ERR_UNKNOWN;
	case ARGP_KEY_NO_ARGS:
		return p->line->none ? -err_set(-EINVAL, "%s", p->line->none) : 0;
	case ARGP_KEY_ERROR:
		err_set(-EINVAL, "\"%s\" is not an option, or lacks its value: see %s --help",
			in ? state->argv[state->next - 1] : "", full_name);
		return 0;
	}
	for (unsigned int i = 0; i < p->n; i++)
		if (p->option[i].key == key)
			return set(p->row[i], p->member[i], arg) ? EINVAL : 0;
	return ARGP_ERR_UNKNOWN;
}

/* Print the text below the options unchanged: argp would wrap lists of names and examples. */
static void put_rest(FILE *f, const struct parse *p, const char *rest)
{
	fputc('\n', f);
	if (p->line->list)
		put_list(f, p->line->list);
	for (unsigned int i = 0; i < p->n; i++) {
		const struct cli_list *list = p->row[i]->value.list;
		bool again = list == p->line->list;

		for (unsigned int k = 0; k < i; k++)
			again |= list == p->row[k]->value.list;
		if (list && !again)
			put_list(f, list);
	}
	if (rest)
		fprintf(f, "%s\n", rest);
}

/* Without the blanks that argp leaves at the ends of lines, some of which have nothing else. */
static void put_trimmed(FILE *f, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n"), n = len;

		while (n && text[n - 1] == ' ')
			n--;
		if (n || !len)
			fprintf(f, "%.*s\n", (int)n, text);
		text += len + (text[len] == '\n');
	}
}

static int help(const struct parse *p, struct argp argp)
{
	const char *rest = strchr(p->line->doc, '\v');
	char *doc = strndup(p->line->doc, strcspn(p->line->doc, "\v")), *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	argp.doc = doc;
	if (f && doc)
		argp_help(&argp, f, ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG,
			  full_name);
	free(doc);
	if (!f || fclose(f) || !doc) {
		free(text);
		return err_set(-ENOMEM, "out of memory");
	}
	put_trimmed(stdout, text);
	free(text);
	put_rest(stdout, p, rest ? rest + 1 : NULL);
	return CLI_HELP;
}

int cli_parse(const struct cli_line *line, int argc, char **argv, void *o)
{
	struct parse p = {.line = line, .o = o};
	const struct argp argp = {.options = p.option, .parser = parse, .args_doc = line->args};

	add_rows(&p, line->options, o);
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (is_help(argv[i]))
			return help(&p, argp);
	return argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &p)
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
			       opt, arg, (ull)min, (ull)max);
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

bool cli_scaled(const char *text, double step, double unit, double *value)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;

	if (!cli_decimal(text))
		return false;
	*value = strtod(text, &end);
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (*end && (!suffix || end[1]))
		return false;
	for (const char *s = suffixes; suffix && s <= suffix; s++)
		*value *= step;
	if (!suffix)
		*value *= unit;
	return *value <= 0x1p62;
}

int cli_choice(const char *opt, const char *arg, const char *const *choices, int *value)
{
	char list[CHOICES];

	for (int i = 0; choices[i]; i++) {
		if (!strcmp(arg, choices[i])) {
			*value = i;
			return 0;
		}
	}
	return err_set(-EINVAL, "%s %s: choose one of %s", opt, arg,
		       join(list, sizeof(list), choices, ", "));
}
