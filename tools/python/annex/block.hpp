// SPDX-License-Identifier: MIT
/*
 * Blocks of annex.offload, and the kernels that their threads run.
 */
#ifndef ANNEX_BLOCK_HPP
#define ANNEX_BLOCK_HPP

#include <algorithm>
#include <atomic>
#include <cerrno>
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
#include <c10/core/impl/LocalDispatchKeySet.h>
#include "libannex.hpp"
#include "progress.hpp"

typedef struct _object PyObject;

namespace torch
{
/* A copy of torch/csrc/Exceptions.h, which needs the headers of Python and pybind11. */
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

/* The dispatch key by which operators are intercepted. The threads of a block include it. */
constexpr auto KEY = c10::DispatchKey::TESTING_ONLY_GenericMode;

constexpr uint64_t PAGE = 4096;

/* Where the tensors of a block are: the processor's memory, or a GPU's (cuda.hpp). */
class Side
{
      public:
	virtual ~Side() = default;
	virtual c10::Device device() const = 0;
	/* Make PyTorch allocate by blocks. Return: whether it does. */
	virtual bool begin() const = 0;
	virtual void end() const = 0;
	/* PyTorch's own memory. It throws where there is none. */
	virtual c10::DataPtr ordinary(size_t bytes) const = 0;
	virtual c10::DeleterFnPtr ordinary_deleter() const = 0;
	/* The deleter of a space's memory. */
	virtual c10::DeleterFnPtr deleter() const = 0;
	/* The stream that this thread launches kernels to. NULL: it runs them itself. */
	virtual void *stream() const = 0;
	/* Copy after launched kernels have ended. Return: 0, or an error. */
	virtual int copy(void *to, const void *from, size_t bytes) const = 0;
};

/* A storage outside of the space that operators use. */
struct Outside {
	uint64_t bytes;
	uint32_t how; /* READ | WRITE */
};

/* One block of annex.offload, with its space. @budget: bytes of device memory, in pages. */
struct Block {
	std::unique_ptr<const Side> side;
	void *space, *exec, *cxl;
	std::vector<void *> stores;
	uint64_t smallest, budget;
	bool user_only = false;                /* system calls fail on absent bytes */
	bool watched = true;                   /* touches of absent bytes are served */
	bool included = false;                 /* its thread had the dispatch key before */
	std::thread::id thread;                /* whose operators are recorded */
	std::unordered_set<std::string> large; /* graphs that do not fit */
	std::string warnings;                  /* a line each; `table` */
	uint64_t warned_large = 0;             /* bytes of an operator that does not fit */
	std::unordered_map<const void *, Outside> outside; /* storages used outside; `table` */
	uint64_t beside = 0; /* bytes of these in the last iteration */
	bool warned_outside = false;
	unsigned int searched = 0;         /* times that these were to be moved */
	uint64_t least = 0;                /* bytes that the largest operator uses at once */
	std::string largest;               /* its name */
	uint64_t kernels = 0;              /* of this iteration */
	uint64_t ended = 0;                /* iterations that a step has ended */
	uint64_t alone = 0;                /* iterations without a plan since the last with one */
	uint64_t moved = 0;                /* bytes, until the last iteration with a plan */
	bool plans = false;                /* its policy makes plans */
	bool warned_steps = false;         /* of the lack of plans */
	bool learns = false;               /* the first iteration has begun */
	bool by_hand = false;              /* the program ends iterations, not optimizers */
	bool stepped = false;              /* an optimizer has, in the backward that runs */
	uint64_t live = 0, live_bytes = 0; /* tensors in the space */
	bool left = false;                 /* the block has ended */
	bool owned = true;                 /* Python knows it */
	std::atomic<bool> open{true};
	std::atomic<uint64_t> refused{0}; /* bytes without addresses */
	int plan_err = 0;                 /* why there is no plan, as last reported */
	Progress progress;
};

/* A tensor in a space. @block: NULL in a forked child: the parent has the tensor. */
struct Place {
	Block *block;
	size_t bytes;
};

std::mutex running, table;
/* Never destroyed: PyTorch may free tensors after this file's destructors. */
std::unordered_map<void *, Place> &tensors = *new std::unordered_map<void *, Place>;
std::atomic<Block *> active{nullptr};
PyObject *error_type;
/* Py_AddPendingCall(), and the function that it calls in Python's main thread to give warnings. */
int (*add_pending)(int (*)(void *), void *);
int (*hear)(void *);
/* Move tensors to the space that operators use outside of it: Python's. */
void (*move_used)(void);

/*
 * The block, in its own thread; NULL elsewhere. Where touches are not served, the block also in
 * threads that have its dispatch key: autograd's threads for GPUs.
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
		return ": the storage is full, make room on it";
	return err == -EIO || err == -ENODEV ? ": the storage fails, use another" : "";
}

/* Have Python's main thread give a warning. */
void warn(Block *block, const std::string &line)
{
	std::unique_lock<std::mutex> lock(table);

	block->warnings += line + "\n";
	lock.unlock();
	add_pending(hear, nullptr);
}

/* How an operator is treated. */
struct Operator {
	enum Kind { PASS, KERNEL, LISTS, ENTER, EXIT, GRAPH } kind = PASS;
	c10::OperatorName name{"", ""};
	std::string text;
	bool works = false;        /* its tensors are in use after it has returned */
	bool splits = false;       /* parts of its lists give what the lists do */
	bool gives = false;        /* its result is a list */
	std::vector<uint32_t> how; /* of each argument; 0: it has no tensor */
};

/* As the device tier counts bytes: in pages. */
uint64_t in_pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Tensors that a kernel uses, each once, and their bytes. */
struct Uses {
	std::vector<Use> list;
	uint64_t bytes = 0;
};

/* The kernel that this thread runs and records; NULL: none. */
struct Kernel;
thread_local Kernel *current;

/*
 * @uses: tensors that the operator was given or has made.
 * @given: the number of tensors that it was given.
 * @most: bytes of all these tensors, freed ones included.
 * @peak: bytes that it was seen to use at once.
 * @begun: the library knows of it.
 * @large: page faults bring its tensors.
 */
struct Kernel {
	Block *block;
	const Operator *op;
	std::vector<Use> uses;
	size_t given = 0;
	uint64_t most = 0, peak = 0;
	bool begun = false, large = false;

	void begin(Uses &&its)
	{
		current = this;
		uses = std::move(its.list);
		given = uses.size();
		most = its.bytes;
		if (is_too_large())
			fault();
		else if (given)
			begin();
	}

	void begin()
	{
		unsigned int n = static_cast<unsigned int>(given);
		int err = block->watched
				  ? lib.exec_before(block->exec, op->text.c_str(), uses.data(), n)
				  : lib.exec_before_on(block->exec, block->side->stream(),
						       op->text.c_str(), uses.data(), n);

		if (err)
			fail(err);
		begun = true;
	}

	/* A kernel that uses no tensor of the space yet begins with the first that it makes. */
	void made(void *ptr, uint64_t size)
	{
		uses.push_back({ptr, WRITE});
		most += in_pages(size);
		if (is_too_large())
			return fault();
		if (!begun)
			begin();
		if (int err = lib.exec_made(block->exec, ptr))
			fail(err);
	}

	/*
	 * It has ended with these results. It may use other memory that it has made, such as a
	 * workspace, again, without an operator that names it: such memory stays where it is.
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

	void end()
	{
		if (current == this)
			current = nullptr;
		if (begun)
			lib.exec_after(block->exec);
		begun = false;
	}

	/* It is large, and has ended with these results. */
	void measure(const std::vector<Use> &results)
	{
		uses.insert(uses.end(), results.begin(), results.end());
		measure();
		if (!block->warned_large)
			warn(block, "offload: device_memory of " + human(block->budget) +
					    " is too small for " + op->text + ", which uses " +
					    human(peak) + " of tensors at once: it runs by page " +
					    "faults, which takes longer");
		block->warned_large = block->warned_large ? block->warned_large : peak;
	}

      private:
	static bool lives(const void *ptr)
	{
		std::lock_guard<std::mutex> lock(table);

		return tensors.count(const_cast<void *>(ptr));
	}

	/* Bytes of its tensors that live. */
	uint64_t bytes() const
	{
		std::lock_guard<std::mutex> lock(table);
		std::unordered_set<const void *> counted;
		uint64_t sum = 0;

		for (const Use &use : uses) {
			auto found = tensors.find(const_cast<void *>(use.ptr));

			if (found != tensors.end() && counted.insert(use.ptr).second)
				sum += in_pages(found->second.bytes);
		}
		return sum;
	}

	uint64_t measure()
	{
		uint64_t used = bytes();

		peak = std::max(peak, used);
		if (used > block->least) {
			block->least = used;
			block->largest = op->text;
		}
		return used;
	}

	/* Whether page faults must bring its tensors. torch.distributed's threads give tensors to
	 * system calls, which would fail. */
	bool is_too_large()
	{
		uint64_t used = most > std::min(block->least, block->budget) ? measure() : 0;

		return used > block->budget && block->watched && !op->works;
	}

	/* End it for the library: its touches fault from now on. */
	void fault()
	{
		large = true;
		end();
	}

	[[noreturn]] void fail(int err) const
	{
		uint64_t used = bytes();
		std::string words = lib.last_error(), own = op->text + ": ";

		/* It may be of a tensor that has the operator's name. */
		if (words.compare(0, own.size(), own))
			words = own + words;
		if (err != -ENOSPC || used <= block->budget)
			throw Failure(err, "offload: " + words + advice(err));
		throw Failure(err, "offload: " + op->text + " uses " + std::to_string(used) +
					   " bytes of tensors at once, and device_memory is " +
					   std::to_string(block->budget) +
					   ": give it more, or make the batch smaller");
	}
};

} // namespace

#endif
