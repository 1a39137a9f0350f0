/* SPDX-License-Identifier: MIT */
/*
 * Arrays in C++: elements of a type on devices larger than memory (BaM sections 3.4 and 3.5).
 *
 *	annex::cache cache({"file:/data/ranks"}, 1 << 30);
 *	annex::array<double> ranks(cache);
 *	ranks[8] = ranks[7] / 2;
 *
 *	annex::ptr<const double> rank(ranks);	// keeps the line of its last element
 *	for (std::uint64_t i = 0; i < ranks.size(); i++)
 *		sum += rank[i];
 *
 * This header needs C++17. A failed call throws annex::error. Elements are as in annex/array.h: any
 * size at any offset.
 */
#ifndef ANNEX_ARRAY_HPP
#define ANNEX_ARRAY_HPP

#if __cplusplus < 201703L
#error annex/array.hpp needs C++17 or later, as by -std=c++17
#endif

#include <algorithm>
#include <climits>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>
#include <annex/array.h>
#include <annex/device.h>

namespace annex
{

/** error - A negative errno of a call, with annex_last_error(). code().value() is the errno. */
class error : public std::system_error
{
      public:
	explicit error(int err) : std::system_error(-err, std::generic_category(), text(-err))
	{
	}

      private:
	/* Without the reason at its end, which std::system_error adds. */
	static std::string text(int err)
	{
		const std::string reason = ": " + std::generic_category().message(err);
		std::string words = annex_last_error();

		if (words.size() >= reason.size() &&
		    !words.compare(words.size() - reason.size(), reason.size(), reason))
			words.resize(words.size() - reason.size());
		return words;
	}
};

/** must() - Throw the error of a call of the library, if it failed. */
inline void must(int err)
{
	if (err < 0)
		throw error(err);
}

/** cache - A cache with its devices. It outlives the arrays in it. */
class cache
{
      public:
	/**
	 * cache() - Open devices, and make a cache.
	 * @uris: the devices.
	 * @bytes: memory for cached lines.
	 * @opts: other options; devs, ndevs and bytes are ignored.
	 */
	cache(const std::vector<std::string> &uris, std::uint64_t bytes, annex_cache_opts opts = {})
	{
		try {
			for (const std::string &uri : uris) {
				devs.push_back(nullptr);
				must(annex_dev_open(uri.c_str(), nullptr, &devs.back()));
			}
			opts.bytes = bytes;
			opts.devs = devs.data();
			opts.ndevs = static_cast<unsigned int>(devs.size());
			must(annex_cache_create(&opts, &c));
			if (devs.size() == 1)
				must(annex_dev_bytes(devs[0], opts.nsid ? opts.nsid : 1, &stored));
		} catch (...) {
			close();
			throw;
		}
	}
	cache(const cache &) = delete;
	cache &operator=(const cache &) = delete;
	/** ~cache() - Write dirty lines back. Call flush() before, which reports errors. */
	~cache()
	{
		close();
	}
	/** flush() - Write dirty lines back, and have the devices store them durably. */
	void flush()
	{
		must(annex_cache_flush(c, 0, UINT64_MAX));
	}
	/** bytes() - Bytes of backing data; of one file, its size. */
	std::uint64_t bytes() const
	{
		return std::min(stored, annex_cache_size(c));
	}
	annex_cache *get() const
	{
		return c;
	}

      private:
	void close()
	{
		annex_cache_destroy(c);
		for (annex_dev *dev : devs)
			annex_dev_close(dev);
	}
	std::vector<annex_dev *> devs;
	annex_cache *c = nullptr;
	std::uint64_t stored = UINT64_MAX;
};

/** array - A view of elements of type @T. Copies are views of the same elements. */
template <typename T> class array
{
	static_assert(std::is_trivially_copyable<T>::value && !std::is_const<T>::value,
		      "elements are copied as bytes");

      public:
	/** element - An element as operator[] gives it: it is read and written when it is used. */
	class element
	{
	      public:
		element(const element &) = default;
		operator T() const
		{
			return a.get(i);
		}
		const element &operator=(const T &value) const
		{
			a.set(i, value);
			return *this;
		}
		const element &operator=(const element &other) const
		{
			return *this = static_cast<T>(other);
		}
		/* Add atomically: elements of type uint32_t and uint64_t only. */
		const element &operator+=(T delta) const
		{
			a.add(i, delta);
			return *this;
		}

	      private:
		friend class array;
		element(const array &in, std::uint64_t at) : a(in), i(at)
		{
		}
		const array &a;
		std::uint64_t i;
	};

	/** array() - A view of @count elements from byte @base on. */
	array(const cache &c, std::uint64_t base, std::uint64_t count)
	{
		must(annex_array_init(&a, c.get(), base, sizeof(T), count));
	}
	/** array() - A view of all elements that the devices hold. */
	explicit array(const cache &c) : array(c, 0, c.bytes() / sizeof(T))
	{
	}
	std::uint64_t size() const
	{
		return a.count;
	}
	const element operator[](std::uint64_t i) const &
	{
		return element(*this, i);
	}
	/* An element refers to its array, so a temporary array gives none. */
	const element operator[](std::uint64_t i) const && = delete;
	T get(std::uint64_t i) const
	{
		T value;

		must(annex_array_get(&a, i, &value));
		return value;
	}
	void set(std::uint64_t i, const T &value) const
	{
		must(annex_array_set(&a, i, &value));
	}
	/** add() - Add atomically. Return: the previous value. */
	T add(std::uint64_t i, T delta) const
	{
		static_assert(std::is_same<T, std::uint32_t>::value ||
				      std::is_same<T, std::uint64_t>::value,
			      "atomic additions are to uint32_t and uint64_t");
		T old;

		if constexpr (sizeof(T) == sizeof(std::uint32_t))
			must(annex_array_add_u32(&a, i, delta, &old));
		else
			must(annex_array_add_u64(&a, i, delta, &old));
		return old;
	}
	/**
	 * gather() - out[k] = array[idx[k]]; all misses are read at once. With more than UINT_MAX
	 * indices, it and scatter() throw std::length_error.
	 */
	void gather(const std::vector<std::uint64_t> &idx, T *out) const
	{
		must(annex_array_gather(&a, idx.data(), count(idx), out));
	}
	/** scatter() - array[idx[k]] = values[k]. */
	void scatter(const std::vector<std::uint64_t> &idx, const T *values) const
	{
		must(annex_array_scatter(&a, idx.data(), count(idx), values));
	}
	/** prefetch() - Start reading @n elements from @i on. */
	void prefetch(std::uint64_t i, std::uint64_t n) const
	{
		std::int64_t lines = annex_array_prefetch(&a, i, n);

		must(lines < 0 ? static_cast<int>(lines) : 0);
	}
	const annex_array &get() const
	{
		return a;
	}

      private:
	static unsigned int count(const std::vector<std::uint64_t> &idx)
	{
		if (idx.size() > UINT_MAX)
			throw std::length_error("annex::array: more than UINT_MAX indices");
		return static_cast<unsigned int>(idx.size());
	}
	annex_array a;
};

/**
 * ptr - A pointer that pins the line of the element that it was last used for (BaM's bam_ptr), so
 * that its neighbours cost no more than memory. ptr<const T> reads, ptr<T> also writes. A pinned
 * line is not evicted, so a thread should have few pointers, and reset() pointers that it keeps.
 */
template <typename T> class ptr
{
	using plain = typename std::remove_const<T>::type;

      public:
	explicit ptr(const array<plain> &in) : a(in)
	{
	}
	ptr(const ptr &other) : a(other.a)
	{
	}
	ptr &operator=(const ptr &) = delete;
	~ptr()
	{
		reset();
	}
	/** operator[] - An element, valid until the pointer is used for another one. */
	T &operator[](std::uint64_t i)
	{
		if (i - first >= span.count) {
			reset();
			must(annex_array_span(&a.get(), i, 0,
					      std::is_const<T>::value ? 0 : ANNEX_PIN_WRITE,
					      &span));
			first = i;
		}
		return static_cast<T *>(span.data)[i - first];
	}
	/** reset() - Unpin the line. */
	void reset()
	{
		if (span.count)
			annex_array_span_end(&a.get(), &span);
		span.count = 0;
	}

      private:
	array<plain> a;
	annex_span span = {};
	std::uint64_t first = 0;
};

} // namespace annex

#endif
