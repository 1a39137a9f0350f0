// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex health: how an NVMe controller that is bound to annex says that it is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/pcidev.h"
#include "smart.h"

#define UNIT 512000u /* bytes */

struct opts {
	const char *uri;
	bool wait, json;
};

static void put_warnings(struct out *out, const struct smart *s)
{
	json_t *list = json_array();
	char text[240] = "";

	for (unsigned int i = 0; i < s->n; i++) {
		json_array_append_new(list, json_string(s->warning[i]));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? ", " : "",
			 s->warning[i]);
	}
	out_json(out, "critical_warnings", list);
	out_row(out, "critical warnings", "%s", s->n ? text : "none");
}

static json_t *degrees_json(int degrees)
{
	return degrees == SMART_NO_DEGREES ? json_null() : json_integer(degrees);
}

static void put_degrees(struct out *out, const struct smart *s)
{
	json_t *sensors = json_array();

	out_json(out, "temperature_celsius", degrees_json(s->degrees));
	if (s->degrees != SMART_NO_DEGREES)
		out_row(out, "temperature", "%d C", s->degrees);
	for (unsigned int i = 0; i < SMART_SENSORS; i++)
		json_array_append_new(sensors, degrees_json(s->sensor[i]));
	out_json(out, "sensors_celsius", sensors);
}

static void put_percent(struct out *out, const char *key, const char *label, unsigned int percent)
{
	out_json(out, key, json_integer(percent));
	out_row(out, label, "%u %%", percent);
}

static void put_units(struct out *out, const char *key, const char *label, uint64_t units)
{
	out_bytes(out, key, label, units > UINT64_MAX / UNIT ? UINT64_MAX : units * UNIT);
}

static int report(const struct opts *o, const struct smart *s)
{
	struct out out;

	out_init(&out, cli_name(), o->json);
	out_text(&out, "device", "device", o->uri);
	put_warnings(&out, s);
	put_degrees(&out, s);
	put_percent(&out, "available_spare_percent", "available spare", s->spare);
	put_percent(&out, "spare_threshold_percent", "spare threshold", s->spare_least);
	put_percent(&out, "used_percent", "life used", s->used);
	put_units(&out, "bytes_read", "data read", s->read);
	put_units(&out, "bytes_written", "data written", s->written);
	out_count(&out, "read_commands", "read commands", s->reads);
	out_count(&out, "write_commands", "write commands", s->writes);
	out_count(&out, "busy_minutes", "minutes busy", s->busy);
	out_count(&out, "power_cycles", "power cycles", s->cycles);
	out_count(&out, "power_on_hours", "hours with power", s->hours);
	out_count(&out, "unsafe_shutdowns", "unsafe shutdowns", s->unsafe);
	out_count(&out, "media_errors", "media errors", s->media);
	out_count(&out, "error_log_entries", "error log entries", s->errors);
	out_count(&out, "warning_temperature_minutes", "minutes too warm", s->warm);
	out_count(&out, "critical_temperature_minutes", "minutes too hot", s->hot);
	return out_close(&out, 0);
}

static const char doc[] = "Show the log page SMART of an NVMe controller that is bound to annex, "
			  "also while a program owns it. Exits with 0 whether or not the "
			  "controller has warnings."
			  "\vExamples:\n"
			  "  annex health pci:0000:01:00.0\n"
			  "  annex health pci:0000:01:00.0 --wait\n"
			  "  annex health pci:0000:01:00.0 --json";

int cmd_health(int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"wait", 0, NULL, 0, OPT_FLAG(struct opts, wait),
		 "First wait until the controller reports an error or a new warning"},
		CLI_JSON(struct opts, json),
		{0},
	};
	static const struct cli_line line = {
		.options = options,
		.args = "pci:ADDRESS",
		.doc = doc,
		CLI_ARG(struct opts, uri),
		.none = "needs a controller: pci:ADDRESS (annex list)",
		.many = "one controller is enough: '%s' is too many",
	};
	struct opts o = {.json = false};
	char addr[PCIDEV_ADDR];
	struct smart s;
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = pcidev_uri(o.uri, "controller", addr);
	if (!err && o.wait)
		err = smart_wait(addr);
	if (!err)
		err = smart_ask(addr, &s);
	return err ? err : report(&o, &s);
}
