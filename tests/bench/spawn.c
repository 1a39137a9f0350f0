// SPDX-License-Identifier: MIT
/*
 * Running other programs: the yardsticks, and the tool.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "figure.h"

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

/*
 * Start a program with its standard output in a file. One that is traced
 * stops before it is executed, as the shortest would end before it is seized.
 */
static pid_t start(char *const argv[], int out, bool traced)
{
	pid_t pid = fork();

	if (pid < 0)
		bench_fail("cannot run %s: %s", argv[0], strerror(errno));
	if (pid)
		return pid;
	if (dup2(out, STDOUT_FILENO) >= 0 &&
	    (!traced || (!ptrace(PTRACE_TRACEME, 0, NULL, NULL) && !raise(SIGSTOP))))
		execvp(argv[0], argv);
	fprintf(stderr, "bench: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Wait for a program. Return: its status. */
static int wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		bench_fail("cannot wait for a program: %s", strerror(errno));
	return status;
}

/* Wait for a traced program, whose peak is read when it stops at its exit. Return: its status. */
static int wait_traced(pid_t pid, double *peak)
{
	int status = wait_for(pid), sig;

	if (!WIFSTOPPED(status))
		return status;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT))
		bench_fail("cannot measure a program's memory: ptrace: %s", strerror(errno));
	for (sig = 0;; sig = status >> 16 ? 0 : WSTOPSIG(status)) {
		/* It may have been killed since, as seen at the next wait. */
		if (ptrace(PTRACE_CONT, pid, NULL, (long)sig) && errno != ESRCH)
			bench_fail("cannot continue a program: %s", strerror(errno));
		status = wait_for(pid);
		if (!WIFSTOPPED(status))
			return status;
		if (status >> 16 == PTRACE_EVENT_EXIT)
			*peak = peak_of(pid);
	}
}

json_t *bench_run_usage(const char *dir, char *const argv[], struct bench_usage *usage)
{
	char path[4096];
	json_error_t jerr;
	json_t *json;
	double began = bench_seconds(), peak = 0;
	int out, status;
	pid_t pid;

	/* Another benchmark may run there. */
	snprintf(path, sizeof(path), "%s/output-%d.json", dir, (int)getpid());
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (out < 0)
		bench_fail("%s: %s", path, strerror(errno));
	pid = start(argv, out, usage);
	close(out);
	status = usage ? wait_traced(pid, &peak) : wait_for(pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bench_fail("%s %s failed", argv[0], argv[1]);
	if (usage)
		*usage = (struct bench_usage){bench_seconds() - began, peak};
	json = json_load_file(path, 0, &jerr);
	if (!json)
		bench_fail("%s: output is not JSON: %s", argv[0], jerr.text);
	unlink(path);
	return json;
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
	/* Others end while this program waits for a processor. */
	char *brief[] = {"echo", "{}", NULL};
	const size_t own = 256ull << 20;
	struct bench_usage usage;
	void *p = mmap(NULL, own, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		bench_fail("no %zu bytes of memory: %s", own, strerror(errno));
	json_decref(bench_run_usage(ctx->dir, argv, &usage));
	for (int i = 0; i < 200; i++) {
		struct bench_usage u;

		json_decref(bench_run_usage(ctx->dir, brief, &u));
		if (u.peak <= 0)
			bench_fail("no peak of a program that ends at once");
	}
	munmap(p, own);
	if (usage.peak <= 0 || usage.peak > (double)own / 8)
		bench_fail("a shell run by a program of 256 MiB is said to have %.1f MiB",
			   usage.peak / 1048576);
	bench_figure("peak of a shell, run by a program of 256 MiB", usage.peak / 1048576, "MiB",
		     32, 1);
}
