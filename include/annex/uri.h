/* SPDX-License-Identifier: MIT */
/*
 * URIs of devices and memory ranges: SCHEME:BODY[?KEY=VALUE[&KEY=VALUE]...]
 *
 * In values and in the body, %XX stands for a byte, so that a path may hold '?', '&' and '%'.
 */
#ifndef ANNEX_URI_H
#define ANNEX_URI_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_URI_MAX 4096 /* longest URI taken, with its NUL */
#define ANNEX_URI_PARAMS 32

/**
 * struct annex_uri - A URI in its parts. Strings point into @text.
 * @scheme: the part before the first colon.
 * @body: the part behind it, unescaped.
 * @nparams: number of parameters.
 * @params: key, and unescaped value, of each parameter.
 * @text: the strings' bytes.
 */
struct annex_uri {
	const char *scheme;
	const char *body;
	unsigned int nparams;
	struct {
		const char *key;
		const char *value;
	} params[ANNEX_URI_PARAMS];
	char text[ANNEX_URI_MAX];
};

/**
 * enum annex_trait - Facts that a URI alone tells of a device or a range: annex_dev_traits(),
 * annex_hdm_traits().
 * @ANNEX_TRAIT_PATH: its body is the path of a file.
 * @ANNEX_TRAIT_PCI: its body is PCI addresses.
 * @ANNEX_TRAIT_SERVED: its queues are served in this process.
 * @ANNEX_TRAIT_VOLATILE: its data ends with the handle.
 * @ANNEX_TRAIT_SHARED: the kernel's driver keeps it, for its other users too. No command can be
 *	aborted, and the controller cannot be reset: a command that is late ends by the kernel's
 *	timeout.
 */
enum annex_trait {
	ANNEX_TRAIT_PATH = 1,
	ANNEX_TRAIT_PCI = 2,
	ANNEX_TRAIT_SERVED = 4,
	ANNEX_TRAIT_VOLATILE = 8,
	ANNEX_TRAIT_SHARED = 16,
};

/**
 * struct annex_scheme - A kind of device or range, by the scheme of its URIs.
 * @name: the scheme, without its colon.
 * @summary: one line for people.
 * @traits: bits of enum annex_trait.
 */
struct annex_scheme {
	const char *name;
	const char *summary;
	unsigned int traits;
};

/**
 * annex_uri_parse() - Split a URI.
 * @uri: the URI.
 * @out: its parts.
 *
 * Return: 0; -EINVAL (no scheme, empty key, key without value, bad escape, a NUL by escape);
 * -E2BIG (too long, too many parameters).
 */
int annex_uri_parse(const char *uri, struct annex_uri *out);

/**
 * annex_uri_get() - Value of the first parameter of a key.
 * @uri: the URI.
 * @key: the key.
 *
 * Return: the value, or NULL.
 */
const char *annex_uri_get(const struct annex_uri *uri, const char *key);

/**
 * annex_uri_check_keys() - Refuse unknown and repeated parameters.
 * @uri: the URI.
 * @keys: keys that are allowed, NULL at the end; a key with three dots behind ("fault...") may be
 *	repeated.
 *
 * Return: 0 or -EINVAL, with the key named in annex_last_error().
 */
int annex_uri_check_keys(const struct annex_uri *uri, const char *const *keys);

/**
 * annex_uri_u64() - A parameter as a number (annex_parse_size()).
 * @uri: the URI.
 * @key: the key.
 * @min: the least value that is allowed.
 * @max: the largest value that is allowed.
 * @value: the number; left alone when the parameter is absent.
 *
 * Return: 0; -EINVAL or -ERANGE, with the parameter named in annex_last_error().
 */
int annex_uri_u64(const struct annex_uri *uri, const char *key, uint64_t min, uint64_t max,
		  uint64_t *value);

/**
 * annex_uri_bool() - A parameter as 0 or 1.
 * @uri: the URI.
 * @key: the key.
 * @value: the value; left alone when the parameter is absent.
 *
 * Return: as annex_uri_u64().
 */
int annex_uri_bool(const struct annex_uri *uri, const char *key, bool *value);

/**
 * annex_parse_size() - A decimal number with an optional suffix K, M, G or T (powers of 1024).
 * @text: the number.
 * @value: its value.
 *
 * Return: 0, -EINVAL (not such a number) or -ERANGE (does not fit).
 */
int annex_parse_size(const char *text, uint64_t *value);

#ifdef __cplusplus
}
#endif
#endif
