// SPDX-License-Identifier: MIT
/*
 * Asynchronous events of a controller, for event.sh:
 *
 *   event ADDRESS      files that wait for events, beside an owner that causes some; at the end
 *                      says "waiting", and ends when the controller is gone
 */
#define _GNU_SOURCE
#include <time.h>
#include "ioctl.h"

#define WAIT_MS 60000
#define ERRORS 1u
#define SMART 2u
#define TEMPERATURE 2u
#define RELIABILITY 4u
#define READ_ONLY 8u

static int begin(int flags)
{
	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 || call(ANNEX_IOC_INFO, &info))
		exit(3);
	return fd;
}

/* The controller's critical warnings, from outside (lib.sh's host). */
static void warn(unsigned int bits)
{
	char first = 0, c = 0;

	dprintf(3,
		"@host qom-set path=/machine/peripheral/nvme0 property=smart_critical_warning "
		"value=%u\n",
		bits);
	for (; c != '\n'; first = first ? first : c)
		if (read(3, &c, 1) != 1)
			exit(3);
	if (first != 'o') /* "ok", not "error" */
		exit(3);
}

/* Wait for @events of a file, @ms at most. Return: as poll() reports them. */
static int polled(int file, short events, int ms)
{
	struct pollfd p = {.fd = file, .events = events};

	if (poll(&p, 1, ms) < 0)
		exit(3);
	return p.revents;
}

static bool unread(int file)
{
	return polled(file, POLLPRI, 0) == POLLPRI;
}

static bool reported(int file)
{
	return polled(file, POLLPRI, WAIT_MS) == POLLPRI;
}

static struct annex_ioc_state state_of(int file)
{
	struct annex_ioc_state state = {.size = sizeof(state)};

	fd = file;
	if (call(ANNEX_IOC_STATE, &state))
		exit(3);
	return state;
}

static long look(int file, uint32_t lid)
{
	struct annex_ioc_log log = {.size = sizeof(log),
				    .lid = lid,
				    .nsid = UINT32_MAX,
				    .bytes = 64,
				    .data = (uintptr_t)mem};

	fd = file;
	return call(ANNEX_IOC_LOG, &log);
}

static void warnings(int a, int b)
{
	int late;

	expect(POLLOUT, polled(a, POLLPRI | POLLOUT, 0), "no event yet");
	warn(TEMPERATURE);
	expect(true, reported(a) && reported(b), "both files are told of a warning");
	expect(1 << SMART, state_of(a).unread, "of log page SMART");
	late = begin(O_RDONLY);
	expect(false, unread(late), "a later file is not told");
	close(late);
	expect(0, look(a, ERRORS), "another log page is read");
	expect(POLLPRI | POLLOUT, polled(a, POLLPRI | POLLOUT, 0), "the event stays");
	expect(-EINVAL, look(a, 4), "a log page that cannot be read is refused");
	expect(0, look(a, SMART), "SMART is read");
	expect(TEMPERATURE, mem[0], "it has the warning");
	expect(false, unread(a), "the event is read");
	expect(1 << SMART, state_of(b).unread, "but not by the other file");
	warn(TEMPERATURE | RELIABILITY | READ_ONLY);
	expect(true, reported(a), "two more warnings are reported");
	expect(0, look(b, SMART), "the other file reads SMART");
	expect(TEMPERATURE | RELIABILITY | READ_ONLY, mem[0], "it has all warnings");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* An owner rings doorbells of queues that do not exist, each of which is an error event. */
static void storm(int a)
{
	unsigned int events = 0, calls = 0;
	int owner = begin(O_RDWR);
	volatile uint32_t *doors = mmap(NULL, info.doorbells, PROT_READ | PROT_WRITE, MAP_SHARED,
					owner, ANNEX_MMAP_DOORBELLS);
	uint32_t at = 2u * info.queues << (info.cap >> 32 & 15), resets = state_of(a).resets;
	double longest = 0, begun = now(), from;

	if (doors == MAP_FAILED)
		exit(3);
	while (now() < begun + 1) {
		for (unsigned int i = 0; i < 100; i++)
			doors[at] = 1;
		from = now();
		calls += look(owner, SMART) == 0;
		longest = now() - from > longest ? now() - from : longest;
		if (unread(a)) {
			events++;
			look(a, ERRORS);
			look(a, SMART);
		}
	}
	/* Reading the log page has discarded the events that QEMU had queued. */
	doors[at] = 1;
	expect(true, reported(a), "an owner causes error events");
	expect(1 << ERRORS, state_of(a).unread & 1 << ERRORS, "of log page 1");
	dprintf(3, "# %u calls, %u events, longest call %.0f ms\n", calls, events, longest * 1e3);
	expect(true, events <= 11 * (now() - begun), "ten a second at most");
	expect(resets, state_of(a).resets, "and no reset");
	fd = owner;
	expect(0, call(ANNEX_IOC_RESET, NULL), "the owner resets the controller");
	close(owner);
}

int main(int argc, char **argv)
{
	int a, b;

	if (argc != 2)
		return 3;
	snprintf(path, sizeof(path), "/dev/annex/%s", argv[1]);
	mem = pages(1, PROT_READ | PROT_WRITE);
	a = begin(O_RDONLY);
	b = begin(O_RDONLY);
	if (!has(ANNEX_INFO_EVENTS))
		return 3;
	warnings(a, b);
	storm(a);
	look(a, ERRORS);
	look(a, SMART);
	warn(0);
	warn(READ_ONLY);
	expect(true, reported(a), "after resets, warnings are reported");
	close(a);
	expect(0, look(b, SMART), "a file that is closed with an event leaves the other");
	look(b, ERRORS);
	puts("waiting");
	fflush(stdout);
	expect(POLLERR | POLLHUP, polled(b, 0, WAIT_MS), "the end of the controller is reported");
	return failures ? 1 : 0;
}
