// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex doctor: what the machine lacks, and how to mend it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "checks.h"
#include "drives.h"
#include "look.h"

static const char *const states[] = {"ok", "limited", "missing", "unknown"};

/* Without file: nothing of the machine's can be used but memory. */
static bool default_works(const struct checks *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (!strcmp(c->check[i].name, "files") && c->check[i].state == CHECK_MISSING)
			return false;
	return true;
}

static int report_json(const struct checks *c)
{
	json_t *list = json_array();
	struct out out;

	for (unsigned int i = 0; i < c->n; i++) {
		const struct check *k = &c->check[i];
		json_t *one = json_pack("{ss ss ss}", "device", k->device, "check", k->name,
					"state", states[k->state]);
		json_t *means = json_string(k->means);

		json_object_set_new(one, "means", means ? means : json_null());
		json_object_set_new(one, "mend", *k->mend ? json_string(k->mend) : json_null());
		json_array_append_new(list, one);
	}
	out_init(&out, cli_name(), true);
	out_json(&out, "default_works", json_boolean(default_works(c)));
	out_json(&out, "checks", list);
	return out_end(&out);
}

static int report_table(const struct checks *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		const struct check *k = &c->check[i];

		printf("%-6s %-12s %-8s %s\n", k->device, k->name, states[k->state], k->means);
		if (*k->mend)
			printf("%28s $ %s\n", "", k->mend);
	}
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
}

static int diagnose(const struct look *look)
{
	struct checks checks = {.root = look->root};
	int err;

	warn_stop(); /* the report tells */
	checks_host(&checks);
	err = checks_pci(&checks);
	if (!err)
		err = checks_cxl(&checks);
	if (!err)
		err = look->json ? report_json(&checks) : report_table(&checks);
	if (!err && !default_works(&checks))
		err = err_set(-ENOSYS, "file: cannot work here, so no storage can be used");
	return err;
}

static const char doc[] = "Show which requirements of each kind of device and of spaces this "
			  "machine meets, the effect of a missing one, and the command that mends "
			  "it. Fails only if the default, file:, cannot work."
			  "\vExamples:\n"
			  "  annex doctor\n"
			  "  annex doctor --json\n"
			  "  annex selftest --overwrite ng:/dev/ng0n1 --json >selftest.json\n"
			  "  annex doctor --report --selftest selftest.json";

struct doctor {
	struct look look;
	const char *selftest;
	bool report;
};

static const struct cli_option options[] = {
	{"report", 0, NULL, 1, OPT_FLAG(struct doctor, report),
	 "Print a row of docs/drives.md for each NVMe drive, without serial numbers"},
	{"selftest", 0, "FILE", 1, OPT_TEXT(struct doctor, selftest),
	 "Add the results in FILE, a report of annex selftest --json, to the row"},
	CLI_TABLE(struct doctor, look, look_options),
	{0}};

int cmd_doctor(int argc, char **argv)
{
	static const struct cli_line line = {options, NULL, doc,
					     .many = "\"%s\" is one argument too many"};
	struct doctor d = {.look.root = ""};
	int err = cli_parse(&line, argc, argv, &d);

	if (err)
		return err;
	if (d.selftest && !d.report)
		return err_set(-EINVAL, "--selftest is for --report");
	return d.report ? drives_report(&d.look, d.selftest) : diagnose(&d.look);
}
