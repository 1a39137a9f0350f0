// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "error.h"
#include "out.h"

void out_init(struct out *o, const char *command, bool json)
{
	o->json = json;
	o->rows = 0;
	o->obj = json_object();
	out_json(o, "command", json_string(command));
}

void out_json(struct out *o, const char *key, json_t *value)
{
	/* Names from a hostile file may be no UTF-8, which jansson refuses. */
	json_object_set_new(o->obj, key, value ? value : json_null());
}

void out_row(struct out *o, const char *label, const char *fmt, ...)
{
	va_list ap;

	if (o->rows == OUT_ROWS)
		return;
	o->row[o->rows].label = label;
	va_start(ap, fmt);
	vsnprintf(o->row[o->rows].value, sizeof(o->row[0].value), fmt, ap);
	va_end(ap);
	/* A name from a hostile file must not send control sequences to the terminal. */
	for (char *p = o->row[o->rows].value; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	o->rows++;
}

void out_text(struct out *o, const char *key, const char *label, const char *text)
{
	out_json(o, key, json_string(text));
	out_row(o, label, "%s", text);
}

/* 1234567 as 1,234,567 */
static void group_digits(uint64_t n, char *buf, size_t size)
{
	char plain[24];
	size_t len, at = 0;

	len = (size_t)snprintf(plain, sizeof(plain), "%llu", (ull)n);
	for (size_t i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = plain[i];
	}
	buf[at] = '\0';
}

void out_count(struct out *o, const char *key, const char *label, uint64_t n)
{
	char buf[40];

	group_digits(n, buf, sizeof(buf));
	out_json(o, key, json_integer((json_int_t)n));
	out_row(o, label, "%s", buf);
}

/* The value in the largest unit of @step in which it is at least 1. */
static double scaled(double v, double step, unsigned int max, unsigned int *unit)
{
	for (*unit = 0; *unit < max && fabs(v) >= step; (*unit)++)
		v /= step;
	return v;
}

const char *out_size(double bytes, char buf[OUT_SIZE])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned int u;
	double v = scaled(bytes, 1024, 4, &u);

	snprintf(buf, OUT_SIZE, "%.*f %s", u ? 1 : 0, v, units[u]);
	return buf;
}

void out_bytes(struct out *o, const char *key, const char *label, uint64_t bytes)
{
	char size[OUT_SIZE];

	out_json(o, key, json_integer((json_int_t)bytes));
	out_row(o, label, "%s", out_size((double)bytes, size));
}

void out_seconds(struct out *o, const char *key, const char *label, double s)
{
	out_json(o, key, json_real(s));
	if (s < 1e-3)
		out_row(o, label, "%.1f us", s * 1e6);
	else if (s < 1)
		out_row(o, label, "%.2f ms", s * 1e3);
	else
		out_row(o, label, "%.2f s", s);
}

void out_rate(struct out *o, const char *key, const char *label, double per_s, const char *unit)
{
	static const char *const units[] = {"", "k", "M", "G", "T"};
	unsigned int u;
	double v = scaled(per_s, 1000, 4, &u);

	out_json(o, key, isfinite(per_s) ? json_real(per_s) : NULL);
	out_row(o, label, "%.*f %s%s/s", v < 10 ? 2 : 1, v, units[u], unit);
}

void out_ratio(struct out *o, const char *key, const char *label, double r, const char *unit)
{
	out_json(o, key, isfinite(r) ? json_real(r) : NULL);
	if (isfinite(r))
		out_row(o, label, "%.2f%s", r, unit);
	else
		out_row(o, label, "-");
}

void out_percent(struct out *o, const char *key, const char *label, double fraction)
{
	out_json(o, key, isfinite(fraction) ? json_real(fraction) : NULL);
	if (isfinite(fraction))
		out_row(o, label, "%.1f %%", fraction * 100);
	else
		out_row(o, label, "-");
}

void out_bool(struct out *o, const char *key, const char *label, bool yes)
{
	out_json(o, key, json_boolean(yes));
	out_row(o, label, "%s", yes ? "yes" : "no");
}

void out_drop(struct out *o)
{
	json_decref(o->obj);
	o->obj = NULL;
}

int out_end(struct out *o)
{
	int width = 0, err = err_mappings();

	if (err) {
		out_drop(o);
		return err;
	}
	if (o->json) {
		json_dumpf(o->obj, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
		putchar('\n');
	}
	for (unsigned int i = 0; i < o->rows; i++)
		if ((int)strlen(o->row[i].label) > width)
			width = (int)strlen(o->row[i].label);
	for (unsigned int i = 0; !o->json && i < o->rows; i++)
		printf("  %-*s  %s\n", width, o->row[i].label, o->row[i].value);
	out_drop(o);
	if (fflush(stdout) || ferror(stdout))
		return err_sys("cannot write the report");
	return 0;
}

int out_close(struct out *o, int err)
{
	int printed = 0;

	if (!err || err == -EBADMSG)
		printed = out_end(o);
	else
		out_drop(o);
	return err ? err : printed;
}
