// SPDX-License-Identifier: MIT
/*
 * The last iterations of a block, and a line about them on the terminal.
 */
#ifndef ANNEX_PROGRESS_HPP
#define ANNEX_PROGRESS_HPP

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>
#include "libannex.hpp"

namespace
{

constexpr uint64_t SECOND = 1000000000;
constexpr uint64_t PERIOD = SECOND / 5; /* nanoseconds from one line to the next */
constexpr size_t ITERATIONS = 8;        /* remembered ones */

/* An iteration that has ended: times in nanoseconds, bytes moved. @plan: NULL without one. */
struct Iteration {
	uint64_t ns, stall_ns, in, out;
	const void *plan;
};

std::string human(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double n = static_cast<double>(bytes);
	size_t unit = 0;
	char text[32];

	for (; n >= 1000 && unit < 4; unit++)
		n /= 1024;
	snprintf(text, sizeof(text), "%.*f %s", unit && n < 10 ? 1 : 0, n, units[unit]);
	return text;
}

class Progress
{
      public:
	/* @plans: whether the policy makes plans. @lines: whether a line is shown. */
	void begin(const void *its_space, const void *its_exec, bool plans, bool lines)
	{
		space = its_space;
		exec = its_exec;
		policy = plans;
		due = lines ? now() + PERIOD : UINT64_MAX;
	}

	/* An iteration has ended, and the next one has not begun. */
	void ended()
	{
		std::lock_guard<std::mutex> guard(lock);
		const void *trace, *system;
		SpaceStats moved;
		ExecStats st;

		lib.space_get_stats(space, &moved);
		lib.exec_get_stats(exec, &st);
		last[count++ % ITERATIONS] = {st.ns, st.stall_ns, moved.in - in, moved.out - out,
					      st.planned ? lib.exec_plan(exec, &trace, &system)
							 : nullptr};
		in = moved.in;
		out = moved.out;
	}

	/* A kernel begins: @kernels is its number in the iteration. */
	void update(uint64_t kernels)
	{
		if (due == UINT64_MAX || now() < due)
			return;
		due = now() + PERIOD;
		show(count ? figures() : "kernel " + std::to_string(kernels));
	}

	void clear()
	{
		if (shown)
			put("\r\033[K");
		shown = false;
	}

	/* The last iterations, up to ITERATIONS. Return: how many. */
	size_t get(Iteration *list)
	{
		std::lock_guard<std::mutex> guard(lock);

		std::copy(last, last + ITERATIONS, list);
		return std::min<size_t>(count, ITERATIONS);
	}

	/* The state of planning. */
	const char *state() const
	{
		ExecStats st;

		lib.exec_get_stats(exec, &st);
		if (!policy)
			return "without plans";
		if (st.planned)
			return "planned";
		if (st.planning)
			return "a plan is being made";
		if (st.plan_err)
			return "no plan";
		return st.strayed ? "strayed" : "recording";
	}

      private:
	const void *space = nullptr, *exec = nullptr;
	bool policy = true, shown = false;
	uint64_t due = UINT64_MAX, in = 0, out = 0;
	std::mutex lock; /* of the two below */
	Iteration last[ITERATIONS];
	uint64_t count = 0;

	static uint64_t now()
	{
		timespec t;

		clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* the cheapest clock */
		return static_cast<uint64_t>(t.tv_sec) * SECOND + static_cast<uint64_t>(t.tv_nsec);
	}

	static void put(const std::string &text)
	{
		ssize_t written = write(STDERR_FILENO, text.data(), text.size());

		(void)written; /* the terminal may be gone */
	}

	std::string figures() const
	{
		const Iteration &i = last[(count - 1) % ITERATIONS];
		double ns = static_cast<double>(std::max<uint64_t>(i.ns, 1));
		char time[40], stall[40];

		snprintf(time, sizeof(time), "%.3g s", ns / SECOND);
		snprintf(stall, sizeof(stall), "%.1f", 100 * static_cast<double>(i.stall_ns) / ns);
		return std::to_string(count) + (count > 1 ? " iterations, " : " iteration, ") +
		       time + ", " + human(i.in) + " in, " + human(i.out) + " out, stall " + stall +
		       " %";
	}

	/* A line that is longer than the terminal is wide cannot be rewritten. */
	void show(const std::string &text)
	{
		winsize size;
		bool known = !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col;

		put("\r\033[K" + (std::string("annex: ") + state() + ", " + text)
					 .substr(0, known ? size.ws_col - 1 : 79));
		shown = true;
	}
};

} // namespace

#endif
