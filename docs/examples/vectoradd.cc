// SPDX-License-Identifier: MIT
/*
 * BaM's vectorAdd: c = a + b of three vectors of numbers on one device, one behind the other:
 * vectoradd mem:64M 1000000
 */
#include <cstdio>
#include <cstdlib>
#include <annex/array.hpp>

static void add(const annex::array<double> &a, const annex::array<double> &b,
		const annex::array<double> &c)
{
	annex::ptr<const double> x(a), y(b);
	annex::ptr<double> z(c);

	for (std::uint64_t i = 0; i < c.size(); i++)
		z[i] = x[i] + y[i];
}

int main(int argc, char **argv)
try {
	if (argc != 3)
		return std::fputs("usage: vectoradd URI N\n", stderr), 2;
	std::uint64_t n = std::strtoull(argv[2], nullptr, 0), bytes = n * sizeof(double);
	annex::cache cache({argv[1]}, 1 << 20);
	annex::array<double> a(cache, 0, n), b(cache, bytes, n), c(cache, 2 * bytes, n);

	for (std::uint64_t i = 0; i < n; i++) {
		a[i] = static_cast<double>(i);
		b[i] = static_cast<double>(2 * i);
	}
	add(a, b, c);
	cache.flush();
	std::printf("%g\n", static_cast<double>(c[n - 1]));
	return 0;
} catch (const annex::error &failure) {
	return std::fprintf(stderr, "vectoradd: %s\n", failure.what()), 1;
}
