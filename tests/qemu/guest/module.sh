# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# annex.ko comes and goes, and takes no device by itself.
. /test/lib.sh

ko=$(find /lib/modules -name annex.ko)
[ -n "$ko" ] || skip "there is no Kbuild to make annex.ko from"

untouched()
{
	for address in $(controllers); do
		[ ! -e "/sys/bus/pci/devices/$address/driver" ] || return 1
	done
}

leftovers()
{
	! ls -d /sys/module/annex /sys/bus/pci/drivers/annex* /sys/class/annex* /dev/annex* \
		/sys/kernel/debug/annex 2>/dev/null
}

claim "it loads" insmod "$ko" || exit 1
claim "no controller is taken" untouched
claim "it unloads" rmmod annex
claim "nothing of it is left" leftovers
claim "it loads again" modprobe annex
claim "it unloads again" rmmod annex
