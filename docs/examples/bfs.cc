// SPDX-License-Identifier: MIT
/*
 * BaM's BFS: count the nodes that are reachable from a node of a graph, by levels. Both files have
 * 16 bytes of head, then 64-bit integers, as BaM's graphs do: the edges' ends in the order of their
 * beginnings, and for each node the number of its first edge: bfs 'file:x.bel.dst?readonly=1'
 * 'file:x.bel.col?readonly=1' 0
 */
#include <cstdio>
#include <cstdlib>
#include <annex/array.hpp>

static const std::uint64_t head = 16;

using numbers = annex::array<std::uint64_t>;

static numbers behind_head(const annex::cache &cache)
{
	return numbers(cache, head, (cache.bytes() - head) / 8);
}

/* The nodes of the next level. */
static std::vector<std::uint64_t> next(const std::vector<std::uint64_t> &level,
				       const numbers &firsts, const numbers &ends,
				       std::vector<bool> &seen)
{
	annex::ptr<const std::uint64_t> first(firsts), end(ends);
	std::vector<std::uint64_t> found;

	for (std::uint64_t node : level) {
		std::uint64_t e = first[node], last = first[node + 1];

		for (; e < last; e++) {
			std::uint64_t to = end[e];

			if (seen.at(to))
				continue;
			seen[to] = true;
			found.push_back(to);
		}
	}
	return found;
}

int main(int argc, char **argv)
try {
	if (argc != 4)
		return std::fputs("usage: bfs URI-OF-ENDS URI-OF-FIRSTS NODE\n", stderr), 2;
	annex::cache edges({argv[1]}, 64 << 20), nodes({argv[2]}, 64 << 20);
	numbers ends = behind_head(edges), firsts = behind_head(nodes);
	std::vector<std::uint64_t> level = {std::strtoull(argv[3], nullptr, 0)};
	std::vector<bool> seen(firsts.size() - 1);
	std::uint64_t count = 0, levels = 0;

	for (seen.at(level[0]) = true; !level.empty(); levels++) {
		count += level.size();
		level = next(level, firsts, ends, seen);
	}
	std::printf("%llu nodes in %llu levels\n", static_cast<unsigned long long>(count),
		    static_cast<unsigned long long>(levels));
	return 0;
} catch (const std::exception &failure) {
	return std::fprintf(stderr, "bfs: %s\n", failure.what()), 1;
}
