# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A graph is searched from a controller's disk, and from the in-tree driver's.
# machines: all
# limit: 90
. /test/lib.sh

with_module
claim "a graph is generated" annex graph gen kron --scale 12 -o graph.csr
claim "annex copy writes the graph" annex copy graph.csr "$uri" --overwrite
claim "it is searched from there, and verified" \
	annex graph bfs graph.csr --device "$uri" --verify
modprobe nvme
claim "the controller is given back" annex unbind "$address"
claim "it is on the in-tree driver's disk" within 5 disk 0
claim "and is searched there" \
	annex graph bfs graph.csr --device "file:$(disk 0)?direct=1&readonly=1" --verify
rmmod nvme
claim "it unloads" rmmod annex
