# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# CXL memory that is pulled out from under its users. It is the last test of CXL memory by its name,
# since it does not put the device back: QEMU does not always let go of what it has used.
# machines: flat
# limit: 90
. /test/lib.sh

says()
{
	echo "$1" >&6
	hears 20 "$2"
}

gone()
{
	[ ! -e "/sys/bus/pci/devices/$first" ] && [ ! -e "/dev/annex/$first" ]
}

with_hdm
mkfifo go
exec 6<>go
start hdm hold "$first" go
claim "a range is held" hears 20 holding
claim "its memory can be read" says "touch 0x1000" byte
base=$(range "$first" base)
base=${base#0x}
claim "its addresses are taken" grep "$base-.* : annex" /proc/iomem
claim "the device is pulled" host device_del id=cxl0
claim "it disappears" within 20 gone
claim "who touches it has SIGBUS" says "touch 0x1000" SIGBUS
echo end >&6
claim "its user ends" ended 0
claim "nothing of the range is left" eval '! grep "$base-.* : annex" /proc/iomem'
claim "it unloads" rmmod annex
