# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The unit tests of queues, devices and the cache run on a controller as they do on emulated ones.
# limit: 120
. /test/lib.sh

ko=$(find /lib/modules -name annex.ko)
[ -n "$ko" ] || skip "there is no Kbuild to make annex.ko from"
address=$(controllers | head -n 1)
export ANNEX_TEST_DEVICE="pci:$address"

iommu=0
[ ! -e "/sys/bus/pci/devices/$address/iommu_group" ] || iommu=1
claim "the module loads" modprobe annex allow_no_iommu=$((1 - iommu)) || exit 1
claim "a controller is bound" annex bind "$address" || exit 1
for suite in device cache_threads; do
	claim "the suite $suite passes on it" unit $suite
done
modprobe nvme
claim "it is unbound" annex unbind "$address"
rmmod annex nvme
