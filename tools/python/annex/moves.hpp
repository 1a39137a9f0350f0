// SPDX-License-Identifier: MIT
/*
 * Tensors that are there when a block begins, or live when it ends: another address for each.
 */
#ifndef ANNEX_MOVES_HPP
#define ANNEX_MOVES_HPP

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>
#include "allocator.hpp"

namespace
{

constexpr uint32_t TIMEOUT_MS = 60000; /* of a move */
constexpr uint64_t PARTS = 8;          /* of the budget: as much is copied at a time */

/* Tensors that are there already */

/* Tensors and storages that Python knows, each object once. */
struct List {
	void **tensors, **storages;
	size_t n_tensors, n_storages;
};

c10::StorageImpl *storage_of(void *tensor)
{
	auto *t = static_cast<c10::TensorImpl *>(tensor);

	if (!t->has_storage() || (t->device_type() != c10::DeviceType::CPU &&
				  t->device_type() != c10::DeviceType::CUDA))
		return nullptr;
	return t->storage().unsafeGetStorageImpl();
}

/* Holders of tensors that are known: Python, gradients, views, and autograd's accumulators. */
std::unordered_map<c10::TensorImpl *, size_t> known_holders(void **list, size_t n)
{
	std::unordered_map<c10::TensorImpl *, size_t> known;

	for (size_t i = 0; i < n; i++) {
		auto tensor = at::Tensor(
			c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::
				unsafe_reclaim_from_nonowning(
					static_cast<c10::TensorImpl *>(list[i])));

		known[tensor.unsafeGetTensorImpl()]++;
		if (tensor.is_view())
			known[tensor._base().unsafeGetTensorImpl()]++;
		if (tensor.is_leaf() && tensor.grad().defined())
			known[tensor.grad().unsafeGetTensorImpl()]++;
		if (torch::autograd::impl::try_get_grad_accumulator(tensor))
			known[tensor.unsafeGetTensorImpl()]++;
	}
	return known;
}

/*
 * Storages of tensors, each once, that may get another address. A storage or a tensor that has more
 * holders than are known may have been given away by its address (DLPack); a storage that cannot be
 * resized has been (NumPy), or is shared.
 */
std::vector<c10::StorageImpl *> movable(const List *all, const Block *block,
					c10::DeleterFnPtr deleter, uint64_t *stay)
{
	void **list = all->tensors;
	size_t n = all->n_tensors;
	auto known = known_holders(list, n);
	std::unordered_map<c10::StorageImpl *, size_t> holders;
	std::vector<c10::StorageImpl *> found;
	std::unordered_set<c10::StorageImpl *> given;

	for (size_t i = 0; i < n; i++) {
		auto *t = static_cast<c10::TensorImpl *>(list[i]);
		c10::StorageImpl *s = storage_of(list[i]);

		if (!s)
			continue;
		holders[s]++;
		if (c10::raw::intrusive_ptr::use_count(t) > known[t])
			given.insert(s);
	}
	for (size_t i = 0; i < all->n_storages; i++)
		holders[static_cast<c10::StorageImpl *>(all->storages[i])]++;
	for (const auto &holder : holders) {
		c10::StorageImpl *s = holder.first;

		if (s->device() != block->side->device() || s->nbytes() < block->smallest)
			continue;
		if (s->resizable() && s->data_ptr().get_deleter() == deleter && !given.count(s) &&
		    static_cast<size_t>(c10::raw::intrusive_ptr::use_count(s)) == holder.second)
			found.push_back(s);
		else
			++*stay;
	}
	return found;
}

/* Bytes come to the device tier, from storage that may fail. */
int bring(Block *block, const char *from, uint64_t bytes)
{
	void *move;
	int err = lib.prefetch(block->space, from, bytes, 0, &move);

	if (err)
		return err;
	err = lib.move_wait(move, TIMEOUT_MS);
	if (err == -ETIMEDOUT)
		lib.move_forget(move);
	return err;
}

/* Copy between a tensor of the space and ordinary memory, @in to the space. */
int copy_parts(Block *block, char *tensor, char *ordinary, uint64_t bytes, bool in)
{
	uint64_t part = std::max<uint64_t>(block->budget / PARTS / 4096 * 4096, 4096), n;

	for (uint64_t at = 0; at < bytes; at += n) {
		n = std::min(part, bytes - at);
		int err = bring(block, tensor + at, n);
		if (!err)
			err = in ? block->side->copy(tensor + at, ordinary + at, n)
				 : block->side->copy(ordinary + at, tensor + at, n);
		if (err)
			return err;
	}
	return 0;
}

/* Where touches are not served, what is touched is held. */
int copy_held(Block *block, void *tensor, void *ordinary, uint64_t bytes, bool in)
{
	int err = block->watched ? 0 : lib.hold(block->space, tensor);

	if (err)
		return err;
	err = copy_parts(block, static_cast<char *>(tensor), static_cast<char *>(ordinary), bytes,
			 in);
	if (!block->watched)
		lib.let_go(block->space, tensor);
	return err;
}

/* Return: whether it is in the space. */
bool move_in(Block *block, c10::StorageImpl *s)
{
	void *old = s->data_ptr().get(), *ptr;
	int err = 0;

	if (!block->watched && s->nbytes() > block->budget / 2)
		return false;
	ptr = take(block, s->nbytes(), "tensor");
	if (!ptr)
		return false;
	c10::DataPtr data(ptr, ptr, block->side->deleter(), block->side->device());
	if (block->watched)
		memcpy(ptr, old, s->nbytes());
	else
		err = copy_held(block, ptr, old, s->nbytes(), true);
	if (err)
		return false;
	s->set_data_ptr_noswap(std::move(data));
	return true;
}

bool is_in(Block *block, c10::StorageImpl *s)
{
	std::lock_guard<std::mutex> lock(table);
	auto found = tensors.find(s->data_ptr().get());

	return found != tensors.end() && found->second.block == block;
}

/* Bytes cannot be read, and will not be. */
bool is_loss(int err)
{
	return err == -EIO || err == -EILSEQ || err == -ENODEV;
}

/* Return: 0, or an error: a loss leaves the storage without memory. */
int move_out(Block *block, c10::StorageImpl *s)
{
	c10::DataPtr fresh;
	int err;

	try {
		fresh = block->side->ordinary(s->nbytes());
	} catch (const std::exception &) {
		return -ENOMEM;
	}
	err = copy_held(block, s->data_ptr().get(), fresh.get(), s->nbytes(), false);
	if (err && !is_loss(err))
		return err;
	if (err)
		fresh = c10::DataPtr(nullptr, block->side->device());
	s->set_data_ptr_noswap(std::move(fresh));
	return err;
}

} // namespace

#endif
