// SPDX-License-Identifier: MIT
/*
 * Tensors in the spaces of blocks, and the allocator that makes them.
 */
#ifndef ANNEX_ALLOCATOR_HPP
#define ANNEX_ALLOCATOR_HPP

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include "libannex.hpp"
#include "progress.hpp"

extern "C" {
typedef struct _object PyObject;
struct _ts *PyGILState_GetThisThreadState(void);
}

namespace torch
{
/* As torch/csrc/Exceptions.h has it, which would need the headers of Python and pybind11. */
struct PyTorchError : public std::exception {
	PyTorchError() = default;
	explicit PyTorchError(std::string words) : msg(std::move(words))
	{
	}
	virtual PyObject *python_type() = 0;
	const char *what() const noexcept override
	{
		return msg.c_str();
	}
	std::string msg;
};
} // namespace torch

namespace
{

/* One block of annex.offload, with its space. */
struct Block {
	void *space, *exec, *cxl;
	std::vector<void *> stores;
	uint64_t smallest, budget;
	bool user_only = false;                /* system calls fail on absent bytes */
	bool watched = true;                   /* touches of absent bytes are served */
	bool included = false;                 /* the thread had the dispatch key before */
	std::thread::id thread;                /* of the block: its operators are recorded */
	std::unordered_set<std::string> large; /* graphs that do not fit */
	uint64_t kernels = 0;                  /* of this iteration */
	uint64_t live = 0;                     /* tensors in the space */
	bool left = false;                     /* the block has ended */
	bool owned = true;                     /* Python knows it */
	std::atomic<bool> open{true};
	std::atomic<uint64_t> refused{0}; /* bytes that there were no addresses for */
	int plan_err = 0;                 /* why there is no plan, if that is told */
	Progress progress;
};

/* A tensor in a space. @block: NULL: it is with the parent of this process, which was forked. */
struct Place {
	Block *block;
	size_t bytes;
};

std::mutex running, table;
/* For ever: PyTorch may free tensors after this file's destructors. */
std::unordered_map<void *, Place> &tensors = *new std::unordered_map<void *, Place>;
std::atomic<Block *> active{nullptr};
std::atomic<c10::Allocator *> previous{nullptr};
PyObject *error_type;
/* Py_AddPendingCall(), and a function for it that tells warnings, in Python's main thread. */
int (*add_pending)(int (*)(void *), void *);
int (*hear)(void *);

/* The block, in its own thread; NULL elsewhere. */
Block *own_block()
{
	Block *block = active;

	return block && block->thread == std::this_thread::get_id() ? block : nullptr;
}

struct Failure : public torch::PyTorchError {
	explicit Failure(int e, const std::string &words = lib.last_error())
	    : torch::PyTorchError(std::to_string(-e) + " " + words), err(e)
	{
	}
	PyObject *python_type() override
	{
		return error_type;
	}
	int err;
};

/* How an operator is treated. */
struct Operator {
	enum Kind { PASS, KERNEL, ENTER, EXIT, GRAPH } kind = PASS;
	c10::OperatorName name{"", ""};
	std::string text;
	bool works = false;        /* its tensors are in use when it has returned */
	bool splits = false;       /* parts of its lists give what the lists do */
	std::vector<uint32_t> how; /* of each argument; 0: it has no tensor */
};

/* The kernel that this thread runs and records; NULL: none. */
struct Kernel;
thread_local Kernel *current;

struct Kernel {
	Block *block;
	const Operator *op;
	std::vector<Use> uses;
	bool begun = false;

	void begin()
	{
		int err = lib.exec_before(block->exec, op->text.c_str(), uses.data(),
					  static_cast<unsigned int>(uses.size()));

		if (err)
			fail(err);
		begun = true;
	}

	/* A kernel that uses no tensor of the space yet begins with the first that it makes. */
	void made(void *ptr)
	{
		if (!begun)
			begin();
		uses.push_back({ptr, WRITE});
		int err = lib.exec_made(block->exec, ptr);
		if (err == -ENOSPC && op->kind == Operator::GRAPH && block->watched)
			end();
		else if (err)
			fail(err);
	}

	/* A graph that is too large ends early: the rest of it comes by page faults. */
	void end()
	{
		if (current == this)
			current = nullptr;
		if (begun)
			lib.exec_after(block->exec);
		begun = false;
	}

      private:
	/* Bytes of its tensors that live. */
	uint64_t bytes() const
	{
		std::lock_guard<std::mutex> lock(table);
		std::unordered_set<const void *> counted;
		uint64_t sum = 0;

		for (const Use &use : uses) {
			auto found = tensors.find(const_cast<void *>(use.ptr));

			if (found != tensors.end() && counted.insert(use.ptr).second)
				sum += found->second.bytes;
		}
		return sum;
	}

	static const char *advice(int err)
	{
		if (err == -ENOSPC)
			return ": make room on the storage";
		return err == -EIO || err == -ENODEV ? ": the storage fails, use another" : "";
	}

	[[noreturn]] void fail(int err) const
	{
		uint64_t used = bytes();

		if (err != -ENOSPC || used <= block->budget)
			throw Failure(err, "offload: " + op->text + ": " + lib.last_error() +
						   advice(err));
		throw Failure(err, "offload: " + op->text + " uses " + std::to_string(used) +
					   " bytes of tensors at once, and device_memory is " +
					   std::to_string(block->budget) +
					   ": give it more, or make the batch smaller");
	}
};

/* Tensors */

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
		/* Nobody else finds the block any more: no tensor names it. */
		lock.unlock();
		destroy(block);
		lock.lock();
		gone = !block->owned;
	}
	if (gone)
		delete block;
}

void drop(void *ptr)
{
	std::unique_lock<std::mutex> lock(table);
	auto found = tensors.find(ptr);

	if (found == tensors.end()) {
		lock.unlock();
		previous.load()->raw_deleter()(ptr);
		return;
	}
	Block *block = found->second.block;
	tensors.erase(found);
	if (!block)
		return;
	bool left = block->left;
	lock.unlock();
	lib.free(block->space, ptr);
	if (left) /* no tensor comes that could take its pages over */
		lib.space_trim(block->space);
	lock.lock();
	block->live--;
	settle(block, lock);
}

/* Memory of the space; NULL: it has no addresses left, or the block has ended. */
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
	if (ptr)
		tensors[ptr] = {block, bytes};
	else
		block->live--;
	if (!ptr && block->left)
		settle(block, lock);
	return ptr;
}

/* The allocator of PyTorch's CPU tensors. Storages keep a pointer to it, so it lives for ever. */
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
		memcpy(to, from, bytes);
	}

      private:
	/* Threads that Python does not know are those of torch.distributed. */
	static bool is_for_system_calls(const Block *block)
	{
		return block->user_only && !PyGILState_GetThisThreadState();
	}

	static c10::DataPtr get(size_t bytes)
	{
		Block *block = active;

		if (block && bytes >= block->smallest && !is_for_system_calls(block)) {
			Kernel *kernel = current;
			void *ptr = take(block, bytes,
					 kernel ? kernel->op->text.c_str() : "tensor");

			if (ptr) {
				c10::DataPtr data(ptr, ptr, &drop,
						  c10::Device(c10::DeviceType::CPU));

				if (kernel && kernel->block == block)
					kernel->made(ptr);
				else if (block->user_only)
					memset(ptr, 0, bytes); /* read(2) may fill it next */
				return data;
			}
		}
		return previous.load()->allocate(bytes);
	}
};

Spaces &allocator()
{
	static Spaces *spaces = new Spaces;

	return *spaces;
}

} // namespace

#endif
