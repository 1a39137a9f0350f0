/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of a command: the same facts as an aligned table with units, or as one JSON object in
 * plain numbers of base units (bytes, seconds, edges).
 */
#ifndef TOOLS_OUT_H
#define TOOLS_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#define OUT_ROWS 64
/* Room for out_size(). */
#define OUT_SIZE 24

struct out {
	bool json;
	json_t *obj;
	unsigned int rows;
	struct {
		const char *label;
		char value[120];
	} row[OUT_ROWS];
};

/* out_init() - Begin a report; @command becomes the "command" of the JSON object. */
void out_init(struct out *o, const char *command, bool json);

/* One fact each. @key is its name in JSON, @label in the table; both are string literals. */
void out_text(struct out *o, const char *key, const char *label, const char *text);
void out_count(struct out *o, const char *key, const char *label, uint64_t n);
void out_bytes(struct out *o, const char *key, const char *label, uint64_t bytes);
void out_seconds(struct out *o, const char *key, const char *label, double s);
void out_rate(struct out *o, const char *key, const char *label, double per_s, const char *unit);
void out_ratio(struct out *o, const char *key, const char *label, double r, const char *unit);
void out_percent(struct out *o, const char *key, const char *label, double fraction);
void out_bool(struct out *o, const char *key, const char *label, bool yes);

/* out_row() - A row of the table only. out_json() - A member of the object only; takes @value. */
void out_row(struct out *o, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void out_json(struct out *o, const char *key, json_t *value);

/* out_size() - "47.8 GiB", in @buf; for rows of several values. */
const char *out_size(double bytes, char buf[OUT_SIZE]);

/* out_end() - Print and free. 0, or -errno with the line set when stdout takes no more. */
int out_end(struct out *o);

/* out_drop() - Free without printing. */
void out_drop(struct out *o);

/*
 * out_close() - End a command whose work returned @err: out_end() if that is 0 or -EBADMSG,
 * a result that was found wrong, which is shown and then complained about; out_drop() otherwise.
 */
int out_close(struct out *o, int err);

#endif
