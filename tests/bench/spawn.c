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
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "figure.h"

extern char **environ;

json_t *bench_run_json(const char *dir, char *const argv[])
{
	return bench_run_usage(dir, argv, NULL);
}

/* "VmHWM" of a process that has its memory still, in bytes. */
static double peak_of(pid_t pid)
{
	char path[64], line[256];
	double kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %lf", &kib);
	if (f)
		fclose(f);
	if (kib < 0)
		bench_fail("%s tells no VmHWM", path);
	return kib * 1024;
}

/* Wait for a program, whose peak is read when it stops at its exit. Return: its status. */
static int wait_traced(pid_t pid, double *peak)
{
	int status, sig;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT))
		bench_fail("cannot measure a program's memory: ptrace: %s", strerror(errno));
	for (;;) {
		if (waitpid(pid, &status, 0) != pid)
			bench_fail("cannot wait for a program: %s", strerror(errno));
		if (!WIFSTOPPED(status))
			return status;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_EXIT)
			*peak = peak_of(pid);
		/* It may have been killed since, as seen at the next wait. */
		if (ptrace(PTRACE_CONT, pid, NULL, (long)sig) && errno != ESRCH)
			bench_fail("cannot continue a program: %s", strerror(errno));
	}
}

json_t *bench_run_usage(const char *dir, char *const argv[], struct bench_usage *usage)
{
	posix_spawn_file_actions_t fa;
	char path[4096];
	json_error_t jerr;
	json_t *out;
	double start = bench_seconds(), peak = 0;
	int status, err;
	pid_t pid;

	/* Another benchmark may run there. */
	snprintf(path, sizeof(path), "%s/output-%d.json", dir, (int)getpid());
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC,
					 0644);
	err = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (err)
		bench_fail("cannot run %s: %s", argv[0], strerror(err));
	if (usage)
		status = wait_traced(pid, &peak);
	else if (waitpid(pid, &status, 0) != pid)
		bench_fail("cannot wait for %s: %s", argv[0], strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail("%s %s failed", argv[0], argv[1]);
	if (usage)
		*usage = (struct bench_usage){bench_seconds() - start, peak};
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

void bench_peak(const struct bench_ctx *ctx)
{
	/* A shell whose children end while it is measured: it gets their signals. */
	char *argv[] = {"sh", "-c", "cat /dev/null; cat /dev/null; echo {}", NULL};
	const size_t own = 256ull << 20;
	struct bench_usage usage;
	void *p = mmap(NULL, own, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		bench_fail("no %zu bytes of memory: %s", own, strerror(errno));
	json_decref(bench_run_usage(ctx->dir, argv, &usage));
	munmap(p, own);
	if (usage.peak <= 0 || usage.peak > (double)own / 8)
		bench_fail("a shell run by a program of 256 MiB is said to have %.1f MiB",
			   usage.peak / 1048576);
	bench_figure("peak of a shell, run by a program of 256 MiB", usage.peak / 1048576, "MiB",
		     32, 1);
}
