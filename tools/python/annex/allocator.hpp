// SPDX-License-Identifier: MIT
/*
 * Tensors in the spaces of blocks, and the allocator that makes them.
 */
#ifndef ANNEX_ALLOCATOR_HPP
#define ANNEX_ALLOCATOR_HPP

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include <c10/core/CPUAllocator.h>
#include "block.hpp"

extern "C" {
struct _ts *PyGILState_GetThisThreadState(void);
}

namespace
{

constexpr uint32_t TIMEOUT_MS = 60000; /* of a move */
constexpr uint64_t PARTS = 8;          /* of device memory: one is copied at a time */

std::atomic<c10::Allocator *> previous{nullptr};

/* The table's lock is not held. */
void destroy(Block *block)
{
	lib.space_destroy(block->space);
	for (void *store : block->stores)
		lib.store_close(store);
	lib.hdm_close(block->cxl);
	block->open = false;
}

/* One tensor less, or the end of the block. */
void settle(Block *block, std::unique_lock<std::mutex> &lock)
{
	bool last = block->left && !block->live && block->open;
	bool gone = block->left && !block->live && !block->owned;

	if (last) {
		/* No tensor names the block any more, so no other thread finds it. */
		lock.unlock();
		destroy(block);
		lock.lock();
		gone = !block->owned;
	}
	if (gone)
		delete block;
}

/* Return: whether it was in a space. */
bool release(void *ptr)
{
	std::unique_lock<std::mutex> lock(table);
	auto found = tensors.find(ptr);

	if (found == tensors.end())
		return false;
	Block *block = found->second.block;
	size_t bytes = found->second.bytes;
	tensors.erase(found);
	if (!block)
		return true;
	bool left = block->left;
	lock.unlock();
	lib.free(block->space, ptr);
	if (left) /* no new tensor can take its pages over */
		lib.space_trim(block->space);
	lock.lock();
	block->live--;
	block->live_bytes -= bytes;
	settle(block, lock);
	return true;
}

void drop(void *ptr)
{
	if (!release(ptr))
		previous.load()->raw_deleter()(ptr);
}

/* Return: memory of the space. NULL: it has no addresses left, or the block has ended. */
void *take(Block *block, size_t bytes, const char *name)
{
	std::unique_lock<std::mutex> lock(table);
	void *ptr = nullptr;

	if (block->left)
		return nullptr;
	block->live++;
	lock.unlock();
	if (lib.alloc(block->space, name, bytes, &ptr)) {
		if (!block->refused.fetch_add(bytes))
			add_pending(hear, nullptr);
		ptr = nullptr;
	}
	lock.lock();
	if (ptr) {
		tensors[ptr] = {block, bytes};
		block->live_bytes += bytes;
	} else {
		block->live--;
	}
	if (!ptr && block->left)
		settle(block, lock);
	return ptr;
}

/* The block in whose space a tensor begins; NULL: it is in none. */
Block *block_of(const void *ptr)
{
	std::lock_guard<std::mutex> lock(table);
	auto found = tensors.find(const_cast<void *>(ptr));

	return found == tensors.end() ? nullptr : found->second.block;
}

/*
 * Bring bytes to the device tier. Storage may fail, and a touch of bytes that cannot come is a
 * SIGSEGV, so this precedes each touch by this file. @write: also make bytes that were never
 * written, which a move does if it begins while they are held. Other bytes of the same tensor may
 * have to leave for them, so the hold ends before the wait.
 */
int bring(Block *block, const char *from, uint64_t bytes, bool write)
{
	void *move;
	int err = write ? lib.hold(block->space, from) : 0;

	if (err)
		return err;
	err = lib.prefetch(block->space, from, bytes, 0, &move);
	if (write)
		lib.let_go(block->space, from);
	if (err)
		return err;
	err = lib.move_wait(move, TIMEOUT_MS);
	if (err == -ETIMEDOUT)
		lib.move_forget(move);
	return err;
}

uint64_t part_of(const Block *block)
{
	return std::max(block->budget / PARTS / PAGE * PAGE, PAGE);
}

/* Copy a tensor. @to_in, @from_in: the blocks in whose spaces the two are; NULL: in none. */
int copy_parts(Block *to_in, char *to, Block *from_in, const char *from, uint64_t bytes)
{
	uint64_t part = UINT64_MAX, n;
	const Side *side = nullptr;
	int err = 0;

	for (const Block *block : {to_in, from_in}) {
		if (!block)
			continue;
		side = block->side.get();
		part = std::min(part, part_of(block));
	}
	for (uint64_t at = 0; at < bytes && !err; at += n) {
		n = std::min(part, bytes - at);
		err = from_in ? bring(from_in, from + at, n, false) : 0;
		if (!err && to_in)
			err = bring(to_in, to + at, n, true);
		if (!err && side)
			err = side->copy(to + at, from + at, n);
		else if (!err)
			memcpy(to + at, from + at, n);
	}
	return err;
}

/* The failure for a tensor of @bytes outside of operators. */
Failure failed_for(uint64_t bytes, int err)
{
	std::string words = lib.last_error();

	words = "offload: a tensor of " + std::to_string(bytes) + " bytes: " + words;
	return Failure(err, words + advice(err));
}

/* Make the pages of a new tensor: system calls can write to it until its bytes leave. */
void make_pages(Block *block, char *ptr, uint64_t bytes)
{
	uint64_t part = part_of(block);

	for (uint64_t at = 0; at < bytes; at += part) {
		int err = bring(block, ptr + at, std::min(part, bytes - at), true);

		if (err)
			throw failed_for(bytes, err);
	}
}

/* Memory of the space for a tensor of this thread. Empty: the tensor is to be ordinary. */
c10::DataPtr make(Block *block, size_t bytes)
{
	Kernel *kernel = current;
	void *ptr = take(block, bytes, kernel ? kernel->op->text.c_str() : "tensor");

	if (!ptr)
		return {};
	c10::DataPtr data(ptr, ptr, block->side->deleter(), block->side->device());
	if (kernel && kernel->block == block)
		kernel->made(ptr, bytes);
	else if (block->user_only)
		make_pages(block, static_cast<char *>(ptr), bytes); /* read(2) may fill it next */
	return data;
}

/* The allocator of PyTorch's CPU tensors. Storages point to it, so it is never destroyed. */
class Spaces final : public c10::Allocator
{
      public:
	/* PyTorch 2.3 and later have the first of the two, earlier ones the second. */
	c10::DataPtr allocate(size_t bytes)
	{
		return get(bytes);
	}
	c10::DataPtr allocate(size_t bytes) const
	{
		return get(bytes);
	}
	c10::DeleterFnPtr raw_deleter() const override
	{
		return &drop;
	}
	void copy_data(void *to, const void *from, size_t bytes) const
	{
		int err = copy_parts(block_of(to), static_cast<char *>(to), block_of(from),
				     static_cast<const char *>(from), bytes);

		if (err)
			throw failed_for(bytes, err);
	}

      private:
	/*
	 * Threads that Python does not know are torch.distributed's. Where touches are not served,
	 * only tensors that a kernel makes are in the space: others may be filled by address.
	 */
	static bool stays_out(const Block *block)
	{
		if (!block->watched)
			return !current || current->block != block;
		return block->user_only && !PyGILState_GetThisThreadState();
	}

	static c10::DataPtr get(size_t bytes)
	{
		Block *block = active;

		if (block && block->side->device().is_cpu() && bytes >= block->smallest &&
		    !stays_out(block)) {
			c10::DataPtr data = make(block, bytes);

			if (data)
				return data;
		}
		return previous.load()->allocate(bytes);
	}
};

Spaces &allocator()
{
	static Spaces *spaces = new Spaces;

	return *spaces;
}

class Processor final : public Side
{
      public:
	Processor()
	{
		previous = c10::GetCPUAllocator();
	}
	c10::Device device() const override
	{
		return c10::Device(c10::DeviceType::CPU);
	}
	bool begin() const override
	{
		c10::SetCPUAllocator(&allocator(), 0);
		return c10::GetCPUAllocator() == &allocator();
	}
	void end() const override
	{
		c10::SetCPUAllocator(previous, 0);
	}
	c10::DataPtr ordinary(size_t bytes) const override
	{
		return previous.load()->allocate(bytes);
	}
	c10::DeleterFnPtr ordinary_deleter() const override
	{
		return previous.load()->raw_deleter();
	}
	c10::DeleterFnPtr deleter() const override
	{
		return &drop;
	}
	void *stream() const override
	{
		return nullptr;
	}
	int copy(void *to, const void *from, size_t bytes) const override
	{
		memcpy(to, from, bytes);
		return 0;
	}
};

} // namespace

#endif
