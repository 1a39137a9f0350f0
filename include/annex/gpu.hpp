/* SPDX-License-Identifier: MIT */
/*
 * Arrays for GPU threads in C++ (BaM's bam::array, section 3.5): annex/gpu.h by operator[].
 *
 *	__global__ void add(annex::gpu_array<float> a, annex::gpu_array<float> b)
 *	{
 *		std::uint64_t i = blockIdx.x * (std::uint64_t)blockDim.x + threadIdx.x;
 *
 *		if (i < a.size())
 *			a[i] = a[i] + b[i];
 *	}
 *
 * An element of a cached line is read without atomic operations, so there is no pointer that keeps
 * its line: use annex_gpu_span() to write many elements of a line.
 */
#ifndef ANNEX_GPU_HPP
#define ANNEX_GPU_HPP

#include <cstdint>
#include <type_traits>
#include <annex/gpu.h>

namespace annex
{

/**
 * gpu_array - A view of elements of type @T, by annex_gpu_array_init() with sizeof(T). Passed to
 * kernels by value.
 *
 * After an error an element reads as zeroes, and the context has the error
 * (annex_gpu_get_error()), unless there is no such element: get(), set() and add() return each.
 */
template <typename T> class gpu_array
{
	static_assert(std::is_trivially_copyable<T>::value && !(sizeof(T) & (sizeof(T) - 1)),
		      "elements are copied as bytes, and their size is a power of two");

      public:
	/** element - An element as operator[] gives it: it is read and written when it is used. */
	class element
	{
	      public:
		element(const element &) = default;
		ANNEX_HD operator T() const
		{
			T value = {};

			return a.get(i, value) ? T{} : value;
		}
		ANNEX_HD const element &operator=(const T &value) const
		{
			a.set(i, value);
			return *this;
		}
		ANNEX_HD const element &operator=(const element &other) const
		{
			return *this = static_cast<T>(other);
		}
		/* Add atomically: elements of type uint32_t and uint64_t only. */
		ANNEX_HD const element &operator+=(T delta) const
		{
			a.add(i, delta, nullptr);
			return *this;
		}

	      private:
		friend class gpu_array;
		ANNEX_HD element(const gpu_array &in, std::uint64_t at) : a(in), i(at)
		{
		}
		const gpu_array &a;
		std::uint64_t i;
	};

	ANNEX_HD explicit gpu_array(const annex_gpu_array &in) : a(in)
	{
	}
	ANNEX_HD std::uint64_t size() const
	{
		return a.count;
	}
	ANNEX_HD const element operator[](std::uint64_t i) const
	{
		return element(*this, i);
	}
	ANNEX_HD int get(std::uint64_t i, T &value) const
	{
		return annex_gpu_get(&a, i, &value);
	}
	ANNEX_HD int set(std::uint64_t i, const T &value) const
	{
		return annex_gpu_set(&a, i, &value);
	}
	/** add() - Add atomically. @old: NULL, or receives the previous value. */
	ANNEX_HD int add(std::uint64_t i, T delta, T *old) const
	{
		static_assert(std::is_same<T, std::uint32_t>::value ||
				      std::is_same<T, std::uint64_t>::value,
			      "atomic additions are to uint32_t and uint64_t");
		return sum(i, delta, old);
	}

      private:
	ANNEX_HD int sum(std::uint64_t i, std::uint32_t delta, std::uint32_t *old) const
	{
		return annex_gpu_add32(&a, i, delta, old);
	}
	ANNEX_HD int sum(std::uint64_t i, std::uint64_t delta, std::uint64_t *old) const
	{
		return annex_gpu_add64(&a, i, delta, old);
	}
	annex_gpu_array a;
};

} // namespace annex

#endif
