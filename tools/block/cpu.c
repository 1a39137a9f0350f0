// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "cpu.h"

/*
 * Time that has passed less what /proc/stat says was idle. Not the sum of what it says was busy:
 * that is counted in whole ticks, which miss a thread that works and sleeps between two of them.
 */
static double machine(void)
{
	unsigned long long idle, iowait, steal;
	FILE *f = fopen("/proc/stat", "re");
	double tick = (double)sysconf(_SC_CLK_TCK), cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double now = (double)annex_now() / 1e9;
	int n;

	if (!f)
		return -1;
	n = fscanf(f, "cpu %*u %*u %*u %llu %llu %*u %*u %llu", &idle, &iowait, &steal);
	fclose(f);
	if (n != 3)
		return -1;
	/* Time that the hypervisor took away is nobody's work here. */
	return cpus * now - (double)(idle + iowait + steal) / tick;
}

struct cpu_use cpu_now(void)
{
	struct cpu_use use = {.machine = machine()};
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	use.own = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		  (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	return use;
}
