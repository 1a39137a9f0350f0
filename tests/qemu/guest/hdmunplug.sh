# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# CXL memory that is pulled out from under its users, with notice or without. It is the last test of
# CXL memory by its name, since it does not put devices back: QEMU does not always release the files
# that it has used.
# machines: flat
# limit: 120
. /test/lib.sh

says()
{
	echo "$1" >&6
	hears 20 "$2"
}

# gone ADDRESS
gone()
{
	[ ! -e "/sys/bus/pci/devices/$1" ] && [ ! -e "/dev/annex/$1" ]
}

slot_off()
{
	slot "$(port "$1")" 7 && hidden "$1"
}

# goes ADDRESS COMMAND... - A device whose range is used, by this.
goes()
{
	address=$1
	shift
	start hdm hold "$address" go
	claim "a range is held" hears 20 holding
	claim "its memory can be read" says "touch 0x1000" byte
	base=$(range "$address" base)
	base=${base#0x}
	claim "its addresses are taken" grep "$base-.* : annex" /proc/iomem
	claim "$@"
	[ "$2" = host ] || echo 1 >"/sys/bus/pci/devices/$address/remove"
	claim "it disappears" within 20 gone "$address"
	claim "an access gets SIGBUS" says "touch 0x1000" SIGBUS
	claim "its poison is not cleared (ENODEV)" says "clear 0x1000" "cleared -19"
	echo end >&6
	claim "its user ends" ended 0
	claim "nothing of the range is left" eval '! grep "$base-.* : annex" /proc/iomem'
}

with_hdm
mkfifo go
exec 6<>go
if [ "$CXL" -gt 1 ]; then
	second=$(cxl 1)
	goes "$second" "a device is gone, of which the kernel hears later" slot_off "$second"
fi
goes "$first" "the device is pulled" host device_del id=cxl0
claim "it unloads" rmmod annex
