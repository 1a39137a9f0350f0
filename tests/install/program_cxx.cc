// SPDX-License-Identifier: MIT
/* The public headers as a C++ program sees them; C names must stay C names. */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <annex/array.hpp>
#include <annex/cuda.h>
#include <annex/gpu.hpp>
#include <annex/hdm.h>
#include <annex/log.h>
#include <annex/provider.h>
#include <annex/queue.h>
#include <annex/uri.h>

static void claim(bool holds, const char *words)
{
	if (!holds)
		throw std::runtime_error(words);
}

struct row { /* spans lines of 4 KiB */
	std::uint32_t of[75];
};

/* Beside a vector, by each way to read and write. */
template <typename T, typename Make> static void compare(annex::cache &cache, Make make)
{
	std::mt19937_64 random(7);
	annex::array<T> all(cache, 24 * sizeof(T), 3000);
	std::vector<T> model(all.size()), out(50);
	std::vector<std::uint64_t> idx(50);

	{
		annex::ptr<T> p(all);

		for (std::uint64_t i = 0; i < all.size(); i++)
			p[i] = model[i] = make(random());
	}
	for (int k = 0; k < 500; k++) {
		std::uint64_t i = random() % all.size(), j = random() % all.size();

		all[i] = model[i] = make(random());
		all[j] = all[i];
		model[j] = model[i];
	}
	for (std::uint64_t &i : idx)
		i = random() % all.size();
	all.gather(idx, out.data());
	for (std::size_t k = 0; k < idx.size(); k++)
		claim(!memcmp(&out[k], &model[idx[k]], sizeof(T)), "gather");
	all.prefetch(0, 10);
	annex::ptr<const T> p(all), q(p);
	for (std::uint64_t i = 0; i < all.size(); i++)
		claim(!memcmp(&p[i], &model[i], sizeof(T)), "ptr");
	claim(!memcmp(&q[5], &model[5], sizeof(T)) &&
		      !memcmp(&p[all.size() - 1], &model.back(), sizeof(T)),
	      "two pointers");
	cache.flush();
}

/* Whether elements of such an array can be named. */
template <typename A, typename = void> struct indexes : std::false_type {
};
template <typename A>
struct indexes<A, std::void_t<decltype(std::declval<A>()[0])>> : std::true_type {
};
static_assert(indexes<const annex::array<int> &>::value && !indexes<annex::array<int>>::value,
	      "an element must not outlive its array");

/* The reason is in the words once. */
static std::string words_of(int err)
{
	try {
		annex::must(err);
	} catch (const annex::error &failure) {
		return failure.what();
	}
	return "";
}

static std::string not_there()
{
	annex_dev *dev;

	return words_of(annex_dev_open("file:/nowhere/file", nullptr, &dev));
}

static int refused(std::uint64_t count)
{
	annex::cache cache({"mem:1M"}, 64 << 10);

	try {
		annex::array<double> a(cache, 0, count);
		return a[count] > 0;
	} catch (const annex::error &failure) {
		return failure.code().value();
	}
}

/* A GPU's thread, on the host in its place. */
static void compute(annex_gpu_context *ctx)
{
	annex_gpu_array view;

	annex::must(annex_gpu_array_init(&view, ctx, 64, sizeof(std::uint64_t), 1000));
	annex::gpu_array<std::uint64_t> a(view);
	for (std::uint64_t i = 0; i < a.size(); i++)
		a[i] = i * i;
	a[7] += 3;
	a[8] = a[7];
	for (std::uint64_t i = 0; i < a.size(); i++)
		claim(a[i] == i * i + (i == 7 ? 3 : 0) - (i == 8 ? 12 : 0), "elements of a GPU");
	std::uint64_t old = 0;
	claim(!a.add(9, 1, &old) && old == 81 && a.get(1000, old) == -ERANGE && a[1000] == 0,
	      "additions and errors of a GPU");
}

static void on_gpu()
{
	annex_gpu_opts opts = {};
	annex_gpu_context *ctx;

	opts.bytes = 4 << 10;
	opts.line = 512;
	annex::must(annex_gpu_open("mem:1M?serve=busy", &opts, annex_gpu_memory_host(), &ctx));
	compute(ctx);
	annex::must(annex_gpu_close(ctx));
}

int main()
try {
	annex::cache cache({"mem:2M", "mem:2M"}, 128 << 10);
	annex_dev *dev;

	compare<std::uint16_t>(cache, [](std::uint64_t x) { return std::uint16_t(x); });
	compare<double>(cache, [](std::uint64_t x) { return double(x); });
	compare<row>(cache, [](std::uint64_t x) { return row{{std::uint32_t(x), 1}}; });
	annex::array<std::uint64_t> sums(cache);
	sums[3] = 40;
	sums[3] += 2;
	claim(sums.add(3, 1) == 42 && sums[3] == 43 && sums.size() == 4 << 17, "additions");
	claim(refused(10) == ERANGE && refused(1 << 18) == ERANGE, "errors");
	const std::string words = not_there(), reason = "No such file or directory";
	claim(words.find(reason) + reason.size() == words.size(), "the words of an error");
	on_gpu();
	annex::must(annex_dev_open("mem:1M", nullptr, &dev));
	claim(annex_dev_qp(dev) && annex_now(), "C names");
	annex::must(annex_dev_close(dev));
	return std::puts("right") < 0;
} catch (const std::exception &failure) {
	return std::fprintf(stderr, "%s\n", failure.what()), 1;
}
