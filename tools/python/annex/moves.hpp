// SPDX-License-Identifier: MIT
/*
 * Tensors that exist when a block begins, or when it ends: each moves to another address.
 */
#ifndef ANNEX_MOVES_HPP
#define ANNEX_MOVES_HPP

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <unordered_set>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>
#include "allocator.hpp"

namespace
{

/*
 * Tensors and storages that Python knows, each object once. @given: of each tensor, whether an
 * array of NumPy may have its address.
 */
struct List {
	void **tensors, **storages;
	size_t n_tensors, n_storages;
	const bool *given;
};

/* Storages, and their bytes. */
struct Count {
	uint64_t n = 0, bytes = 0;

	void add(uint64_t more)
	{
		n++;
		bytes += more;
	}
};

/* The deleter of storages that are parts of others: of a mapped file, for one. */
c10::DeleterFnPtr slices;

c10::StorageImpl *storage_of(void *tensor)
{
	auto *t = static_cast<c10::TensorImpl *>(tensor);

	if (!t->has_storage() ||
	    (t->device_type() != c10::DeviceType::CPU && t->device_type() != c10::DeviceType::CUDA))
		return nullptr;
	return t->storage().unsafeGetStorageImpl();
}

/*
 * Private mappings of files, and parts of them that are tensors to be trained, as safetensors and
 * torch.load(mmap=True) make them. Parts that overlap are none: they share their bytes.
 */
class Maps
{
      public:
	explicit Maps(const List *all)
	{
		for (size_t i = 0; i < all->n_tensors; i++) {
			c10::StorageImpl *s = storage_of(all->tensors[i]);
			auto *t = static_cast<c10::TensorImpl *>(all->tensors[i]);

			if (!s || s->data_ptr().get_deleter() != slices)
				continue;
			auto &part = parts[reinterpret_cast<uintptr_t>(s->data_ptr().get())];
			part.count(s, t->requires_grad());
		}
		if (!parts.empty())
			read();
	}
	bool has(const c10::StorageImpl *s) const
	{
		uintptr_t from = reinterpret_cast<uintptr_t>(s->data_ptr().get());
		auto part = parts.find(from), next = part;

		if (part == parts.end() || !part->second.trained || part->second.several)
			return false;
		if (++next != parts.end() && next->first < from + s->nbytes())
			return false;
		if (part != parts.begin() && (--part)->second.end > from)
			return false;
		return std::any_of(maps.begin(), maps.end(), [&](const auto &map) {
			return map.first <= from && from + s->nbytes() <= map.second;
		});
	}

      private:
	struct Part {
		const c10::StorageImpl *storage = nullptr;
		uintptr_t end = 0;
		bool trained = false, several = false;

		void count(const c10::StorageImpl *s, bool is_trained)
		{
			several = several || (storage && storage != s);
			storage = s;
			end = reinterpret_cast<uintptr_t>(s->data_ptr().get()) + s->nbytes();
			trained = trained || is_trained;
		}
	};
	std::map<uintptr_t, Part> parts;
	std::vector<std::pair<uintptr_t, uintptr_t>> maps;

	void read()
	{
		std::ifstream file("/proc/self/maps");
		std::string line;

		while (std::getline(file, line)) {
			unsigned long from, to, inode;
			char access[5];

			if (sscanf(line.c_str(), "%lx-%lx %4s %*x %*s %lu", &from, &to, access,
				   &inode) == 4 &&
			    access[3] == 'p' && inode)
				maps.emplace_back(from, to);
		}
	}
};

/*
 * Count the known holders of tensors: Python, gradients, views, autograd's accumulators. A base may
 * be a tensor that Python does not know.
 */
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
 * Storages of tensors, each once, that may get another address. If a storage or a tensor has more
 * holders than are known, its address may have been given away (DLPack). @fits: whether its memory
 * moves.
 */
template <typename Fits>
std::vector<c10::StorageImpl *> movable(const List *all, const Block *block, Fits fits, Count *stay)
{
	auto known = known_holders(all->tensors, all->n_tensors);
	std::unordered_map<c10::StorageImpl *, size_t> holders;
	std::vector<c10::StorageImpl *> found;
	std::unordered_set<c10::StorageImpl *> given;

	for (size_t i = 0; i < all->n_tensors; i++)
		if (c10::StorageImpl *s = storage_of(all->tensors[i]))
			if (all->given[i])
				given.insert(s);
	for (const auto &entry : known) {
		c10::StorageImpl *s = storage_of(entry.first);

		if (!s)
			continue;
		holders[s]++;
		if (c10::raw::intrusive_ptr::use_count(entry.first) > entry.second)
			given.insert(s);
	}
	for (size_t i = 0; i < all->n_storages; i++)
		holders[static_cast<c10::StorageImpl *>(all->storages[i])]++;
	for (const auto &holder : holders) {
		c10::StorageImpl *s = holder.first;

		if (s->device() != block->side->device() || s->nbytes() < block->smallest)
			continue;
		if (fits(s) && !given.count(s) &&
		    static_cast<size_t>(c10::raw::intrusive_ptr::use_count(s)) == holder.second)
			found.push_back(s);
		else if (block_of(s->data_ptr().get()) != block)
			stay->add(s->nbytes());
	}
	return found;
}

/* Whether an operator of this iteration has used a storage outside of the space. */
bool is_used(Block *block, const c10::StorageImpl *s)
{
	std::lock_guard<std::mutex> lock(table);

	return block->outside.count(s->data_ptr().get());
}

/* Whether memory is ordinary, a part of a mapped file, or kept by a block that has ended. */
bool may_enter(const Block *block, const c10::StorageImpl *s, const Maps &maps)
{
	const c10::DataPtr &data = s->data_ptr();

	if (data.get_deleter() == block->side->ordinary_deleter() || maps.has(s))
		return true;
	std::lock_guard<std::mutex> lock(table);
	auto found = tensors.find(data.get());

	return found != tensors.end() && found->second.block && found->second.block->left &&
	       found->second.block->watched && block->watched;
}

/* Hold a tensor while it is copied, where touches are not served. */
template <typename Copy> int held(Block *block, const void *tensor, Copy copy)
{
	int err = block->watched ? 0 : lib.hold(block->space, tensor);

	if (err)
		return err;
	err = copy();
	if (!block->watched)
		lib.let_go(block->space, tensor);
	return err;
}

/* Return: whether the storage is in the space. */
bool move_in(Block *block, c10::StorageImpl *s)
{
	void *old = s->data_ptr().get(), *ptr;

	if (!block->watched && s->nbytes() > block->budget / 2)
		return false;
	ptr = take(block, s->nbytes(), "tensor");
	if (!ptr)
		return false;
	c10::DataPtr data(ptr, ptr, block->side->deleter(), block->side->device());
	int err = held(block, ptr, [&] {
		return copy_parts(block, static_cast<char *>(ptr), block_of(old),
				  static_cast<const char *>(old), s->nbytes());
	});
	if (err)
		throw failed_for(s->nbytes(), err);
	s->set_data_ptr_noswap(std::move(data));
	return true;
}

/* Whether bytes are lost for ever. */
bool is_loss(int err)
{
	return err == -EIO || err == -EILSEQ || err == -ENODEV;
}

/* Return: 0, or an error. A loss leaves the storage without memory. */
int move_out(Block *block, c10::StorageImpl *s)
{
	c10::DataPtr fresh;
	int err;

	try {
		fresh = block->side->ordinary(s->nbytes());
	} catch (const std::exception &) {
		return -ENOMEM;
	}
	const void *old = s->data_ptr().get();
	err = held(block, old, [&] {
		return copy_parts(nullptr, static_cast<char *>(fresh.get()), block,
				  static_cast<const char *>(old), s->nbytes());
	});
	if (err && !is_loss(err))
		return err;
	if (err)
		fresh = c10::DataPtr(nullptr, block->side->device());
	s->set_data_ptr_noswap(std::move(fresh));
	return err;
}

} // namespace

#endif
