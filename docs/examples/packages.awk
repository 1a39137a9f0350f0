# SPDX-License-Identifier: MIT
# The dependencies of Debian's packages as an edge list for annex graph import snap:
#
#   apt-cache dumpavail | awk -f packages.awk >packages.snap
#
# A package leads to each package that it may pull in, and a virtual package to its providers. Line
# N of packages.txt, counted from 0, has the name of vertex N.
function number(name)
{
	if (!(name in numbers)) {
		print name >"packages.txt"
		numbers[name] = count++
	}
	return numbers[name]
}

/^Package: / {
	package = $2
}

/^(Pre-Depends|Depends|Recommends|Provides): / {
	provides = $1 == "Provides:"
	sub(/^[^:]*: */, "")
	n = split($0, others, / *[,|] */)
	for (i = 1; i <= n; i++) {
		sub(/[ :(].*/, "", others[i])
		from = number(provides ? others[i] : package)
		print from, number(provides ? package : others[i])
	}
}
