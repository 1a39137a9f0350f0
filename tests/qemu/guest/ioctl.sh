# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Every call of the module with every field out of range has a precise answer.
# limit: 60
. /test/lib.sh

with_module
file=
# The kernel's driver has the other controllers; its disks are written back.
if [ "$NVME" -gt 1 ]; then
	modprobe nvme
	claim "there is a disk besides" within 5 disk 1 && file=$(disk 1)
fi
claim "all calls are answered as they should be" ioctl "$address" ${file:+"$file"}
claim "data goes to the controller and comes back as it was" place "$uri" any any
[ -z "$file" ] || rmmod nvme
claim "it unloads" rmmod annex
