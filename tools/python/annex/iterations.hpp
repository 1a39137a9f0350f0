// SPDX-License-Identifier: MIT
/*
 * Iterations of a block: where they end, and warnings if no plan helps, or if tensors are outside
 * of the space.
 */
#ifndef ANNEX_ITERATIONS_HPP
#define ANNEX_ITERATIONS_HPP

#include <memory>
#include <mutex>
#include <string>

#include <c10/core/Storage.h>
#include <torch/csrc/autograd/graph_task.h>
#include "allocator.hpp"

namespace
{

constexpr unsigned int SEARCHES = 3;  /* for tensors outside of the space */
constexpr uint64_t UNLIKE = 16;       /* iterations without a plan that are worth a warning */
constexpr uint64_t UNENDED = 1 << 14; /* kernels without a step, likewise */

/* `table` is held. */
void add_outside(Block *block, const c10::Storage &storage, uint32_t how)
{
	if (storage.nbytes() < block->smallest || storage.device() != block->side->device())
		return;
	Outside &used = block->outside[storage.data_ptr().get()];
	used.bytes = storage.nbytes();
	used.how |= how;
}

uint64_t bytes_moved(const Block *block)
{
	SpaceStats st;

	lib.space_get_stats(block->space, &st);
	return st.in + st.out;
}

/* Warn once if no plan helps: no step ends an iteration, or iterations differ. */
void warn_of_steps(Block *block, const std::string &what, const char *remedy)
{
	uint64_t bytes = bytes_moved(block) - block->moved;

	if (block->warned_steps || !block->plans || bytes < block->budget)
		return;
	block->warned_steps = true;
	warn(block, "offload: " + what + ", moved " + human(bytes) + " without a plan: " + remedy);
}

void warn_of_no_step(Block *block)
{
	warn_of_steps(block, std::to_string(block->kernels) + " operators, and no optimizer's step",
		      "call it.step() after each call of the model, or each iteration");
}

/* Bytes of tensors outside of the space that this iteration has used in one of the ways @how. */
uint64_t bytes_outside(Block *block, uint32_t how)
{
	std::lock_guard<std::mutex> lock(table);
	uint64_t sum = 0;

	for (const auto &used : block->outside)
		sum += used.second.how & how ? used.second.bytes : 0;
	return sum;
}

/* An iteration has ended, or the block. */
void see_outside(Block *block)
{
	block->beside = bytes_outside(block, READ | WRITE);
	if (!block->warned_outside && !block->refused && block->beside > block->budget / 4) {
		block->warned_outside = true;
		warn(block,
		     "offload: operators use " + human(block->beside) +
			     " of tensors outside of the space, beyond device_memory: " +
			     "tensors of NumPy, of mapped files, of shared memory, or kept " +
			     "from an earlier block do not move: clone() them inside of " +
			     "the block");
	}
	std::lock_guard<std::mutex> lock(table);
	block->outside.clear();
}

/*
 * Move tensors to the space that operators have used outside of it, if one was used in one of the
 * ways @how: an optimizer's step writes them next, or an operator has. A written page of a mapped
 * file is memory of its own. On a GPU, kernels that were launched may still use them.
 */
void move_outside(Block *block, uint32_t how)
{
	if (current || !block->watched || block->searched >= SEARCHES || !bytes_outside(block, how))
		return;
	block->searched++;
	move_used();
	std::lock_guard<std::mutex> lock(table);
	block->outside.clear(); /* others are used again */
}

/* An iteration has ended. */
void see_plan(Block *block, const ExecStats &st)
{
	if (st.planned)
		block->moved = bytes_moved(block);
	if (st.planned)
		block->alone = 0;
	else if (!st.planning && !st.plan_err)
		block->alone++;
	if (block->alone >= UNLIKE)
		warn_of_steps(block,
			      std::to_string(block->alone) + " iterations, none like another",
			      "make them alike (pad batches to a few sizes), and call it.step() "
			      "after each part that repeats, such as training or generation");
}

/* Begin the next iteration. `running` is held. */
void turn(Block *block)
{
	int err = lib.exec_end(block->exec);
	std::unique_ptr<Failure> failure(err ? new Failure(err) : nullptr);

	block->progress.ended();
	block->ended++;
	block->kernels = 0;
	block->learns = true;
	block->stepped = false;
	err = lib.exec_begin(block->exec);
	if (failure)
		throw *failure;
	if (err)
		throw Failure(err);
	ExecStats st;
	lib.exec_get_stats(block->exec, &st);
	if (st.plan_err && st.plan_err != block->plan_err)
		add_pending(hear, nullptr);
	block->plan_err = st.plan_err;
	see_plan(block, st);
	see_outside(block);
}

bool is_in_backward()
{
	return torch::autograd::get_current_graph_task_exec_info();
}

/*
 * An optimizer has stepped. A step in backward, as of an optimizer of one parameter, ends no
 * iteration: the first kernel after that backward does. A step without kernels ends none.
 */
void optimizer_stepped()
{
	std::lock_guard<std::mutex> lock(running);
	Block *block = active;

	if (!block || block->by_hand || !block->kernels)
		return;
	if (is_in_backward())
		block->stepped = true;
	else
		turn(block);
}

/* The program ends an iteration, if it has a kernel. */
void end_by_hand(Block *block)
{
	move_outside(block, WRITE);
	std::lock_guard<std::mutex> lock(running);

	block->by_hand = true;
	if (block->kernels)
		turn(block);
}

} // namespace

#endif
