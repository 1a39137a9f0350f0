/* SPDX-License-Identifier: MIT */
/*
 * The unit tests: each file registers its suite when the program starts, main.c runs them all.
 */
#ifndef ANNEX_TESTS_UNIT_H
#define ANNEX_TESTS_UNIT_H

#include <stddef.h>
#include <stdint.h>
#include <CUnit/CUnit.h>
#include <annex/log.h>

/* Built with a sanitizer of addresses or threads: slow, and memory has shadows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNIT_SANITIZED 1
#endif
#endif
#ifndef UNIT_SANITIZED
#define UNIT_SANITIZED 0
#endif

struct unit_test {
	const char *name;
	void (*run)(void);
};

struct unit_suite {
	const char *name;
	const struct unit_test *tests; /* ends with an empty entry */
	struct unit_suite *next;
};

void unit_register(struct unit_suite *suite);

/*
 * unit_device() - The device that ANNEX_TEST_DEVICE names, with blocks of 512 bytes, of which tests
 * may overwrite the first MiB; "mem:1M" without it. So the same tests run on hardware.
 */
const char *unit_device(void);

#define UNIT_PATH 128 /* bytes of a file's name */

/* An empty file in TMPDIR, for the test to unlink. @path: room for UNIT_PATH bytes. */
void unit_tmpfile(char *path);

/* A file of @bytes in memory, or end the test. @path: UNIT_PATH bytes for its name, or NULL. */
int unit_memfd(uint64_t bytes, char *path);

/* Run @fn in @n threads and join them. Thread i gets element i of @args, of @size bytes each. */
void unit_threads(unsigned int n, void *(*fn)(void *), void *args, size_t size);

/* Count the log's lines that have @word, of @levels; for one test at a time. */
#define UNIT_LOG(level) (1u << ANNEX_LOG_##level)
void unit_log_begin(unsigned int levels, const char *word);
unsigned int unit_log_lines(void);
/* Return: their number. */
unsigned int unit_log_end(void);

/* UNIT_SUITE(queue, {"one command", one_command}, ...) at the end of a test file. */
#define UNIT_SUITE(ident, ...)                                                                     \
	static const struct unit_test ident##_tests[] = {__VA_ARGS__, {NULL, NULL}};               \
	static struct unit_suite ident##_suite = {#ident, ident##_tests, NULL};                    \
	__attribute__((constructor)) static void ident##_register(void)                            \
	{                                                                                          \
		unit_register(&ident##_suite);                                                     \
	}

#endif
