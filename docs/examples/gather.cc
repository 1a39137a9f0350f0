// SPDX-License-Identifier: MIT
/*
 * BaM's gather: sum the elements of a file of 64-bit integers whose numbers are in another one, in
 * batches whose misses are read at once: gather 'file:values?readonly=1' 'file:numbers?readonly=1'
 */
#include <algorithm>
#include <cstdio>
#include <annex/array.hpp>

static std::uint64_t sum(const annex::array<std::uint64_t> &values,
			 const annex::array<std::uint64_t> &numbers)
{
	annex::ptr<const std::uint64_t> number(numbers);
	std::uint64_t total = 0, batch[1024];
	std::vector<std::uint64_t> idx;

	for (std::uint64_t i = 0; i < numbers.size(); i += idx.size()) {
		idx.resize(std::min<std::uint64_t>(1024, numbers.size() - i));
		for (std::uint64_t k = 0; k < idx.size(); k++)
			idx[k] = number[i + k];
		values.gather(idx, batch);
		for (std::uint64_t k = 0; k < idx.size(); k++)
			total += batch[k];
	}
	return total;
}

int main(int argc, char **argv)
try {
	if (argc != 3)
		return std::fputs("usage: gather URI-OF-VALUES URI-OF-NUMBERS\n", stderr), 2;
	annex::cache values({argv[1]}, 64 << 20), numbers({argv[2]}, 1 << 20);

	std::printf("%llu\n",
		    static_cast<unsigned long long>(sum(annex::array<std::uint64_t>(values),
							annex::array<std::uint64_t>(numbers))));
	return 0;
} catch (const annex::error &failure) {
	return std::fprintf(stderr, "gather: %s\n", failure.what()), 1;
}
