# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Data is what it was, wherever queues and data lie.
# limit: 90
. /test/lib.sh

ko=$(find /lib/modules -name annex.ko)
[ -n "$ko" ] || skip "there is no Kbuild to make annex.ko from"
address=$(controllers | head -n 1)

refused()
{
	place "$@"
	[ $? -eq 2 ]
}

iommu=0
[ ! -e "/sys/bus/pci/devices/$address/iommu_group" ] || iommu=1
claim "the module loads" modprobe annex allow_no_iommu=$((1 - iommu)) || exit 1
claim "a controller is bound" annex bind "$address" || exit 1
for queues in any host cmb provider; do
	for data in any pages host cmb provider; do
		case $queues,$data in
		provider,pages) continue ;; # one provider for both
		# Without an IOMMU, queues need memory in one piece.
		provider,*) [ $iommu = 1 ] || continue ;;
		esac
		claim "queues in $queues, data in $data memory" place "pci:$address" $queues $data
	done
done
claim "completion queues in controller memory are refused" refused "pci:$address?cq=cmb" any any
modprobe nvme
claim "it is unbound" annex unbind "$address"
rmmod nvme
claim "it unloads" rmmod annex
