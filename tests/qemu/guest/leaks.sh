# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# No test before this one has leaked memory.
# limit: 60
. /test/lib.sh

kmemleak=/sys/kernel/debug/kmemleak
[ -e $kmemleak ] || skip "this kernel does not look for leaks: make check-debug-kernels"

# It calls nothing lost that is younger than 5 s, nor anything after its first look.
look()
{
	sleep 6 # nothing tells when all is old enough to be measured
	echo scan >$kmemleak && echo scan >$kmemleak
}

claim "memory is looked through" look
claim "none of it is lost" eval "! grep . $kmemleak"
