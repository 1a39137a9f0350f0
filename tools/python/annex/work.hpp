// SPDX-License-Identifier: MIT
/*
 * Work of torch.distributed, which goes on after its operator has returned. Other threads give its
 * tensors to system calls, which fail on absent bytes if only touches by the program fault. So the
 * tensors are held until the work is done.
 */
#ifndef ANNEX_WORK_HPP
#define ANNEX_WORK_HPP

#include <algorithm>

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/custom_class.h>
#include "allocator.hpp"

namespace
{

/* @tensors: the operator's arguments, kept so that the addresses of @uses stay theirs. */
struct Work {
	c10::intrusive_ptr<c10d::Work> work;
	std::vector<c10::IValue> tensors;
	std::vector<Use> uses;

	/* Work without another holder counts as done: nothing can wait for it. */
	bool is_done() const
	{
		return work->isCompleted() || work.use_count() == 1;
	}
};

/* Work under way. `running` protects it. */
std::vector<Work> &works = *new std::vector<Work>;

void let_go_of_works(Block *block)
{
	auto ended = std::partition(works.begin(), works.end(),
				    [](const Work &work) { return !work.is_done(); });

	for (auto work = ended; work != works.end(); ++work)
		for (const Use &use : work->uses)
			lib.let_go(block->space, use.ptr);
	works.erase(ended, works.end());
}

/* Hold the tensors of an operator that has begun @result, while its kernel still holds them. */
void hold_for_work(Block *block, const c10::IValue &result, std::vector<c10::IValue> &&tensors,
		   std::vector<Use> &&uses)
{
	if (!result.isObject() || uses.empty())
		return;
	for (const Use &use : uses)
		lib.hold(block->space, use.ptr);
	works.push_back({result.toCustomClass<c10d::Work>(), std::move(tensors), std::move(uses)});
}

} // namespace

#endif
