# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Files and NVMe controllers go into CXL memory and out of it without a copy elsewhere.
# limit: 120
. /test/lib.sh

with_hdm
modprobe nvme
claim "the kernel's driver has a disk" within 5 disk 0 || exit 1
claim "O_DIRECT, both ways" hdm direct "$first" "$(disk 0)"
if [ "$CXL" -gt 1 ]; then
	claim "and with a range of two devices" hdm direct "$first,$(cxl 1)" "$(disk 0)"
fi
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
claim "its queues and data are in CXL memory" hdm dmabuf "$first" "pci:$address"
claim "nothing of it is left" eval '! cat "/sys/class/annex/annex!$first/hdm/range" | grep .'
claim "it is unbound" annex unbind "$address"
rmmod nvme
claim "it unloads" rmmod annex
