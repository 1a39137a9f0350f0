# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# An owner without rights on anything but a controller does not reach the module's data: no admin
# command of its own is executed, and forged data or doorbells mislead only the owner itself.
# machines: iommu
# limit: 240
# long: 400
. /test/lib.sh

type=/sys/bus/pci/devices/$(controllers | head -n 1)/iommu_group/type
[ ! -e "$type" ] || claim "the kernel's drivers bypass the IOMMU" eval "echo identity >$type"
with_module
is_fenced "$address" || skip "without an IOMMU the owner may do all that anyway"
chmod 666 "/dev/annex/$address"
claim "an owner forges completions" hostile "$address" forge 0
claim "an owner writes to all that is mapped" hostile "$address" write 0
claim "the next owner finds the disk as it was" life fill "$uri"
times=100
[ "${LONG:-0}" = 0 ] || times=1000
claim "an owner rings the admin doorbells" hostile "$address" ring $times
claim "the next owner finds the disk as it was" life check "$uri"
claim "the kernel saw nothing wrong but his addresses" clean_but_faults
claim "no user pins more than the limit" hostile "$address" pin 0
claim "what an owner pinned counts no more after his end" hostile "$address" pin 0
claim "a file that was opened for reading changes nothing" hostile "$address" read 0
claim "an owner leaves something in controller memory" hostile "$address" leave 0
claim "the next owner does not find it" hostile "$address" seek 0
claim "an owner leaves something in controller memory" hostile "$address" leave 0
claim "the controller is bound again" bind_again
chmod 666 "/dev/annex/$address"
claim "the next owner does not find it" hostile "$address" seek 0
claim "it unloads" rmmod annex
dmesg -c >/dev/null
