# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Data goes through the annex tool to a disk and comes back as it was: the proxy on the in-tree
# driver.
# machines: cross
. /test/lib.sh

size=4194304

same()
{
	head -c $size "$disk" | cmp - data
}

modprobe nvme
claim "the in-tree driver has a disk" within 5 disk 0 || exit 1
disk=$(disk 0)
head -c $size /dev/urandom >data
claim "other data is there before" eval "! same"
claim "annex copy writes to the disk" annex copy data "file:$disk?direct=1" --overwrite
claim "the disk has the data" same
rm data
claim "a graph is generated" annex graph gen kron --scale 12 -o graph.csr
claim "annex copy writes the graph" annex copy graph.csr "file:$disk?direct=1" --overwrite
claim "the graph is searched from the disk, and verified" \
	annex graph bfs graph.csr --device "file:$disk?direct=1&readonly=1" --verify
rm graph.csr
rmmod nvme
