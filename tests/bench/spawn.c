// SPDX-License-Identifier: MIT
/*
 * Running other programs: the yardsticks, and the tool.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "figure.h"
#include "spawn.h"

extern char **environ;

json_t *bench_run_json(const char *dir, char *const argv[])
{
	return bench_run_usage(dir, argv, NULL);
}

json_t *bench_run_usage(const char *dir, char *const argv[], struct bench_usage *usage)
{
	posix_spawn_file_actions_t fa;
	char path[4096];
	json_error_t jerr;
	json_t *out;
	double start = bench_seconds();
	struct rusage ru;
	int status, err;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/output.json", dir);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC,
					 0644);
	err = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (err)
		bench_fail("cannot run %s: %s", argv[0], strerror(err));
	if (wait4(pid, &status, 0, &ru) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail("%s %s failed", argv[0], argv[1]);
	if (usage)
		*usage = (struct bench_usage){bench_seconds() - start, (double)ru.ru_maxrss * 1024};
	out = json_load_file(path, 0, &jerr);
	if (!out)
		bench_fail("%s: output is not JSON: %s", argv[0], jerr.text);
	unlink(path);
	return out;
}

double bench_number(const json_t *object, const char *path)
{
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save)) {
		if (json_is_array(object))
			object = json_array_get(object, 0);
		object = json_object_get(object, key);
	}
	if (!json_is_number(object))
		bench_fail("no number \"%s\" in the output of a program", path);
	return json_number_value(object);
}
