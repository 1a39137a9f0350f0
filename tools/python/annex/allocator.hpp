// SPDX-License-Identifier: MIT
/*
 * Tensors in the spaces of blocks, and the allocator that makes them.
 */
#ifndef ANNEX_ALLOCATOR_HPP
#define ANNEX_ALLOCATOR_HPP

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
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

/* Of dispatch: the threads of a block include it, and operators are seen by it. */
constexpr auto KEY = c10::DispatchKey::TESTING_ONLY_GenericMode;

constexpr uint32_t TIMEOUT_MS = 60000; /* of a move */
constexpr uint64_t PARTS = 8;          /* of the budget: as much is copied at a time */

/* Where the tensors of a block are: the processor's memory, or a GPU's (cuda.hpp). */
class Side
{
      public:
	virtual ~Side() = default;
	virtual c10::Device device() const = 0;
	/* PyTorch allocates by blocks from now on. Return: whether it does. */
	virtual bool begin() const = 0;
	virtual void end() const = 0;
	/* Memory as PyTorch has it without a block; an exception: there is none. */
	virtual c10::DataPtr ordinary(size_t bytes) const = 0;
	virtual c10::DeleterFnPtr ordinary_deleter() const = 0;
	/* Of memory of a space. */
	virtual c10::DeleterFnPtr deleter() const = 0;
	/* The stream that this thread launches kernels to. NULL: it runs them itself. */
	virtual void *stream() const = 0;
	/* Copy, when kernels that were launched have ended. Return: 0, or an error. */
	virtual int copy(void *to, const void *from, size_t bytes) const = 0;
};

/* One block of annex.offload, with its space. */
struct Block {
	std::unique_ptr<const Side> side;
	void *space, *exec, *cxl;
	std::vector<void *> stores;
	uint64_t smallest, budget;
	bool user_only = false;                /* system calls fail on absent bytes */
	bool watched = true;                   /* touches of absent bytes are served */
	bool included = false;                 /* the thread had the dispatch key before */
	std::thread::id thread;                /* of the block: its operators are recorded */
	std::unordered_set<std::string> large; /* graphs that do not fit */
	uint64_t kernels = 0;                  /* of this iteration */
	bool learns = false;                   /* the first iteration has begun */
	uint64_t live = 0, live_bytes = 0;     /* tensors in the space */
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

/*
 * The block, in its own thread; NULL elsewhere. Where touches are not served, also in threads that
 * have its key of dispatch: autograd's, of a GPU.
 */
Block *own_block()
{
	Block *block = active;

	if (!block || block->thread == std::this_thread::get_id())
		return block;
	return !block->watched && c10::impl::tls_is_dispatch_key_included(KEY) ? block : nullptr;
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

const char *advice(int err)
{
	if (err == -ENOSPC)
		return ": make room on the storage";
	return err == -EIO || err == -ENODEV ? ": the storage fails, use another" : "";
}

/* How an operator is treated. */
struct Operator {
	enum Kind { PASS, KERNEL, LISTS, ENTER, EXIT, GRAPH } kind = PASS;
	c10::OperatorName name{"", ""};
	std::string text;
	bool works = false;        /* its tensors are in use when it has returned */
	bool splits = false;       /* parts of its lists give what the lists do */
	bool gives = false;        /* it does so by a list */
	std::vector<uint32_t> how; /* of each argument; 0: it has no tensor */
};

/* The kernel that this thread runs and records; NULL: none. */
struct Kernel;
thread_local Kernel *current;

struct Kernel {
	Block *block;
	const Operator *op;
	std::vector<Use> uses;
	size_t given = 0; /* uses of tensors that the operator was given */
	bool begun = false;

	void begin()
	{
		unsigned int n = static_cast<unsigned int>(uses.size());
		int err = block->watched
				  ? lib.exec_before(block->exec, op->text.c_str(), uses.data(), n)
				  : lib.exec_before_on(block->exec, block->side->stream(),
						       op->text.c_str(), uses.data(), n);

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

	/*
	 * It has ended with these results. Memory that it has made beside them, such as a
	 * workspace, it may use again, and no operator names it: it stays where it is.
	 */
	void keep(const std::vector<Use> &results)
	{
		for (size_t i = given; i < uses.size() && !block->watched; i++) {
			const void *ptr = uses[i].ptr;

			if (std::none_of(results.begin(), results.end(),
					 [ptr](const Use &use) { return use.ptr == ptr; }) &&
			    lives(ptr))
				lib.hold(block->space, ptr);
		}
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
	static bool lives(const void *ptr)
	{
		std::lock_guard<std::mutex> lock(table);

		return tensors.count(const_cast<void *>(ptr));
	}

	/* Bytes of its tensors that live, as the device tier counts them: in pages. */
	uint64_t bytes() const
	{
		const uint64_t page = 4096;
		std::lock_guard<std::mutex> lock(table);
		std::unordered_set<const void *> counted;
		uint64_t sum = 0;

		for (const Use &use : uses) {
			auto found = tensors.find(const_cast<void *>(use.ptr));

			if (found != tensors.end() && counted.insert(use.ptr).second)
				sum += (found->second.bytes + page - 1) / page * page;
		}
		return sum;
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
	if (left) /* no tensor comes that could take its pages over */
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
 * Bytes come to the device tier, from storage that may fail. A touch that they cannot come for
 * would be a SIGSEGV, so this comes before each touch of our own. @write: also bytes that nothing
 * has written, which a move makes if it begins while they are held. Other bytes of the same tensor
 * may have to leave for them, so the hold ends before the wait.
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
	return std::max<uint64_t>(block->budget / PARTS / 4096 * 4096, 4096);
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

/* A failure of a tensor of @bytes that no operator makes. */
Failure failed_for(uint64_t bytes, int err)
{
	std::string words = lib.last_error();

	words = "offload: a tensor of " + std::to_string(bytes) + " bytes: " + words;
	return Failure(err, words + advice(err));
}

/* All of a new tensor can be written by system calls, as long as its bytes do not leave. */
void make_pages(Block *block, char *ptr, uint64_t bytes)
{
	uint64_t part = part_of(block);

	for (uint64_t at = 0; at < bytes; at += part) {
		int err = bring(block, ptr + at, std::min(part, bytes - at), true);

		if (err)
			throw failed_for(bytes, err);
	}
}

/* Memory of the space for a tensor of this thread; none: the tensor is to be ordinary. */
c10::DataPtr make(Block *block, size_t bytes)
{
	Kernel *kernel = current;
	void *ptr = take(block, bytes, kernel ? kernel->op->text.c_str() : "tensor");

	if (!ptr)
		return {};
	c10::DataPtr data(ptr, ptr, block->side->deleter(), block->side->device());
	if (kernel && kernel->block == block)
		kernel->made(ptr);
	else if (block->user_only)
		make_pages(block, static_cast<char *>(ptr), bytes); /* read(2) may fill it next */
	return data;
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
		int err = copy_parts(block_of(to), static_cast<char *>(to), block_of(from),
				     static_cast<const char *>(from), bytes);

		if (err)
			throw failed_for(bytes, err);
	}

      private:
	/*
	 * Threads that Python does not know are those of torch.distributed. Where touches are not
	 * served, a tensor that no kernel makes may be filled by whoever has its address.
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
