// SPDX-License-Identifier: MIT
/*
 * Operators of PyTorch: the tensors that each uses, and the steps of optimizers.
 */
#ifndef ANNEX_OPERATORS_HPP
#define ANNEX_OPERATORS_HPP

#include <memory>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/library.h>
#include "allocator.hpp"
#include "iterations.hpp"
#include "work.hpp"

namespace
{

/* Keys of torch.func and of subclasses in Python, whose tensors wrap others: operators on the
 * wrapped tensors are intercepted. */
constexpr c10::DispatchKeySet WRAPPERS({c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
					c10::DispatchKey::FuncTorchDynamicLayerBackMode,
					c10::DispatchKey::Python});
/* Kernels of an iteration at most, so that the record of a program without an optimizer ends. */
constexpr uint64_t LONGEST = 1 << 16;
/* Parts of the device tier: the tensors of a kernel on lists fill one at most. */
constexpr uint64_t PARTS_OF_STEP = 16;

/* Operators */

bool is_view(const c10::FunctionSchema &schema)
{
	for (const auto &result : schema.returns())
		if (result.alias_info() && !result.alias_info()->isWrite())
			return true;
	return false;
}

bool starts(const std::string &text, const char *with)
{
	return text.compare(0, strlen(with), with) == 0;
}

/* Operators without work on elements: they make views or memory, or consist of operators. */
bool passes(const c10::OperatorHandle &op, const std::string &name)
{
	static const char *const idle[] = {
		"aten::empty", "aten::new_empty",     "aten::set_",        "aten::detach_",
		"profiler::",  "aten::record_stream", "_c10d_functional::"};

	for (const char *prefix : idle)
		if (starts(name, prefix))
			return true;
	if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
	    !op.hasKernelForDispatchKey(c10::DispatchKey::CPU))
		return true;
	return is_view(op.schema());
}

Operator::Kind kind_of(const c10::OperatorHandle &op, const std::string &name)
{
	if (starts(name, "profiler::_record_function_enter"))
		return Operator::ENTER;
	if (name == "profiler::_record_function_exit")
		return Operator::EXIT;
	if (starts(name, "aten::_foreach_"))
		return Operator::LISTS;
	return passes(op, name) ? Operator::PASS : Operator::KERNEL;
}

Operator classify(const c10::OperatorHandle &op)
{
	const c10::FunctionSchema &schema = op.schema();
	const auto &returns = schema.returns();
	Operator o;

	o.name = op.operator_name();
	o.text = o.name.name;
	o.kind = kind_of(op, o.text);
	o.works = starts(o.text, "c10d::");
	o.gives = returns.size() == 1 && returns[0].type()->str() == "Tensor[]";
	o.splits = o.kind == Operator::LISTS && o.gives;
	if (returns.empty())
		o.splits = o.kind == Operator::LISTS ||
			   (starts(o.text, "aten::_fused_") && o.text.back() == '_') ||
			   starts(o.text, "aten::_amp_foreach_");
	for (const auto &argument : schema.arguments()) {
		bool tensor = argument.type()->str().find("Tensor") != std::string::npos;
		/* Schemas do not say that batch_norm writes its statistics, and that
		 * torch.distributed reads and writes tensors. */
		bool writes = (argument.alias_info() && argument.alias_info()->isWrite()) ||
			      starts(argument.name(), "running_") || o.works;

		o.how.push_back(tensor ? READ | (writes ? WRITE : 0) : 0);
	}
	return o;
}

const Operator &look_up(const c10::OperatorHandle &op)
{
	static thread_local std::unordered_map<const c10::FunctionSchema *, Operator> known;
	Operator &o = known[&op.schema()];

	if (o.text.empty() || !(o.name == op.operator_name()))
		o = classify(op);
	return o;
}

void add_tensor(Block *block, const c10::TensorImpl *t, uint32_t how, Uses *uses)
{
	if (!t->has_storage())
		return;
	const void *ptr = t->storage().data_ptr().get();
	std::lock_guard<std::mutex> lock(table);
	auto found = tensors.find(const_cast<void *>(ptr));
	if (found == tensors.end() || found->second.block != block)
		return add_outside(block, t->storage(), how);
	for (Use &use : uses->list)
		if (use.ptr == ptr) {
			use.how |= how;
			return;
		}
	uses->list.push_back({ptr, how});
	uses->bytes += in_pages(found->second.bytes);
}

/* A sparse tensor consists of others. */
void add_sparse(Block *block, const at::Tensor &tensor, uint32_t how, Uses *uses)
{
	std::vector<at::Tensor> inside;

	switch (tensor.layout()) {
	case at::kSparse:
		inside = {tensor._indices(), tensor._values()};
		break;
	case at::kSparseCsr:
	case at::kSparseBsr:
		inside = {tensor.crow_indices(), tensor.col_indices(), tensor.values()};
		break;
	case at::kSparseCsc:
	case at::kSparseBsc:
		inside = {tensor.ccol_indices(), tensor.row_indices(), tensor.values()};
		break;
	default:
		break;
	}
	for (const at::Tensor &part : inside)
		add_tensor(block, part.unsafeGetTensorImpl(), how, uses);
}

void add_use(Block *block, const c10::IValue &value, uint32_t how, Uses *uses)
{
	if (value.isTensor()) {
		const at::Tensor &tensor = value.toTensor();

		if (!tensor.defined())
			return;
		add_tensor(block, tensor.unsafeGetTensorImpl(), how, uses);
		if (tensor.layout() != at::kStrided)
			add_sparse(block, tensor, how, uses);
	} else if (value.isList()) {
		for (const c10::IValue &element : value.toListRef())
			add_use(block, element, how, uses);
	}
}

Uses uses_of(Block *block, const Operator &o, const torch::jit::Stack &stack)
{
	size_t n = o.how.size();
	Uses uses;

	for (size_t i = 0; i < n; i++)
		if (o.how[i])
			add_use(block, stack[stack.size() - n + i], o.how[i], &uses);
	return uses;
}

Uses results_of(Block *block, size_t n, const torch::jit::Stack &stack)
{
	Uses uses;

	for (size_t i = stack.size() - n; i < stack.size(); i++)
		add_use(block, stack[i], WRITE, &uses);
	return uses;
}

std::vector<c10::IValue> tensors_of(const Operator &o, const torch::jit::Stack &stack)
{
	size_t n = o.how.size();
	std::vector<c10::IValue> tensors;

	for (size_t i = 0; i < n; i++)
		if (o.how[i])
			tensors.push_back(stack[stack.size() - n + i]);
	return tensors;
}

bool wants_gradient(const c10::IValue &value)
{
	if (value.isTensor())
		return value.toTensor().defined() && value.toTensor().requires_grad();
	if (value.isTensorList())
		for (const c10::IValue &element : value.toListRef())
			if (wants_gradient(element))
				return true;
	return false;
}

/* Whether it records for gradients, as training does, and making a model does not. */
bool learns(const Operator &o, const torch::jit::Stack &stack)
{
	size_t n = o.how.size();

	for (size_t i = 0; i < n && at::GradMode::is_enabled(); i++)
		if (o.how[i] && wants_gradient(stack[stack.size() - n + i]))
			return true;
	return false;
}

void redispatch(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
{
	op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, KEY), stack);
}

/* Where touches are not served, every thread's kernels are recorded, one at a time. */
std::unique_lock<std::mutex> lock_kernels()
{
	Block *block = active;

	if (block && !block->watched)
		return std::unique_lock<std::mutex>(running);
	return std::unique_lock<std::mutex>(running, std::try_to_lock);
}

/* A kernel while it runs. Operators that it calls are parts of it. */
class Run
{
      public:
	explicit Run(const Operator *op) : kernel{lock.owns_lock() ? own_block() : nullptr, op}
	{
		if (!kernel.block)
			return;
		bool ended = kernel.block->stepped && !is_in_backward();
		if (ended || kernel.block->kernels >= LONGEST)
			turn(kernel.block);
		if (++kernel.block->kernels == UNENDED && !kernel.block->ended)
			warn_of_no_step(kernel.block);
		kernel.block->progress.update(kernel.block->kernels);
	}
	~Run()
	{
		kernel.end();
	}
	/* NULL: the kernel is not recorded. */
	Block *block() const
	{
		return kernel.block;
	}
	void begin(Uses uses)
	{
		let_go_of_works(kernel.block);
		kernel.begin(std::move(uses));
	}
	void keep(const Uses &results)
	{
		kernel.keep(results.list);
	}
	/* Whether page faults bring its tensors: then it is not recorded. */
	bool is_large() const
	{
		return kernel.large;
	}
	void measure(const Uses &results)
	{
		kernel.measure(results.list);
	}
	/* Begin the first iteration with this kernel. Kernels before it have made the model. */
	void learn()
	{
		kernel.block->learns = true;
		if (int err = lib.exec_restart(kernel.block->exec))
			throw Failure(err);
		kernel.block->kernels = 1;
	}

      private:
	c10::impl::ExcludeDispatchKeyGuard inside{c10::DispatchKeySet(KEY)};
	std::unique_lock<std::mutex> lock = lock_kernels();
	Kernel kernel;
};

void run_kernel(const c10::OperatorHandle &op, const Operator &o, c10::DispatchKeySet keys,
		torch::jit::Stack *stack)
{
	Run run(&o);
	std::vector<c10::IValue> tensors;
	Uses uses;

	if (run.block()) {
		if (!run.block()->learns && learns(o, *stack))
			run.learn();
		uses = uses_of(run.block(), o, *stack);
		run.begin(uses);
	}
	if (o.works)
		tensors = tensors_of(o, *stack);
	redispatch(op, keys, stack);
	if (run.block() && (run.is_large() || !run.block()->watched)) {
		Uses results = results_of(run.block(), op.schema().returns().size(), *stack);

		if (run.is_large())
			run.measure(results);
		else
			run.keep(results);
	}
	if (o.works && run.block())
		hold_for_work(run.block(), stack->back(), std::move(tensors), std::move(uses.list));
}

/* Operators on lists: an optimizer's step changes each parameter by its own gradient and state. */

/* Elements of each list that is not empty; 0: lists differ, or there is none. */
size_t length_of_lists(const std::vector<c10::IValue> &arguments)
{
	size_t length = 0;

	for (const c10::IValue &value : arguments) {
		size_t n = value.isList() ? value.toListRef().size() : 0;

		if (n && length && n != length)
			return 0;
		length = n ? n : length;
	}
	return length;
}

uint64_t bytes_at(const std::vector<c10::IValue> &arguments, size_t i)
{
	uint64_t bytes = 0;

	for (const c10::IValue &value : arguments)
		if (value.isTensorList() && !value.toListRef().empty())
			bytes += value.toListRef()[i].toTensor().nbytes();
	return bytes;
}

torch::jit::Stack part_of(const std::vector<c10::IValue> &arguments, size_t from, size_t to)
{
	torch::jit::Stack part;

	for (const c10::IValue &value : arguments) {
		if (!value.isList() || value.toListRef().empty()) {
			part.push_back(value);
			continue;
		}
		auto all = value.toList();
		c10::impl::GenericList some(all.elementType());

		for (size_t i = from; i < to; i++)
			some.push_back(all.get(i));
		part.emplace_back(some);
	}
	return part;
}

/* All tensors of the lists may exceed the device tier, so a few at a time are a kernel. */
void run_parts(const c10::OperatorHandle &op, const Operator &o, c10::DispatchKeySet keys,
	       torch::jit::Stack *stack)
{
	std::vector<c10::IValue> arguments(stack->end() - o.how.size(), stack->end());
	size_t n = length_of_lists(arguments);
	uint64_t most = own_block()->budget / PARTS_OF_STEP;
	std::vector<at::Tensor> results;

	if (!o.splits || n < 2)
		return run_kernel(op, o, keys, stack);
	torch::jit::drop(*stack, o.how.size());
	for (size_t from = 0, to = 0; from < n; from = to) {
		uint64_t bytes = bytes_at(arguments, to++);

		while (to < n && bytes + bytes_at(arguments, to) <= most)
			bytes += bytes_at(arguments, to++);
		torch::jit::Stack part = part_of(arguments, from, to);
		run_kernel(op, o, keys, &part);
		if (o.gives)
			for (const at::Tensor &result : part.back().toTensorVector())
				results.push_back(result);
	}
	if (o.gives)
		stack->emplace_back(std::move(results));
}

/* A graph of torch.compile(): code that touches tensors without operators. */
struct Graph {
	Operator op;
	std::unique_ptr<Run> run;
};

/* Iterations */

/* Records of optimizers' steps that are under way, with the number of kernels at their begin. */
thread_local std::unordered_map<const void *, uint64_t> steps;

/* The record is an object, and in PyTorch 1.13 a tensor. */
const void *identity(const c10::IValue &record)
{
	if (record.isTensor())
		return record.toTensor().unsafeGetTensorImpl();
	return record.isObject() ? record.toObjectRef().getSlot(0).toCapsule().get() : nullptr;
}

void enter(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
{
	const c10::IValue &name = (*stack)[stack->size() - op.schema().arguments().size()];
	bool step = name.isString() && starts(name.toStringRef(), "Optimizer.step#");

	redispatch(op, keys, stack);
	if (!step)
		return;
	move_outside(own_block(), READ | WRITE);
	steps[identity(stack->back())] = own_block()->kernels;
}

void leave(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
{
	const void *record = identity((*stack)[stack->size() - op.schema().arguments().size()]);

	auto step = steps.find(record);

	redispatch(op, keys, stack);
	if (step == steps.end())
		return;
	if (own_block()->stepped || own_block()->kernels != step->second)
		optimizer_stepped();
	steps.erase(step);
}

/* An operator on lists is one kernel on a GPU; on CPUs it calls an operator for each tensor. */
void intercept(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
{
	Block *block = own_block();

	if (!block || keys.has_any(WRAPPERS))
		return redispatch(op, keys, stack);
	const Operator &o = look_up(op);

	switch (o.kind) {
	case Operator::KERNEL:
		return o.splits ? run_parts(op, o, keys, stack) : run_kernel(op, o, keys, stack);
	case Operator::LISTS:
		return block->watched ? redispatch(op, keys, stack) : run_parts(op, o, keys, stack);
	case Operator::ENTER:
		return enter(op, keys, stack);
	case Operator::EXIT:
		return leave(op, keys, stack);
	default:
		return redispatch(op, keys, stack);
	}
}

/* The key's fallback while a block lasts. Outside of blocks native.py has another one. */
std::unique_ptr<torch::Library> &watch = *new std::unique_ptr<torch::Library>;

void watch_operators()
{
	if (watch) /* in a child that was forked inside of a block */
		return;
	watch = std::make_unique<torch::Library>(torch::Library::IMPL, "_", KEY, __FILE__,
						 __LINE__);
	watch->fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

} // namespace

#endif
