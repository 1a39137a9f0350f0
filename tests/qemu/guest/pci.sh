# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Data goes through queues that user space fills itself to a controller and comes back as it was.
# limit: 60
. /test/lib.sh

ko=$(find /lib/modules -name annex.ko)
[ -n "$ko" ] || skip "there is no Kbuild to make annex.ko from"
size=4194304
# shellcheck disable=SC2046 # words are wanted
set -- $(controllers)
address=$1

bind()
{
	group=/sys/bus/pci/devices/$address/iommu_group
	if [ -e "$group" ] && [ "$(cat "$group/type")" != DMA ]; then
		echo DMA >"$group/type" || return 1
	fi
	echo annex >"/sys/bus/pci/devices/$address/driver_override"
	echo "$address" >/sys/bus/pci/drivers_probe
	[ -e "/dev/annex/$address" ]
}

same()
{
	annex copy "pci:$address" back "$@" && head -c $size back | cmp - data
}

back()
{
	annex copy "pci:$address" back --bytes $size && cmp back data
}

iommu=0
[ ! -e "/sys/bus/pci/devices/$address/iommu_group" ] || iommu=1
claim "the module loads" modprobe annex allow_no_iommu=$((1 - iommu)) || exit 1
claim "a controller is bound" bind || exit 1
head -c $size /dev/urandom >data
claim "annex copy writes to it" annex copy data "pci:$address" --overwrite
claim "a graph is generated" annex graph gen kron --scale 12 -o graph.csr
claim "annex copy writes the graph" annex copy graph.csr "pci:$address" --overwrite
claim "the graph is searched from it, and verified" \
	annex graph bfs graph.csr --device "pci:$address" --verify
dmesg | tail -5
echo "$address" >/sys/bus/pci/drivers/annex/unbind
claim "it unloads" rmmod annex
