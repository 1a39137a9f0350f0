// SPDX-License-Identifier: MIT
/*
 * PyTorch's tensors in a space of libannex: an allocator for the CPU, and an interceptor of
 * operators. native.py compiles this file against the installed PyTorch.
 *
 * Operators are intercepted by a dispatch key above all others, which the thread of the block
 * includes. Exceptions may leave such a kernel; at::RecordFunction catches those of its callbacks.
 *
 * Locks: `running` (the kernel that is recorded), then `table` (the tensors of all spaces).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <new>

#include <torch/csrc/api/include/torch/version.h>
#include "allocator.hpp"
#ifdef ANNEX_CUDA
#include "cuda.hpp"
#endif
#include "moves.hpp"
#include "operators.hpp"

static_assert(TORCH_VERSION_MAJOR == ANNEX_TORCH_MAJOR && TORCH_VERSION_MINOR == ANNEX_TORCH_MINOR,
	      "these headers are of another PyTorch than the one that is installed");

namespace
{

constexpr uint64_t FEW = 256; /* kernels of a block that need no plan */

/* fork() */

void before_fork()
{
	table.lock();
}

void after_fork()
{
	table.unlock();
}

void in_child()
{
	Block *block = active.exchange(nullptr);

	/* Reserve the addresses that tensors still name. */
	for (auto &entry : tensors) {
		bool here = entry.second.block && entry.second.block->side->device().is_cpu();

		entry.second.block = nullptr;
		if (here)
			mmap(entry.first, entry.second.bytes, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			     0);
	}
	if (block) {
		block->side->end();
		c10::impl::tls_set_dispatch_key_included(KEY, false);
	}
	current = nullptr;
	new (&running) std::mutex;
	new (&works) std::vector<Work>;
	table.unlock();
}

/* A GPU by its number; -1: the processor. */
const Side *side_of(int gpu)
{
#ifdef ANNEX_CUDA
	if (gpu >= 0)
		return new Gpu(gpu);
#endif
	(void)gpu;
	return new Processor;
}

} // namespace

/* For native.py */
extern "C" {

/*
 * Find libannex. @type: the exception of Python that is raised. @tell: gives warnings in Python's
 * main thread. @move: moves tensors to the space that operators use outside of it. @slice: a
 * storage that is a part of another one. Return: NULL, or a missing name.
 */
const char *annex_native_open(const char *path, PyObject *type, int (*tell)(void *),
			      void (*move)(void), void *slice)
{
	void *dll = dlopen(path, RTLD_NOW);
	const std::pair<const char *, void *> names[] = {
		{"annex_alloc_uninit", &lib.alloc},
		{"annex_free", &lib.free},
		{"annex_prefetch", &lib.prefetch},
		{"annex_space_get_watch", &lib.get_watch},
		{"annex_space_get_stats", &lib.space_get_stats},
		{"annex_move_wait", &lib.move_wait},
		{"annex_move_forget", &lib.move_forget},
		{"annex_hold", &lib.hold},
		{"annex_let_go", &lib.let_go},
		{"annex_space_destroy", &lib.space_destroy},
		{"annex_space_trim", &lib.space_trim},
		{"annex_store_close", &lib.store_close},
		{"annex_hdm_close", &lib.hdm_close},
		{"annex_exec_destroy", &lib.exec_destroy},
		{"annex_exec_begin", &lib.exec_begin},
		{"annex_exec_restart", &lib.exec_restart},
		{"annex_exec_end", &lib.exec_end},
		{"annex_exec_before", &lib.exec_before},
		{"annex_exec_before_on", &lib.exec_before_on},
		{"annex_exec_made", &lib.exec_made},
		{"annex_exec_after", &lib.exec_after},
		{"annex_exec_get_stats", &lib.exec_get_stats},
		{"annex_exec_plan", &lib.exec_plan},
		{"annex_last_error", &lib.last_error},
	};
	void *pending = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");

	if (!dll)
		return path;
	for (const auto &name : names) {
		void *function = dlsym(dll, name.first);

		if (!function)
			return name.first;
		memcpy(name.second, &function, sizeof(function));
	}
	memcpy(&add_pending, &pending, sizeof(pending));
	hear = tell;
	move_used = move;
	slices = static_cast<c10::StorageImpl *>(slice)->data_ptr().get_deleter();
	error_type = type;
	pthread_atfork(before_fork, after_fork, in_child);
	return nullptr;
}

/*
 * Make a block, which owns the space, its stores, its CXL memory or NULL, and the planner. @gpu:
 * number of the GPU whose tensors move; -1: the processor's do. @plans: whether the policy makes
 * plans. @lines: whether progress is shown. @learns: whether the first kernel begins an iteration;
 * otherwise the first one that training has.
 */
void *annex_native_enter(void *space, void **stores, size_t n, void *cxl, void *exec,
			 uint64_t smallest, uint64_t budget, int gpu, bool plans, bool lines,
			 bool learns)
{
	auto *block = new Block;

	block->side.reset(side_of(gpu));
	block->space = space;
	block->cxl = cxl;
	block->exec = exec;
	block->stores.assign(stores, stores + n);
	block->smallest = smallest;
	block->budget = in_pages(budget);
	int how;
	bool writes;
	lib.get_watch(space, &how, &writes);
	block->user_only = how == WATCH_USER || how == WATCH_SIGNAL;
	block->watched = how != WATCH_NONE;
	block->plans = plans;
	block->learns = learns;
	block->progress.begin(space, exec, plans, lines);
	return block;
}

/* Begin, in this thread. Return: 0, or an error of libannex; -EBUSY: another allocator stays. */
int annex_native_begin(Block *block)
{
	int err = lib.exec_begin(block->exec);

	if (err)
		return err;
	active = block;
	if (!block->side->begin()) {
		active = nullptr;
		return -EBUSY;
	}
	watch_operators();
	block->thread = std::this_thread::get_id();
	block->included = c10::impl::tls_is_dispatch_key_included(KEY);
	c10::impl::tls_set_dispatch_key_included(KEY, true);
	return 0;
}

/*
 * Mark tensors whose address may be with an array: 1: its storage cannot be resized. 2: likewise,
 * and C++ holds the tensor beside Python, which is a reference of its own in newer PyTorch.
 */
void annex_native_mark_rigid(Block *block, void **list, size_t n, uint8_t *rigid)
{
	for (size_t i = 0; i < n; i++) {
		c10::StorageImpl *s = storage_of(list[i]);
		auto *t = static_cast<c10::TensorImpl *>(list[i]);

		if (s && !s->resizable() && s->nbytes() >= block->smallest)
			rigid[i] = c10::raw::intrusive_ptr::use_count(t) > 1 ? 2 : 1;
	}
}

/*
 * Move tensors to the space, with @used only if operators of this iteration have used them. @moved,
 * @stay: storages and their bytes. Return: 0; -1: @words are a Failure's, and moved tensors are in
 * the space.
 */
int annex_native_move_in(Block *block, const List *list, bool used, Count *moved, Count *stay,
			 char *words, size_t room)
{
	try {
		Maps maps(list);
		auto fits = [&](c10::StorageImpl *s) {
			return (!used || is_used(block, s)) && may_enter(block, s, maps);
		};

		for (c10::StorageImpl *s : movable(list, block, fits, stay))
			(move_in(block, s) ? moved : stay)->add(s->nbytes());
	} catch (const Failure &failure) {
		strncpy(words, failure.what(), room - 1);
		return -1;
	}
	return 0;
}

/* End the block: operators and allocations are as before it. */
void annex_native_end(Block *block)
{
	if (active == block) {
		std::lock_guard<std::mutex> lock(running);

		active = nullptr;
		c10::impl::tls_set_dispatch_key_included(KEY, block->included);
		watch.reset();
		block->side->end();
		if (!block->ended && block->kernels >= FEW)
			warn_of_no_step(block);
		see_outside(block);
		if (block->warned_large && block->least > block->warned_large)
			warn(block, "offload: device_memory of " + human(block->least) +
					    " is the least for operators without page faults: " +
					    block->largest + " uses as much at once");
		lib.exec_end(block->exec);
		/* Tensors of work that goes on stay until they are freed. */
		let_go_of_works(block);
		works.clear();
	}
	block->progress.clear();
	lib.exec_destroy(block->exec);
	block->exec = nullptr;
}

/*
 * End an iteration, if it has a kernel. @graph: after a graph that was an optimizer's step, unless
 * it is a part of PyTorch's own step. Otherwise the program ends it, and from now on no optimizer
 * does. Return: 0; -1: @words are a Failure's.
 */
int annex_native_step(Block *block, bool graph, char *words, size_t room)
{
	if (active != block || current || (graph && (!own_block() || !steps.empty())))
		return 0;
	try {
		if (graph)
			optimizer_stepped();
		else
			end_by_hand(block);
	} catch (const Failure &failure) {
		strncpy(words, failure.what(), room - 1);
		return -1;
	}
	return 0;
}

/* Copy the last iterations, up to ITERATIONS. Return: how many. */
size_t annex_native_iterations(Block *block, Iteration *list)
{
	return block->progress.get(list);
}

/* The state of planning, in a few words, of a block that has not ended. */
const char *annex_native_planning(Block *block)
{
	return block->progress.state();
}

/* Warnings of a block, a line each, of which the first @room - 1 bytes are copied. */
void annex_native_warnings(Block *block, char *words, size_t room)
{
	std::lock_guard<std::mutex> lock(table);

	strncpy(words, block->warnings.c_str(), room - 1);
}

/* Clear the line of progress. */
void annex_native_clear(Block *block)
{
	block->progress.clear();
}

/*
 * Move tensors from the space to ordinary memory, up to @most bytes; *@beyond: bytes beyond, which
 * stay. Return: 0, or the last error. If a full space cannot bring a tensor, the next attempt
 * follows when others have left.
 */
int annex_native_move_out(Block *block, const List *list, uint64_t most, uint64_t *beyond,
			  char *words, size_t room)
{
	Count stay;
	int failed = 0;
	bool some = true;
	auto fits = [block](const c10::StorageImpl *s) {
		return s->data_ptr().get_deleter() == block->side->deleter();
	};
	std::vector<c10::StorageImpl *> left = movable(list, block, fits, &stay);

	while (some && !left.empty()) {
		std::vector<c10::StorageImpl *> again;

		some = false;
		for (c10::StorageImpl *s : left) {
			if (block_of(s->data_ptr().get()) != block)
				continue;
			/* Where touches are not served, tensors cannot stay. */
			if (block->watched && s->nbytes() > most) {
				*beyond += s->nbytes();
				continue;
			}
			int err = move_out(block, s);

			most -= err ? 0 : s->nbytes();
			if (err == -ENOSPC)
				again.push_back(s);
			else
				some = true;
			if (err) {
				failed = err;
				strncpy(words, lib.last_error(), room - 1);
			}
		}
		if (again.empty() && failed == -ENOSPC)
			failed = 0;
		left = again;
	}
	return failed;
}

/* Add no more tensors: the space goes with its last one. */
void annex_native_leave(Block *block)
{
	lib.space_trim(block->space);
	std::unique_lock<std::mutex> lock(table);

	block->left = true;
	settle(block, lock);
}

/*
 * Begin a graph of torch.compile(). @list: tensors that it uses. @how: READ or WRITE of each.
 * @graph: to be ended; NULL: it is not recorded, as it is in another thread, or in a kernel, or too
 * large. Return: 0, or an error.
 */
int annex_native_graph_begin(const char *name, void **list, const uint32_t *how, size_t n,
			     Graph **graph)
{
	Block *block = own_block();
	auto begun = std::make_unique<Graph>();
	Uses uses;

	*graph = nullptr;
	if (!block || c10::impl::tls_is_dispatch_key_excluded(KEY) || block->large.count(name))
		return 0;
	begun->op.kind = Operator::GRAPH;
	begun->op.text = name;
	for (size_t i = 0; i < n; i++)
		add_tensor(block, static_cast<c10::TensorImpl *>(list[i]), how[i], &uses);
	try {
		begun->run = std::make_unique<Run>(&begun->op);
		if (!begun->run->block())
			return 0;
		begun->run->begin(std::move(uses));
	} catch (const Failure &failure) {
		return failure.err;
	}
	if (begun->run->is_large()) {
		begun->run->measure({});
		block->large.insert(name);
	} else {
		*graph = begun.release();
	}
	return 0;
}

/* End a graph. @results: tensors that it returns. */
void annex_native_graph_end(Graph *graph, void **results, size_t n)
{
	Block *block = graph->run->block();
	Uses uses;

	for (size_t i = 0; i < n; i++)
		add_tensor(block, static_cast<c10::TensorImpl *>(results[i]), WRITE, &uses);
	if (graph->run->is_large()) {
		block->large.insert(graph->op.text);
		graph->run->measure(uses);
	} else {
		graph->run->keep(uses);
	}
	delete graph;
}

/*
 * @out: whether the space is open, tensors in it, bytes without addresses, bytes of its tensors,
 * bytes outside of it that the last iteration used, bytes that the largest operator uses.
 */
void annex_native_state(Block *block, uint64_t *out)
{
	std::lock_guard<std::mutex> lock(table);

	out[0] = block->open;
	out[1] = block->live;
	out[2] = block->refused;
	out[3] = block->live_bytes;
	out[4] = block->beside;
	out[5] = block->least;
}

/* Whether a tensor lies in a space. In a forked child: in its parent's. */
int annex_native_has(void *tensor)
{
	c10::StorageImpl *s = storage_of(tensor);
	std::lock_guard<std::mutex> lock(table);

	return s && tensors.count(s->data_ptr().get());
}

/* Whether a tensor has lost its memory (move_out()). */
int annex_native_is_lost(void *tensor)
{
	c10::StorageImpl *s = storage_of(tensor);

	return s && s->nbytes() && !s->data_ptr().get();
}

/* Python has dropped the block. */
void annex_native_forget(Block *block)
{
	std::unique_lock<std::mutex> lock(table);

	block->owned = false;
	if (block->left && !block->live && !block->open)
		delete block;
}
}
